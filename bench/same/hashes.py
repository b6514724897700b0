"""Runs pipelines on the daemon of one build, with the client of that build, and prints what came as JSON. same_bytes.py
starts it.

    hashes.py BUILD PIPELINES

PIPELINES is a JSON file with what pipelines.make() returns. The output is {name: {"tensors": [[job, epoch, step, tensor, dtype,
shape, SHA-256 of the bytes], ...], "bytes": N, "kept": N, "error": ""}}. "kept" is how many fields came from the cache.
"""
import contextlib
import hashlib
import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "support"))
import own_daemon

THREADS, CACHE_BYTES = 2, 1 << 30
WAIT_S = 60


def array_of(tensor):
    """Returns the tensor as an array of numpy. Numbers that numpy does not have come as integers of their bits."""
    import numpy
    if tensor.dtype != "bfloat16":
        return numpy.asarray(tensor)
    import torch
    return torch.from_dlpack(tensor).view(torch.int16).numpy()


class GivenBatches:
    """Holds what one pipeline gave."""

    def __init__(self):
        self.tensors, self.bytes, self.kept, self.error = [], 0, 0, ""

    def note(self, job, batch):
        import numpy
        for name in batch.keys():
            tensor = batch.tensor(name)
            content = numpy.ascontiguousarray(array_of(tensor))
            self.bytes += content.nbytes
            self.tensors.append([job, batch.epoch, batch.step, name, tensor.dtype, list(tensor.shape),
                                 hashlib.sha256(content.tobytes()).hexdigest()])


def take_all(run, loader, job=0):
    for _ in range(loader.position[0], loader.epochs):
        for batch in loader:
            run.note(job, batch)
            del batch  # before the next is taken


def take_pushed(run, loader, steps):
    for step, ids in enumerate(steps):
        loader.push(0, step, ids, last=step + 1 == len(steps))
        batch = loader.next(timeout=WAIT_S)
        run.note(0, batch)
        del batch


def take_shared(run, daemon, spec, sizes):
    """Takes the batches of jobs that share a stream, in turn."""
    with contextlib.ExitStack() as stack:
        loaders = [stack.enter_context(daemon.attach(spec, group=f"shared-{job}", batch_size=size, join="now"))
                   for job, size in enumerate(sizes)]
        ended = set()
        while len(ended) < len(loaders):
            for job, loader in enumerate(loaders):
                batch = loader.next(timeout=WAIT_S) if job not in ended else None
                if batch is not None:
                    run.note(job, batch)
                elif loader.position[0] >= loader.epochs:
                    ended.add(job)
                del batch


def kept_of(daemon, spec):
    """Returns how many fields of the pipeline's samples came from the cache."""
    fields = daemon.query("describe", spec["name"])["cache"]["fields"]
    return sum(field["memory_hits"] + field["disk_hits"] for field in fields)


def run_one(daemon, pipeline):
    run, spec = GivenBatches(), pipeline["spec"]
    try:
        if "others" in pipeline:
            take_shared(run, daemon, spec, pipeline["others"])
            return run
        with daemon.attach(spec, **pipeline["options"]) as loader:
            if "pushed" in pipeline:
                take_pushed(run, loader, pipeline["pushed"])
            else:
                take_all(run, loader)
            run.kept = kept_of(daemon, spec)
    except Exception as error:  # every pipeline is reported on, also one that a build does not take
        run.error = f"{type(error).__name__}: {error}"
    return run


def main():
    build, pipelines = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    own_daemon.use_build(build)
    warnings.simplefilter("ignore")  # bad content, which is there on purpose
    with own_daemon.OwnDaemon(THREADS, CACHE_BYTES) as daemon:
        print(json.dumps({pipeline["name"]: vars(run_one(daemon, pipeline)) for pipeline in pipelines}))


if __name__ == "__main__":
    main()
