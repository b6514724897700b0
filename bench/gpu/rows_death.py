"""Processes that die: a killed trainer gives all its memory back, and a killed daemon leaves the batches in hand
valid."""
import json
import random
import selectors
import signal
import subprocess
import sys
import time

import numpy as np

import spdld
from arrays import torch_with_gpu
from jobs import HERE, Job
from node import Daemon, next_batch, until

KILLS, KILLS_AT_ONCE = 200, 8
KILLS_LIMIT_S = 90
MEMORY_GRAIN = 2 << 20  # the driver's
GPU_WAYS = ("fd", "handle")


def killed_row(way):
    return f"memory after killed trainers: {way}"


def survived_row(way):
    return f"batch in use when the daemon is killed: {way}"


def went_on_row(way):
    return f"the next batches after a daemon's restart: {way}"


def jobs(device):
    if device != "cuda":
        return [Job("killed trainers", "rows_death:killed_trainers", (killed_row("cpu"),), 60, (), ("cpu",)),
                Job("killed daemon", "rows_death:killed_daemon", (survived_row("cpu"), went_on_row("cpu")), 60, (), ("cpu",))]
    found = []
    for way in GPU_WAYS:
        found += [Job(f"killed trainers, {way}", "rows_death:killed_trainers", (killed_row(way),), KILLS_LIMIT_S + 30,
                      given=(way,)),
                  Job(f"killed daemon, {way}", "rows_death:killed_daemon", (survived_row(way), went_on_row(way)), 60,
                      given=(way,))]
    return found


class Victims:
    """Starts trainers, and kills each trainer a moment after it holds a batch."""

    def __init__(self, context, daemon, spec, way):
        self.command = [sys.executable, HERE / "victim.py", daemon.socket, spec, way]
        self.random, self.started, self.killed, self.errors = random.Random(7), 0, 0, []
        self.selector = selectors.DefaultSelector()

    def start(self):
        self.started += 1
        process = subprocess.Popen([*self.command, f"victim-{self.started}"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.selector.register(process.stdout, selectors.EVENT_READ, process)

    def end(self, process):
        self.selector.unregister(process.stdout)
        if process.stdout.readline() == "ready\n":
            time.sleep(self.random.uniform(0, 0.02))  # somewhere in the midst of taking and giving back
            process.send_signal(signal.SIGKILL)
            self.killed += 1
            process.communicate()
        else:
            process.kill()
            lines = process.communicate()[1].splitlines()
            self.errors.append(lines[-1] if lines else "it said nothing")

    def run(self, count, limit_s):
        end = time.monotonic() + limit_s
        while self.killed < count and len(self.errors) < 5 and time.monotonic() < end:
            while len(self.selector.get_map()) < min(KILLS_AT_ONCE, count - self.killed):
                self.start()
            for key, _ in self.selector.select(max(0.0, end - time.monotonic())):
                self.end(key.data)
        for key in list(self.selector.get_map().values()):
            key.data.kill()
            key.data.communicate()


def memory_left(context, daemon, torch):
    """Waits until the daemon has no ring any more. Returns (free bytes on the GPU, bytes of slots in the daemon)."""
    def slots():
        status = daemon.status()
        return status["memory"]["slot_bytes"] + sum(gpu["slot_bytes"] for gpu in status["gpus"]["devices"])

    until(lambda: slots() == 0, 20)
    if torch is None:
        return 0, slots()
    until(lambda: daemon.gpu()["state"] == "closed", 10)
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0], slots()


def killed_trainers(context, report, way):
    torch = torch_with_gpu() if way != "cpu" else None
    if torch:
        torch.zeros(1, device="cuda")
    count = context.scaled(KILLS, 6)
    with Daemon(context) as daemon:
        spec = daemon.folder / "victim.json"
        spec.write_text(json.dumps(context.pipeline("victim", batch=8)))
        first = Victims(context, daemon, spec, way)
        first.run(1, 30)  # what the driver and the daemon keep for good is there from now on
        if first.errors:
            return report.check(killed_row(way), False, remark=first.errors[0])
        free_before, _ = memory_left(context, daemon, torch)
        victims = Victims(context, daemon, spec, way)
        began = time.monotonic()
        victims.run(count, KILLS_LIMIT_S)
        took = time.monotonic() - began
        free_after, slots = memory_left(context, daemon, torch)
        lost = free_before - free_after
        fine = victims.killed >= count and lost < MEMORY_GRAIN and slots == 0 and not victims.errors
        measured = f"{victims.killed} killed, {slots} bytes of slots left"
        if torch:
            measured += f", {lost} bytes of the GPU lost"
        report.check(killed_row(way), fine, measured, f"{count} killed, nothing lost",
                     victims.errors[0] if victims.errors else f"SIGKILL while batches were in use; {took:.0f} s",
                     killed=victims.killed, free_before=free_before, free_after=free_after, slot_bytes=slots)


def killed_daemon(context, report, way):
    torch = torch_with_gpu() if way != "cpu" else None
    spec = context.pipeline("survivor", "float32", context.scaled(32, 4))

    def copied(batch):
        if torch:
            return torch.from_dlpack(batch.tensor("image")).cpu().numpy()
        return np.array(batch.tensor("image"))

    with Daemon(context) as daemon:
        with daemon.attach(spec, group="host") as host:
            expected = [np.array(next_batch(host).tensor("image")) for _ in range(6)]
        with daemon.attach(spec, way=way, reconnect=20) as loader:
            held = next_batch(loader)
            before = copied(held)
            daemon.kill()
            if way == "handle":
                report.measured(survived_row(way), "not looked at", "memory by handle is undefined once the daemon is gone")
            else:
                after = copied(held)
                report.check(survived_row(way), after.tobytes() == expected[0].tobytes() == before.tobytes(),
                             "the same bytes" if after.tobytes() == before.tobytes() else "other bytes", "the same bytes")
            del held
            daemon.start()
            began, seen, fault = time.monotonic(), [], ""
            try:
                seen = [copied(next_batch(loader)).tobytes() for _ in range(5)]
            except spdld.Error as error:
                fault = f"{type(error).__name__}: {error}"
            equal = seen == [array.tobytes() for array in expected[1:]]
            report.check(went_on_row(way), equal, f"{len(seen)} batches in {time.monotonic() - began:.1f} s"
                         + ("" if equal else ", not those expected"), "the next 5, bit for bit, or an error in time", fault)
