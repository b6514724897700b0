#!/usr/bin/env python3
"""Measures jobs that share a stream against one job alone: the node's CPU time, and the samples that the jobs get.

    bench/sharing.py FOLDER [--build DIR] [--jobs 4] [--sizes 48,32,96] [--rounds 3] [--epochs 3] [--threads 2] [--batch 64]
                            [--out DIR]

FOLDER holds <class>/<name>.jpg. The pipeline is the work "train" with share = "stream" and no cache. A round has four
runs over the same epochs: one job alone; JOBS jobs; JOBS jobs and one more that sleeps after its third batch; and one
job with one more job for each of the other batch sizes. The node's CPU time is the time of the daemon, and of the jobs
from their first batch on.

Every job records the ids of its samples. The exit code is 1 where a job loses, repeats or misplaces a batch or a
sample, and where the sleeping job is not cut loose or does not continue where it was. The script prints the medians of
the rounds.
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
import processes

WAIT_S = 600
LAG_MS = 1000
JOB = """
import hashlib, json, sys, time
import numpy, spdld

spec, socket, group, sleep_after, batch_size = json.loads(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
loader = spdld.attach(spec, socket=socket, private=False, framework="numpy", group=group, timeout=60,
                      batch_size=batch_size)

began, cpu, steps, samples = time.monotonic(), time.process_time(), [], 0
epochs = []
for epoch in range(loader.epochs):
    of_epoch = hashlib.md5()
    for batch in loader:
        ids = batch["sample_id"]
        steps.append([epoch, batch.step, hashlib.md5(numpy.asarray(ids).tobytes()).hexdigest()])
        of_epoch.update(numpy.asarray(ids).tobytes())
        samples += len(ids)
        if len(steps) == sleep_after:
            sys.stdin.readline()
    epochs.append(of_epoch.hexdigest())

print(json.dumps({"wall_s": time.monotonic() - began, "cpu_s": time.process_time() - cpu, "samples": samples,
                  "steps": steps, "epochs": epochs, "shared": loader.shared}), flush=True)
sys.stdin.readline()
"""


class Job:
    def __init__(self, daemon, spec, group, sleep_after=0, batch_size=0):
        told = json.dumps([spec, daemon.socket, group, sleep_after, batch_size])
        self._process = subprocess.Popen([sys.executable, "-c", JOB, told], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        if self._process.stdout.readline().strip() != "ready":
            raise SystemExit("a job did not start")

    def go(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def result(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a job failed")
        return json.loads(line)

    def end(self):
        self._process.communicate("\n", timeout=WAIT_S)


def run(arguments, sizes, sleeps):
    """Runs jobs with batches of these sizes (0: the pipeline's size) through the epochs. Returns the figures of the run
    and the results of all jobs."""
    spec = own_daemon.make_spec("train", arguments.folder, batch=arguments.batch, epochs=arguments.epochs)
    spec["share"] = "stream"
    with own_daemon.OwnDaemon(arguments.threads, limits=f"share_lag_ms_max = {LAG_MS}") as daemon:
        jobs = [Job(daemon, spec, f"job-{number}", batch_size=size) for number, size in enumerate(sizes)]
        sleeper = Job(daemon, spec, "sleeper", sleep_after=3) if sleeps else None
        cpu_before, began = processes.cpu_s(daemon.process.pid), time.monotonic()
        for job in [*jobs, *([sleeper] if sleeper else [])]:
            job.go()
        results = [job.result() for job in jobs]
        wall_s, daemon_s = time.monotonic() - began, processes.cpu_s(daemon.process.pid) - cpu_before
        described = daemon.query("describe", spec["name"])
        cut_loose = sum(ring["cut_loose"] for ring in described["rings"])
        decoded = described["stages"][1]["samples"]
        slept = None
        if sleeper:
            sleeper.go()
            slept = sleeper.result()
            sleeper.end()
        for job in jobs:
            job.end()
    samples = sum(result["samples"] for result in results)
    node_s = daemon_s + sum(result["cpu_s"] for result in results)
    return {"decoded": decoded / results[0]["samples"], "rate": samples / wall_s, "daemon_s": daemon_s, "node_s": node_s,
            "cut_loose": cut_loose}, results, slept


def complaints(results, slept, line, sleeps, epochs):
    """Returns sentences that say what went wrong."""
    found = []
    steps = results[0]["steps"]
    expected = [[epoch, step] for epoch in range(epochs) for step in range(len(steps) // epochs)]
    if [step[:2] for step in steps] != expected:
        found.append("the first job lost, repeated or misplaced a batch")
    found += [f"job {number} got other samples than the first" for number, result in enumerate(results)
              if result["epochs"] != results[0]["epochs"]]
    if sleeps and (line["cut_loose"] != 1 or slept["shared"]):
        found.append("the sleeper was not cut loose")
    if sleeps and slept["steps"] != steps:
        found.append("the sleeper did not go on where it was")
    if not all(result["shared"] for result in results):
        found.append("a job that does not sleep was cut loose")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[48, 32, 96])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    alike = [0] * arguments.jobs
    kinds = {"one": ([0], False), "all": (alike, False), "and a sleeper": (alike, True),
             f"batches of {', '.join(map(str, [arguments.batch, *arguments.sizes]))}": ([0, *arguments.sizes], False)}
    lines, wrong = {kind: [] for kind in kinds}, []
    for _ in range(arguments.rounds):
        for kind, (sizes, sleeps) in kinds.items():
            line, results, slept = run(arguments, sizes, sleeps)
            lines[kind].append(line)
            wrong += [f"{kind}: {what}" for what in complaints(results, slept, line, sleeps, arguments.epochs)]
    medians = {kind: figures.medians(of_kind) for kind, of_kind in lines.items()}
    one = medians["one"]
    body = [[kind, f"{line['decoded']:.2f}", f"{line['rate']:.0f}", f"{line['rate'] / one['rate']:.2f}",
             f"{line['daemon_s']:.2f}",
             f"{line['daemon_s'] / one['daemon_s']:.2f}", f"{line['node_s']:.2f}", f"{line['node_s'] / one['node_s']:.2f}"]
            for kind, line in medians.items()]
    head = ["jobs", "decoded a sample", "samples/s", "ratio", "daemon's CPU s", "ratio", "node's CPU s", "ratio"]
    text = f"{machine.hardware()}; {arguments.jobs} jobs, {arguments.rounds} rounds\n\n" + figures.markdown(head, body)
    figures.finish("sharing", text + "".join(f"\n{line}" for line in wrong), arguments.out, lines, failed=bool(wrong))


if __name__ == "__main__":
    main()
