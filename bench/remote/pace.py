#!/usr/bin/env python3
"""Measures whether a store that answers late keeps up with a trainer: how long the trainer waits for batches.

    bench/remote/pace.py [--build DIR] [--objects 16000] [--bytes 100000] [--delay-ms 50] [--rate 800] [--connections 128]
                         [--depth 0]

A proxy before the store adds the delay to every request. The trainer takes `rate` samples a second: after each batch it rests for
the time that the batch lasts. A stall is the time that the trainer waits in next(). The first three seconds do not count. The
script prints the longest stall, the sum of all stalls, and the samples a second as JSON.
"""
import argparse
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parents[1] / "tests/stores"), str(HERE.parent / "support"), str(HERE)]
import children
import figures
import machine
import one
import own_daemon

WARM_S = 3


def run(store, connections, rate, depth):
    """Reads all objects at the rate; returns [(seconds since the start, seconds of next(), samples)] of the steps."""
    reader, steps = one.Spdld({"store": store, "concurrency": connections}), []
    spec = reader.spec()
    if depth:
        spec["batch"]["prefetch_depth"] = depth
    with reader.daemon as daemon, daemon.attach(spec) as loader:
        began = due = time.monotonic()
        for _ in range(len(loader)):
            asked = time.monotonic()
            batch = loader.next()
            got = time.monotonic()
            steps.append((got - began, got - asked, batch.valid))
            due = max(due, got) + batch.valid / rate
            batch.release()
            time.sleep(max(0, due - time.monotonic()))
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="")
    parser.add_argument("--objects", type=int, default=16000)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--delay-ms", type=float, default=50)
    parser.add_argument("--rate", type=float, default=800, help="samples a second")
    parser.add_argument("--connections", type=int, default=128)
    parser.add_argument("--depth", type=int, default=0, help="prefetch_depth; 0: the daemon's default")
    found = parser.parse_args()
    own_daemon.use_build(found.build)
    store = children.Helper(HERE / "serve.py", "--objects", found.objects, "--bytes", found.bytes, "--delay-ms", found.delay_ms)
    try:
        steps = run(store.addresses, found.connections, found.rate, found.depth)
    finally:
        store.close()
    late = [step for step in steps if step[0] > WARM_S]
    if not late:
        raise SystemExit(f"all objects came within {WARM_S} s: take more objects.")
    waits = [wait for _, wait, _ in late]
    seconds = late[-1][0] - late[0][0]
    print(json.dumps({"hardware": machine.hardware(), "connections": found.connections, "load": round(os.getloadavg()[0], 1),
                      "steps": len(late),
                      "stall_ms_max": round(max(waits) * 1e3, 2), "stall_ms_p99": round(figures.quantile(waits, 0.99) * 1e3, 2),
                      "stall_ms_sum": round(sum(waits) * 1e3, 1),
                      "samples_a_second": round(sum(count for *_, count in late[1:]) / seconds, 1)}))


if __name__ == "__main__":
    main()
