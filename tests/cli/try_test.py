#!/usr/bin/python3
"""spdlctl try: which program it becomes, and what it says where it can't. tests/python/functions tries samples with it."""
import os
import sys
import tempfile
from pathlib import Path

from ctl_case import USAGE, WRONG, Case, cases, spdlctl

# Stands in for a Python: it answers the question for the package with a code of the test's, and tells what it was started with.
FAKE = """#!/bin/sh
if [ "$1" = -c ]; then exit {code}; fi
echo "as $SPDLD_TRY_AS"
for word in "$@"; do echo "$word"; done
exit 7
"""


class Try(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "small.toml"
        self.file.write_text("")

    def python(self, code=0, name="python3"):
        path = self.folder / name
        path.write_text(FAKE.format(code=code))
        path.chmod(0o755)
        return path

    def test_it_becomes_the_package_s_command(self):
        done = spdlctl("try", self.file, "--sample", 17, "--epoch", 3, "--pdb", "--pictures", "--save", "seen folder",
                       "--python", self.python(), "--socket", "/run/s", "--timeout-ms", 1500, "-o", "json")
        self.assertEqual((done.returncode, done.stderr), (7, ""))
        self.assertEqual(done.stdout.splitlines(), [
            "as spdlctl", "-m", "spdld", "try", "--sample=17", "--epoch=3", "--output=json", "--socket=/run/s",
            "--timeout=1.500000", "--save=seen folder", "--pdb", "--pictures", str(self.file)])

    def test_the_python_of_the_path_is_the_default(self):
        self.python()
        done = spdlctl("try", self.file, "--sample", "cats/--1.jpg",
                       env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.assertEqual(done.stdout.splitlines()[1:], ["-m", "spdld", "try", "--sample=cats/--1.jpg", "--epoch=0",
                                                        "--output=text", str(self.file)])

    def test_a_file_is_no_option(self):
        (self.folder / "-odd.toml").write_text("")
        done = spdlctl("try", "--sample", 1, "--python", self.python(), "--", "-odd.toml", cwd=self.folder)
        self.assertEqual(done.stdout.splitlines()[-1], "./-odd.toml")

    def test_a_python_without_the_package(self):
        for python in (self.python(3, "without"), sys.executable):
            done = spdlctl("try", self.file, "--sample", 1, "--python", python)
            self.assert_sentence(done, WRONG)
            self.assertIn(f"{python} has no package spdld of this version: install it there, or name another Python with "
                          "--python", done.stderr)

    def test_a_python_that_is_none(self):
        for python in (self.folder / "missing", self.folder):
            done = spdlctl("try", self.file, "--sample", 1, "--python", python)
            self.assert_sentence(done, WRONG)
            self.assertIn(f"cannot start {python}", done.stderr)
        done = spdlctl("try", self.file, "--sample", 1, "--python", self.python(1))
        self.assert_sentence(done, WRONG)
        self.assertIn("could not be asked", done.stderr)

    def test_wrong_words(self):
        for words in ([self.file], ["imagenet", "--sample", 1], [self.file, "--sample", 1, "--epoch", "x"], ["--sample", 1]):
            self.assert_sentence(spdlctl("try", *words, "--python", self.python()), USAGE)

    def test_its_help_says_how_to_use_it(self):
        done = spdlctl("try", "--help")
        self.assertEqual(done.returncode, 0)
        for word in ("--sample", "--epoch", "--pdb", "--save", "--python", "Examples", "breakpoint()", "exit code"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    cases.main()
