"""Threads in the package: by the interpreter of the tests. interpreters.py does the same with others, without a GIL too."""
import subprocess
import sys
import unittest
from pathlib import Path

from case import DaemonCase


class Threads(DaemonCase):
    def test_loaders_iterators_and_batches_in_several_threads(self):
        program = Path(__file__).parent / "two_threads.py"
        done = subprocess.run([sys.executable, program, self.pictures], capture_output=True, text=True, timeout=120,
                              env=self.daemon.environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(done.stdout.splitlines(),
                         ["two_loaders", "one_loader", "release_while_read", "threads: GIL"])


if __name__ == "__main__":
    unittest.main()
