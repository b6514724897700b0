"""bench --headspace over real pictures: every row runs, in daemons that end with the command."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ctl_case import FINE, NO_DAEMON, OPTIONS, USAGE, WAIT_S, WRONG, DaemonCase, cases, spdlctl

SECONDS = ("--seconds", "0.2")
PIPELINE = """\
name = "chain"
[source]
type = "image-folder"
uri = "{folder}"
[[output]]
name = "image"
from = "image"
ops = [ {{ op = "decode-image" }}, {{ op = "random-resized-crop", size = [32, 32] }}, {{ op = "horizontal-flip" }},
        {{ op = "normalize", mean = [0.5, 0.5, 0.5], std = [0.2, 0.2, 0.2], layout = "NCHW" }} ]
[[output]]
name = "label"
from = "class"
[batch]
size = 4
"""


class Headspace(DaemonCase):
    def setUp(self):
        self.rooms = tempfile.TemporaryDirectory()
        self.addCleanup(self.rooms.cleanup)

    def environment(self, **more):
        return {**self.daemon.environment(), "SPDLD_DAEMON": OPTIONS.daemon, "TMPDIR": self.rooms.name, **more}

    def headspace(self, *words, **more):
        return spdlctl("bench", *words, "--headspace", *SECONDS, env=self.environment(**more))

    def chain(self, name="chain.toml", folder=None):
        file = self.folder / name
        file.write_text(PIPELINE.format(folder=folder or self.folder / "pictures"))
        return file

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.rooms.name), [])

    def wait_until(self, is_so):
        until = time.monotonic() + WAIT_S
        while not is_so():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_every_row_runs(self):
        done = self.headspace(self.chain(), "-o", "json", "--trainer-ms", 10, "--world-size", 2)
        self.assert_code(done, FINE)
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        rows = {row["name"]: row for row in report["rows"]}
        expected = ["hand-over", "fetch", "to random-resized-crop", "to horizontal-flip", "whole", 'cache = "encoded"',
                    'cache = "indexed"', 'cache = "packed"', 'cache = "decoded"']
        self.assertEqual([name for name in rows if "thread" not in name and name != "fetch, all"], expected)
        self.assertEqual("1 thread" in rows, report["threads"] > 1)
        for name, row in rows.items():
            with self.subTest(name):
                self.assertNotIn("fault", row)
                self.assertGreater(row["images_per_s"], 0)
                self.assertLessEqual(row["images_per_s_min"], row["images_per_s"])
                self.assertGreaterEqual(row["images_per_s_max"], row["images_per_s"])
                self.assertAlmostEqual(row["of_whole"] * rows["whole"]["images_per_s"] / row["images_per_s"], 1)
                self.assertGreater(row["cpu_ms_per_image"], 0)
                self.assertTrue(0 <= row["decode_busy"] <= 1, row)
                if row["kind"] == "cache":
                    self.assertEqual(row["samples_kept"], report["samples_measured"])
                    self.assertGreater(row["bytes_kept"], 0)
        # Handing the same batch over again costs far less than decoding, on any machine.
        self.assertGreater(rows["hand-over"]["images_per_s"], rows["whole"]["images_per_s"])
        self.assertGreater(rows['cache = "decoded"']["bytes_kept"], rows['cache = "encoded"']["bytes_kept"])
        self.assertEqual(report["samples"], 24)
        self.assertEqual(report["step_samples"], 8)
        self.assertAlmostEqual(report["trainer_images_per_s"], 800)
        self.assertRegex(report["recommendation"][0], "^The loader (has headspace|just keeps up|holds the trainer back)")
        self.assertGreater(len(report["recommendation"]), 1)
        self.assert_nothing_left()

    def test_a_named_pipeline_runs_beside_its_daemon_and_not_in_it(self):
        with self.trained("busy"):
            done = self.headspace("small")  # which nobody has opened yet
            self.assert_code(done, FINE)
            self.assertEqual(len(self.document("describe", "busy")["rings"]), 1)
            self.assertEqual(self.document("describe", "small")["rings"], [])
        self.assertRegex(done.stdout, r"(?m)^RUNS +IMAGES/S +OF WHOLE")
        self.assertRegex(done.stdout, r"(?m)^whole +[\d,.]+ +1.00 x")
        self.assertIn("SPDLD_REPLAY=1", done.stdout)
        self.assert_nothing_left()

    def test_a_larger_dataset_is_fetched_as_a_whole_too(self):
        many = self.folder / "many/class-0"
        many.mkdir(parents=True)
        picture = next((self.folder / "pictures").glob("*/*.jpg"))
        for number in range(9000):  # more than any row uses
            os.link(picture, many / f"{number}.jpg")
        done = self.headspace(self.chain("many.toml", many.parent), "-o", "json")
        self.assert_code(done, FINE)
        report = json.loads(done.stdout)
        self.assertEqual(report["samples"], 9000)
        self.assertLessEqual(report["samples_measured"], 8192)
        row, = (row for row in report["rows"] if row["kind"] == "fetch-all")
        self.assertGreater(row["images_per_s"], 0)
        caches = [row for row in report["rows"] if row["kind"] == "cache"]
        self.assertEqual([row["samples_to_keep"] for row in caches], 4 * [report["samples_measured"]])
        self.assertTrue(all(0 < row["samples_kept"] <= row["samples_to_keep"] for row in caches))

    def test_a_replay_in_the_environment_is_for_trainers(self):
        report = spdlctl("bench", self.file, "-o", "json", env=self.environment(SPDLD_REPLAY="1"))
        self.assert_code(report, FINE)
        self.assertEqual(report.stderr, "")

    def test_pictures_that_are_not_there(self):
        done = self.headspace(self.chain("none.toml", self.folder / "no-pictures"))
        self.assert_sentence(done, WRONG)
        self.assertIn("no-pictures", done.stderr)
        self.assert_nothing_left()

    def test_no_program_to_start(self):
        done = self.headspace(self.chain(), SPDLD_DAEMON="/no/spdld")
        self.assert_sentence(done, NO_DAEMON)
        self.assertIn("/no/spdld", done.stderr)
        done = self.headspace(self.chain(), SPDLD_DAEMON="/bin/false")
        self.assert_sentence(done, NO_DAEMON)
        self.assertIn("ended before it listened", done.stderr)
        self.assert_nothing_left()

    def test_words_that_do_not_go_together(self):
        for words in (("--trainer-ms", 5), ("--seconds", 1)):
            done = spdlctl("bench", self.file, *words)
            self.assert_sentence(done, USAGE)
            self.assertIn("--headspace", done.stderr)
        for words in (("--epochs", 2), ("--batches", 2), ("--group", "g")):
            self.assert_sentence(self.headspace(self.file, *words), USAGE)

    def started(self):
        """A measurement whose daemon has made its socket."""
        command = [OPTIONS.ctl, "bench", str(self.chain()), "--headspace", "--seconds", "60"]
        process = subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_until(lambda: any(Path(self.rooms.name).glob("spdld-bench-*/*.sock")))
        return process

    def assert_interrupted(self, process, codes=(WRONG,)):
        _, errors = process.communicate(timeout=WAIT_S)
        self.assertEqual(errors, "spdlctl: interrupted.\n")
        self.assertIn(process.returncode, codes)
        self.assert_nothing_left()

    def test_ctrl_c_leaves_nothing_behind(self):
        process = self.started()
        process.send_signal(signal.SIGINT)
        self.assert_interrupted(process)

    def test_ctrl_c_while_the_daemon_does_not_answer(self):
        process = self.started()
        daemon = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        os.kill(daemon, signal.SIGSTOP)

        # A second signal ends a daemon that takes its time at once, so that it may be gone whenever this looks at it.
        def is_ending():
            process.send_signal(signal.SIGINT)
            try:
                pending = re.search(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{daemon}/status").read_text(), re.M)
            except (FileNotFoundError, ProcessLookupError):
                return True
            return int(pending[1], 16) >> (signal.SIGTERM - 1) & 1

        self.wait_until(is_ending)
        with contextlib.suppress(ProcessLookupError):
            os.kill(daemon, signal.SIGCONT)
        self.assert_interrupted(process, (WRONG, -signal.SIGINT))  # the last of them may come when it is about to exit


if __name__ == "__main__":
    cases.main()
