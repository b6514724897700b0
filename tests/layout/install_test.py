#!/usr/bin/python3
"""tests/install installs once what several clones ask for, in made-up clones whose deploy/install-arrow counts its calls."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases

INSTALL_ARROW = """#!/bin/bash
version={version}
echo "$1" >>"$(dirname "$0")/calls"
mkdir -p "$1" && echo {version} >"$1/arrow.txt"
{end}
"""
DAY_S = 24 * 3600
NOBODY = 65534


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.shared = self.folder / "shared"

    def clone(self, name, version="1.0", end=""):
        root = self.folder / name
        (root / "tests").mkdir(parents=True, exist_ok=True)
        (root / "deploy").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests/install", root / "tests/install")
        script = root / "deploy/install-arrow"
        script.write_text(INSTALL_ARROW.format(version=version, end=end))
        script.chmod(0o755)
        return root

    def install(self, root, *names):
        return subprocess.run([root / "tests/install", *names], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "SPDLD_INSTALLED": str(self.shared)})

    def installed(self, root):
        done = self.install(root, "arrow")
        self.assertEqual(done.returncode, 0, done.stderr)
        return (root / "build/arrow/arrow.txt").read_text().strip()

    def calls(self, root):
        file = root / "deploy/calls"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def test_a_second_clone_installs_nothing(self):
        one, two = self.clone("one"), self.clone("two")
        self.assertEqual([self.installed(one), self.installed(one), self.installed(two)], ["1.0"] * 3)
        self.assertEqual((self.calls(one), self.calls(two)), (1, 0))
        self.assertEqual((one / "build/arrow").resolve(), (two / "build/arrow").resolve())

    def test_other_requirements_are_another_folder(self):
        one, two = self.clone("one"), self.clone("two", "2.0")
        self.assertEqual([self.installed(one), self.installed(two), self.installed(one)], ["1.0", "2.0", "1.0"])
        self.assertEqual((self.calls(one), self.calls(two)), (1, 1))

    def test_what_failed_or_was_stopped_is_installed_again(self):
        root = self.clone("one", end="exit 1")
        done = self.install(root, "arrow")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tests/install: arrow can't be installed", done.stderr)
        self.assertFalse((root / "build/arrow").exists())
        self.clone("one")
        self.assertEqual(self.installed(root), "1.0")
        self.assertEqual(self.calls(root), 2)

    def test_a_folder_from_before_becomes_a_link(self):
        root = self.clone("one")
        (root / "build/arrow").mkdir(parents=True)
        (root / "build/arrow/old.txt").write_text("old\n")
        self.assertEqual(self.installed(root), "1.0")
        self.assertTrue((root / "build/arrow").is_symlink())
        self.assertFalse((root / "build/arrow/old.txt").exists())

    def test_what_nobody_asks_for_goes(self):
        old, root = self.clone("old", "1.0"), self.clone("one", "2.0")
        self.installed(old)
        folder = (old / "build/arrow").resolve()
        for days, is_there in ((59, True), (61, False)):
            then = time.time() - days * DAY_S
            os.utime(folder / ".whole", (then, then))
            self.installed(root)
            self.assertEqual(folder.exists(), is_there, days)

    def test_what_is_refused(self):
        root = self.clone("one")
        done = self.install(root, "arrows")
        self.assertEqual((done.returncode, "nothing is called arrows" in done.stderr), (2, True))
        self.shared = Path("/")
        if os.geteuid() == 0:
            self.shared = self.folder / "theirs"
            self.shared.mkdir()
            os.chown(self.shared, NOBODY, NOBODY)
        done = self.install(root, "arrow")
        self.assertEqual((done.returncode, "belongs to another user" in done.stderr), (1, True))
        self.shared = self.folder / "link"
        (self.folder / "own").mkdir()
        self.shared.symlink_to(self.folder / "own")
        done = self.install(root, "arrow")
        self.assertEqual((done.returncode, "or is a link" in done.stderr), (1, True))
        self.assertEqual(self.calls(root), 0)


if __name__ == "__main__":
    cases.main()
