#!/usr/bin/env python3
"""Runs a daemon under trainers that come, go, are killed and seek, and tells whether the daemon grows.

    bench/soak.py FOLDER [--build DIR] [--minutes 30] [--trainers 3] [--threads 2] [--batch 32] [--size 224] [--out DIR]

FOLDER holds <class>/<name>.jpg. Each round starts the trainers, which attach to two pipelines (one keeps decoded
pictures), take some batches, seek, and end: in order, with batches in hand, or by SIGKILL. When all have gone, the
script records the daemon's proportional set size without slots and cache, its descriptors, and its threads.

It prints the slope of each over the rounds, by least squares, with its standard error. The exit code is 1 when a slope
is certainly above zero: above three standard errors, and above a tenth of the mean (memory) or one (descriptors,
threads) over the run. The first half of the run is warm-up, because scratch memory grows to the largest pictures. A run
of less than five minutes is all warm-up: it shows slopes and judges none.
"""
import argparse
import json
import os
import random
import signal
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
import processes

WAIT_S = 60
ENDS = ("in order", "holding", "killed")
SAMPLES_MIN = 6
MINUTES_TO_JUDGE = 5
ERRORS_ABOVE = 3  # standard errors; of a slope of zero one in 700 is
TRAINER = """
import json, sys
import spdld

spec, socket, steps, seek_after, end, group = json.loads(sys.argv[1])
loader = spdld.attach(spec, socket=socket, private=False, framework="raw", group=group, timeout=60)
held = []
for step in range(steps):
    batch = loader.next(timeout=60)
    if batch is not None:
        held = [batch]
    if step == seek_after:
        loader.seek(step % 3, step % loader.info.steps_per_epoch)

if end == "in order":
    held.clear()
    loader.close()
elif end == "killed":
    print("ready", flush=True)
    sys.stdin.read()
"""


def start_trainer(daemon, specs, number, chance):
    end = chance.choice(ENDS)
    steps = chance.randint(1, 20)
    told = [chance.choice(specs), daemon.socket, steps, chance.randrange(steps), end, f"soak-{number}"]
    process = subprocess.Popen([sys.executable, "-c", TRAINER, json.dumps(told)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, end


def end_trainer(process, end):
    """Ends a trainer. Raises an error where the trainer failed by itself."""
    if end == "killed":
        if process.stdout.readline().strip() == "ready":
            process.send_signal(signal.SIGKILL)
        else:
            end = "failed"
    try:
        _, words = process.communicate(timeout=WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RuntimeError(f"a trainer did not end within {WAIT_S} s") from None
    if end != "killed" and process.returncode != 0:
        raise RuntimeError(f"a trainer failed: {words.strip()[-400:]}")


def wait_until_alone(daemon):
    """Waits until the daemon has seen that every trainer has gone, and holds no slots for a trainer."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        status = daemon.query("status")
        # This query's own session is among them.
        if len(status["sessions"]) <= 1 and status["memory"]["slot_bytes"] == 0:
            return
        time.sleep(0.02)
    raise RuntimeError(f"the daemon still has sessions or slots {WAIT_S} s after the last trainer went")


def sample(daemon, began):
    pid = daemon.process.pid
    return {"minutes": (time.monotonic() - began) / 60, "memory": daemon.own_bytes() / 1e6,
            "descriptors": processes.descriptors_of(pid), "threads": processes.threads_of(pid)}


def soak(arguments):
    """Returns the samples, one after each round, and the number of trainers."""
    common = {"folder": arguments.folder, "batch": arguments.batch, "epochs": 1000, "size": arguments.size}
    specs = [own_daemon.make_spec("train", name="soak-first", **common),
             own_daemon.make_spec("crop8", name="soak-cached", cache="decoded", **common)]
    chance, samples, number = random.Random(arguments.seed), [], 0
    with own_daemon.OwnDaemon(arguments.threads, 1 << 30) as daemon:
        began = time.monotonic()
        while len(samples) < SAMPLES_MIN or time.monotonic() - began < 60 * arguments.minutes:
            running = []
            for _ in range(arguments.trainers):
                running.append(start_trainer(daemon, specs, number, chance))
                number += 1
            for process, end in running:
                end_trainer(process, end)
            wait_until_alone(daemon)
            samples.append(sample(daemon, began))
    return samples, number


def judge(samples):
    """Returns [(name, mean, slope a minute, standard error, whether it grows)] over the second half of the samples."""
    later = samples[len(samples) // 2:]
    minutes = [each["minutes"] for each in later]
    lines = []
    for what, bound in (("memory", lambda mean: mean / 10), ("descriptors", lambda mean: 1), ("threads", lambda mean: 1)):
        values = [each[what] for each in later]
        mean = sum(values) / len(values)
        rise, error = figures.slope(minutes, values)
        over_run = rise * (minutes[-1] - minutes[0])
        lines.append((what, mean, rise, error, rise > ERRORS_ABOVE * error and over_run > bound(mean)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--trainers", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    samples, trainers = soak(arguments)
    lines, judged = judge(samples), arguments.minutes >= MINUTES_TO_JUDGE
    units = {"memory": " MB", "descriptors": "", "threads": ""}
    body = [[what, f"{mean:.1f}{units[what]}", f"{rise:+.3f}{units[what]}", f"{error:.3f}",
             "too short to tell" if not judged else "**yes**" if grows else "no"]
            for what, mean, rise, error, grows in lines]
    text = (f"{machine.hardware()}; {samples[-1]['minutes']:.1f} minutes, {trainers} trainers, {len(samples)} samples\n\n" +
            figures.markdown(["of the daemon", "mean", "slope a minute", "standard error", "grows"], body))
    figures.finish("soak", text, arguments.out, samples, failed=judged and any(grows for *_, grows in lines))


if __name__ == "__main__":
    main()
