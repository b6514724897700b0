"""What the tests of spdlctl share: the program, a daemon of a test's own, and a trainer that never ends."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
from daemon import WAIT_S, Daemon, make_pictures, pipeline_text

OPTIONS = cases.options("daemon", "ctl")
FINE, WRONG, USAGE, NO_DAEMON = 0, 1, 2, 3


def spdlctl(*words, env=None, **options):
    """On a page that is wide enough for tables to be whole, unless COLUMNS says otherwise."""
    return subprocess.run([OPTIONS.ctl, *map(str, words)], capture_output=True, text=True, timeout=60,
                          env={"COLUMNS": "250", **(os.environ if env is None else env)}, **options)


class Case(unittest.TestCase):
    def assert_code(self, done, code):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def assert_sentence(self, done, code):
        """One clear sentence on stderr, and nothing else."""
        self.assert_code(done, code)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("spdlctl: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class DaemonCase(Case):
    """One daemon, and one set of pictures, for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        make_pictures(cls.folder / "pictures")
        (cls.folder / "pipelines").mkdir()
        cls.file = cls.folder / "pipelines/small.toml"
        cls.file.write_text(pipeline_text(cls.folder / "pictures"))
        cls.daemon = Daemon(OPTIONS.daemon, f'[pipelines]\ndir = "{cls.folder / "pipelines"}"\n'
                            '[limits]\ncpu_budget = 1\nfetch_concurrency = 5\n[cache]\nram_bytes_max = "64 MiB"\n'
                            f'[tuning]\ndecode = 1\ndepth = 2\n[state]\nfolder = "{cls.folder / "state"}"\n')
        cls.addClassCleanup(cls.daemon.close)

    def ctl(self, *words):
        return spdlctl(*words, env=self.daemon.environment())

    def document(self, *words):
        done = self.ctl(*words, "-o", "json")
        self.assert_code(done, FINE)
        return json.loads(done.stdout)

    def is_in_full_swing(self, name):
        status = self.document("status")
        if not any(pipeline["rings"] for pipeline in status["pipelines"] if pipeline["name"] == name):
            return False
        described = self.document("describe", name)  # what is tuned follows a new ring at the next look
        return described["tuning"]["depth"]["max"] == 4 and described["cache"]["fields"][0]["memory_entries"] == 24

    def endless(self, name):
        file = self.folder / f"{name}.toml"
        file.write_text(pipeline_text(self.folder / "pictures", name=name, epochs=0))
        return file

    @contextlib.contextmanager
    def trained(self, name):
        """A trainer takes from a pipeline of this name without end; all of its pictures are kept when the block begins."""
        trainer = subprocess.Popen([OPTIONS.ctl, "bench", self.endless(name), "--epochs", "1000000000"],
                                   stdout=subprocess.DEVNULL, env=self.daemon.environment())
        try:
            until = time.monotonic() + WAIT_S
            while not self.is_in_full_swing(name):
                self.assertLess(time.monotonic(), until, "it does not run, or its pictures are not kept")
                time.sleep(0.01)
            yield
        finally:
            trainer.kill()
            trainer.wait()
