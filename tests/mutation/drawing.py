"""Changes that are drawn at random over all rooms, the same for the same seed, and those of them that change nothing visible.

rooms.txt says what a room holds and which tests it has. equivalents.txt lists changes that were read and found to change
nothing that anybody could see. It knows a change by its line, before and after, so that other lines may come and go:

    == why nobody can see it
    file: the file, as a path from the root
    before: the line, or the lines, with single blanks
    after: what becomes of it
"""
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import mutants
import operators

FOLDERS = ("utf8", "proto", "config", "daemon", "client")
INCLUDED_BY_MAX = 16  # a header that more .cpp files include, also through others, costs too much: all are compiled anew
ROOM_LINE = re.compile(r"(?P<room>[\w-]+): (?P<paths>[^|]*?) *\| *(?P<tests>.*)")
EQUIVALENT = re.compile(r"(?P<why>[^\n]+)\nfile: (?P<file>[^\n]+)\nbefore: (?P<before>[^\n]+)\nafter: (?P<after>[^\n]*)")


@dataclass(frozen=True)
class Drawn:
    """A drawn change, which is tried as a mutant is."""
    name: str
    room: str
    file: str
    tests: tuple
    change: operators.Change
    before: str  # the lines
    after: str

    @property
    def what(self):
        return f"{self.file}: {self.before}  ->  {self.after}"

    def changed(self, text):
        return self.change.applied(text)


def read_rooms(path):
    """[(path from the root, room, tests)] of each line. Raises ValueError with a sentence where one is not written so."""
    rooms = []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = ROOM_LINE.fullmatch(line)
        if not found:
            raise ValueError(f"{path.name}: the line \"{line}\" is not written as its head says")
        tests = mutants.read_tests(found["tests"]) if found["tests"] else ()
        rooms += [(place, found["room"], tests) for place in found["paths"].split()]
    return rooms


def room_of(file, rooms):
    """(room, tests) of a file; None: no line has it."""
    places = [(place, room, tests) for place, room, tests in rooms if file == place or file.startswith(place + "/")]
    return max(places, key=lambda place: len(place[0]))[1:] if places else None


def read_equivalents(path):
    """{(file, before, after): why}."""
    _, *parts = re.split(r"^== ", path.read_text(), flags=re.MULTILINE) if path.is_file() else [""]
    known = {}
    for part in parts:
        found = EQUIVALENT.fullmatch(part.rstrip("\n"))
        if not found:
            raise ValueError(f"{path.name}: the change \"{part.partition(chr(10))[0]}\" is not written as drawing.py says")
        known[found["file"], found["before"], found["after"]] = found["why"]
    return known


def included_by(root, names):
    """{header: how many .cpp files include it, by themselves or through other headers}."""
    direct = {name: set(re.findall(r'^#include "([^"]+)"', (root / name).read_text(), re.MULTILINE))
              for name in names if name.endswith((".cpp", ".h"))}
    counts = Counter()
    for name in direct:
        if name.endswith(".cpp"):
            found, open_ones = set(), [name]
            while open_ones:
                more = direct.get(open_ones.pop(), set()) - found
                open_ones += more
                found |= more
            counts.update(found)
    return counts


def source_files(root, names):
    """Of the files `names`: the code of the rooms, without headers that are included all over."""
    chosen = [name for name in names if name.split("/")[0] in FOLDERS and name.endswith((".cpp", ".h", ".py"))]
    included = included_by(root, names)
    return [name for name in chosen if not name.endswith(".h") or included[name] <= INCLUDED_BY_MAX]


