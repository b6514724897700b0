"""The parts that each job works with: the context that run.py wrote, a daemon of its own, and pipelines over the
corpus."""
import json
import os
import sys
import time
from pathlib import Path

import spdld

HERE = Path(__file__).resolve().parent
if not (HERE / "daemon_process.py").exists():  # where this was packed, it lies beside
    sys.path.append(str(HERE.parent / "support"))
from daemon_process import WAIT_S, DaemonProcess

SETTINGS = """\
[limits]
cpu_budget = {threads}
fetch_concurrency = 16
slot_bytes_max = "16 GiB"
slot_bytes_per_user_max = "16 GiB"
[gpu]
enabled = {gpu}
slot_bytes_max = "16 GiB"
staging_bytes_max = "4 GiB"
[state]
folder = "@FOLDER@/state"
[log]
level = "warn"
"""
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Context:
    """The context of a job. Its attributes are device ("cuda" or "cpu"), quick, cores, corpus, daemon (dict of a
    Program), python, jobs and scripts."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    @staticmethod
    def load(file):
        return Context(**json.loads(Path(file).read_text()))

    def scaled(self, full, quick):
        return quick if self.quick else full

    def pipeline(self, name, dtype="uint8", batch=32, epochs=0, size=224, **batching):
        """Returns a pipeline over the corpus, with crop and flip. Pictures in floats are normalised, in NCHW. The
        pipeline is endless unless epochs is given. Decoded pictures are cached, because the jobs measure the hand-over
        and not the decoding."""
        ops = [{"op": "decode-image"}, {"op": "random-resized-crop", "size": size}, {"op": "horizontal-flip"}]
        if dtype != "uint8":
            ops.append({"op": "normalize", "mean": MEAN, "std": STD, "dtype": dtype})
        return {"name": name, "seed": 7, "cache": "decoded", "source": {"type": "image-folder", "uri": str(self.corpus)},
                "order": {"epochs": epochs}, "batch": {"size": batch, **batching},
                "output": [{"name": "image", "from": "image", "ops": ops}, {"name": "label", "from": "class"}]}


class Daemon(DaemonProcess):
    """A daemon for a block: `with Daemon(context) as daemon`. See DaemonProcess. With `open_to_all` every user may
    connect."""

    def __init__(self, context, threads=None, more="", open_to_all=False):
        program = context.daemon
        library_path = {"LD_LIBRARY_PATH": program["library_path"]} if program["library_path"] else {}
        gpu = "true" if context.device == "cuda" else "false"
        super().__init__(program["command"], SETTINGS.format(threads=threads or context.cores, gpu=gpu) + more,
                         {**os.environ, **library_path})
        self.open_to_all = open_to_all
        if open_to_all:
            self.folder.chmod(0o755)

    def start(self):
        super().start()
        if self.open_to_all:
            os.chmod(self.socket, 0o666)

    def kill(self):
        self.process.kill()
        self.process.wait(WAIT_S)

    def attach(self, spec, **options):
        """Calls spdld.attach for this daemon. `way` is a name in WAYS, or a device such as "cuda:1"."""
        options = {**way_options(options.pop("way", "cpu")), "framework": "raw", "timeout": 60, **options}
        return spdld.attach(spec, socket=self.socket, private=False, **options)

    def status(self):
        return spdld.query("status", socket=self.socket)

    def gpu(self):
        """Returns the entry of `status` for the first GPU that is open, or else for the first GPU."""
        gpus = self.status()["gpus"]
        devices = sorted(gpus["devices"], key=lambda device: device["state"] != "open")
        if not devices:
            raise RuntimeError(f"the daemon has no GPU: {gpus['reason']}")
        return devices[0]

    def ring(self, name):
        """Returns the entry of `describe` for the only ring of a pipeline."""
        return spdld.query("describe", name, socket=self.socket)["rings"][0]


# How batches reach the trainer: a name -> keywords of attach.
WAYS = {
    "cpu": {"device": "cpu"},
    "pinned": {"device": "pinned"},
    "fd": {"device": "cuda", "transport": "fd"},
    "handle": {"device": "cuda", "transport": "handle"},
    "handle early": {"device": "cuda", "transport": "handle", "experimental_ready_early": True},
}
MEMORY = {"cpu": "host", "pinned": "pinned", "fd": "cuda-fd", "handle": "cuda-handle", "handle early": "cuda-handle"}


def way_options(way):
    """Returns the keywords of attach for a way, which may also be a device such as "cuda:N"."""
    return dict(WAYS[way]) if way in WAYS else {"device": way}


def until(condition, limit_s, every_s=0.05):
    """Waits until condition() is true, for at most limit_s. Returns whether it became true."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every_s)
    return True


def next_batch(loader, limit_s=WAIT_S):
    """Returns the next batch, across the ends of epochs."""
    for _ in range(3):
        batch = loader.next(timeout=limit_s)
        if batch is not None:
            return batch
    raise RuntimeError("the loader gives no batch: its epochs have ended")
