"""Takes the batches of random pipelines, and compares each with the model's: on the host, in pinned memory and on the fake GPU,
whole and cut anew, in one go and resumed. Ends with exit code 1 at the first difference, and prints the seed of its case.

    trainer.py SOCKET FIRST COUNT      the cases with the seeds FIRST, FIRST + 1, ...
"""
import ctypes
import json
import random
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import spdld
from cuda_consumer import Taken
from specs import random_case

WAIT_S = 60
CODES = {0: "i", 1: "u", 2: "f", 6: "?"}


def on_gpu(tensor):
    """The content of a tensor in the fake GPU's memory, which is the process's own."""
    taken = Taken(tensor.__dlpack__(max_version=(1, 0)))
    code, bits, _ = taken.dtype
    dtype = np.dtype("?" if code == 6 else f"{CODES[code]}{bits // 8}")
    elements = 1 + sum((size - 1) * stride for size, stride in zip(taken.shape, taken.strides))
    if 0 in taken.shape:
        content = np.zeros(taken.shape, dtype)
    else:
        memory = np.frombuffer(ctypes.string_at(taken.address, elements * dtype.itemsize), dtype)
        strides = [stride * dtype.itemsize for stride in taken.strides]
        content = np.lib.stride_tricks.as_strided(memory, taken.shape, strides).copy()
    taken.release()
    return content


def content_of(batch, is_gpu):
    """Every tensor of the batch by name, copied; of a ragged output the pair of values and offsets."""
    content = {}
    for name in batch.keys():
        held = batch[name]
        parts = (held.values, held.offsets) if isinstance(held, spdld.Ragged) else (held,)
        arrays = [on_gpu(part) if is_gpu else np.array(part) for part in parts]
        content[name] = tuple(arrays) if len(arrays) > 1 else arrays[0]
    return content


def compare(got, expected, where):
    assert set(got) == set(expected), f"{where}: the tensors are {sorted(got)}, and not {sorted(expected)}"
    for name, wanted in expected.items():
        pairs = zip(got[name], wanted) if isinstance(wanted, tuple) else [(got[name], wanted)]
        for number, (one, other) in enumerate(pairs):
            fits = one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other)
            assert fits, (f"{where}: {name} part {number} is {one.dtype} {one.shape} {one}, "
                          f"and not {other.dtype} {other.shape} {other}")


class Taker:
    """One rank's way through the run, which may be broken off and resumed."""

    def __init__(self, spec, model, options):
        self.spec, self.model, self.options = spec, model, options
        self.seen = {}  # (epoch, step): sample ids
        self.state = None

    def attach(self):
        options = {**self.options, **({"state": self.state} if self.state else {})}
        return spdld.attach(self.spec, framework="raw" if self.is_gpu else "numpy", timeout=WAIT_S, **options)

    @property
    def is_gpu(self):
        return self.options.get("device", "cpu").startswith("cuda")

    def take(self, batches_max=None):
        """False: the run has ended."""
        with self.attach() as loader:
            ends = 0
            while batches_max is None or batches_max > 0:
                batch = loader.next(timeout=WAIT_S)
                if batch is None:
                    ends += 1
                    if ends > 1:
                        return False
                    continue
                ends = 0
                self.note(batch)
                if batches_max is not None:
                    batches_max -= 1
            self.state = loader.state_dict()
        return True

    def note(self, batch):
        got = content_of(batch, self.is_gpu)
        ids = [int(sample) for sample in got["sample_id"]]
        where = f"epoch {batch.epoch}, step {batch.step}"
        compare(got, self.model.of(ids), where)
        assert (batch.epoch, batch.step) not in self.seen, f"{where} came twice"
        self.seen[batch.epoch, batch.step] = ids

    def epoch(self, epoch):
        return [sample for place in sorted(self.seen) if place[0] == epoch for sample in self.seen[place]]


def run_together(works):
    """Each in a thread of its own; raises what one of them raised."""
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:  # noqa: B902 - it is raised again below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run_ranks(draw, spec, model, options):
    world = draw.randint(1, 3)
    takers = [Taker(spec, model, {**options, "rank": rank, "world_size": world}) for rank in range(world)]
    breaks = [draw.randint(0, 4) for _ in range(draw.choice([0, 0, 1, 3]))]

    def all_of(taker):
        for batches in breaks:
            if not taker.take(batches):
                return
        taker.take()

    if world == 1:
        all_of(takers[0])
    else:
        run_together([lambda taker=taker: all_of(taker) for taker in takers])
    for epoch in range(spec["order"]["epochs"]):
        model.check_epoch([sample for taker in takers for sample in taker.epoch(epoch)], world)


def run_shared(draw, spec, model, options):
    spec["share"] = "stream"
    sizes = [0, draw.randint(1, 12), draw.randint(1, 12)]
    takers = [Taker(spec, model, {**options, "group": f"{options['group']}-{i}", **({"batch_size": size} if size else {})})
              for i, size in enumerate(sizes)]
    run_together([taker.take for taker in takers])
    for taker, size in zip(takers, sizes):
        own = {**spec, "batch": {**spec["batch"], "size": size or spec["batch"]["size"]}}
        model.spec = own
        joined = min((place for place in taker.seen), default=(0, 0))
        for epoch in range(joined[0] + (joined[1] > 0), spec["order"]["epochs"]):
            model.check_epoch(taker.epoch(epoch), 1)


def run_case(seed, socket):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="spdld-ragged-") as folder:
        spec, data, model = random_case(draw, seed, Path(folder))
        device = draw.choice(["cpu", "cpu", "pinned", "cuda:0"])
        shared = draw.random() < 0.3 and device != "pinned"
        options = {"socket": socket, "group": f"g{seed}", "device": device}
        try:
            (run_shared if shared else run_ranks)(draw, spec, model, options)
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {error}\n{device}, shared: {shared}\n{json.dumps(spec, indent=1)}\n"
                  f"lengths: {[len(content) for content in data.bins]}, verdicts: {model.verdicts}", file=sys.stderr)
            raise SystemExit(1) from error
    return device, shared


def main():
    warnings.simplefilter("ignore", spdld.DataWarning)
    socket, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    kinds = {}
    for seed in range(first, first + count):
        kind = run_case(seed, socket)
        kinds[kind] = kinds.get(kind, 0) + 1
    for (device, shared), times in sorted(kinds.items()):
        print(f"{device}{' shared and cut anew' if shared else ''}: {times} cases")


if __name__ == "__main__":
    main()
