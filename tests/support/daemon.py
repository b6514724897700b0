"""A daemon of a test's own, in a temporary folder, and pictures for it."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

WAIT_S = 30


def make_pictures(folder, classes=3, of_each=8, size=(96, 64)):
    """folder/<class>/<n>.jpg: smooth random colours, other ones in each picture."""
    random = np.random.default_rng(7)
    for label in range(classes):
        (folder / f"class-{label}").mkdir(parents=True)
        for number in range(of_each):
            colours = random.integers(0, 256, (4, 6, 3), dtype=np.uint8)
            Image.fromarray(colours).resize(size, Image.BICUBIC).save(folder / f"class-{label}" / f"{number}.jpg")


PIPELINE = """\
name = "{name}"
[source]
type = "image-folder"
uri = "{folder}"
[order]
epochs = {epochs}
[[output]]
name = "image"
from = "image"
ops = [ {{ op = "decode-image" }}, {{ op = "resize", size = [32, 32] }} ]
[[output]]
name = "label"
from = "class"
[batch]
size = {batch}
"""


def pipeline_text(folder, name="small", batch=4, epochs=2):
    return PIPELINE.format(folder=folder, name=name, batch=batch, epochs=epochs)


class Daemon:
    """Runs `program` on a socket of its own until close(). Attributes: folder, socket, process."""

    def __init__(self, program, config=""):
        self.folder = Path(tempfile.mkdtemp(prefix="spdld-test-"))
        self.socket = self.folder / "spdld.sock"
        # Nothing of a test's is left behind where the user's own daemons keep theirs.
        config += "" if "[state]" in config else '\n[state]\nfolder = "off"\n'
        (self.folder / "spdld.toml").write_text(config)
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen([program, "--config", self.folder / "spdld.toml", "--socket", self.socket],
                                        stdout=self.log, stderr=self.log)
        try:
            self._wait_until_it_listens()
        except Exception:
            self.close()
            raise

    def _wait_until_it_listens(self):
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError("the daemon ended: " + (self.folder / "log").read_text())
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
                try:
                    probe.connect(str(self.socket))
                    return
                except (FileNotFoundError, ConnectionRefusedError):
                    time.sleep(0.01)
        raise RuntimeError("the daemon does not listen: " + (self.folder / "log").read_text())

    def environment(self):
        return {**os.environ, "SPDLD_SOCKET": str(self.socket)}

    def close(self):
        """Ends it in order; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder)
        return code
