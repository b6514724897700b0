#!/usr/bin/env python3
"""Measures spdld end to end, from files to a Python trainer, with the work of bench/compare.

    bench/end_to_end.py WORK FOLDER [--build DIR] [--cache off] [--batch 64] [--threads 2] [--epochs 3]

WORK: resize  JPEG -> bilinear 224x224 (antialiased) -> uint8 NHWC
      train   JPEG -> RandomResizedCrop(224) -> flip -> normalise -> float32 NCHW
FOLDER holds <class>/<name>.jpg. With --cache encoded or decoded, an epoch that is not measured fills the cache first.

The script runs spdld's row of bench/compare in this process, and prints one JSON line. CPU is the user and system time
of daemon and trainer from attach on, including listing and handing over. pictures_per_s counts after the first batch.
memory_mb is the largest proportional set size of daemon and trainer together; slots count once.
"""
import argparse
import json
import os
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE / "compare"), str(HERE / "compare/peers"), str(HERE / "support")]
import one
import own_daemon
import processes


class Peak(threading.Thread):
    """Samples the memory of this process and of all processes below it five times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes, self.ended = 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            self.bytes = max(self.bytes, processes.tree_pss_bytes(os.getpid()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["train", "resize"])
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--cache", choices=["off", "encoded", "decoded"], default="off")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    import with_spdld
    with tempfile.TemporaryDirectory(prefix="spdld-bench-") as scratch:
        job = one.Job("spdld", arguments.work, arguments.folder, scratch, arguments.batch, arguments.threads, arguments.epochs,
                      cache=arguments.cache)
        peak = Peak()
        peak.start()
        try:
            line = one.run(job, with_spdld)
        finally:
            peak.ended.set()
    print(json.dumps({**line, "memory_mb": peak.bytes / 2 ** 20}))


if __name__ == "__main__":
    main()
