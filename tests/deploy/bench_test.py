"""bench/: every script runs on 24 pictures and writes what it says; figures of so few are not looked at, their form is."""
import ast
import io
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from xml.etree import ElementTree

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "bench/support")]
import cases
import clips
import figures
import objects
from daemon import make_pictures
from media_files import make_media

OPTIONS = cases.options("build")
WAIT_S = 150


def run(script, *arguments, wanted=0):
    done = subprocess.run([sys.executable, "-B", str(ROOT / "bench" / script), *map(str, arguments)], capture_output=True,
                          text=True, timeout=WAIT_S, cwd="/")
    if done.returncode != wanted:
        raise AssertionError(f"{script}: code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-bench-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.pictures = cls.folder / "pictures"
        make_pictures(cls.pictures, classes=3, of_each=8)

    def options(self, *more):
        return (self.pictures, "--build", OPTIONS.build, "--batch", 4, *more)

    def test_compare_videos_and_sounds(self):
        make_media(self.folder, 2)
        for work, medium in (("clips", "videos"), ("clips-4", "videos"), ("audio", "sounds")):
            with self.subTest(work=work):
                out = self.folder / work
                run("compare/run.py", self.folder / medium, "--build", OPTIONS.build, "--batch", 1, "--rounds", 1, "--epochs", 1,
                    "--work", work, "--peers-from", self.folder / "none", "--out", out, "--peers", "spdld")
                result = json.loads((out / "result.json").read_text())
                self.assertEqual(len(result["lines"].get("spdld", [])), 1, result["skipped"])

    def test_compare(self):
        out = self.folder / "compare"
        done = run("compare/run.py", *self.options("--rounds", 2, "--epochs", 1, "--peers-from", self.folder / "none", "--out",
                                                   out,
                                                   "--peers", "spdld,spdld-encoded,spdld-decoded,spdld-free,spdld-uint8,bare,tf"))
        result = json.loads((out / "result.json").read_text())
        for name in ("spdld", "spdld-encoded", "spdld-decoded", "spdld-free", "spdld-uint8", "bare"):
            self.assertEqual(len(result["lines"].get(name, [])), 2, f"{name}: {result['skipped']}")
            for line in result["lines"][name]:
                self.assertEqual(line["pictures"], 96 if name == "spdld-decoded" else 24)
        first = result["lines"]["spdld"][0]
        self.assertEqual((first["shape"], first["dtype"]), ([4, 3, 224, 224], "float32"))
        self.assertEqual(result["lines"]["spdld-uint8"][0]["dtype"], "uint8")
        for name in ("spdld-encoded", "spdld-decoded"):
            self.assertEqual(result["lines"][name][0]["hit_rate"], 1)
        self.assertIn("no tf/bin/python", result["skipped"]["tf"])
        self.assertIn("no tf/bin/python", (out / "table.md").read_text())
        self.assertEqual((out / "table.md").read_text().strip(), done.stdout.strip())

        texts = [each.text for each in ElementTree.parse(out / "chart.svg").iter("{http://www.w3.org/2000/svg}text")]
        bars = [text for text in texts if text.endswith(" ms")]
        self.assertEqual(len(bars), 6)
        self.assertEqual(bars, sorted(bars, key=lambda text: float(text[:-3])))
        self.assertIn("spdld, first epoch", texts)

    def test_compare_objects(self):
        out = self.folder / "objects"
        run("compare/run.py", *self.options("--rounds", 1, "--epochs", 2, "--peers-from", self.folder / "none", "--out", out,
                                            "--work", "detection-masks", "--peers", "spdld,albumentations,torch"))
        result = json.loads((out / "result.json").read_text())
        line = result["lines"]["spdld"][0]
        self.assertEqual((line["pictures"], line["shape"], line["dtype"]), (48, [4, 3, 512, 512], "float32"))
        self.assertTrue(2 < line["objects"] < 15, line)
        self.assertTrue(0 < line["mask_area"] < line["box_area"] < 0.5, line)
        self.assertIn("no albumentations/bin/python", result["skipped"]["albumentations"])
        self.assertEqual(result["skipped"]["torch"], "it does not do the work detection-masks")
        self.assertRegex((out / "table.md").read_text(), r"objects a picture, mean areas 0\.\d+ of boxes and 0\.\d+ of masks")

    def make_videos(self, name, seconds, *coded):
        """Makes two small videos with 30 frames a second, and skips the test where that or reading them is not possible."""
        if not shutil.which("ffmpeg"):
            self.skipTest("ffmpeg is not installed")
        if not (Path(OPTIONS.build) / "bench/compare/bare_video").exists():
            self.skipTest("bare_video is not built, because FFmpeg's libraries are not installed")
        for label in ("cat", "dog"):
            (self.folder / name / label).mkdir(parents=True)
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=64x48:rate=30:duration={seconds}",
                            "-c:v",
                            "libx264", "-sc_threshold", "0", *map(str, coded), str(self.folder / name / label / "0.mp4")],
                           check=True)
        return self.folder / name

    def test_compare_clips(self):
        out, videos = self.folder / "clips", self.make_videos("videos", 4, "-g", 12)
        for work, count in (("clips", 1), ("clips-4", 4)):
            run("compare/run.py", videos, "--build", OPTIONS.build, "--rounds", 2, "--peers-from",
                self.folder / "none", "--work", work, "--out", out, "--peers", "bare-video,bare,torchcodec,torch")
            result, text = json.loads((out / "result.json").read_text()), (out / "table.md").read_text()
            self.assertEqual([line["clips"] for line in result["lines"]["bare-video"]], [count, count], result["skipped"])
            self.assertIn("no torchcodec/bin/python", result["skipped"]["torchcodec"])
            for name in ("bare", "torch"):
                self.assertEqual(result["skipped"][name], f"it does not do the work {work}")
            self.assertIn("| CPU ms per clip |", text)
            self.assertRegex(text, r"batches of 8, work .* 2 videos of \d+ KB")
            self.assertIn("CPU time for one clip", (out / "chart.svg").read_text())

    def test_bare_video_decodes_what_must_be_decoded(self):
        def frames_of_a_clip(name, seconds, *coded):
            done = subprocess.run([Path(OPTIONS.build) / "bench/compare/bare_video", self.make_videos(name, seconds, *coded),
                                   "2"],
                                  capture_output=True, text=True, check=True, timeout=WAIT_S)
            return json.loads(done.stdout)["frames"]

        self.assertEqual(frames_of_a_clip("only-key-frames", 3, "-g", 1), 16)
        only = 61 / 30  # seconds, so that the clip begins at the first frame
        self.assertEqual(frames_of_a_clip("no-b-frames", only, "-g", 300, "-bf", 0), 61)
        # Of "IBBBPBBBP..." a frame in four is wanted, and the frames between them are skipped.
        self.assertEqual(frames_of_a_clip("b-frames", only, "-g", 300, "-bf", 3, "-b_strategy", 0, "-x264-params",
                                          "b-pyramid=none"), 16)

    def test_bare_video_without_videos(self):
        self.make_videos("some", 1, "-g", 12)
        for folder, words in ((self.folder / "some", "shorter than a clip"), (self.pictures, "holds no .mp4 files")):
            done = subprocess.run([Path(OPTIONS.build) / "bench/compare/bare_video", folder], capture_output=True,
                                  text=True, timeout=WAIT_S)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)

    def test_a_row_that_is_none(self):
        done = run("compare/run.py", *self.options("--peers", "spldd"), wanted=1)
        self.assertIn("there is no row spldd; there are: spdld, ", done.stderr)

    def test_end_to_end(self):
        told = json.loads(run("end_to_end.py", "resize", *self.options("--epochs", 2)).stdout)
        self.assertEqual((told["pictures"], told["shape"], told["dtype"]), (48, [4, 224, 224, 3], "uint8"))

    def test_scaling(self):
        out = self.folder / "scaling"
        run("scaling.py", *self.options("--threads", "1,2", "--rounds", 1, "--epochs", 1, "--peers", "spdld", "--out", out))
        self.assertIn("spdld, first epoch", (out / "scaling.md").read_text())

    def test_demand(self):
        out = self.folder / "demand"
        run("demand.py", *self.options("--seconds", 0.5, "--settle", 0.2, "--size", 32, "--out", out))
        text = (out / "demand.md").read_text()
        self.assertIn("| all that comes |", text)
        self.assertRegex(text, r"\d\.\d\d of the batches for \d+\.\d\d of the CPU")

    def test_cache_limits(self):
        chart = self.folder / "limits.svg"
        done = run("cache_limits.py", self.pictures, "--build", OPTIONS.build, "--limits", "1,40", "--forms", "auto,packed",
                   "--epochs", 1, "--rounds", 1, "--chart", chart)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual([(line["limit"], line["form"]) for line in lines],
                         [(limit, form) for limit in (1, 40) for form in ("auto", "packed")])
        self.assertEqual([line["hits"] for line in lines[2:]], [1, 1])
        for word in ("<polyline", "&quot;auto&quot;", "&quot;packed&quot;"):
            self.assertIn(word, chart.read_text())

    def test_shares(self):
        out = self.folder / "shares"
        run("shares.py", *self.options("--seconds", 1, "--weights", "1:1,1:3", "--size", 32, "--out", out))
        told = json.loads((out / "shares.json").read_text())
        self.assertEqual([each["promised"] for each in told], [0.5, 0.25])
        self.assertTrue(all(0 < each["got"] < 1 and each["windows"] > 0 for each in told))
        self.assertIn("| 1:3 |", (out / "shares.md").read_text())

    def test_handover(self):
        out = self.folder / "handover"
        run("handover.py", *self.options("--calls", 20, "--rounds", 1, "--size", 32, "--no-fail", "--out", out))
        lines = (out / "handover.md").read_text().splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("| ")]), 15)
        copied = [line for line in lines if line.startswith("| batches copied on the way")]
        self.assertEqual([line.split(" | ")[1] for line in copied], ["0", "0"])

    def test_sharing(self):
        out = self.folder / "sharing"
        run("sharing.py", *self.options("--jobs", 2, "--rounds", 1, "--epochs", 20, "--out", out))
        text = (out / "sharing.md").read_text()
        for word in ("one", "all", "and a sleeper"):
            self.assertIn(f"| {word} |", text)

    def test_soak(self):
        out = self.folder / "soak"
        run("soak.py", *self.options("--minutes", 0.05, "--trainers", 2, "--size", 32, "--out", out))
        self.assertGreaterEqual(len(json.loads((out / "soak.json").read_text())), 6)
        for word in ("memory", "descriptors", "threads"):
            self.assertIn(f"| {word} |", (out / "soak.md").read_text())

    def other_build(self, name, more):
        """Returns a build directory whose package has further lines at the end, and whose daemon is the built one."""
        other = self.folder / name
        shutil.copytree(Path(OPTIONS.build) / "client/python/spdld", other / "client/python/spdld")
        with open(other / "client/python/spdld/__init__.py", "a") as package:
            package.write(more)
        (other / "daemon").mkdir()
        (other / "daemon/spdld").symlink_to(Path(OPTIONS.build).resolve() / "daemon/spdld")
        return other

    def same_bytes(self, other, only, wanted):
        done = run("same_bytes.py", OPTIONS.build, other, "--corpus", self.pictures, "--only", only, wanted=wanted)
        rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
        return {row[0][2:]: row[1:] for row in rows[2:]}, done

    def test_same_bytes(self):
        rows, done = self.same_bytes(OPTIONS.build, "archives", 0)
        self.assertEqual({row[0] for row in rows.values()}, {"yes"})
        self.assertIn("All bytes are the same", done.stdout)
        self.assertIn("Both builds are the same folder", done.stdout)
        rows, _ = self.same_bytes(OPTIONS.build, "cache = decoded, second", 0)
        self.assertEqual([row[:2] for row in rows.values()], [["yes", ""]])

    def test_same_bytes_finds_what_differs(self):
        # Another seed draws other crops. Without random draws the bytes stay the same.
        seed = self.other_build("other-seed", "\n_attach = attach\n\n\ndef attach(spec, **options):\n"
                                              "    return _attach({**spec, 'seed': 30}, **options)\n")
        rows, done = self.same_bytes(seed, "exif = ", 1)
        self.assertEqual(rows["exif = True, in order"][0], "yes")
        self.assertEqual(rows["exif = True, crop"][:2], ["**no**", "job 0, epoch 0, step 0, image: other bytes"])
        self.assertIn("Pipelines: 5. ", done.stdout)

    def test_same_bytes_says_where_nothing_was_compared(self):
        refusing = self.other_build("refusing", "\n\ndef attach(spec, **options):\n    raise InvalidError('not this one')\n")
        rows, done = self.same_bytes(refusing, "paths", 1)
        self.assertEqual(rows["paths"][:2], ["**no**", "not compared: AFTER: InvalidError: not this one"])
        self.assertIn("Pipelines: 1. Tensors compared: 0. ", done.stdout)
        done = run("same_bytes.py", OPTIONS.build, OPTIONS.build, "--corpus", self.pictures, "--only",
                   "no such pipeline", wanted=1)
        self.assertIn("nothing was compared", done.stderr)
        done = run("same_bytes.py", OPTIONS.build, self.folder, "--corpus", self.pictures, wanted=1)
        self.assertIn("holds no spdld", done.stderr)


