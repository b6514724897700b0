#!/usr/bin/env python3
"""Checks that two unequal pipelines, which both want all the CPU, get what their weights promise over any ten seconds.

    bench/shares.py FOLDER [--build DIR] [--weights 1:1,1:3,3:1,1:9] [--seconds 40] [--threads 2] [--batch 16] [--size 224]
                    [--out DIR]

FOLDER holds <class>/<name>.jpg. For each pair of weights, one job takes batches as fast as they come from "heavy" (each
sample is decoded four times, as float32), and another job from "light" (each sample is decoded once, small, as uint8).
Every half second the script asks for the CPU time that each pipeline got from the decode threads.

It prints the CPU time of one sample of each pipeline, heavy's promised and actual share, the least and the greatest
share in any ten seconds, and by how much either pipeline was off from its promise at worst. The exit code is 1 where
that is more than 20 %. A run of less than twenty seconds judges nothing. Other work on the machine does not change the
shares.
"""
import argparse
import json
import os
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

WINDOW_S = 10
INTERVAL_S = 0.5
OFF_MAX = 0.2
SECONDS_TO_JUDGE = 2 * WINDOW_S
SETTLE_S = 1
TUNING = "[tuning]\nenabled = false\n"  # all the threads, all the time
TRAINER = """
import json, select, sys
import spdld
spec, socket, group = json.loads(sys.argv[1])
loader = spdld.attach(spec, socket=socket, private=False, framework="raw", group=group, timeout=60)
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    loader.next(timeout=60)
"""


def make_specs(arguments, weights, number):
    common = {"folder": arguments.folder, "batch": arguments.batch, "epochs": 0}
    heavy = own_daemon.make_spec("train", size=arguments.size, name=f"heavy-{number}", **common)
    image = heavy["output"][0]
    heavy["output"] += [{**image, "name": f"image-{more}"} for more in range(3)]
    light = own_daemon.make_spec("crop8", size=32, name=f"light-{number}", **common)
    for spec, weight in zip((heavy, light), weights):
        spec["cpu_weight"] = weight
        spec["batch"]["prefetch_depth"] = 16
    return heavy, light


def start_trainer(daemon, spec):
    return subprocess.Popen([sys.executable, "-c", TRAINER, json.dumps([spec, daemon.socket, spec["name"]])],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end_trainer(process):
    try:
        _, words = process.communicate("end", timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        raise RuntimeError(f"a trainer failed: {words.strip()[-400:]}")


def look(daemon, names):
    """Returns (moment, CPU seconds of each pipeline)."""
    return time.monotonic(), [daemon.query("describe", name)["cpu"]["used_s"] for name in names]


def sample(daemon, specs, seconds):
    """Looks at the CPU time while both trainers take batches as fast as they can. Returns the looks, and the number of
    samples that were decoded for each pipeline."""
    names = [spec["name"] for spec in specs]
    trainers = [start_trainer(daemon, spec) for spec in specs]
    try:
        for trainer in trainers:
            if trainer.stdout.readline().strip() != "ready":
                raise RuntimeError(f"a trainer failed: {trainer.communicate()[1].strip()[-400:]}")
        time.sleep(SETTLE_S)
        looks = [look(daemon, names)]
        while looks[-1][0] - looks[0][0] < seconds:
            time.sleep(INTERVAL_S)
            looks.append(look(daemon, names))
        return looks, [daemon.query("describe", name)["stages"][1]["samples"] for name in names]
    finally:
        for trainer in trainers:
            end_trainer(trainer)


def share(before, after):
    """Returns the share of the first pipeline between two looks, or None where no CPU time was used."""
    used = [late - early for early, late in zip(before[1], after[1])]
    return used[0] / sum(used) if sum(used) > 0 else None


def windows(looks, window_s=WINDOW_S):
    """Returns the share of the first pipeline in each window of `window_s` seconds, or a little more. A window begins
    at each look."""
    shares = []
    for number, before in enumerate(looks):
        after = next((each for each in looks[number:] if each[0] - before[0] >= window_s), None)
        if after is not None and (found := share(before, after)) is not None:
            shares.append(found)
    return shares


def off(shares, promised):
    """Returns the largest deviation of either pipeline from its promised share, as a part of that share."""
    return max(max(abs(each / promised - 1), abs((1 - each) / (1 - promised) - 1)) for each in shares)


def measure(daemon, arguments, weights, number):
    looks, decoded = sample(daemon, make_specs(arguments, weights, number), arguments.seconds)
    promised = weights[0] / sum(weights)
    shares = windows(looks, min(WINDOW_S, arguments.seconds / 2))
    used, lasted = looks[-1][1], looks[-1][0] - looks[0][0]
    return {"weights": list(weights), "promised": promised, "got": share(looks[0], looks[-1]), "least": min(shares),
            "most": max(shares),
            "off": off(shares, promised), "windows": len(shares),
            "sample_ms": [1000 * cpu / max(1, count) for cpu, count in zip(used, decoded)],
            "cores": (sum(used) - sum(looks[0][1])) / lasted}


def line_of(told):
    heavy, light = told["sample_ms"]
    return [":".join(f"{weight:g}" for weight in told["weights"]), f"{heavy:.2f} / {light:.2f}", f"{told['cores']:.2f}",
            f"{told['promised']:.3f}",
            f"{told['got']:.3f}", f"{told['least']:.3f} to {told['most']:.3f}", f"{100 * told['off']:.1f} %"]


def pairs_of(text):
    pairs = [tuple(float(weight) for weight in pair.split(":")) for pair in text.split(",")]
    if any(len(pair) != 2 or min(pair) <= 0 for pair in pairs):
        raise SystemExit("--weights are pairs such as 1:1,1:3: heavy's and light's")
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--weights", default="1:1,1:3,3:1,1:9")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    machine.warm_page_cache(machine.pictures_of(arguments.folder)[0])
    with own_daemon.OwnDaemon(arguments.threads, more=TUNING) as daemon:
        told = [measure(daemon, arguments, weights, number) for number, weights in enumerate(pairs_of(arguments.weights))]
    head = ["weights, heavy:light", "CPU ms a sample", "CPU, cores", "heavy: promised", "got", "in any ten seconds",
            "either off by, at worst"]
    text = (f"{machine.hardware()}; {arguments.threads} threads, {arguments.seconds:g} s a row\n\n"
            + figures.markdown(head, [line_of(each) for each in told]))
    judged = arguments.seconds >= SECONDS_TO_JUDGE
    figures.finish("shares", text, arguments.out, told, failed=judged and any(each["off"] > OFF_MAX for each in told))


if __name__ == "__main__":
    main()
