#!/usr/bin/python3
"""What the scripts of deploy/ make: the corpus is real, whole and the same every time; pipeline files fit the folder."""
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases  # noqa: E402

COUNT, CLASSES = 12, 3


def run(script, *arguments):
    return subprocess.run(["/usr/bin/python3", str(ROOT / "deploy" / script), *map(str, arguments)],
                          capture_output=True, text=True, timeout=100)


def digest(folder):
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*")) if file.is_file()}


class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.pictures, cls.shards = cls.folder / "pictures", cls.folder / "shards"
        for target, more in ((cls.pictures, ()), (cls.shards, ("--tar",))):
            made = run("make_corpus.py", target, "--count", COUNT, "--classes", CLASSES, *more)
            if "no photographs" in made.stderr:
                raise unittest.SkipTest("the wallpaper packages are not installed")
            if made.returncode != 0:
                raise RuntimeError(made.stderr)

    def test_it_has_all_pictures_in_their_classes(self):
        files = digest(self.pictures)
        self.assertEqual(len(files), COUNT)
        self.assertEqual(sorted({name.split("/")[0] for name in files}), ["000", "001", "002"])
        self.assertEqual(len(set(files.values())), COUNT, "no two pictures are the same")
        for name in files:
            with Image.open(self.pictures / name) as picture:
                self.assertEqual(picture.format, "JPEG")
                picture.load()

    def test_it_is_the_same_again_and_another_with_another_seed(self):
        again, other = self.folder / "again", self.folder / "other"
        for target, seed in ((again, 0), (other, 1)):
            made = run("make_corpus.py", target, "--count", COUNT, "--classes", CLASSES, "--seed", seed)
            self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(digest(again), digest(self.pictures))
        self.assertFalse(set(digest(other).values()) & set(digest(self.pictures).values()))

    def test_shards_hold_the_same_pictures(self):
        of_folder = {file.stem: file.read_bytes() for file in self.pictures.rglob("*.jpg")}
        labels = {file.stem: str(int(file.parent.name)) for file in self.pictures.rglob("*.jpg")}
        with tarfile.open(self.shards / "00000.tar") as shard:
            for member in shard:
                key, _, extension = member.name.partition(".")
                content = shard.extractfile(member).read()
                self.assertEqual(content, of_folder[key] if extension == "jpg" else labels[key].encode())
            self.assertEqual(len(shard.getnames()), 2 * COUNT)

    def test_it_never_writes_over_a_folder(self):
        made = run("make_corpus.py", self.pictures, "--count", 1)
        self.assertEqual(made.returncode, 2)
        self.assertIn("not empty", made.stderr)

    def test_a_pipeline_file_for_each(self):
        for folder, words in ((self.pictures, ('"image-folder"', f'uri  = "{self.pictures}"', '"class"')),
                              (self.shards, ('"webdataset"', f'uri  = "{self.shards}/00000.tar"', '"cls"'))):
            made = run("quickstart_pipeline.py", folder)
            self.assertEqual(made.returncode, 0, made.stderr)
            for word in words:
                self.assertIn(word, made.stdout)


class PipelineFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def shard(self, name, members):
        with tarfile.open(self.folder / name, "w") as archive:
            for member in members:
                archive.addfile(tarfile.TarInfo(member), io.BytesIO())

    def test_a_range_of_shards(self):
        for number in range(8, 12):
            self.shard(f"train-{number:03d}.tar", ("a.jpg", "a.cls"))
        self.assertIn('train-{008..011}.tar"', run("quickstart_pipeline.py", self.folder).stdout)

    def test_a_gap_between_shards(self):
        for number in (0, 2):
            self.shard(f"{number}.tar", ("a.jpg",))
        made = run("quickstart_pipeline.py", self.folder)
        self.assertEqual(made.returncode, 1)
        self.assertIn("without a gap", made.stderr)

    def test_shards_without_labels(self):
        self.shard("0.tar", ("a.jpeg", "b.cls"))
        made = run("quickstart_pipeline.py", self.folder)
        self.assertIn('from = "jpeg"', made.stdout)
        self.assertNotIn("label", made.stdout)

    def test_a_folder_without_pictures(self):
        for folder, words in ((self.folder, "neither"), (self.folder / "none", "not a folder")):
            made = run("quickstart_pipeline.py", folder)
            self.assertEqual(made.returncode, 1)
            self.assertIn(words, made.stderr)


if __name__ == "__main__":
    cases.main()
