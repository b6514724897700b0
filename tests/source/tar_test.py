#!/usr/bin/env python3
"""Archives of all formats give what the tar program unpacks from them, and Python's tarfile reads.

    tar_test.py --dump TABLE_DUMP
"""
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import cases

DUMP = cases.options("dump").dump
FORMATS = ("v7", "oldgnu", "gnu", "ustar", "pax")
PYTHON_FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)


class Tar(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tree = self.folder / "tree"
        self.count = 0

    def run_tar(self, *arguments):
        done = subprocess.run(["tar", *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, name, content):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def link(self, name, target, hard=False):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(self.tree / target, path) if hard else os.symlink(target, path)

    def archive(self, name="a.tar", *options, what=(".",), tree=None):
        path = self.folder / name
        self.run_tar("-C", tree or self.tree, "-cf", path, *options, *what)
        return path

    def listed(self, path):
        """What each member of each sample gives, and the remarks of the listing."""
        done = subprocess.run([DUMP, "webdataset", "{}", str(path)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, *samples = map(json.loads, done.stdout.splitlines())
        found = {}
        for sample in samples:
            key = sample.pop("path").partition(":")[2]
            for extension, value in sample.items():
                if value is not None:
                    name = os.path.normpath(f"{key}.{extension}")
                    self.assertNotIn(name, found)
                    found[name] = bytes.fromhex(value) if not value.startswith("bad: ") else value
        return found, "\n".join(head["remarks"])

    def unpacked(self, path, *options):
        """What the tar program unpacks: all that can be read as a file, and has a key and an extension."""
        self.count += 1
        to = self.folder / f"unpacked{self.count}"
        to.mkdir()
        self.run_tar("-C", to, "-xf", path, *options)
        found = {}
        for folder, _, names in os.walk(to):
            for name in names:
                whole = Path(folder, name)
                stem, dot, extension = name.partition(".")
                if stem and dot and extension and whole.is_file() and whole.resolve().is_relative_to(to.resolve()):
                    found[str(whole.relative_to(to))] = whole.read_bytes()
        return found

    def check_same(self, path, *options):
        found, remarks = self.listed(path)
        self.assertEqual(found, self.unpacked(path, *options))
        return found, remarks

    def make_tree(self):
        self.write("0.jpg", "zero" * 300)
        self.write("0.cls", "0")
        self.write("deep/" + "d" * 60 + "/e/1.jpg", "one" * 1000)
        self.write("blobs/sha256-1", "blob")
        self.link("2.jpg", "0.jpg", hard=True)
        self.link("2.cls", "0.cls")
        self.link("3.jpg", "2.jpg")
        self.link("deep/4.jpg", "../blobs/sha256-1")
        self.link("later", "deep")
        self.link("deep/" + "d" * 60 + "/e/5.jpg", "../../../later/4.jpg")
        self.link("deep/6.jpg", "deep/" + "d" * 60 + "/e/1.jpg", hard=True)
        self.link("7.jpg", "nothing.jpg")
        self.link("8.jpg", "8.jpg")


class Formats(Tar):
    def test_links_of_all_formats_give_what_is_unpacked(self):
        self.make_tree()
        for kind in FORMATS:
            if kind == "oldgnu":
                os.mkfifo(self.tree / "9.jpg")  # which the oldest format has not
            for options in ((), ("--sort=name",), ("-h", "--ignore-failed-read", "--exclude=7.jpg", "--exclude=8.jpg"),
                            ("--hard-dereference",)):
                with self.subTest(kind=kind, options=options):
                    found, remarks = self.check_same(self.archive("a.tar", f"--format={kind}", *options))
                    self.assertGreaterEqual(len(found), 9)
                    self.assertEqual("7.jpg is a link to nothing.jpg" in remarks, "-h" not in options)
                    self.assertEqual("8.jpg is a link to 8.jpg, which leads round" in remarks, "-h" not in options)
                    self.assertEqual("9.jpg is a device or a FIFO" in remarks, kind != "v7")

    def test_names_and_targets_that_need_extended_headers(self):
        deep = "/".join(["f" * 90] * 3)
        self.write(f"{deep}/1.jpg", "one")
        self.link(f"{deep}/2.jpg", f"{deep}/1.jpg", hard=True)
        self.link("3.jpg", f"{deep}/2.jpg")
        self.write("\u00fc\u4e2d/4.jpg", "four")
        self.link("5.jpg", "\u00fc\u4e2d/4.jpg")
        for kind in ("oldgnu", "gnu", "pax"):
            with self.subTest(kind=kind):
                found, remarks = self.check_same(self.archive("a.tar", f"--format={kind}"))
                self.assertEqual((len(found), remarks), (5, ""))

    def test_packed_archives(self):
        self.make_tree()
        plain, said = self.listed(self.archive())
        for ending, program in ((".tar.gz", "gzip"), (".tar.zst", "zstd")):
            packed, remarks = self.listed(self.archive("a" + ending, f"--use-compress-program={program}"))
            self.assertEqual(packed, plain)
            self.assertEqual(remarks.replace(ending, ".tar"), said)

    def test_sparse_files_are_named(self):
        self.write("1.jpg", "one")
        with open(self.tree / "2.jpg", "wb") as file:
            file.write(b"begin")
            file.seek(1 << 20)
            file.write(b"end")
        for options in (("--format=gnu",), ("--format=oldgnu",), ("--format=pax", "--sparse-version=0.0"),
                        ("--format=pax", "--sparse-version=0.1"), ("--format=pax", "--sparse-version=1.0")):
            with self.subTest(options=options):
                found, remarks = self.listed(self.archive("a.tar", "-S", *options))
                self.assertEqual(found, {"1.jpg": b"one"})
                self.assertRegex(remarks, r"the member (\./)?2\.jpg is a sparse file")

    def test_python_writes_and_reads_the_same(self):
        for kind in PYTHON_FORMATS:
            with self.subTest(kind=kind):
                path = self.folder / "python.tar"
                with tarfile.open(path, "w", format=kind) as tar:
                    def add(name, content=None, **more):
                        member = tarfile.TarInfo(name)
                        for key, value in more.items():
                            setattr(member, key, value)
                        member.size = len(content or b"")
                        tar.addfile(member, io.BytesIO(content or b""))
                    add("1.jpg", b"one")
                    add("a/2.jpg", type=tarfile.SYMTYPE, linkname="../1.jpg")
                    add("3.jpg", type=tarfile.LNKTYPE, linkname="1.jpg")
                    add("4.jpg", b"four", type=b"Q")
                    add("5.jpg", type=tarfile.SYMTYPE, linkname="a/./2.jpg")
                    add("6.jpg", type=tarfile.SYMTYPE, linkname="none.jpg")
                found, remarks = self.listed(path)
                with tarfile.open(path) as tar:
                    wanted = {member.name: tar.extractfile(member).read() for member in tar if member.name != "6.jpg"}
                self.assertEqual(found, wanted)
                self.assertIn('4.jpg is of the unknown type "Q"', remarks)
                self.assertIn("6.jpg is a link to none.jpg, which the archive does not hold", remarks)


class Joined(Tar):
    def parts(self):
        paths = []
        for part in range(3):
            tree = self.folder / f"part{part}"
            tree.mkdir()
            (tree / f"{part}.jpg").write_bytes(b"%d" % part * 700)
            os.link(tree / f"{part}.jpg", tree / f"{part}.png")
            os.symlink(f"{part}.png", tree / f"{part}.link")
            paths.append(self.archive(f"{part}.tar", f"--format={FORMATS[part + 2]}", tree=tree))
        return paths

    def test_archives_behind_one_another(self):
        paths = self.parts()
        joined = self.folder / "joined.tar"
        joined.write_bytes(b"".join(path.read_bytes() for path in paths))
        found, remarks = self.check_same(joined, "-i")
        self.assertEqual(len(found), 9)
        self.assertIn("it is 3 archives, one behind the other", remarks)
        packed = self.folder / "joined.tar.gz"
        packed.write_bytes(b"".join(gzip.compress(path.read_bytes()) for path in paths))
        self.assertEqual(self.listed(packed)[0], found)

    def test_archives_that_tar_concatenates_or_appends_to(self):
        first, second, third = self.parts()
        self.run_tar("-A", "-f", first, second)
        self.run_tar("-A", "-f", first, third)
        found, remarks = self.check_same(first)
        self.assertEqual((len(found), remarks), (9, ""))
        (self.folder / "part1" / "more.jpg").write_bytes(b"more")
        self.run_tar("-C", self.folder / "part1", "-rf", second, "more.jpg")
        self.assertEqual(len(self.check_same(second)[0]), 4)


class Any(Tar):
    def test_trees_of_any_links_give_what_is_unpacked(self):
        random.seed(36)
        for round_number in range(40):
            self.tree = self.folder / f"tree{round_number}"
            folders, names = ["."], []
            for number in range(30):
                folder = random.choice(folders)
                what = random.choice(("file", "file", "link", "link", "hard", "folder", "folder link"))
                name = os.path.normpath(f"{folder}/{number}" + ("" if "folder" in what else random.choice((".jpg", ".cls", ""))))
                if what == "folder":
                    folders.append(name)
                    (self.tree / name).mkdir(parents=True)
                elif what == "hard" and names and (self.tree / names[-1]).is_file():
                    self.link(name, names[-1], hard=True)
                elif what in ("link", "folder link"):
                    target = random.choice(folders if what == "folder link" else names + ["no.jpg", f"{number + 1}.jpg"])
                    start = "../" * random.randrange(3) if random.random() < 0.2 else ""
                    self.link(name, start + os.path.relpath(target, os.path.dirname(name) or "."))
                else:
                    self.write(name, f"{number}" * random.randrange(1, 900))
                if "folder" not in what:
                    names.append(name)
            kind = random.choice(FORMATS[1:])
            order = random.sample(names, len(names)) if random.random() < 0.5 else ["."]
            if order != ["."]:
                order += [name for name in os.listdir(self.tree) if (self.tree / name).is_symlink() and name not in order]
            with self.subTest(round=round_number, kind=kind):
                self.check_same(self.archive("any.tar", f"--format={kind}", what=order))


if __name__ == "__main__":
    cases.main()
