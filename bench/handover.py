#!/usr/bin/env python3
"""Measures what handing over a batch costs a trainer: next(), CPU, memory, and the first batch. Each figure stands
beside its bound.

    bench/handover.py FOLDER --build DIR [--calls 2000] [--rounds 5] [--threads 2] [--batch 64] [--size 224] [--out DIR]

FOLDER holds <class>/<name>.jpg. A trainer in C++ (ninja bench/client/next_ready) and a trainer in Python take batches
from a daemon that this script starts. Before each next() the ring is full. The first batch is timed from attach on, at
a daemon that has served the dataset before, and at a daemon that has just begun to listen. The exit code is 1 when a
figure misses its bound, unless --no-fail.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import figures
import machine
import own_daemon

CACHE_BYTES = 4 << 30
LIMIT_S = 900
MB = 1e6


def write_pipeline(file, arguments):
    """Writes an endless pipeline over cached planes, because this benchmark does not measure decoding."""
    spec = own_daemon.make_spec("train", arguments.folder, arguments.batch, 0, "decoded", size=arguments.size, name="handover")
    image, label = spec["output"]
    ops = ", ".join("{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in op.items()) + " }" for op in image["ops"])
    file.write_text(f'name = "handover"\nseed = 7\ncache = "decoded"\n[source]\ntype = "image-folder"\n'
                    f'uri = {json.dumps(spec["source"]["uri"])}\n[order]\nepochs = 0\n[batch]\nsize = {arguments.batch}\n'
                    f'[[output]]\nname = "image"\nfrom = "image"\nops = [ {ops} ]\n'
                    f'[[output]]\nname = "{label["name"]}"\nfrom = "{label["from"]}"\n')


def trainers(arguments):
    """Returns {"C++" or "Python": the trainer's figures}, and the daemon's own bytes while a trainer's pipeline is
    open."""
    told = {}
    with own_daemon.OwnDaemon(arguments.threads, CACHE_BYTES) as daemon:
        pipeline = daemon.folder / "handover.toml"
        write_pipeline(pipeline, arguments)
        programs = {"C++": [str(Path(arguments.build) / "bench/client/next_ready")],
                    "Python": [sys.executable, str(HERE / "client/next_ready.py")]}
        for name, program in programs.items():
            done = subprocess.run([*program, daemon.socket, str(pipeline), str(arguments.calls)], capture_output=True, text=True,
                                  timeout=LIMIT_S)
            if done.returncode != 0:
                raise SystemExit(f"the trainer in {name} failed: {done.stderr.strip()[-500:]}")
            told[name] = json.loads(done.stdout)
        with daemon.attach(own_daemon.make_spec("train", arguments.folder, arguments.batch, 2, "decoded")) as loader:
            for batch in loader:
                del batch
            own = daemon.own_bytes()
    return told, own


def first_batch_ms(daemon, arguments):
    import spdld  # noqa: F401  (its import is not timed)
    spec = own_daemon.make_spec("train", arguments.folder, arguments.batch)
    began = time.monotonic()
    with daemon.attach(spec) as loader:
        batch = loader.next(timeout=30)
        took = 1000 * (time.monotonic() - began)
        assert batch is not None
        del batch
    return took


def first_batches(arguments):
    """Returns the median times to the first batch in ms, as (cold daemon, warm daemon)."""
    cold, warm = [], []
    for _ in range(arguments.rounds):
        with own_daemon.OwnDaemon(arguments.threads) as daemon:
            cold.append(first_batch_ms(daemon, arguments))
            warm.append(first_batch_ms(daemon, arguments))
    return statistics.median(cold), statistics.median(warm)


def lines_of(arguments):
    """Returns a list of (name, value, unit, largest allowed value or None, remark)."""
    pictures, _ = machine.pictures_of(arguments.folder)
    machine.warm_page_cache(pictures)
    told, own = trainers(arguments)
    cold, warm = first_batches(arguments)
    out = []
    for name, most_us in (("C++", 15), ("Python", 40)):
        mine = told[name]
        out += [(f"next() on a ready batch, {name}", mine["next_us"], "us", most_us, f"median of {mine['calls']} calls"),
                (f"next() on a ready batch, {name}, p99", mine["next_p99_us"], "us", None, ""),
                (f"trainer's CPU a batch, {name}", mine["cpu_us"], "us", 100, "next, look a tensor up, release"),
                (f"batches copied on the way, {name}", mine["calls"] - mine["in_slots"], "", 0,
                 f"tensors that did not lie in the trainer's {mine['slots']} mappings of the slots that the daemon fills"),
                (f"trainer's growth, {name}", mine["grown_bytes"] / MB, "MB", 15,
                 "resident, slots aside, package's code included")]
    return out + [("first batch, daemon that knows the data set", warm, "ms", 60, f"from attach; median of {arguments.rounds}"),
                  ("first batch, daemon that has just begun", cold, "ms", 300, f"{len(pictures)} pictures to list"),
                  ("daemon's memory", own / MB, "MB", 120, "proportional set size less slots and cache")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", required=True)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--out", default="")
    parser.add_argument("--no-fail", action="store_true")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    lines = lines_of(arguments)
    body = [[what, f"{value:.3g} {unit}".strip(), "" if most is None else f"{most} {unit}".strip(),
             "" if most is None else "yes" if value <= most else "**no**", remark] for what, value, unit, most, remark in lines]
    text = machine.hardware() + "\n\n" + figures.markdown(["what", "measured", "at most", "met", "how"], body, right_from=9)
    missed = any(most is not None and value > most for _, value, _, most, _ in lines)
    figures.finish("handover", text, arguments.out, failed=missed and not arguments.no_fail)


if __name__ == "__main__":
    main()
