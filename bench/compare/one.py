"""Runs one loader over a folder in this process, and prints its figures as one JSON line. run.py and scaling.py start it.

    one.py '{"peer": "torch", "work": "train", "folder": FOLDER, "batch": 64, "threads": 2, "scratch": FOLDER2, ...}'

A clip of a video counts as a picture, and so does a sound. cpu_ms is the user and system time for one picture, of this process
and of all processes below it. It counts from the loader's construction on: imports, the start of the daemon and the filling of a
cache come before. pictures_per_s counts after the first batch.
"""
import importlib
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE / "peers"), str(HERE.parent / "support")]
import clips
import machine
import processes


class Job:
    """The work of one run. Its attributes are the arguments, and paths, classes, clips, pictures and corpus_bytes. `scratch`
    is a folder that outlives this process. `clips` is the number of clips of a row, or 1 for other works."""

    def __init__(self, peer, work, folder, scratch, batch=64, threads=2, epochs=3, antialias=True, cache="off", way=""):
        self.peer, self.work, self.folder, self.scratch, self.batch = peer, work, folder, scratch, batch
        self.threads, self.epochs, self.antialias, self.cache, self.way = threads, epochs, antialias, cache, way
        self.paths, self.classes = clips.files_of(work, folder)
        self.clips = clips.CLIPS.get(work, 1)
        self.pictures, self.corpus_bytes = len(self.paths) * self.clips, machine.warm_page_cache(self.paths)


def measure(job, loader):
    """Takes every batch, and returns the figures. The first EPOCHS_UNCOUNTED epochs are not counted, where the loader's
    module sets that."""
    uncounted = getattr(loader, "EPOCHS_UNCOUNTED", 0) * job.pictures
    wanted = uncounted + job.epochs * job.pictures
    cpu0, began = processes.tree_cpu_s(), time.monotonic()
    taken = first_batch_s = from_taken = left_out = 0
    cpu1 = None
    for images, count in loader.batches(job):
        now = time.monotonic()
        taken += count
        if not first_batch_s:
            first_batch_s = now - began
            shape, dtype = [int(length) for length in images.shape], str(images.dtype).replace("torch.", "")
        if uncounted and not left_out and taken >= uncounted:  # more than an epoch, where a loader fills the last batch up
            cpu0, left_out = processes.tree_cpu_s(), taken
        if not from_taken and taken >= uncounted:
            from_s, from_taken = now, taken
        if taken >= wanted:  # before its threads or processes end, and are told apart no more
            cpu1, last_s = processes.tree_cpu_s(), now
    if cpu1 is None:
        raise RuntimeError(f"{taken} pictures came, not {wanted}")
    return {"shape": shape, "dtype": dtype, "pictures": taken - left_out, "first_batch_s": first_batch_s,
            "cpu_ms": 1000 * (cpu1 - cpu0) / (taken - left_out),
            "pictures_per_s": (taken - from_taken) / (last_s - from_s) if last_s > from_s else 0.0}


def run(job, loader):
    """Runs a loader, with the functions that its module may have: prepare before the run, told after it, and close in
    any case."""
    try:
        if hasattr(loader, "prepare"):
            loader.prepare(job)
        line = measure(job, loader)
        return {**line, **loader.told(job)} if hasattr(loader, "told") else line
    finally:
        if hasattr(loader, "close"):
            loader.close()


def main():
    job = Job(**json.loads(sys.argv[1]))
    print(json.dumps(run(job, importlib.import_module(f"with_{job.peer}"))), flush=True)


if __name__ == "__main__":
    main()
