"""What the tests with a real daemon over real stores share: the daemon, its stores' tables, and pipelines that are read to their
end."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import fault_proxy
import seaweed
from daemon import Daemon

import spdld

PROGRAM, CTL = os.environ.get("SPDLD_DAEMON", ""), os.environ.get("SPDLD_CTL", "")
WAIT_S = 30
# Bounds that tell what hangs from what ends, and not fast from slow: a busy machine may take seconds. The daemon's own limits (an
# attempt of 60 s) are longer. Each test that uses them checks something else as well.
REFUSED_WITHIN_S, ENDED_WITHIN_S = 30, 20
BUCKET = "data"


def until(condition, what, wait_s=WAIT_S):
    """Asks again until it is true; returns the true value."""
    end = time.monotonic() + wait_s
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {wait_s} s: {what}")
        time.sleep(0.02)
    return found


def store_table(uri, **keys):
    """A [[data.stores]] table of the daemon's file."""
    return "\n[[data.stores]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in {"uri": uri, **keys}.items())


def picture_spec(uri, name="pictures", batch=4, epochs=1, order=None, **changes):
    """A pipeline over an image-folder."""
    return {"name": name, "source": {"type": "image-folder", "uri": str(uri)}, "order": {"epochs": epochs, **(order or {})},
            "output": [{"name": "image", "from": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [16, 16]}]},
                       {"name": "label", "from": "class"}],
            "batch": {"size": batch}, **changes}


def shard_spec(uri, name="shards", batch=4, epochs=1, **changes):
    """A pipeline over a webdataset of a Corpus."""
    spec = picture_spec(uri, name, batch, epochs)
    spec["source"]["type"], spec["source"]["uri"] = "webdataset", uri
    spec["output"][0]["from"] = "jpg"
    spec["output"][1] = {"name": "label", "from": "cls", "ops": [{"op": "parse-int"}]}
    return {**spec, **changes}


def content(batch):
    """Everything that a batch holds, as bytes."""
    return {name: batch[name].tobytes() for name in batch.keys()}


def digests(loader):
    """Reads an epoch; returns [(sample_id, digest of its image, whether it was replaced)]. Needs the output "image"."""
    found = []
    for batch in loader:
        images, ids, count = batch["image"], batch["sample_id"], batch.valid
        found += [(int(ids[i]), hashlib.blake2b(images[i].tobytes(), digest_size=8).digest()) for i in range(count)]
    return found


class StoreDaemon(Daemon):
    """A daemon that can be killed, and started anew on the same socket with the same file."""

    def __init__(self, config="", environment=None):
        kept = dict(os.environ)
        os.environ.update(environment or {})
        try:
            super().__init__(PROGRAM, config)
        finally:
            os.environ.clear()
            os.environ.update(kept)
        self._environment = {**kept, **(environment or {})}

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Ends the daemon by SIGTERM; returns (exit code, seconds)."""
        began = time.monotonic()
        self.process.terminate()
        return self.process.wait(WAIT_S), time.monotonic() - began

    def start(self):
        self.process = subprocess.Popen([PROGRAM, "--config", self.folder / "spdld.toml", "--socket", self.socket],
                                        stdout=self.log, stderr=self.log, env=self._environment)
        self._wait_until_it_listens()

    def said(self):
        return (self.folder / "log").read_text()

    def ctl(self, *arguments):
        """What spdlctl prints, whether it succeeds or not."""
        done = subprocess.run([CTL, "--socket", self.socket, *arguments], capture_output=True, text=True, timeout=WAIT_S)
        return done.stdout + done.stderr

    def status(self):
        return spdld.query("status", socket=str(self.socket))

    def describe(self, name):
        return spdld.query("describe", name, socket=str(self.socket))

    def state(self, name):
        """(state, reason) of a pipeline."""
        described = self.describe(name)
        return described["state"], described["reason"]


class StoreCase(unittest.TestCase):
    """One SeaweedFS for all tests of a class, with the bucket "data", and a fault proxy before it."""

    inline = 0  # as Seaweed's

    @classmethod
    def setUpClass(cls):
        if not PROGRAM or not CTL:
            raise RuntimeError("SPDLD_DAEMON and SPDLD_CTL are not set: the programs to test with")
        folder = tempfile.TemporaryDirectory(prefix="spdld-remote-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.weed = seaweed.Seaweed(inline=cls.inline)
        cls.addClassCleanup(cls.weed.close)
        cls.client = cls.weed.make_bucket(BUCKET)
        cls.proxy = fault_proxy.FaultProxy(cls.weed.endpoint, seed=1)
        cls.addClassCleanup(cls.proxy.close)
        # Nothing of the user's own accounts is used.
        os.environ.update(AWS_ACCESS_KEY_ID=cls.weed.access_key, AWS_SECRET_ACCESS_KEY=cls.weed.secret_key, HOME=str(cls.folder),
                          AWS_EC2_METADATA_DISABLED="true")
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
            os.environ.pop(name, None)

    def setUp(self):
        self.proxy.set()
        self.proxy.counts(forget=True)

    def daemon(self, config=None, environment=None, **keys):
        """A daemon until the test's end. Without a text its one store is the bucket behind the proxy, with `keys` beside."""
        if config is None:
            config = self.stores(**keys)
        daemon = StoreDaemon(config, environment)
        self.addCleanup(lambda: daemon.log.closed or daemon.close())
        return daemon

    def stores(self, **keys):
        return store_table("s3://data", **{"endpoint": self.proxy.endpoint, **keys}) + '\n[[data.roots]]\npath = "/"\n'

    def attach(self, daemon, spec, **options):
        loader = spdld.attach(spec, **{"socket": str(daemon.socket), "framework": "numpy", "timeout": WAIT_S,
                                       "group": self.id(), **options})
        self.addCleanup(loader.close)
        return loader

    def read(self, daemon, spec, **options):
        """All batches of all epochs, as bytes."""
        with self.attach(daemon, spec, **options) as loader:
            return [content(batch) for _ in range(loader.epochs) for batch in loader]

    def lists(self):
        """How many pages of lists the proxy saw."""
        return sum(count for line, count in self.requests("GET /data").items() if line.rstrip("/") == "GET /data")

    def requests(self, pattern=""):
        """{"GET /path": how often} of what the proxy saw, where the pattern stands in it."""
        return {line: count for line, (count, _) in self.proxy.counts()["by_path"].items() if pattern in line}