class Figures(unittest.TestCase):
    def test_slope(self):
        rise, error = figures.slope([0, 1, 2, 3], [5, 7, 9, 11])
        self.assertAlmostEqual(rise, 2)
        self.assertAlmostEqual(error, 0)
        rise, error = figures.slope([0, 1, 2, 3], [1, -1, -1, 1])
        self.assertAlmostEqual(rise, 0)
        self.assertAlmostEqual(error, (4 / 2 / 5) ** 0.5)

    def test_medians(self):
        self.assertEqual(figures.medians([{"a": 3, "b": "x"}, {"a": 1, "b": "x"}, {"a": 2, "b": "x"}]), {"a": 2, "b": "x"})


class Uncounted(unittest.TestCase):
    def test_an_epoch_that_is_not_counted(self):
        sys.path.insert(0, str(ROOT / "bench/compare"))
        import one
        clock = {"s": 0.0}

        def batches(job):  # in batches that fit into the epoch, and in batches that do not
            for number in range(2 * -(-job.pictures // job.batch)):
                clock["s"] += 100 if number == 0 else 0.002 * job.batch
                yield np.zeros((job.batch, 3, 4, 4)), job.batch

        with mock.patch.object(one.processes, "tree_cpu_s", lambda: clock["s"]):
            for batch in (5, 4, 7, 20, 32):
                loader = SimpleNamespace(EPOCHS_UNCOUNTED=1, batches=batches)
                line = one.measure(SimpleNamespace(pictures=20, epochs=1, batch=batch), loader)
                self.assertAlmostEqual(line["cpu_ms"], 2, msg=f"batches of {batch}")
                self.assertEqual(line["pictures"], -(-20 // batch) * batch)


class Rows(unittest.TestCase):
    def test_every_row_has_a_module_that_can_be_parsed(self):
        sys.path.insert(0, str(ROOT / "bench/compare"))
        import rows
        for row in rows.ROWS:
            path = ROOT / f"bench/compare/peers/with_{row.peer}.py"
            functions = {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}
            self.assertIn("batches", functions, path)
            self.assertLessEqual(set(row.works), set(rows.WORKS))
            setup = (ROOT / "bench/compare/setup").read_text()
            self.assertTrue(row.peer == "spdld" or f'    "{row.peer}": (' in setup, row.peer)
        for row in rows.EVERY:
            if row.name in rows.YARDSTICKS:
                self.assertTrue((ROOT / f"bench/compare/{rows.YARDSTICKS[row.name]}.cpp").exists(), row.name)
        for work in rows.WORKS:  # each is measured beside another loader
            self.assertTrue(any(work in row.works and row.peer != "spdld" for row in rows.ROWS), work)


class Clips(unittest.TestCase):
    def test_the_frames_that_are_drawn(self):
        for _ in range(20):
            numbers = clips.draw_numbers(100, 2)
            first, second = numbers[:16], numbers[16:]
            self.assertEqual([first, second], [list(range(each[0], each[0] + 61, 4)) for each in (first, second)])
            self.assertTrue(0 <= first[0] <= second[0] <= 39)
        self.assertEqual(clips.draw_numbers(61, 1), list(range(0, 61, 4)))

    def test_mel_bands(self):
        bands = clips.mel_filters()
        self.assertEqual((bands.shape, bands.dtype), ((80, 201), np.float32))
        # The area of a triangle is one, up to where the places of 40 Hz cut it. The lowest bands are linear, 37 Hz apart.
        self.assertTrue((abs(bands[40:].sum(axis=1) * 40 - 1) < 0.12).all())
        self.assertTrue((np.diff(bands[20:].argmax(axis=1)) >= 0).all())
        self.assertTrue((bands[:, 0] == 0).all() and (bands[:, 200] < 1e-6).all())


class Objects(unittest.TestCase):
    def test_sizes_of_jpegs(self):
        for options in ({}, {"progressive": True}, {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}):
            file = io.BytesIO()
            Image.new("RGB", (37, 21)).save(file, "JPEG", **options)
            self.assertEqual(objects.jpeg_size(file.getvalue()), (37, 21))
        for cut in (2, 20):
            with self.assertRaises(ValueError):
                objects.jpeg_size(file.getvalue()[:cut])

    def test_annotations(self):
        with tempfile.TemporaryDirectory(prefix="spdld-objects-") as folder:
            make_pictures(Path(folder), classes=2, of_each=4)
            listed = objects.annotate(Path(folder))
            self.assertEqual(listed, objects.annotate(Path(folder)))
            self.assertNotEqual(listed, objects.annotate(Path(folder), seed=1))
        self.assertEqual(len(listed["images"]), 8)
        sizes = {each["id"]: (each["width"], each["height"]) for each in listed["images"]}
        self.assertEqual({each["image_id"] for each in listed["annotations"]}, set(sizes))
        for each in listed["annotations"]:
            left, top, across, down = each["bbox"]
            width, height = sizes[each["image_id"]]
            self.assertTrue(left >= 0 and top >= 0 and left + across <= width + 0.02 and top + down <= height + 0.02, each)
            self.assertTrue(0 < each["area"] <= len(each["segmentation"]) * across * down, each)

    def test_what_a_loader_gave_is_counted(self):
        batch = {"image": np.zeros((2, 3, 10, 10)), "labels": np.zeros((2, 3)), "boxes": np.zeros((2, 3, 4)),
                 "masks": np.zeros((2, 3, 10, 10), np.uint8)}
        batch["boxes"][0, 0], batch["boxes"][0, 1], batch["boxes"][1, 0] = [0, 0, 5, 4], [1, 1, 2, 2], [0, 0, 3, 3]
        batch["masks"][0, 0, :4, :5] = 1
        told = objects.told([batch])
        self.assertEqual(told["objects"], 1.5)
        self.assertAlmostEqual(told["box_area"], 0.1)
        self.assertAlmostEqual(told["mask_area"], 0.2 / 3)
        with self.assertRaises(ValueError):
            objects.told([{**batch, "labels": np.zeros((2, 2))}])


class Shares(unittest.TestCase):
    def test_the_worst_window_is_told(self):
        sys.path.insert(0, str(ROOT / "bench"))
        import shares
        even = [(second, [second, 3 * second]) for second in range(31)]
        self.assertEqual(set(shares.windows(even)), {0.25})
        self.assertAlmostEqual(shares.off(shares.windows(even), 0.25), 0)
        late = [(second, [max(0, second - 10), second]) for second in range(31)]  # nothing for the first ten seconds
        self.assertEqual(min(shares.windows(late)), 0)
        self.assertAlmostEqual(shares.off(shares.windows(late), 0.5), 1)


class Soak(unittest.TestCase):
    def test_what_grows_is_told(self):
        sys.path.insert(0, str(ROOT / "bench"))
        import soak
        noise = [0.3, -0.2, 0.1, -0.3, 0.2, -0.1] * 5
        still = [{"minutes": minute, "memory": 50 + noise[minute], "descriptors": 20, "threads": 9} for minute in range(30)]
        self.assertEqual([grows for *_, grows in soak.judge(still)], [False, False, False])
        leaking = [{**each, "memory": each["memory"] + each["minutes"], "descriptors": 20 + each["minutes"] // 5}
                   for each in still]
        self.assertEqual([grows for *_, grows in soak.judge(leaking)], [True, True, False])


if __name__ == "__main__":
    cases.main()
