#!/usr/bin/env python3
"""A trainer that waits to be killed: `victim.py SOCKET SPEC.json WAY GROUP [WORK]`. It prints "ready" when it holds a
batch. Then it takes more batches, or does its WORK: "kernel" writes to the batch by kernels that are queued for seconds,
and "fork" has workers that live on when it is killed. Their numbers stand behind "ready"."""
import json
import os
import signal
import sys
import time
from pathlib import Path

import spdld
from node import next_batch, way_options

WORKERS = 4
WORKER_S = 60  # at most, should nobody end it
KERNELS, KERNELS_FIRST = 20_000, 500  # in all, and before "ready": fewer than the driver queues


def forked_worker():
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(WORKER_S)
        os._exit(0)
    return child


def write_by_kernels(batch, count):
    import torch
    image = torch.from_dlpack(batch.tensor("image"))
    for _ in range(count):
        image.add_(1)


def main():
    socket, spec, way, group, *work = sys.argv[1:]
    loader = spdld.attach(json.loads(Path(spec).read_text()), socket=socket, group=group, framework="raw", private=False,
                          timeout=60, **way_options(way))
    held = next_batch(loader)
    workers = [forked_worker() for _ in range(WORKERS)] if work == ["fork"] else []
    if work == ["kernel"]:
        write_by_kernels(held, KERNELS_FIRST)
    print("ready", *workers, flush=True)
    if work == ["kernel"]:
        write_by_kernels(held, KERNELS - KERNELS_FIRST)
    if work:
        time.sleep(WORKER_S)
    while True:
        held = next_batch(loader)
        held["image"]


if __name__ == "__main__":
    main()
