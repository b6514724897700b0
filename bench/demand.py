#!/usr/bin/env python3
"""Measures what the loader costs where it could give more batches than its trainer takes.

    bench/demand.py FOLDER --build DIR [--share 0.33] [--seconds 10] [--settle 3] [--threads 2] [--batch 6] [--size 224]
                    [--out DIR]

FOLDER holds <class>/<name>.jpg. A trainer first takes batches as fast as they come, and then takes SHARE of that rate
at even intervals. Both times it uses the same daemon, which tunes itself and has no cache. The script prints for both:
batches for each second, the daemon's CPU, how long the trainer waited, and what the tuning chose. The aim is no
waiting, for SHARE of the CPU.
"""
import argparse
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import figures
import machine
import own_daemon
import processes


def take(loader, seconds, interval_s):
    """Returns the waits in next(), in s. It takes a batch every `interval_s`, or as fast as batches come where that is
    0."""
    waits, began = [], time.monotonic()
    due = began
    while time.monotonic() - began < seconds:
        asked = time.monotonic()
        batch = loader.next(timeout=60)
        waits.append(time.monotonic() - asked)
        if batch is not None:
            del batch
        due += interval_s
        if (left := due - time.monotonic()) > 0:
            time.sleep(left)
    return waits


def phase(daemon, loader, arguments, interval_s):
    take(loader, arguments.settle, interval_s)  # the tuning comes down after some calm steps
    cpu, began = processes.cpu_s(daemon.process.pid), time.monotonic()
    waits = take(loader, arguments.seconds, interval_s)
    lasted = time.monotonic() - began
    cpu = processes.cpu_s(daemon.process.pid) - cpu
    tuning = daemon.query("describe", "bench")["tuning"]
    return {"rate": len(waits) / lasted, "cpu": cpu / lasted, "stalled": sum(waits) / lasted,
            "p50_ms": 1000 * statistics.median(waits),
            "p99_ms": 1000 * figures.quantile(waits, 0.99),
            "chosen": {knob: tuning[knob]["now"] for knob in ("decode", "fetch", "depth")},
            "reason": tuning["reason"]}


def line_of(name, told):
    chosen = told["chosen"]
    return [name, f"{told['rate']:.0f}", f"{told['cpu']:.2f}", f"{100 * told['stalled']:.1f} %", f"{told['p50_ms']:.3f}",
            f"{told['p99_ms']:.3f}", f"{chosen['decode']} / {chosen['fetch']} / {chosen['depth']}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--share", type=float, default=0.33)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--settle", type=float, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    machine.warm_page_cache(machine.pictures_of(arguments.folder)[0])
    with own_daemon.OwnDaemon(arguments.threads) as daemon:
        spec = own_daemon.make_spec("train", arguments.folder, arguments.batch, 0, size=arguments.size)
        with daemon.attach(spec) as loader:
            full = phase(daemon, loader, arguments, 0)
            asked = phase(daemon, loader, arguments, 1 / (arguments.share * full["rate"]))
    head = ["trainer takes", "batches/s", "CPU, cores", "stalled", "next() ms, median", "p99", "decode / fetch / depth"]
    text = (f"{machine.hardware()}; {arguments.threads} threads, batches of {arguments.batch}\n\n" +
            figures.markdown(head, [line_of("all that comes", full), line_of(f"{arguments.share:.0%} of that", asked)]) +
            f"\n{asked['rate'] / full['rate']:.2f} of the batches for {asked['cpu'] / full['cpu']:.2f} of the CPU. "
            f"Last change: {asked['reason']}.\n")
    figures.finish("demand", text, arguments.out)


if __name__ == "__main__":
    main()
