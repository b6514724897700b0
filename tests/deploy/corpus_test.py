#!/usr/bin/python3
"""What the scripts of deploy/ make: the corpus is real, whole and the same every time; pipeline files fit the folder."""
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases

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


def probe(path, *asked):
    """Returns what ffprobe says of a file, as it writes JSON."""
    said = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *asked, str(path)], capture_output=True,
                          text=True, timeout=100)
    if said.returncode != 0:
        raise RuntimeError(said.stderr)
    return json.loads(said.stdout)


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class Videos(unittest.TestCase):
    OPTIONS = ("--classes", 2, "--size", "64x48")

    def make(self, name, *options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        made = run("make_videos.py", Path(folder.name) / name, *self.OPTIONS, *options)
        if "no photographs" in made.stderr:
            self.skipTest("the wallpaper packages are not installed")
        self.assertEqual(made.returncode, 0, made.stderr)
        return Path(folder.name) / name

    def frames_of(self, path):
        return probe(path, "-select_streams", "v", "-show_entries", "frame=key_frame,pict_type")["frames"]

    def test_they_are_what_was_asked_for(self):
        for gop, bframes in ((12, 0), (50, 2)):
            folder = self.make("videos", "--count", 3, "--gop", gop, "--bframes", bframes)
            self.assertEqual(list(digest(folder)), ["000/000000.mp4", "000/000002.mp4", "001/000001.mp4"])
            path = folder / "001/000001.mp4"
            stream = probe(path, "-show_entries", "stream=codec_name,width,height,pix_fmt,r_frame_rate")["streams"]
            self.assertEqual(stream, [{"codec_name": "h264", "width": 64, "height": 48, "pix_fmt": "yuv420p",
                                       "r_frame_rate": "30/1"}])
            frames = self.frames_of(path)
            self.assertEqual(len(frames), 300)
            self.assertEqual([number for number, frame in enumerate(frames) if frame["key_frame"]], list(range(0, 300, gop)))
            types = "".join(frame["pict_type"] for frame in frames)
            self.assertEqual("B" in types, bframes > 0)
            self.assertNotIn("B" * (bframes + 1), types)

    def test_they_move_and_are_the_same_again(self):
        folder = self.make("videos", "--count", 2)
        files = digest(folder)
        self.assertEqual(len(set(files.values())), 2)
        self.assertEqual(digest(self.make("again", "--count", 2)), files)
        self.assertFalse(set(digest(self.make("other", "--count", 2, "--seed", 1)).values()) & set(files.values()))
        said = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / "000/000000.mp4", "-f", "framemd5", "-"],
                              capture_output=True, text=True, timeout=100)
        sums = [line.split(",")[-1] for line in said.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual((said.returncode, len(sums)), (0, 300), said.stderr)
        self.assertGreater(len(set(sums)), 270)  # the encoder may repeat a frame

    def test_what_it_refuses(self):
        for options, words in ((("--size", "63x48"), "even numbers"), (("--size", "64"), "even numbers"),
                               (("--audio", "wav"), "flac, mp3"),
                               (("--gop", 0), "at least 1")):
            made = run("make_videos.py", "/nowhere/videos", *options)
            self.assertEqual(made.returncode, 2)
            self.assertIn(words, made.stderr)


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class Sounds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def make(self, name, *options):
        made = run("make_videos.py", self.folder / name, *options)
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.folder / name

    def test_the_codecs_take_turns(self):
        folder = self.make("sounds", "--count", 6, "--classes", 2, "--audio")
        wanted = {"flac": ("flac", "44100"), "mp3": ("mp3", "44100"), "opus": ("opus", "48000")}
        self.assertEqual(list(digest(folder)), ["000/000000.flac", "000/000002.mp3", "000/000004.opus", "001/000001.flac",
                                                "001/000003.mp3", "001/000005.opus"])
        for path in folder.rglob("*.*"):
            said = probe(path, "-show_entries", "stream=codec_name,sample_rate,channels:format=duration")
            stream = said["streams"][0]
            self.assertEqual((stream["codec_name"], stream["sample_rate"]), wanted[path.suffix[1:]])
            self.assertEqual(stream["channels"], 2)
            self.assertAlmostEqual(float(said["format"]["duration"]), 10, delta=0.1)

    def test_they_are_loud_and_the_same_again(self):
        folder = self.make("sounds", "--count", 2, "--classes", 1, "--audio", "flac")
        files = digest(folder)
        self.assertEqual(len(set(files.values())), 2)
        self.assertEqual(digest(self.make("again", "--count", 2, "--classes", 1, "--audio", "flac")), files)
        self.assertFalse(set(digest(self.make("other", "--count", 2, "--classes", 1, "--audio", "flac", "--seed", 1)).values())
                         & set(files.values()))
        said = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / "000/000000.flac", "-f", "s16le", "-"],
                              capture_output=True, timeout=100)
        samples = np.frombuffer(said.stdout, "<i2").reshape(-1, 2)
        self.assertEqual(len(samples), 441000)
        self.assertTrue((samples.std(axis=0) > 500).all() and (abs(samples.astype(int)).max(axis=0) < 32767).all())


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

    def test_a_folder_of_videos_or_sounds(self):
        for word, names, wanted in (("clip", ("a.mp4", "b.webm", "c.txt"), '"mp4,webm"'),
                                    ("mel", ("a.MP3", "b.mp3", "c.jpg"), '"mp3"')):
            folder = self.folder / word
            (folder / "one").mkdir(parents=True)
            for name in names:
                (folder / "one" / name).touch()
            made = run("quickstart_pipeline.py", folder).stdout
            self.assertIn(f'name = "{word}"\nfrom = "image"', made)
            self.assertIn(f"extensions = {wanted}\n", made)

    def test_shards_of_videos_or_sounds(self):
        for member, word in (("flac", "mel"), ("mp4", "clip")):
            self.shard("0.tar", (f"a.{member}", "a.cls"))
            self.assertIn(f'name = "{word}"\nfrom = "{member}"', run("quickstart_pipeline.py", self.folder).stdout)

    def test_a_folder_without_pictures(self):
        for folder, words in ((self.folder, "neither"), (self.folder / "none", "not a folder")):
            made = run("quickstart_pipeline.py", folder)
            self.assertEqual(made.returncode, 1)
            self.assertIn(words, made.stderr)


if __name__ == "__main__":
    cases.main()
