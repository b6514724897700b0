"""The standard small changes that drawing.py makes: where a text of C++ or Python has a place for one, and what it becomes.

Comments, texts in quotes and lines of the preprocessor have no places. In C++ the layout of clang-format tells a comparison
(blanks on both sides) from a template's bracket (none).
"""
import io
import re
import tokenize
from dataclasses import dataclass

CPP_HIDDEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/                                              # a comment
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"                              # a raw text
  | "(?:\\.|[^"\\\n])*" | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'         # a text, a letter; in a number ' divides the digits
  | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*                                    # the preprocessor's
""", re.DOTALL | re.MULTILINE | re.VERBOSE)
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OTHER_WORD = {"and": "or", "or": "and", "&&": "||", "||": "&&", "True": "False", "False": "True", "true": "false",
              "false": "true"}
OTHER_SIGN = {"+": "-", "-": "+", "*": "+"}
NO_STATEMENT = re.compile(r"(?:return|using|break|continue|case|default|throw|static_assert|const|constexpr|static|auto|typedef|"
                          r"delete|goto|friend|template|explicit|virtual|inline|else|public|private|namespace|struct|class|"
                          r"enum|extern|import|from|raise|pass|def|global|nonlocal|yield|with|for|while|if|elif|try|except|"
                          r"finally|assert|del|do)\b")


@dataclass(frozen=True)
class Change:
    """In the place [begin, end) of a file's text stands `after`."""
    operator: str
    begin: int
    end: int
    after: str

    def applied(self, text):
        return text[:self.begin] + self.after + text[self.end:]

    def lines(self, text):
        """The whole lines that change, before and after, with single blanks: what a list of equivalents knows a change by."""
        begin = text.rfind("\n", 0, self.begin) + 1
        end = text.find("\n", self.end)
        end = len(text) if end < 0 else end
        changed = text[begin:self.begin] + self.after + text[self.end:end]
        return " ".join(text[begin:end].split()), " ".join(changed.split())


def blanked(text, begin, end):
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]


def code_of(text, is_python):
    """The text, as long as it is, with blanks in place of all that is no code."""
    if not is_python:
        return CPP_HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    code = text
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            code = blanked(code, *(starts[row - 1] + column for row, column in (token.start, token.end)))
    return code


def closing(code, at):
    """The place of the bracket that closes the one at `at`; None: there is none."""
    depth = 0
    for i in range(at, len(code)):
        if code[i] in "([{":
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return None


def parts_between(code, begin, end):
    """The places of the arguments in [begin, end), which commas divide."""
    parts, depth, start = [], 0, begin
    for i in range(begin, end):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if code[i] == "," and depth == 0:
            parts.append((start, i))
            start = i + 1
    parts.append((start, end))
    return [(b + len(code[b:e]) - len(code[b:e].lstrip()), e - (len(code[b:e]) - len(code[b:e].rstrip()))) for b, e in parts]


def words(operator, pattern, others, code):
    for found in re.finditer(pattern, code):
        yield Change(operator, *found.span(1), others[found[1]])


def comparisons_negated(code, is_python):
    yield from words("comparison-negated", r"(?<= )(==|!=|<=|>=|<|>)(?= )", OPPOSITE, code)
    if is_python:
        for found in re.finditer(r"(?<= )(is not|not in|is|in)(?= )", code):
            line = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
            if not re.search(r"\bfor\b", line):
                other = {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}[found[1]]
                yield Change("comparison-negated", *found.span(1), other)


def comparisons_shifted(code, _):
    yield from words("comparison-shifted", r"(?<= )(<=|>=|<|>)(?= )", SHIFTED, code)


def conditions_negated(code, is_python):
    if is_python:
        for found in re.finditer(r"^[ ]*(?:if|elif|while) (?!not )([^\n]+):[ ]*$", code, re.MULTILINE):
            yield Change("condition-negated", *found.span(1), "not ({})")
        return
    for found in re.finditer(r"\b(?:if|while) \(", code):
        begin = found.end() - 1
        end = closing(code, begin)
        inside = code[begin + 1:end] if end else ";"
        if ";" not in inside and not re.search(r"\b(?:auto|const)\b.* = ", inside) and inside.strip() != "true":
            yield Change("condition-negated", begin, end + 1, "(!{})")


def words_exchanged(code, is_python):
    pattern = r"\b(and|or)\b" if is_python else r"(?<= )(&&|\|\|)(?=\s)"
    yield from words("and-or", pattern, OTHER_WORD, code)


def one_more_or_less(code, _):
    for found in re.finditer(r"( [+-] 1)(?![\w.'])", code):
        yield Change("one-more-or-less", *found.span(1), "")
    for found in re.finditer(r"(?<=[\w)\]] )([+*-])(?= [\w(])", code):
        yield Change("sign-changed", *found.span(1), OTHER_SIGN[found[1]])
    for found in re.finditer(r"(?<= )([+-])(?==)", code):
        yield Change("sign-changed", *found.span(1), OTHER_SIGN[found[1]])


STATEMENT = {False: re.compile(r"^ +(?P<all>[\w:.*>&\[\]()-][^\n]*;)[ ]*$", re.MULTILINE),
             True: re.compile(r"^ +(?P<all>\w[^\n]*[^\n:,\\({\[ ])[ ]*$", re.MULTILINE)}
