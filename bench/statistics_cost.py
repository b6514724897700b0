#!/usr/bin/env python3
"""Measures what the statistics cost: instructions for an image, with all of them and with none.

    bench/statistics_cost.py FOLDER [--images 500] [--epochs 4] [--rounds 3] [--keep DIR] [--out DIR]

FOLDER holds <class>/<name>.jpg. The script builds the daemon twice in a folder of its own (or in --keep, which stays): as it is,
and with SPDLD_STATISTICS=0, which records nothing for each sample. Each daemon runs below valgrind's callgrind, which counts the
instructions of the decode thread's turns: what happens for each sample. A trainer takes some epochs; the work is the training
recipe, with all settings pinned. The exit code is 1 where statistics cost more than 1 %.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import figures
import machine
import own_daemon

COST_MAX = 0.01
START_S = 60  # below valgrind
TURN = "spdld::pipeline::Stream::Task::run(unsigned int)"
WAYS = {"with": "1", "without": "0"}
SETTINGS = """\
[limits]
cpu_budget = 1
fetch_concurrency = 1
[cache]
ram_bytes_max = 0
[tuning]
enabled = false
[state]
folder = "off"
[gpu]
enabled = false
"""


def build(folder, way):
    made = folder / way
    if not (made / "build.ninja").exists():
        subprocess.run(["meson", "setup", made, ROOT, "--buildtype=release", "-Dtests=false", "-Dparquet=disabled",
                        f"-Dcpp_args=-DSPDLD_STATISTICS={WAYS[way]}"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "CXX": "ccache g++", "CC": "ccache gcc"})
    subprocess.run(["ninja", "-C", made, "daemon/spdld", "client/cli/spdlctl"], check=True, stdout=subprocess.DEVNULL)
    return made


def instructions(made, spec, epochs):
    """Of the daemon, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "spdld.toml").write_text(SETTINGS)
        (folder / "train.json").write_text(spec)
        socket = folder / "spdld.sock"
        said = folder / "said"  # a pipe would fill: valgrind tells of each system call that is newer than itself
        daemon = subprocess.Popen(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'out'}", f"--log-file={said}",
                                   f"--toggle-collect={TURN}", made / "daemon/spdld", "--config", folder / "spdld.toml",
                                   "--socket", socket],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            ctl = [made / "client/cli/spdlctl", "--socket", socket, "--timeout-ms", "600000"]
            until = time.monotonic() + START_S
            while subprocess.run([*ctl, "ping"], capture_output=True).returncode != 0 and time.monotonic() < until:
                time.sleep(0.1)
            subprocess.run([*ctl, "bench", folder / "train.json", "--epochs", str(epochs)], check=True, stdout=subprocess.DEVNULL)
        finally:
            daemon.terminate()
            daemon.wait(timeout=120)
        return int(re.search(r"Collected : (\d+)", said.read_text())[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--images", type=int, default=500, help="that the folder has")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", default="")
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    spec = json.dumps(own_daemon.make_spec("train", arguments.folder, batch=50, epochs=arguments.epochs))
    with tempfile.TemporaryDirectory() as own:
        folder = Path(arguments.keep or own).resolve()
        builds = {way: build(folder, way) for way in WAYS}
        counts = {way: [] for way in WAYS}
        for _ in range(arguments.rounds):
            for way in WAYS:
                counts[way].append(instructions(builds[way], spec, arguments.epochs) / arguments.images / arguments.epochs)
    medians = {way: statistics.median(counts[way]) for way in WAYS}
    cost = medians["with"] / medians["without"] - 1
    rows = [[way, f"{medians[way] / 1e3:,.1f}", f"{min(counts[way]) / 1e3:,.1f} to {max(counts[way]) / 1e3:,.1f}"]
            for way in WAYS]
    text = (f"{machine.hardware()}\n\n" + figures.markdown(["statistics", "1,000 instructions an image", "of all rounds"], rows) +
            f"\nStatistics cost {100 * cost:.2f} % of the instructions.\n")
    figures.finish("statistics_cost", text, arguments.out, {"counts": counts, "cost": cost}, cost > COST_MAX)


if __name__ == "__main__":
    main()
