"""A daemon for one run, in a temporary folder that is removed with it. bench/gpu takes this file along (see its
`pack`)."""
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

WAIT_S = 30


class DaemonProcess:
    """A daemon for a block: `with DaemonProcess(...) as daemon`. The daemon listens when the block begins. The
    attributes are folder, socket, settings and process.

    `command` is the program and its first arguments. `settings` is the text of its settings file, in which @FOLDER@
    stands for the folder."""

    def __init__(self, command, settings, environment=None):
        self.command, self.environment = command, environment
        self.folder = Path(tempfile.mkdtemp(prefix="spdld-bench-"))
        self.socket = str(self.folder / "spdld.sock")
        self.settings = self.folder / "spdld.toml"
        self.settings.write_text(settings.replace("@FOLDER@", str(self.folder)))
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        self.process = subprocess.Popen([*self.command, "--config", self.settings, "--socket", self.socket],
                                        env=self.environment)
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"spdld ended with code {self.process.returncode} at once; its words are above")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
                try:
                    probe.connect(self.socket)
                    return
                except (FileNotFoundError, ConnectionRefusedError):
                    time.sleep(0.005)
        raise RuntimeError(f"spdld does not listen within {WAIT_S} s")
