#!/usr/bin/python3
"""No code above a medium knows an operation or a type of source by its name: it asks for what the type can do."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases

TABLES = {"operations.inc": ("OPERATION",), "batch_operations.inc": ("BATCH_OPERATION",), "sources.inc": ("SOURCE",)}
# Rooms that are an operation's or a source's own.
OWN = ("config/operations/", "config/batch_operations/", "config/source", "daemon/media/", "daemon/mixing/", "daemon/source/",
       "client/python/")
# Names that are keys, units, fields or other words as well: of these, only the ways in which code asks for an operation count.
WORDS = {"bytes", "boxes", "images", "jpeg", "lines", "manifest", "pad", "points", "records"}
# Help texts that name operations as examples. Each is a name of the table.
EXAMPLES = {"horizontal-flip", "color-jitter", "parse-int", "parse-float", "image-folder"}


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


class TheTree(unittest.TestCase):
    def test_names_no_operation_above_its_medium(self):
        known = names()
        self.assertGreater(len(known), 90)
        self.assertLess(EXAMPLES | WORDS, known)
        paths = [path for room in ("proto", "config", "daemon", "client") for path in (ROOT / room).rglob("*")
                 if path.suffix in (".cpp", ".h") and not str(path.relative_to(ROOT)).startswith(OWN)]
        self.assertGreater(len(paths), 300)
        found = [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in faults_in(path.read_text(), known)]
        self.assertEqual(found, [], "ask for a trait of the type:\n" + "\n".join(found))


class MadeUpCode(unittest.TestCase):
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
