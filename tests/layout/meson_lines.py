"""Lays out what is long in a meson.build: names of source files stand sorted, by folder, and no line is wider than others are.

A statement that has no fault stays as it is written.
"""
import re
from itertools import groupby
from typing import NamedTuple

COLUMNS_MAX = 130
RUN_MIN = 3  # names of files that get lines of their own
REMEDY, BY_HAND = "tests/lint --fix lays it out", "lay it out by hand, since comments stand within"

TOKEN = re.compile(r"(?P<text>f?'''.*?'''|f?'(?:\\.|[^'\\\n])*')|(?P<comment>#[^\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])"
                   r"|(?P<other>.)", re.DOTALL)
SOURCE = re.compile(r"'[\w./-]+\.(?:cpp|c|h|py)'")


class Statement(NamedTuple):
    line: int  # of its first line, from 1
    text: str  # its lines as they stand, without the last end of line


def statements(text):
    """Lines that belong together, since a bracket is open between them."""
    depth, begin, line, start = 0, 0, 1, 1
    for found in TOKEN.finditer(text):
        depth += 1 if found["open"] else -1 if found["close"] else 0
        line += found[0].count("\n")
        if found[0] == "\n" and depth <= 0:
            yield Statement(start, text[begin:found.start()])
            depth, begin, start = 0, found.end(), line
    if begin < len(text):
        yield Statement(start, text[begin:])


def key(name):
    folder, _, file = name.strip("'").rpartition("/")
    return folder, file


def runs(text):
    """(begin, end, [name]) of names of source files that follow one another in a list."""
    begin, end, names = 0, 0, []
    for found in SOURCE.finditer(text):
        if names and re.fullmatch(r"\s*,\s*", text[end:found.start()]):
            names.append(found[0])
        else:
            if len(names) > 1:
                yield begin, end, names
            begin, names = found.start(), [found[0]]
        end = found.end()
    if len(names) > 1:
        yield begin, end, names


def has_comment(text):
    return any(found["comment"] for found in TOKEN.finditer(text))


def faults(text):
    """(line, sentence)"""
    for statement in statements(text):
        remedy = BY_HAND if has_comment(statement.text) else REMEDY
        for number, line in enumerate(statement.text.splitlines(), statement.line):
            if len(line) > COLUMNS_MAX:
                yield number, f"{len(line)} columns, at most {COLUMNS_MAX} are allowed: {remedy}"
        for begin, _, names in runs(statement.text):
            for before, name in zip(names, names[1:]):
                if key(name) < key(before):
                    line = statement.line + statement.text.count("\n", 0, begin)
                    yield line, f"{name} stands behind {before}, and the names of files are sorted, by folder: {remedy}"
                    break


def flat(text):
    """The statement in one line."""
    joined = " ".join(line.strip() for line in text.splitlines())
    return re.sub(r"(?<=[(\[]) (?=\S)|(?<=\S) (?=[)\]])", "", joined)


def wrapped(text, own, depth=0):
    """Lines of at most COLUMNS_MAX, broken behind commas, rather outside of brackets than within.

    own: the indent of the statement. depth: how many of its brackets are open where the text begins; each is worth two columns.
    """
    lines = []
    while True:
        margin = own + "  " * depth
        if len(margin) + len(text) <= COLUMNS_MAX:
            return [*lines, margin + text]
        places, inside = [], depth
        for found in TOKEN.finditer(text):
            if found.end() + len(margin) > COLUMNS_MAX:
                break
            inside += 1 if found["open"] else -1 if found["close"] else 0
            if found[0] == "," and inside > 0 and text[found.end():].strip():
                places.append((inside, -found.end()))
        if not places:
            return [*lines, margin + text]
        depth, place = min(places)
        lines.append(margin + text[:-place])
        text = text[-place:].lstrip()


def filled(names, own, depth):
    """Lines of names, and a new line for each folder."""
    for _, group in groupby(names, lambda name: key(name)[0]):
        yield from wrapped(", ".join(group) + ",", own, depth)


def open_brackets(text):
    return sum(1 if found["open"] else -1 if found["close"] else 0 for found in TOKEN.finditer(text))


def laid_out_statement(statement):
    own = re.match(r" *", statement.text)[0]
    text = flat(statement.text)
    for begin, end, names in runs(text):
        text = text[:begin] + ", ".join(sorted(names, key=key)) + text[end:]
    if len(own) + len(text) <= COLUMNS_MAX:
        return own + text
    longest = max(runs(text), key=lambda run: len(run[2]), default=(0, 0, []))
    if len(longest[2]) < RUN_MIN:
        return "\n".join(wrapped(text, own))
    begin, end, names = longest
    depth = open_brackets(text[:begin])
    lines = wrapped(text[:begin].rstrip(), own) + list(filled(names, own, depth))
    rest = text[end:]
    if rest.startswith(","):
        return "\n".join(lines + wrapped(rest[1:].lstrip(), own, depth))
    return "\n".join(lines[:-1] + wrapped(lines[-1].strip()[:-1] + rest, own, depth))


def laid_out(text):
    made = []
    for statement in statements(text):
        is_faulty = any(True for _ in faults(statement.text)) and not has_comment(statement.text)
        made.append(laid_out_statement(statement) if is_faulty else statement.text)
    return "\n".join(made) + ("\n" if text.endswith("\n") else "")
