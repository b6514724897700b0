#!/usr/bin/python3
"""README's pipeline and its programs, run as they are printed, by a daemon that their attach starts."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases  # noqa: E402
from daemon import make_pictures  # noqa: E402

OPTIONS = cases.options("daemon", "ctl", "library", "python", "python-path")
CLASSES, OF_EACH, BATCH, EPOCHS = 3, 7, 8, 2
BATCHES = -(-CLASSES * OF_EACH // BATCH)


def block(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise RuntimeError(f"README.md has {len(found)} blocks of {language}, not one")
    return found[0]


class Example(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        make_pictures(self.folder / "pictures", CLASSES, OF_EACH)
        (self.folder / "train.toml").write_text(block("toml"))
        (self.folder / "run").mkdir(mode=0o700)
        library = Path(OPTIONS.library).parent
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "run"), "SPDLD_DAEMON": OPTIONS.daemon,
                            "LD_LIBRARY_PATH": str(library), "PYTHONPATH": OPTIONS.python_path}
        self.environment.pop("SPDLD_SOCKET", None)
        self.addCleanup(self.end_daemon)

    def end_daemon(self):
        for socket in self.folder.rglob("*.sock"):
            ping = self.run_here(OPTIONS.ctl, "--socket", socket, "ping", "-o", "json")
            if ping.returncode == 0:
                os.kill(int(re.search(r'"pid": (\d+)', ping.stdout)[1]), signal.SIGTERM)

    def run_here(self, *command):
        return subprocess.run([str(word) for word in command], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=60)

    def test_the_pipeline_is_in_order(self):
        done = self.run_here(OPTIONS.ctl, "check", "train.toml")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_c(self):
        (self.folder / "example.c").write_text(block("c"))
        library = Path(OPTIONS.library).parent
        built = self.run_here("cc", "-Wall", "-Wextra", "-Werror", "-o", "example", "example.c",
                              f"-I{ROOT / 'client/include'}", f"-L{library}", "-lspdld")
        self.assertEqual(built.returncode, 0, built.stderr)
        done = self.run_here("./example")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), BATCHES * EPOCHS)
        sizes = [int(re.fullmatch(r"(\d+) pictures at 0x[0-9a-f]+", line)[1]) for line in lines]
        self.assertEqual(sum(sizes), CLASSES * OF_EACH * EPOCHS)

    def test_python(self):
        (self.folder / "example.py").write_text(block("python"))
        done = self.run_here(OPTIONS.python, "example.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], [f"epoch {epoch}" for epoch in range(EPOCHS)])
        self.assertIn(f"{BATCHES} batches", lines[0])


if __name__ == "__main__":
    cases.main()
