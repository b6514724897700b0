"""spdld.try_sample with bad samples, and `python -m spdld try`."""
import json
import os
import subprocess
import sys
import time
import unittest
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
import own_functions
from functions_test import python, tensor
from trial_case import CROPPED, NOISY, TrialCase

import spdld


class Faults(TrialCase):
    def test_an_exception_names_operation_sample_file_and_line(self):
        self.set_env("OWN_FAULTS", "7:raises")
        before, own_functions.FAULTS = own_functions.FAULTS, {"7": "raises"}
        self.addCleanup(setattr, own_functions, "FAULTS", before)
        error = self.assert_bad(self.number_spec(), 7)
        line = next(number for number, text in enumerate(Path(own_functions.__file__).read_text().splitlines(), 1)
                    if "this one can't be used" in text)
        self.assertEqual(str(error), "sample 7 (x.npy/7): operation 1 of output number: own_functions:faulty raised ValueError: "
                         f"this one can't be used ({own_functions.__file__}:{line}, in fault_raises)".replace(
                             "x.npy/7", error.trial.name))
        self.assertEqual(error.trial.step("number", 0).value, 7)
        self.assertIsInstance(error.trial.step("number", 1).error, ValueError)
        self.assertIn("failed: ValueError", str(error.trial))
        self.assertEqual(self.trial(self.number_spec(), 8).outputs["number"], 8)

    def test_a_function_that_is_held_for_too_long(self):
        for module in ("crew", "pipeline"):
            limit = mock.patch(f"spdld._trial.{module}.CALL_LIMIT_S", 0.05)
            limit.start()
            self.addCleanup(limit.stop)

        def held(picture):
            until = time.monotonic() + 0.3
            while time.monotonic() < until:
                pass
            return picture

        error = self.assert_bad(self.picture_spec(python("held", tensor("uint8", 32, 32, 3))), ops={"held": held})
        self.assertIn("operation 2 of output image: held took", str(error))
        self.assertEqual(error.trial.step("image", 2).shape, (32, 32, 3))

    def test_a_result_that_does_not_fit(self):
        def floats(picture):
            return picture.astype(np.float32)

        error = self.assert_bad(self.picture_spec(python("floats", tensor("uint8", 32, 32, 3))), ops={"floats": floats})
        self.assertIn("floats gave float32 [32, 32, 3], and `gives` says uint8 [32, 32, 3]", str(error))
        self.assertIn(f"{__file__}:{floats.__code__.co_firstlineno}", str(error))
        self.assertEqual(error.trial.step("image", 2).dtype, "float32")

    def test_a_sample_that_the_daemon_cannot_use(self):
        folder = Path(self.folder.name) / "broken" / "class"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.jpg").write_bytes(b"no picture")
        spec = self.chain(*CROPPED, source={"type": "image-folder", "uri": str(folder.parent)})
        error = self.assert_bad(spec, 0)
        self.assertRegex(str(error), r"^sample 0 \(class/a.jpg\): operation 0 of output image: decode-image: no picture")
        self.assertIsNone(error.exception)
        self.assertEqual(error.trial.step("image", -1).value, b"no picture")
        self.assertIn("failed", str(error.trial))
        behind = self.assert_bad(self.chain(python("own_functions:padded", "bytes"), *CROPPED))
        self.assertIn("sample 17 (class-2/1.jpg)", str(behind))
        self.assertEqual(behind.trial.step("image", 0).value[:2], b"00")

    def test_operations_that_cannot_be_told_apart(self):
        spec = self.spec(output=[{"name": "clip", "from": "image", "ops": [
            {"op": "decode-video", "frames": 4, "stride": 1}, {"op": "resize", "size": [32, 32]}]}])
        self.assertRegex(str(self.assert_bad(spec)), r"^sample 17 \(class-2/1.jpg\): operations 0 to 1 of output clip: ")

    def test_a_sample_that_there_is_not(self):
        for sample in (99, "class-9/9.jpg"):
            with self.assertRaisesRegex(spdld.InvalidError, f"there is no sample {sample}: .*at most 23"):
                self.trial(self.chain(*CROPPED), sample)
        for sample in (-1, 1.5, None):
            with self.assertRaisesRegex(spdld.InvalidError, "must be a sample's number"):
                self.trial(self.chain(*CROPPED), sample)

    def test_what_cannot_be_tried(self):
        def refused(sentence, spec, **options):
            with self.assertRaisesRegex(spdld.InvalidError, sentence):
                self.trial(spec, **options)

        several = self.chain(*CROPPED)
        several["sources"] = [several.pop("source")]
        refused("several sources", several)
        refused(r"\[rows\]", self.chain(*CROPPED, rows={"length": 4}))
        refused(r"dataset\[n\]", self.chain(*CROPPED, source={"type": "python"}))
        refused("name of a pipeline", "imagenet")
        refused(r"output\[0\].ops\[3\].op: is not a known operation", self.chain(*CROPPED, {"op": "nonsense"}))
        refused('ops has "other"', self.chain(*CROPPED), ops={"other": print})
        refused("not in ops", self.chain(*CROPPED, python("other", "bytes")))
        refused("no module", self.chain(*CROPPED, python("no_such_module_here:f", "bytes")))
        with self.assertRaises(spdld.NotFoundError):
            self.trial(os.path.join(self.folder.name, "none.toml"))
        broken = Path(self.folder.name) / "broken.toml"
        broken.write_text("name = ")
        refused("is no TOML", broken)

    def test_the_daemon_goes_away(self):
        def kills(picture):
            self.daemon.kill()
            return picture

        with self.assertRaises(spdld.NoDaemonError):
            self.trial(self.picture_spec(python("kills", tensor("uint8", 32, 32, 3))), ops={"kills": kills})
        self.daemon.start_again()


