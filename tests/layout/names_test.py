#!/usr/bin/python3
"""No code above a medium knows an operation or a type of source by its name: it asks for what the type can do. And no type has a
name that says nothing about it."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases

TABLES = {"operations.inc": ("OPERATION", "ERRAND_OPERATION"),
          "batch_operations.inc": ("BATCH_OPERATION",), "sources.inc": ("SOURCE",)}
# Rooms that are an operation's or a source's own.
OWN = ("config/operations/", "config/batch_operations/", "config/source", "daemon/media/", "daemon/mixing/", "daemon/source/",
       "client/python/")
# Names that are keys, units, fields or other words as well: of these, only the ways in which code asks for an operation count.
WORDS = {"bytes", "boxes", "images", "jpeg", "lines", "manifest", "pad", "plugin", "points", "python", "records"}
# Help texts that name operations as examples. Each is a name of the table.
EXAMPLES = {"horizontal-flip", "color-jitter", "parse-int", "parse-float", "image-folder"}

# Each had a dozen types before. A type says in its name of what it is the kind, the part or the run, also inside of another type.
BARE = ("Kind", "Part", "Run", "Outcome", "Info", "Data", "Helper", "Util", "Utils", "Manager")
NAMES = "|".join(BARE)
BARE_TYPE = re.compile(rf"(?:\b(?:class|struct|union|enum|using|typename) |\btypedef [^;]* )({NAMES})\b(?!::)")
BARE_CLASS = re.compile(rf"^ *class ({NAMES})\b", re.M)  # of Python
TREES = ("utf8", "proto", "config", "daemon", "client", "bench", "tests")


def names():
    found = set()
    for path in (ROOT / "config").rglob("*.inc"):
        for macro in TABLES.get(path.name, ()):
            found |= {name.replace("_", "-") for name in re.findall(rf"^{macro}\((\w+)", path.read_text(), re.M)}
    return found


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def faults_in(text, known):
    """The names that stand in this C++ as a text of their own, or in a sentence."""
    found = []
    for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', without_comments(text)):
        if literal in known - WORDS:
            found.append(literal)
        for word in re.findall(r"(?<![\w-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])", literal):
            if word in known - EXAMPLES and word != literal:
                found.append(word)
    found += re.findall(r'(?:\.op [!=]= |find_operation\(|find_source\(|\.type [!=]= )"([^"]+)"', text)
    return found


def bare_types_in(path, text):
    """The types that this file declares by a name that says nothing."""
    if path.endswith(".py"):
        return BARE_CLASS.findall(text)
    return BARE_TYPE.findall(without_comments(text))


class TheTree(unittest.TestCase):
    def test_has_no_type_whose_name_says_nothing(self):
        # spdld.Info, of the Python package, is a name that users have; the stub file (.pyi) alone declares it.
        paths = [path for tree in TREES for path in (ROOT / tree).rglob("*")
                 if path.suffix in (".cpp", ".h", ".hpp", ".c", ".py")]
        self.assertGreater(len(paths), 1500)
        found = [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in bare_types_in(path.name, path.read_text())]
        self.assertEqual(found, [], "name the thing, such as FileRange or StageOutcome:\n" + "\n".join(found))

    def test_names_no_operation_above_its_medium(self):
        known = names()
        self.assertGreater(len(known), 90)
        self.assertLess(EXAMPLES | WORDS, known)
        paths = [path for room in ("utf8", "proto", "config", "daemon", "client") for path in (ROOT / room).rglob("*")
                 if path.suffix in (".cpp", ".h") and not str(path.relative_to(ROOT)).startswith(OWN)]
        self.assertGreater(len(paths), 300)
        found = [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in faults_in(path.read_text(), known)]
        self.assertEqual(found, [], "ask for a trait of the type:\n" + "\n".join(found))


class MadeUpCode(unittest.TestCase):
    def test_shows_each_bare_type(self):
        for name, text, expected in (("a.h", "struct Kind {", ["Kind"]), ("a.h", "class Part final : public Base {", ["Part"]),
                                     ("a.h", "  enum class Outcome : uint8_t { kDone };", ["Outcome"]),
                                     ("a.cpp", "using Run = std::function<void()>;", ["Run"]), ("a.h", "struct Info;", ["Info"]),
                                     ("a.h", "enum Data { kOne };", ["Data"]), ("a.c", "typedef struct state Info;", ["Info"]),
                                     ("a.h", "template <typename Part>", ["Part"]), ("a.py", "class Helper:", ["Helper"]),
                                     ("a.py", "    class Data(Base):", ["Data"]), ("a.h", "struct FileKind {};", []),
                                     ("a.h", "// A struct Kind was here.", []), ("a.h", "class Kinds;", []),
                                     ("a.py", "kind = Data(3)", []), ("a.py", "class DataLoader:", [])):
            with self.subTest(text):
                self.assertEqual(bare_types_in(name, text), expected)

    def test_shows_each_kind_of_fault(self):
        known = {"decode-image", "normalize", "pad", "webdataset", "color-jitter"}
        for text, expected in (('if (op.op == "normalize") return;', ["normalize", "normalize"]),
                               ('if (op.op != "pad") return;', ["pad"]),
                               ('find_operation("pad")', ["pad"]),
                               ('constexpr std::string_view kOp = "decode-image";', ["decode-image"]),
                               ('complain("must begin with decode-image, whose");', ["decode-image"]),
                               ('if (spec.type != "webdataset") f();', ["webdataset", "webdataset"]),
                               ('out["pad"] = "longest";  // decode-image', []),
                               ('say("such as color-jitter");', [])):
            with self.subTest(text):
                self.assertEqual([name for name in faults_in(text, known) if name != "color-jitter"], expected)


if __name__ == "__main__":
    cases.main()
