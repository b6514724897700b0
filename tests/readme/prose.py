"""The prose in source files: comments, docstrings, and texts that the programs print, as sentences."""
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The folders whose prose is looked at, and the kinds of files there.
PLACES = {"utf8": ("*.h",), "client": ("*.h", "*.hpp", "*.cpp", "*.py"), "config": ("*.h", "*.cpp"), "daemon": ("*.h", "*.cpp"),
          "proto": ("*.h", "*.cpp"), "bench": ("*.py",), "deploy": ("*.py",)}

# Comments and texts in C and C++. A character such as '"' begins no text.
PIECE = re.compile(r'(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|R"(?P<mark>[^()\\ \n]*)\((?P<raw>.*?)\)(?P=mark)"'
                   r'|"(?P<text>(?:\\.|[^"\\\n])*)"|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"][^>"\n]*[>"]', re.MULTILINE)
ESCAPE = re.compile(r"\\(.)")
WORDS_MIN = 3  # fewer are a name or a part of a sentence


def unescaped(text):
    return ESCAPE.sub(lambda found: {"n": "\n", "t": " "}.get(found[1], found[1]), text)


def of_cpp(source, comments=True):
    """(line, paragraph). Comments on consecutive lines are one paragraph, and so are texts with only blanks between them."""
    parts, kind, start, end, column = [], None, 0, 0, 0
    source = INCLUDE.sub(lambda found: " " * len(found[0]), source)

    def paragraphs():
        if parts and (comments or kind == "text"):
            text = "".join(parts) if kind == "text" else "\n".join(parts)
            yield source.count("\n", 0, start) + 1, text

    for found in PIECE.finditer(source):
        text = found["text"] if found["text"] is not None else found["raw"]
        now = "comment" if found["line"] or found["block"] else "text" if text is not None else None
        between = source[end:found.start()]
        before, column = column, found.start() - source.rfind("\n", 0, found.start())
        joins = now == kind and not between.strip() and (now == "text" or (column == before and between.count("\n") == 1))
        if not joins:
            yield from paragraphs()
            parts, kind, start = [], now, found.start()
        if now == "comment":
            parts.append(re.sub(r"^(?:/\*+|//[/!<]*)|\*+/$|^[ \t]*\*[ \t]?", "", found[0], flags=re.MULTILINE).strip())
        elif now == "text":
            parts.append(unescaped(text))
        end = found.end()
    yield from paragraphs()


def of_python(source):
    """(line, paragraph) of docstrings and texts. An f-string is one text, with x in the place of each value."""
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
              if part is not node}
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)


def sentences_of(paragraphs):
    """(line of the paragraph, sentence)"""
    for line, text in paragraphs:
        for part in re.split(r"\n[ \t]*(?:\n|(?=[-*] )|(?=\w+(?:, \w+)*: ))", text):
            part = " ".join(re.sub(r"`[^`]*`", "`x`", part).split())
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", part):
                if len(re.findall(r"[A-Za-z]{2}", sentence)) >= WORDS_MIN:
                    yield line, sentence


class Source:
    """One file, as words.faults_of takes it."""

    def __init__(self, path, text):
        self.path, self.text = path, text

    def sentences(self):
        return sentences_of(of_python(self.text) if self.path.endswith(".py") else of_cpp(self.text))


def all_sources(root=ROOT):
    for folder, kinds in PLACES.items():
        for file in sorted(file for kind in kinds for file in (root / folder).rglob(kind)):
            yield Source(str(file.relative_to(root)), file.read_text())