class Command(TrialCase):
    def setUp(self):
        super().setUp()
        self.file = Path(self.folder.name) / "trial.json"
        self.file.write_text(json.dumps(self.chain(*CROPPED, NOISY)))

    def run_command(self, *words, command=(sys.executable, "-m", "spdld"), **options):
        return subprocess.run([*command, "try", *map(str, words)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "SPDLD_SOCKET": str(self.daemon.socket)}, **options)

    def test_it_prints_the_table(self):
        done = self.run_command(self.file, "--sample", 17)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("3 own_functions:noisy", done.stdout)
        document = json.loads(self.run_command(self.file, "--sample", "class-2/1.jpg", "--epoch", "1", "-o", "json").stdout)
        self.assertEqual((document["sample"], document["epoch"]), (17, 1))
        self.assertEqual(document["steps"][3]["shape"], [32, 32, 3])
        self.assertEqual(document["outputs"]["label"], {"dtype": "int64", "shape": []})

    def test_it_saves_the_steps(self):
        folder = Path(self.folder.name) / "seen"
        done = self.run_command(self.file, "--sample", 17, "--save", folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        trial = self.trial(self.file)
        data = (folder / "image.2.random-resized-crop.png").read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        rows = zlib.decompress(data[data.index(b"IDAT") + 4:])
        pixels = np.frombuffer(rows, np.uint8).reshape(32, 97)[:, 1:].reshape(32, 32, 3)
        self.assertTrue(np.array_equal(pixels, trial.step("image", 1).value))
        self.assertTrue(np.array_equal(np.load(folder / "image.batch.npy"), trial.outputs["image"]))
        self.assertEqual((folder / "image.0.field-image.bin").read_bytes(), trial.step("image", -1).value)

    def test_it_draws_the_pictures(self):
        spec = self.chain(*CROPPED, {"op": "normalize", "mean": [0.5] * 3, "std": [0.5] * 3})
        self.file.write_text(json.dumps(spec))
        done = self.run_command(self.file, "--sample", 17, "--pictures")  # on 80 columns
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        _, table, *groups = done.stdout.split("\n\n")
        self.assertIn("3 normalize", table)
        self.assertEqual([group.splitlines()[0].split() for group in groups],
                         [["decode-image", "random-resized-crop", "horizontal-flip"], ["normalize"]])
        upper, lower = self.trial(spec).step("image", 0).value[[0, 4], 0].tolist()  # 64 rows are drawn as 16
        first = "\x1b[38;2;{};{};{};48;2;{};{};{}m\u2580".format(*upper, *lower)
        self.assertTrue(groups[0].splitlines()[1].startswith(first))
        self.assertEqual([group.count("\u2580") for group in groups], [24 * (8 + 12 + 12), 24 * 12])

    def test_texts_have_the_hash_that_they_have_in_a_crew(self):
        spec = self.number_spec(call="own_functions:first_of_a_set")
        self.file.write_text(json.dumps(spec))
        run = self.in_a_run(spec, 3)["number"]
        done = self.run_command(self.file, "--sample", 3, "-o", "json")
        self.assertEqual(json.loads(done.stdout)["steps"][-1]["minimum"], run)

    def test_an_exception_comes_with_its_traceback(self):
        self.set_env("OWN_FAULTS", "7:raises")
        self.file.write_text(json.dumps(self.number_spec("7:raises")))
        done = self.run_command(self.file, "--sample", 7)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: ValueError", done.stdout)
        self.assertIn("Traceback (most recent call last):\n  File \"" + own_functions.__file__, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1],
                         r"^spdld: sample 7 \(.*\): operation 1 of output number: .* in fault_raises")
        stood = self.run_command(self.file, "--sample", 7, "--pdb", input="p fault_exits\nup\np number\n")
        self.assertIn("(Pdb) <function fault_exits", stood.stdout)
        self.assertIn("array(7)", stood.stdout)

    def test_spdlctl_does_the_same(self):
        words = [self.file, "--sample", 17, "-o", "json"]
        done = self.run_command(*words, "--python", sys.executable, command=[os.environ["SPDLD_CTL"]])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        alike = [json.loads(text)["steps"] for text in (done.stdout, self.run_command(*words).stdout)]
        for step in (step for steps in alike for step in steps):
            step.pop("seconds")
        self.assertEqual(*alike)
        missing = self.run_command(self.file, "--sample", 99, "--python", sys.executable, command=[os.environ["SPDLD_CTL"]])
        self.assertEqual(missing.returncode, 1)
        self.assertRegex(missing.stderr, r"^spdlctl: there is no sample 99: .*\n$")

    def test_wrong_usage_and_wrong_subjects(self):
        for code, words, sentence in (
                (2, (), "FILE"), (2, (self.file,), "--sample"), (2, (self.file, "--sample", 1, "--epoch", "x"), "whole number"),
                (1, (self.file, "--sample", 99), "there is no sample 99"),
                (1, (self.file.parent / "none.json", "--sample", 1), "cannot open the pipeline file"),
                (3, (self.file, "--sample", 1, "--socket", self.file.parent / "none"), "no daemon")):
            done = self.run_command(*words)
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn(sentence.lower(), done.stderr.lower())
        self.assertIn("exit codes", self.run_command("--help").stdout)


if __name__ == "__main__":
    unittest.main()
