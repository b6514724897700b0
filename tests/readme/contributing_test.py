#!/usr/bin/python3
"""CONTRIBUTING.md names files, folders and commits that are there. Its commands are looked up with those of all pages."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import pages

PAGE = pages.all_pages()["CONTRIBUTING.md"]
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}
PLACEHOLDER = re.compile(r"NAME|ROOM|MEDIUM")
COMMIT = re.compile(r"`([0-9a-f]{8})` \(([^)]+)\)")


def codes(page):
    """What stands in backquotes, each with its line."""
    for number, line in page.lines:
        for code in re.findall(r"`([^`]+)`", line):
            yield number, code


def places(page):
    """(line, path) of every file and folder: in a path, NAME, ROOM and MEDIUM stand for any name."""
    for line, code in codes(page):
        first = code.split()[0]
        if first.split("/")[0] in FOLDERS and "/" in first or re.fullmatch(r"[.\w]+\.(md|inc|build|txt|yaml|toml)", first):
            yield line, first


def is_there(root, place):
    if not PLACEHOLDER.search(place):
        return (root / place).exists() or bool(list(root.glob(f"**/{place}")) if "/" not in place else [])
    pattern = PLACEHOLDER.sub("*", place)
    return any(root.glob(pattern)) or any(root.glob(re.sub(r"/\*(?=[^/]*$)", "/**/*", pattern)))


def commits(page):
    """(hash, subject)"""
    return COMMIT.findall(" ".join(line for _, line in page.lines))


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)


def has_history():
    shallow = git("rev-parse", "--is-shallow-repository")
    return shallow.returncode == 0 and shallow.stdout.strip() == "false"


class ThePage(unittest.TestCase):
    def test_files_and_folders_are_there(self):
        found = list(places(PAGE))
        self.assertGreater(len(found), 40)
        faults = [f"CONTRIBUTING.md:{line}: {place} is not there" for line, place in found if not is_there(ROOT, place)]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_every_part_has_a_commit(self):
        text = "\n".join(line for _, line in PAGE.lines)
        parts = re.split(r"^### ", text.split("## One room")[0], flags=re.MULTILINE)[1:]
        self.assertEqual([part.split()[1] for part in parts],
                         ["operation", "source", "medium", "command", "message", "statistic"])
        for part in parts:
            self.assertTrue(COMMIT.search(" ".join(part.splitlines())), part.splitlines()[0])

    @unittest.skipUnless(has_history(), "this copy of the tree has no history, or only a part of it")
    def test_commits_are_there(self):
        self.assertEqual(len(commits(PAGE)), len(re.findall(r"`[0-9a-f]{8}`", "\n".join(line for _, line in PAGE.lines))))
        for commit, subject in commits(PAGE):
            shown = git("show", "--no-patch", "--format=%s", commit)
            self.assertEqual((shown.returncode, shown.stdout.strip()), (0, subject), commit)


class TheLook(unittest.TestCase):
    def test_finds_what_is_not_there(self):
        page = pages.Page("p.md", "`tests/run --suite x`, `daemon/nowhere/x.cpp`, `nothing.toml`, and `spdlctl why`\n")
        self.assertEqual([place for _, place in places(page)], ["tests/run", "daemon/nowhere/x.cpp", "nothing.toml"])
        self.assertEqual([is_there(ROOT, place) for _, place in places(page)], [True, False, False])

    def test_takes_placeholders_for_any_name(self):
        for place, there in (("config/operations/MEDIUM/NAME.cpp", True), ("daemon/media/MEDIUM/NAME.cpp", True),
                             ("config/operations/MEDIUM/NAME.py", False), ("nowhere/ROOM/NAME.cpp", False)):
            with self.subTest(place=place):
                self.assertEqual(is_there(ROOT, place), there)


if __name__ == "__main__":
    cases.main()