class Draw:
    """The draws of one seed. What a room gives does not depend on the other rooms."""

    def __init__(self, root, names, rooms, seed):
        self.root, self.seed = root, seed
        self.files = defaultdict(list)  # by room: (file, tests)
        for name in source_files(root, names):
            room = room_of(name, rooms)
            if room and room[1]:
                self.files[room[0]].append((name, room[1]))
        self.rooms = sorted(self.files)
        random.Random(f"{seed} rooms").shuffle(self.rooms)
        self.streams = {}

    def shares(self, count):
        """How many changes each room has of `count`: as evenly as can be."""
        return {room: count // len(self.rooms) + (i < count % len(self.rooms)) for i, room in enumerate(self.rooms)}

    def digest(self, room):
        """Of all that decides what this room gives."""
        whole = hashlib.sha256(f"{self.seed} {room}".encode())
        for file, _ in self.files[room]:
            whole.update(f"\0{file}\0".encode() + (self.root / file).read_bytes())
        return whole.hexdigest()[:16]

    def next_of(self, room):
        """The room's next change; None: there is no further one."""
        if room not in self.streams:
            self.streams[room] = self.stream(room)
        return next(self.streams[room], None)

    def stream(self, room):
        chance = random.Random(f"{self.seed} {room}")
        changes = defaultdict(list)
        for file, tests in self.files[room]:
            text = (self.root / file).read_text()
            for change in operators.changes_in(text, file.endswith(".py")):
                changes[change.operator].append((file, tests, change))
        number = 0
        while changes:
            operator = chance.choice(sorted(changes))  # each operator as often as the others, however many places it has
            of_it = changes[operator]
            file, tests, change = of_it.pop(chance.randrange(len(of_it)))
            if not of_it:
                del changes[operator]
            number += 1
            before, after = change.lines((self.root / file).read_text())
            yield Drawn(f"{room}/{number}-{operator}", room, file, tests, change, before, after)


class Record:
    """What became of drawn changes, in a file to which each is added as it ends: a run that was stopped loses none, and the next
    one with this seed goes on. What a room gave is forgotten when the room's code changes."""

    def __init__(self, path, draw):
        self.path = path
        self.digests = {room: draw.digest(room) for room in draw.rooms}
        self.known = {}  # (outcome, words) by the room's digest and the change's name; the last one counts
        for line in path.read_text().splitlines() if path.is_file() else ():
            entry = json.loads(line)
            self.known[entry["digest"], entry["name"]] = entry["outcome"], entry["words"]

    def outcome(self, drawn):
        """(outcome, words), or None: it was not tried."""
        return self.known.get((self.digests[drawn.room], drawn.name))

    def add(self, drawn, outcome, words):
        self.known[self.digests[drawn.room], drawn.name] = outcome, words
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"digest": self.digests[drawn.room], "name": drawn.name, "outcome": outcome, "words": words,
                                   "what": drawn.what}) + "\n")


def faults(root, names, rooms, equivalents, tests):
    """What is wrong with rooms.txt and equivalents.txt, a sentence each."""
    for name in names:
        if name.split("/")[0] in FOLDERS and name.endswith((".cpp", ".h", ".py")) and not room_of(name, rooms):
            yield f"rooms.txt: {name} lies in no room"
    for place, _, of_room in rooms:
        if not (root / place).exists():
            yield f"rooms.txt: there is no {place}"
        for test, _ in of_room:
            if test not in tests:
                yield f"rooms.txt: Meson has no test {test}"
    for file, before, after in equivalents:
        text = (root / file).read_text() if (root / file).is_file() else ""
        known = {change.lines(text) for change in operators.changes_in(text, file.endswith(".py"))} if text else set()
        if (before, after) not in known:
            yield f"equivalents.txt: in {file} no change makes \"{after}\" of \"{before}\""


def table(outcomes):
    """[(room, outcome)] as lines of text, with a score for each room: noticed of all that are not equivalent."""
    noticed = ("killed", "timed out")
    lines = [f"{'room':12} {'noticed':>8} {'not':>5} {'equivalent':>11} {'score':>8}"]
    for room in [*sorted({room for room, _ in outcomes}), "all"]:
        own = [outcome for of, outcome in outcomes if room in (of, "all")]
        yes, no = sum(outcome in noticed for outcome in own), own.count("survived")
        score = f"{100 * yes / (yes + no):.0f} %" if yes + no else "-"
        lines.append(f"{room:12} {yes:8} {no:5} {own.count('equivalent'):11} {score:>8}")
    return lines
