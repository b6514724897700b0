#!/usr/bin/env python3
"""Measures pictures a second by the number of threads, for spdld and the other loaders that are installed.

    bench/scaling.py FOLDER [--build DIR] [--peers-from DIR] [--peers NAME,...] [--threads 1,2,4,8,16] [--rounds 3]
                     [--epochs 3] [--batch 64] [--out DIR]

bench/compare/run.py explains the options. Each measurement runs in a fresh process, and the loaders take turns. Numbers
of threads above this process's cores are left out. The table shows pictures/s and, beside it, how much of linear growth
that is, from the same loader's figure with the fewest threads.
"""
import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE / "compare"), str(HERE / "support")]
import figures
import machine
import run
import rows


def measure_all(arguments):
    """Returns {threads: {row name: lines}}. Each round goes through all numbers of threads and all rows in turn."""
    cores = len(os.sched_getaffinity(0))
    counts = sorted({count for count in arguments.threads if count <= cores}) or [1]
    merged = {count: {} for count in counts}
    rounds, arguments.rounds = arguments.rounds, 1
    for _ in range(rounds):
        for count in counts:
            arguments.threads = count
            lines, _ = run.measure_all(arguments, lambda text: print(f"{count} threads: {text}", file=sys.stderr, flush=True))
            for name, of_row in lines.items():
                merged[count].setdefault(name, []).extend(of_row)
    return merged


def table(merged):
    counts, titles = sorted(merged), {row.name: row.title for row in rows.ROWS}
    body = []
    for name in titles:
        if not all(name in merged[count] for count in counts):
            continue
        rates = [figures.medians(merged[count][name])["pictures_per_s"] for count in counts]
        cells = [f"{rates[0]:.0f}"] + [f"{rate:.0f} ({rate / rates[0]:.2f} x)" for rate in rates[1:]]
        linear = rates[-1] / rates[0] / (counts[-1] / counts[0])
        body.append([titles[name], *cells, f"{linear:.2f}"])
    return figures.markdown(["pictures/s with", *(f"{count} thread{'s' * (count > 1)}" for count in counts), "of linear"], body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--peers-from", default="")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["spdld", "dali", "tf", "torch", "spdl", "ffcv"])
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2, 4, 8, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    arguments.work = "train"
    merged = measure_all(arguments)
    text = machine.hardware() + "\n\n" + table(merged)
    figures.finish("scaling", text, arguments.out, merged)


if __name__ == "__main__":
    main()
