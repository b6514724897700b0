#!/usr/bin/python3
"""spdlctl as people use it: its exit codes, its tables and its JSON, with a real daemon and without one."""
import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases  # noqa: E402
from daemon import Daemon, make_pictures, pipeline_text  # noqa: E402

OPTIONS = cases.options("daemon", "ctl")
FINE, WRONG, USAGE, NO_DAEMON = 0, 1, 2, 3
COMMANDS = ("bench", "check", "describe", "errors", "ls", "ops", "ping", "status")


def spdlctl(*words, **options):
    return subprocess.run([OPTIONS.ctl, *map(str, words)], capture_output=True, text=True, timeout=60, **options)


class Case(unittest.TestCase):
    def assert_code(self, done, code):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def assert_sentence(self, done, code):
        """One clear sentence on stderr, and nothing else."""
        self.assert_code(done, code)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("spdlctl: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class WithoutDaemon(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_help(self):
        done = spdlctl("--help")
        self.assert_code(done, FINE)
        for word in (*COMMANDS, "Exit codes", "SPDLD_SOCKET", "--timeout-ms"):
            self.assertIn(word, done.stdout)
        for command in COMMANDS:
            self.assert_code(spdlctl(command, "--help"), FINE)
        self.assertRegex(spdlctl("--version").stdout, r"^spdlctl \d+\.\d+\.\d+\n$")

    def test_wrong_usage(self):
        for words in ((), ("frobnicate",), ("status", "--frobnicate"), ("describe",), ("check",), ("ping", "-o", "xml"),
                      ("ping", "--timeout-ms", "0"), ("bench", "p", "--world-size", "0")):
            with self.subTest(words=words):
                self.assert_sentence(spdlctl(*words), USAGE)

    def test_no_daemon(self):
        for words in (("ping",), ("status",), ("ls",), ("errors",), ("describe", "p")):
            with self.subTest(words=words):
                done = spdlctl(*words, "--socket", self.folder / "none.sock")
                self.assert_sentence(done, NO_DAEMON)
                self.assertIn("none.sock", done.stderr)

    def test_check_a_fine_file(self):
        file = self.write("train.toml", pipeline_text("/data/train"))
        done = spdlctl("check", file, ROOT / "config/examples/spdld.toml")
        self.assert_code(done, FINE)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith(f"{file}: fine, pipeline small: image-folder /data/train"), lines[0])
        self.assertTrue(lines[0].endswith("; cache auto"), lines[0])
        self.assertIn("spdld.toml: fine, the daemon's file", lines[1])
        self.assertIn("a cache of at most a quarter of the memory", lines[1])

    def test_check_says_how_the_cache_is_bounded(self):
        for text, said in (('ram_bytes_max = "256 MiB"\nfolder = "/mnt/ssd"', "a cache of at most 256 MiB and 64.0 GiB in /mnt/ssd"),
                           ('ram_bytes_max = 0\nfolder = "/mnt/ssd"', "a cache of at most 64.0 GiB in /mnt/ssd"),
                           ("ram_bytes_max = 0", "no cache")):
            with self.subTest(text=text):
                done = spdlctl("check", self.write("spdld.toml", f"[cache]\n{text}\n"))
                self.assert_code(done, FINE)
                self.assertIn(f", {said}, ", done.stdout)

    def test_check_tells_every_error_with_its_line(self):
        text = pipeline_text("/data/train").replace('"resize"', '"resise"').replace("size = 4", "size = 0")
        file = self.write("train.toml", text)
        done = spdlctl("check", file)
        self.assert_code(done, WRONG)
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^{file}:10: output\[0\]\.ops\[1\]\.op: ")
        self.assertRegex(done.stdout, rf"(?m)^{file}:15: batch\.size: ")
        verdicts = json.loads(spdlctl("check", file, "-o", "json").stdout)
        self.assertEqual([c["line"] for c in verdicts[0]["complaints"]], [10, 15])
        self.assertFalse(verdicts[0]["fine"])

    def test_check_a_file_that_is_not_there(self):
        done = spdlctl("check", self.folder / "none.toml")
        self.assert_code(done, WRONG)
        self.assertIn("none.toml", done.stdout)

    def test_ops_come_from_the_catalogue(self):
        text, document = spdlctl("ops").stdout, json.loads(spdlctl("-o", "json", "ops").stdout)
        names = [operation["name"] for operation in document["operations"]]
        self.assertIn("random-resized-crop", names)
        for name in names:
            self.assertIn(f"\n  {name}  (", text)

    def test_bench_of_a_wrong_file_needs_no_daemon(self):
        done = spdlctl("bench", self.write("x.toml", "name = 3\n"), "--socket", self.folder / "none.sock")
        self.assert_code(done, WRONG)
        self.assertIn("x.toml:1: name: ", done.stderr)


