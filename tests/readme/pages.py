"""The project's pages in Markdown, taken apart: fenced blocks, headings, links, and sentences."""
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(.*)$")
HEADING = re.compile(r"^(#+) (.*)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +")


class Block(NamedTuple):
    """A fenced block. `words` are those behind the fence: the language, and perhaps how the block is tested."""
    page: str
    line: int
    words: tuple
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


class Page:
    """One file. `blocks` are its fenced blocks, `lines` all its other lines as (number, text)."""

    def __init__(self, path, text):
        self.path, self.blocks, self.lines = path, [], []
        words, body, start = None, [], 0
        for number, line in enumerate(text.splitlines(), 1):
            fence = FENCE.match(line)
            if words is None and fence:
                words, body, start = tuple(fence[1].split()), [], number
            elif words is None:
                self.lines.append((number, line))
            elif line == "```":
                self.blocks.append(Block(path, start, words, "".join(one + "\n" for one in body)))
                words = None
            else:
                body.append(line)
        if words is not None:
            raise ValueError(f"{path}:{start}: this block has no end")

    def anchors(self):
        """What follows a # in links to this page, as GitHub makes it from the headings."""
        for _, line in self.lines:
            if found := HEADING.match(line):
                yield re.sub(r"[^\w\- ]", "", found[2].lower()).replace(" ", "-")

    def links(self):
        for number, line in self.lines:
            for target in LINK.findall(CODE.sub("", line)):
                yield number, target

    def indented(self):
        """Numbers of the lines that Markdown takes for code because they are indented; fences say what a block is."""
        in_list = before = False
        for number, line in self.lines:
            if not line.strip():
                before = False
                continue
            in_list = bool(LIST_ITEM.match(line)) or (in_list and line.startswith(" "))
            if line.startswith("    ") and not before and not in_list:
                yield number
            before = True

    def paragraphs(self):
        """(line, text) of running text, list items, and cells of tables; code in backquotes has become `x`."""
        start, parts = 0, []
        for number, line in [*self.lines, (0, "")]:
            text = CODE.sub("`x`", line).strip()
            begins = not text or text.startswith(("#", "|")) or LIST_ITEM.match(line)
            if begins and parts:
                yield start, " ".join(parts)
                parts = []
            if text.startswith("|"):
                for cell in text.strip("|").split("|"):
                    if cell.strip(" -:"):
                        yield number, cell.strip()
            elif text:
                start = start if parts else number
                parts.append(LIST_ITEM.sub("", CODE.sub("`x`", line)).strip("# ").strip())
        return

    def sentences(self):
        """(line of the paragraph, sentence)"""
        for line, text in self.paragraphs():
            text = re.sub(r"\*\*|\]\([^)]*\)|\[", "", text)
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text):
                yield line, sentence


def all_pages(root=ROOT):
    """Every page of the tree: {path from the root: Page}."""
    pages = {}
    for file in sorted(root.rglob("*.md")):
        parts = file.relative_to(root).parts
        if not any(part.startswith(".") or part == "build" for part in parts):
            pages["/".join(parts)] = Page("/".join(parts), file.read_text())
    return pages
