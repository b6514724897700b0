#!/usr/bin/env python3
"""The differential run over whole folders, on corpora that this test makes: every file comes into the class that it must have.

    whole_corpus_test.py --build DIR --formats NAME,NAME... --parquet yes|no
"""
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / "whole"), str(HERE), str(ROOT / "tests/support")]
import cases

OPTIONS = cases.options("build", "formats", "parquet")
BUILD = Path(OPTIONS.build)
sys.path.insert(0, str(BUILD / "client/python"))
import daemon
import media_files
import own_side
import references
import verdicts

FORMATS = [name for name in OPTIONS.formats.split(",") if name in ("bmp", "webp", "gif", "avif", "jpeg2000")]
NEW = ("avif", "jpeg2000")  # of which Debian's Pillow writes none, or others
FINE = ("equal", "within tolerance")
# Pillow takes the entries of the oldest header's palette for longer than they are, and so looks for pixels behind the file.
REFUSED_BY_PILLOW = {"core-at-palette-1.bmp", "core-at-palette-4.bmp", "core-at-palette-8.bmp", "rgb-52.bmp", "rgb-56.bmp",
                     "565-52.bmp", "565-56.bmp"}


def run(*arguments, environment=None):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False,
                          env={**os.environ, **(environment or {})})


def make_corpus(folder):
    for name in FORMATS:
        (folder / name).mkdir()
        made = run(HERE / "compare_pictures.py", "--make", folder / name, name,
                   environment={"PYTHONPATH": str(ROOT / "build/pillow")} if name in NEW else None)
        if made.returncode:
            raise RuntimeError(made.stderr)
    media_files.make_media(folder, 1)
    daemon.make_pictures(folder / "jpeg", classes=1, of_each=4)
    bad = folder / "bad"
    bad.mkdir()
    jpeg = next((folder / "jpeg").rglob("*.jpg")).read_bytes()
    (bad / "cut.jpg").write_bytes(jpeg[:len(jpeg) // 2])
    (bad / "text.png").write_text("no picture, but a text")
    (bad / "zeros.mp3").write_bytes(bytes(4000))
    (folder / "notes.txt").write_text("of no kind that is compared")


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="spdld-whole-")
        cls.addClassCleanup(made.cleanup)
        cls.folder = Path(made.name, "corpus")
        cls.folder.mkdir()
        make_corpus(cls.folder)
        if OPTIONS.parquet == "yes":
            subprocess.run([ROOT / "build/stores-venv/bin/python", HERE.parent / "source/parquet/make_file.py",
                            cls.folder / "many.parquet"],
                           env={**os.environ, "PYTHONPATH": str(ROOT / "build/arrow")}, check=True, timeout=60)
        out = cls.folder.parent / "out.json"
        cls.done = run(HERE / "whole_corpus", cls.folder, "--build", BUILD, "--out", out)
        if not out.exists():
            raise RuntimeError(cls.done.stdout + cls.done.stderr)
        cls.told = json.loads(out.read_text())
        cls.classes = {Path(one["file"]).relative_to(cls.folder): one for one in cls.told["files"]}

    def test_each_file_is_in_its_class(self):
        wrong = []
        for path, one in self.classes.items():
            wanted = {"bad/text.png": ("refused by both",), "bad/zeros.mp3": ("refused by both",),
                      "bad/cut.jpg": ("refused by both",)}.get(
                str(path), ("refused by the reference alone", *FINE) if path.name in REFUSED_BY_PILLOW else FINE)
            if one["class"] not in wanted:
                wrong.append(f"{path}: {one['class']}: {one['remark']}")
        self.assertEqual(wrong, [])
        self.assertEqual(self.done.returncode, 0, self.done.stdout)

    def test_all_kinds_were_compared_and_counted(self):
        media = collections.Counter(path.parts[0] for path in self.classes)
        for name in [*FORMATS, "videos", "sounds", "jpeg", *(["many.parquet"] if OPTIONS.parquet == "yes" else [])]:
            self.assertGreater(media[name], 0, name)
        self.assertEqual((self.told["missed"], self.told["left_out"]), (0, 1))
        lossless = [one["class"] for path, one in self.classes.items() if path.suffix in (".flac", ".wav", ".gif", ".webp")]
        self.assertEqual(set(lossless), {"equal"})
        self.assertIn("| equal |", self.done.stdout)
        self.assertIn("no picture but text", self.classes[Path("bad/text.png")]["remark"])

    def test_a_run_ends_in_its_time(self):
        done = run(HERE / "whole_corpus", self.folder, "--build", BUILD, "--seconds", "0")
        self.assertIn("0 files were compared", done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_a_daemon_that_hangs_or_dies_is_told_of_its_file(self):
        path = next((self.folder / "jpeg").rglob("*.jpg"))
        output = {"name": "picture", "from": "file", "ops": [{"op": "decode-image"}, {"op": "center-crop", "size": [8, 8]}]}
        for signals, wanted in (((), None), ((signal.SIGSTOP,), "time-out"), ((signal.SIGSTOP, signal.SIGKILL), "crash"),
                                ((), None)):
            spdld = own_side.Spdld(str(BUILD / "daemon/spdld"), 3 if wanted == "time-out" else 8)
            process = spdld.started().process
            for number, one in enumerate(signals):
                if number == 0:
                    process.send_signal(one)
                else:
                    threading.Thread(target=lambda one=one: (time.sleep(0.5), process.send_signal(one)), daemon=True).start()
            ((_, given),) = spdld.of_all([path], output, 192)
            with self.subTest(wanted=wanted):
                if wanted is None:
                    self.assertEqual(given.shape, (8, 8, 3))
                else:
                    self.assertIn(wanted, given)
            again = dict(spdld.of_all([path], output, 192))[path]  # by a new daemon
            self.assertEqual(again.shape, (8, 8, 3))
            spdld.close()


class Verdicts(unittest.TestCase):
    def kind(self, ours, values, name="PNG", medium="picture", **more):
        return verdicts.verdict_of(medium, {"values": values, "format": name, **more}, ours).kind

    def test_bounds(self):
        values = np.full((4, 5, 3), 100, np.uint8)
        other = values.copy()
        self.assertEqual(self.kind(other, values), "equal")
        other[2, 3, 1] += 1
        self.assertEqual(self.kind(other, values), "different")
        self.assertEqual(self.kind(other, values, "JPEG"), "within tolerance")
        other[2, 3, 1] += 3
        self.assertEqual(self.kind(other, values, "JPEG"), "different")
        self.assertEqual(self.kind(values[:3], values), "different")
        sound = np.linspace(-1, 1, 100, dtype=np.float32)[:, None]
        self.assertEqual(self.kind(sound + np.float32(0.9 / 32768), sound, medium="sound"), "within tolerance")
        self.assertEqual(self.kind(sound + np.float32(2 / 32768), sound, medium="sound"), "different")
        self.assertEqual(self.kind(sound[1:], sound, medium="sound"), "different")
        frames = np.full((2, 4, 4, 3), 100, np.uint8)
        self.assertEqual(self.kind(frames + np.uint8(3), frames, medium="video", luma=references.LUMA["bt601"]),
                         "within tolerance")
        self.assertEqual(self.kind(frames + np.uint8(9), frames, medium="video", luma=references.LUMA["bt601"]), "different")

    def test_refusals(self):
        values = {"values": np.zeros((1, 1, 3), np.uint8), "format": "PNG"}
        for reference, ours, kind in (({"refused": "x"}, {"refused": "y"}, "refused by both"),
                                      (values, {"refused": "y"}, "refused by spdld alone"),
                                      ({"refused": "x"}, values["values"], "refused by the reference alone"),
                                      (values, {"crash": "y"}, "crash"),
                                      ({"refused": "x"}, {"time-out": "y"}, "time-out"),
                                      ({"refused": "not compared: x"}, values["values"], "not compared")):
            self.assertEqual(verdicts.verdict_of("picture", reference, ours).kind, kind)

    def test_rows(self):
        rows = [{"a": "01", "b": None}, {"a": "02", "b": "beyond"}]
        null, beyond = "f, row 0, column b: it is null", "f, row 1, column b: its time lies beyond"
        self.assertEqual(verdicts.compared_rows(rows, [{"a": "01", "b": null}, {"a": "02", "b": beyond}]).kind, "equal")
        self.assertEqual(verdicts.compared_rows(rows, [{"a": "01", "b": null}, {"a": "02", "b": "00"}]).kind, "different")
        self.assertEqual(verdicts.compared_rows(rows, [{"a": "01", "b": null}, {"a": "f: can't be decoded", "b": beyond}]).kind,
                         "refused by spdld alone")
        self.assertEqual(verdicts.compared_rows(rows, [{"a": "01", "b": null}]).kind, "different")
        self.assertEqual(verdicts.rows_alone([{"a": "01", "b": null}], "x").kind, "refused by the reference alone")
        self.assertEqual(verdicts.rows_alone([{"a": "f: can't be decoded", "b": null}], "x").kind, "refused by both")


if __name__ == "__main__":
    cases.main()