STATEMENT_KINDS = (("lock-left-out", re.compile(r"(?:const )?std::(?:scoped|unique|shared)_lock\b")),
                   ("notify-left-out", re.compile(r"[\w.>-]*(?:notify|wake|signal)\w*\(")),
                   ("reset-left-out", re.compile(r"[\w.>-]+(?:\.|->)(?:reset|clear)\(\);?$|"
                                                 r"[\w.>\[\]-]+ = (?:\{\}|0|false|nullptr|None|False)(?:;|$)")))
PLAIN_STATEMENT = re.compile(r"[\w:.*>\[\]()-]+(?:\(.*\)| (?:=|[-+*/|&^%]=) .*|\+\+|--);?$|(?:\+\+|--)[\w.>-]+;$")


BEFORE_MAX = 400  # signs before a statement that are looked at


def is_whole(part):
    depth = 0
    for sign in part:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return False
    return depth == 0


def statements_left_out(code, is_python):
    for found in STATEMENT[is_python].finditer(code):
        line = found["all"]
        before = code[max(0, found.start() - BEFORE_MAX):found.start()].rstrip()
        if not is_whole(line) or not (is_python or before.endswith((";", "{", "}", ")", ":", "else"))):
            continue
        nothing = "pass" if is_python else "{}"
        for operator, pattern in STATEMENT_KINDS:
            if pattern.match(line):
                yield Change(operator, *found.span("all"), nothing)
                break
        else:
            is_guard = (not is_python and line.startswith("if (") and
                        not code[found.end():found.end() + BEFORE_MAX].lstrip().startswith("else"))
            if is_guard or (not NO_STATEMENT.match(line) and PLAIN_STATEMENT.match(line)):
                yield Change("statement-left-out", *found.span("all"), nothing)


def clamps_left_out(code, is_python):
    pattern = r"\b(min|max)(\()" if is_python else r"\bstd::(min|max|clamp)(?:<[\w:]+>)?(\()"
    for found in re.finditer(pattern, code):
        end = closing(code, found.start(2))
        if end is None:
            continue
        parts = parts_between(code, found.end(2), end)
        if len(parts) >= 2:
            yield Change("clamp-left-out", found.start(), end + 1, (found.end(2), parts[0][1]))
            if found[1] != "clamp":
                yield Change("min-max", *found.span(1), {"min": "max", "max": "min"}[found[1]])


def arguments_swapped(code, is_python):
    simple = re.compile(r"[\w.*:\[\]>-]+(?:\(\))?")
    for found in re.finditer(r"(\bdef +)?((?:std::)?\w+)\(", code):
        end = closing(code, found.end() - 1)
        if end is None or found[1] or found[2] in ("std::min", "std::max", "min", "max", "if", "for", "while"):
            continue
        parts = parts_between(code, found.end(), end)
        for (b, e), (c, d) in zip(parts, parts[1:]):
            first, second = code[b:e], code[c:d]
            if simple.fullmatch(first) and simple.fullmatch(second) and first != second:
                yield Change("arguments-swapped", b, d, ((c, d), (e, c), (b, e)))


def constants_changed(code, is_python):
    for found in re.finditer(r"(?<![\w.'])(\d[\d']*)(?:\.(\d+))?(?![\w.'])", code):
        number = int(found[1].replace("'", ""))
        after = f"{number + 1}" if found[2] is None else f"{number + 1}.{found[2]}"
        yield Change("constant-changed", *found.span(), after)
        if number > 0 and found[2] is None:
            yield Change("constant-changed", *found.span(), f"{number - 1}")
    yield from words("constant-changed", r"\b(True|False)\b" if is_python else r"\b(true|false)\b", OTHER_WORD, code)


MAKERS = (comparisons_negated, comparisons_shifted, conditions_negated, words_exchanged, one_more_or_less, statements_left_out,
          clamps_left_out, arguments_swapped, constants_changed)
OPERATORS = ("comparison-negated", "comparison-shifted", "condition-negated", "and-or", "one-more-or-less", "sign-changed",
             "statement-left-out", "lock-left-out", "notify-left-out", "reset-left-out", "clamp-left-out", "min-max",
             "arguments-swapped", "constant-changed")
NO_PLACE = re.compile(r"\bstatic_assert\b|\bassert\b|\bSPDLD_|^\s*(?:import|from) ")  # in these lines nothing is changed


def changes_in(text, is_python):
    """All changes of this text, in the order of their places. The new text is made of the text itself, never of its mask."""
    code = code_of(text, is_python)
    made = []
    for maker in MAKERS:
        for change in maker(code, is_python):
            line = code[code.rfind("\n", 0, change.begin) + 1:].partition("\n")[0]
            if NO_PLACE.search(line):
                continue
            after = change.after
            if isinstance(after, tuple):  # places of the text
                places = (after,) if isinstance(after[0], int) else after
                after = "".join(text[begin:end] for begin, end in places)
                after = f"({after})" if change.operator == "clamp-left-out" else after
            made.append(Change(change.operator, change.begin, change.end, after.replace("{}", text[change.begin:change.end], 1)
                               if change.operator == "condition-negated" else after))
    return sorted(made, key=lambda change: (change.begin, change.end, change.operator, change.after))
