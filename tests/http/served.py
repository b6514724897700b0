"""A daemon that serves HTTP, a trainer that takes from it without end, and questions by HTTP."""
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from daemon import WAIT_S, Daemon, make_pictures, pipeline_text

TOKEN = "0123456789abcdef" * 2


def wait_for(what, said, seconds=WAIT_S):
    until = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > until:
            raise AssertionError(said)
        time.sleep(0.05)
    return found


class ServedCase(unittest.TestCase):
    """One daemon with a page and a token, and one trainer of the pipeline "small", one of whose samples is damaged."""
    options = None  # daemon and ctl

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        make_pictures(cls.folder / "pictures")
        (cls.folder / "pictures/class-1/3.jpg").write_bytes(b"no picture")
        cls.token = cls.folder / "token"
        cls.token.write_text(TOKEN + "\n")
        cls.token.chmod(0o600)
        cls.daemon = Daemon(cls.options.daemon, f'[http]\nlisten = "127.0.0.1:0"\ntoken_file = "{cls.token}"\npage = true\n')
        cls.addClassCleanup(cls.daemon.close)
        found = wait_for(lambda: re.search(r"monitoring: HTTP at 127\.0\.0\.1:(\d+)", (cls.daemon.folder / "log").read_text()),
                         "the daemon does not serve HTTP")
        cls.port = int(found[1])
        file = cls.folder / "small.toml"
        file.write_text(cls.pipeline())
        trainer = subprocess.Popen(cls.trainer(file), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=cls.daemon.environment())
        cls.addClassCleanup(trainer.wait)
        cls.addClassCleanup(trainer.kill)
        wait_for(lambda: cls.samples() > 100, "the trainer gets nothing")

    @classmethod
    def pipeline(cls):
        return pipeline_text(cls.folder / "pictures", epochs=0)

    @classmethod
    def trainer(cls, file):
        """The command line of the trainer."""
        return [cls.options.ctl, "bench", file, "--epochs", "1000000000"]

    def ctl(self, *words):
        """What spdlctl prints."""
        done = subprocess.run([self.options.ctl, *map(str, words)], capture_output=True, text=True, timeout=WAIT_S,
                              env=self.daemon.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @classmethod
    def ask(cls, target, token=TOKEN):
        """(status, type, text)"""
        connection = http.client.HTTPConnection("127.0.0.1", cls.port, timeout=WAIT_S)
        try:
            connection.request("GET", target, headers={"Authorization": "Bearer " + token} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read().decode()
        finally:
            connection.close()

    @classmethod
    def document(cls, target):
        status, kind, text = cls.ask(target)
        if status != 200 or kind != "application/json":
            raise AssertionError(f"{target}: {status} {kind} {text}")
        return json.loads(text)

    @classmethod
    def samples(cls):
        return sum(pipeline["samples"] for pipeline in cls.document("/api/metrics")["now"]["pipelines"])
