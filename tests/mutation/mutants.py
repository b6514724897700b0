"""The lists of mutants: how they are written, and what is wrong with them.

A list is a file mutants/ROOM.txt. A line that begins with "#" before the first mutant is a comment. A mutant is

    == NAME
    One sentence: what the change does.
    file: the file that it changes, as a path from the root
    tests: the tests, by Meson's names, separated by ";": at least one of them must fail. Words may follow a name, to run a part
           of the program: of Catch2 (integration *replica*), or of tests/python/run_tests.py (python rows_test.)
    -- before
    the text, which the file holds exactly once
    -- after
    the text in its place; it may be empty
"""
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

HEAD = re.compile(r"(?P<what>[^\n]+)\nfile: (?P<file>[^\n]+)\ntests: (?P<tests>[^\n]+)\n-- before\n(?P<before>.*)\n"
                  r"-- after(?:\n(?P<after>.*))?", re.DOTALL)
MUTANTS_OF_A_ROOM_MIN = 3


@dataclass(frozen=True)
class Mutant:
    name: str  # ROOM/NAME
    what: str
    file: str
    tests: tuple  # of (Meson's name, the words behind it)
    before: str
    after: str

    def changed(self, text):
        """The text of its file with the change in it. Raises ValueError where it does not fit."""
        count = text.count(self.before)
        if count != 1:
            raise ValueError(f"{self.name}: {self.file} holds the text before {count} times, not once")
        return text.replace(self.before, self.after)


def read_tests(text):
    """((Meson's name, the words behind it), ...) of a list of tests."""
    return tuple((words[0], tuple(words[1:])) for words in map(shlex.split, text.split(";")))


def read_list(path):
    """The mutants of one list. Raises ValueError with a sentence where it is not written as it should be."""
    mutants = []
    _, *parts = re.split(r"^== ", path.read_text(), flags=re.MULTILINE)
    for part in parts:
        name, _, rest = part.partition("\n")
        head = HEAD.fullmatch(rest.rstrip("\n"))
        if not head:
            raise ValueError(f"{path.name}: the mutant \"{name}\" is not written as mutants.py says")
        mutants.append(Mutant(f"{path.stem}/{name}", head["what"], head["file"], read_tests(head["tests"]), head["before"],
                              head["after"] or ""))
    return mutants


def read_all(folder):
    return [mutant for path in sorted(Path(folder).glob("*.txt")) for mutant in read_list(path)]


class Cases:
    """What the words behind a test may name: tags and parts of names of Catch2's cases, files and cases of Python's tests."""

    def __init__(self, folder):
        self.heads = "".join(head for path in sorted(folder.rglob("*.cpp"))
                             for head in re.findall(r"TEST_CASE\((.*?)\) \{", path.read_text(), re.DOTALL))
        self.python = {path.stem for path in folder.rglob("*_test.py")}

    def fits(self, word):
        if word.startswith("-"):
            return True  # an option
        if word.startswith("["):
            return all(tag in self.heads for tag in re.findall(r"\[[\w-]+\]", word))
        if word.endswith("."):
            return word[:-1] in self.python
        return word.strip("*") in re.sub(r'"\s*"', "", self.heads)


def faults(mutants, root, tests):
    """What is wrong with these mutants of the tree `root`, whose tests have the names `tests`; a sentence each."""
    known = Cases(root / "tests")
    names = [mutant.name for mutant in mutants]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: two mutants have this name"
    for mutant in mutants:
        file = root / mutant.file
        if not file.is_file():
            yield f"{mutant.name}: there is no file {mutant.file}"
            continue
        if mutant.before == mutant.after:
            yield f"{mutant.name}: it changes nothing"
        try:
            mutant.changed(file.read_text())
        except ValueError as error:
            yield str(error)
        for test, words in mutant.tests:
            if test not in tests:
                yield f"{mutant.name}: Meson has no test {test}"
            for word in words:
                if word in tests:  # a filter that no case fits: nothing would be run
                    yield f"{mutant.name}: {word} is another test: write \";\" before it"
                elif not known.fits(word):
                    yield f"{mutant.name}: no case fits {word}"


def thin_rooms(mutants, rooms):
    """The rooms that have too few mutants."""
    return [room for room in rooms
            if sum(mutant.name.startswith(room + "/") for mutant in mutants) < MUTANTS_OF_A_ROOM_MIN]