class WithDaemon(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        make_pictures(cls.folder / "pictures")
        (cls.folder / "pipelines").mkdir()
        cls.file = cls.folder / "pipelines/small.toml"
        cls.file.write_text(pipeline_text(cls.folder / "pictures"))
        cls.daemon = Daemon(OPTIONS.daemon, f'[pipelines]\ndir = "{cls.folder / "pipelines"}"\n')
        cls.addClassCleanup(cls.daemon.close)

    def ctl(self, *words):
        return spdlctl(*words, env=self.daemon.environment())

    def document(self, *words):
        done = self.ctl(*words, "-o", "json")
        self.assert_code(done, FINE)
        return json.loads(done.stdout)

    def test_ping(self):
        done = self.ctl("ping")
        self.assert_code(done, FINE)
        self.assertIn(f"pid {self.daemon.process.pid}", done.stdout)
        self.assertEqual(self.document("ping")["pid"], self.daemon.process.pid)

    def test_status_and_list(self):
        for words in (("status",), ("ls",)):
            done = self.ctl(*words)
            self.assert_code(done, FINE)
            self.assertRegex(done.stdout, r"(?m)^PIPELINE +STATE")
            self.assertRegex(done.stdout, r"(?m)^small +\w+")
            self.assertNotIn("\033", done.stdout)
        self.assertEqual(self.document("status")["socket"], str(self.daemon.socket))
        self.assertIn("small", [pipeline["name"] for pipeline in self.document("ls")["pipelines"]])

    def test_bench_counts_every_image(self):
        for target, world_size in ((self.file, 1), ("small", 3)):
            with self.subTest(target=target, world_size=world_size):
                report = self.document("bench", target, "--epochs", 2, "--world-size", world_size)
                self.assertEqual(report["images"], 2 * 24)
                self.assertEqual(report["batches"], 2 * 24 // 4)
                for key in ("images_per_s", "cpu_ms_per_image", "first_batch_s", "peak_pss_bytes", "wait_s"):
                    self.assertGreater(report[key], 0, key)

    def test_bench_stops_after_its_batches(self):
        done = self.ctl("bench", "small", "--batches", 2)
        self.assert_code(done, FINE)
        self.assertIn("8 images in 2 batches to 1 rank", done.stdout)
        self.assertEqual(done.stderr, "", "no progress bar without a terminal")

    def test_bench_draws_its_progress_on_a_terminal(self):
        terminal, side = pty.openpty()
        done = subprocess.run([OPTIONS.ctl, "bench", "small"], stdout=subprocess.PIPE, stderr=side,
                              env=self.daemon.environment(), timeout=60)
        os.close(side)
        drawn = os.read(terminal, 65536).decode()
        os.close(terminal)
        self.assertEqual(done.returncode, FINE)
        self.assertIn("%", drawn)
        self.assertTrue(drawn.endswith("\r\x1b[K"), "nothing of it stays")

    def test_bench_of_what_is_not_there(self):
        self.assert_sentence(self.ctl("bench", "nothing"), WRONG)

    def test_describe(self):
        self.assert_code(self.ctl("bench", "small"), FINE)
        done = self.ctl("describe", "small")
        self.assert_code(done, FINE)
        for word in ("pipeline", "bottleneck", "decode-image > resize", "STAGE", "fetch", "decode", "24 in 3 classes"):
            self.assertIn(word, done.stdout)
        document = self.document("describe", "small")
        self.assertIn(document["bottleneck"]["part"], ("none", "fetch", "decode", "trainer"))
        self.assertEqual(document["samples"], 24)
        self.assert_sentence(self.ctl("describe", "nothing"), WRONG)

    def test_errors_name_the_sample(self):
        (self.folder / "bad/class-0").mkdir(parents=True)
        (self.folder / "bad/class-0/0.jpg").write_bytes(b"no picture at all")
        (self.folder / "bad/class-0/1.jpg").write_bytes((self.folder / "pictures/class-0/1.jpg").read_bytes())
        file = self.folder / "bad.toml"
        file.write_text(pipeline_text(self.folder / "bad", name="bad", batch=2, epochs=1))
        self.assertEqual(self.document("bench", file)["substituted"], 1)
        done = self.ctl("errors", "bad")
        self.assert_code(done, FINE)
        self.assertIn("class-0/0.jpg", done.stdout)
        self.assertEqual(self.ctl("errors", "small").stdout, "no errors\n")


class PrivateDaemon(Case):
    def test_bench_starts_one(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_pictures(folder / "pictures", of_each=4)
            (folder / "x.toml").write_text(pipeline_text(folder / "pictures"))
            environment = {**os.environ, "XDG_RUNTIME_DIR": name, "SPDLD_DAEMON": OPTIONS.daemon}
            environment.pop("SPDLD_SOCKET", None)
            if Path("/run/spdld/spdld.sock").exists():
                self.skipTest("a system's daemon runs here")
            done = spdlctl("bench", folder / "x.toml", "-o", "json", env=environment)
            self.assert_code(done, FINE)
            self.assertEqual(json.loads(done.stdout)["images"], 12)
            status = spdlctl("status", "-o", "json", env=environment)
            self.assert_code(status, FINE)
            status = json.loads(status.stdout)
            self.assertTrue(status["private"])
            os.kill(status["pid"], 15)


if __name__ == "__main__":
    cases.main()
