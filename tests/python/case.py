"""What the tests of the package share: a daemon of their own, pictures, and scripts that run apart."""
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from daemon import Daemon, make_pictures

import spdld

PROGRAM = os.environ.get("SPDLD_DAEMON", "")
WAIT_S = 20
CLASSES, OF_EACH, BATCH = 3, 8, 4
SAMPLES = CLASSES * OF_EACH
STEPS = SAMPLES // BATCH


def spec_of(folder, **changes):
    """A pipeline over `folder`, with some of its tables replaced."""
    spec = {
        "name": "small",
        "source": {"type": "image-folder", "uri": str(folder)},
        "order": {"epochs": 2},
        "output": [{"name": "image", "from": "image",
                    "ops": [{"op": "decode-image"}, {"op": "resize", "size": [32, 32]}]},
                   {"name": "label", "from": "class"}],
        "batch": {"size": BATCH},
    }
    return {**spec, **changes}


def until(condition, what, wait_s=WAIT_S):
    """Asks again until it is true: for what another process does in its own time."""
    end = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {wait_s} s: {what}")
        time.sleep(0.01)


class RestartedDaemon(Daemon):
    """A daemon that can be killed and started anew on the same socket."""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def start_again(self):
        command = [PROGRAM, "--config", self.folder / "spdld.toml", "--socket", self.socket]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        self._wait_until_it_listens()


class DaemonCase(unittest.TestCase):
    """One daemon and one set of pictures for all tests of a class; a group of its own for every test."""

    @classmethod
    def setUpClass(cls):
        if not PROGRAM:
            raise RuntimeError("SPDLD_DAEMON is not set: the path of the daemon to test with")
        cls.folder = tempfile.TemporaryDirectory(prefix="spdld-python-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.pictures = Path(cls.folder.name) / "pictures"
        make_pictures(cls.pictures, CLASSES, OF_EACH)
        cls.daemon = RestartedDaemon(PROGRAM)
        cls.addClassCleanup(cls.daemon.close)

    def spec(self, **changes):
        return spec_of(self.pictures, **changes)

    def attach(self, pipeline=None, **options):
        options = {"socket": self.daemon.socket, "group": self.id(), "timeout": WAIT_S, "framework": "numpy", **options}
        loader = spdld.attach(self.spec() if pipeline is None else pipeline, **options)
        self.addCleanup(loader.close)
        return loader

    def ring(self, group=None):
        """What the daemon says of this test's ring."""
        rings = spdld.query("describe", "small", socket=self.daemon.socket)["rings"]
        return next(ring for ring in rings if ring["group"] == (group or self.id()))

    def await_held(self, count, group=None):
        """The daemon hears of what was taken with the next release only."""
        until(lambda: self.ring(group)["held"] == count, f"{count} batches held; the ring is {self.ring(group)}")

    def script(self, text, *arguments, **options):
        """A Python program of its own, with `attach()` (a loader of this daemon; its group is the test's) and `np`."""
        prelude = f"""
            import gc, os, signal, sys, threading, time
            import numpy as np
            import spdld
            sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
            def attach(**options):
                from case import spec_of
                changes = options.pop("changes", {{}})
                return spdld.attach(spec_of({str(self.pictures)!r}, **changes), **{{
                    "socket": {str(self.daemon.socket)!r}, "group": {self.id()!r}, "timeout": {WAIT_S}, **options}})
            """
        program = textwrap.dedent(prelude) + textwrap.dedent(text)
        return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run_script(self, text, *arguments, **options):
        """Its output; it must end well, and say nothing on stderr."""
        with self.script(text, *arguments, **options) as process:
            try:
                output, errors = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        self.assertEqual((process.returncode, errors), (0, ""), output)
        return output
