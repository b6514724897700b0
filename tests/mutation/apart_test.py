#!/usr/bin/python3
"""compile_apart.py compiles the files of a unit each alone where one of them is changed, and runs other words as they are."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases

APART = ROOT / "tests/mutation/compile_apart.py"
# Together they are no program: a name stands in both.
FILES = {
    "one.cpp": '#include "both.h"\nstatic int inner() { return 1; }\nint one() { return inner() + kBoth; }\n',
    "two.cpp": '#include "both.h"\nstatic int inner() { return 2; }\nint two() { return inner() + kBoth; }\n',
    "both.h": "#pragma once\ninline constexpr int kBoth = 3;\n",
    "room-unity0.cpp": '#include "../one.cpp"\n#include "../two.cpp"\n',
    "main.cpp": "int one(); int two();\nint main() { return one() + two(); }\n",
}


class Apart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.build = self.root / "build"
        self.build.mkdir()
        for name, text in FILES.items():
            ((self.build if "unity" in name else self.root) / name).write_text(text)

    def compile(self, changed, source="room-unity0.cpp", made="room.o"):
        environment = {name: value for name, value in os.environ.items() if name != "SPDLD_CHANGED_FILE"}
        if changed:
            environment["SPDLD_CHANGED_FILE"] = str(self.root / changed)
        words = [APART, "g++", "-MD", "-MQ", made, "-MF", f"{made}.d", "-o", made, "-c", source]
        return subprocess.run(words, cwd=self.build, env=environment, capture_output=True, text=True)

    def test_a_unit_with_a_change_is_compiled_file_by_file(self):
        for changed in ("one.cpp", "two.cpp"):
            done = self.compile(changed)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(path.name for path in self.build.iterdir()), ["room-unity0.cpp", "room.o", "room.o.d"])
            needs = (self.build / "room.o.d").read_text()
            self.assertTrue(needs.startswith("room.o: "), needs)
            self.assertLessEqual({"one.cpp", "two.cpp", "both.h"}, {Path(name).name for name in needs.split()[1:]})
            (self.build / "room.o").rename(self.build / "kept.o")
            subprocess.run(["g++", "-o", "program", "../main.cpp", "kept.o"], cwd=self.build, check=True)
            self.assertEqual(subprocess.run([self.build / "program"]).returncode, 9)
            for name in ("kept.o", "program", "room.o.d"):
                (self.build / name).unlink()

    def test_another_unit_or_one_of_a_changed_header_is_compiled_as_it_is(self):
        for changed in (None, "main.cpp", "both.h"):
            done = self.compile(changed)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("inner", done.stderr)

    def test_a_file_that_is_no_unit_is_compiled_as_it_is(self):
        done = self.compile("one.cpp", "../one.cpp")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.build / "room.o").is_file())

    def test_what_the_compiler_refuses_is_told(self):
        (self.root / "two.cpp").write_text("int two() { return lost; }\n")
        done = self.compile("one.cpp")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "two.cpp.*error: .*lost")
        self.assertFalse((self.build / "room.o").exists())


if __name__ == "__main__":
    cases.main()
