"""Processes that die: a killed trainer gives all its memory back and spoils no other batch, and a killed daemon leaves
the batches in hand valid."""
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import time

import numpy as np

import spdld
from arrays import torch_with_gpu
from driver import Gpu
from jobs import HERE, Job
from node import Daemon, next_batch, until

KILLS, KILLS_AT_ONCE = 40, 8  # victims of the test, and as many before it
KILLS_LIMIT_S = 30
MEMORY_GRAIN = 2 << 20  # the driver's
GPU_WAYS = ("fd", "handle")


def killed_row(way):
    return f"memory after killed trainers: {way}"


def survived_row(way):
    return f"batch in use when the daemon is killed: {way}"


def went_on_row(way):
    return f"the next batches after a daemon's restart: {way}"


COPY_ROW, COPY_KILLS = "batches after a daemon was killed mid-copy", 4
KERNEL_ROW = "other batches after a trainer was killed in a kernel that writes"
FORKED_ROW = "other batches beside the forked workers of a killed trainer"
CHECKED = 12  # batches of another trainer, after a victim was killed


def jobs(device):
    if device != "cuda":
        return [Job("killed trainers", "rows_death:killed_trainers", (killed_row("cpu"),), 60, (), ("cpu",)),
                Job("killed daemon", "rows_death:killed_daemon", (survived_row("cpu"), went_on_row("cpu")), 30, (), ("cpu",)),
                Job("forked workers, cpu", "rows_death:forked_workers", (FORKED_ROW + ": cpu",), 30, (), ("cpu",))]
    found = []
    for way in GPU_WAYS:
        found += [Job(f"killed trainers, {way}", "rows_death:killed_trainers", (killed_row(way),),
                      2 * KILLS_LIMIT_S + 20, given=(way,)),
                  Job(f"killed daemon, {way}", "rows_death:killed_daemon", (survived_row(way), went_on_row(way)), 40,
                      given=(way,))]
    return found + [Job("killed mid-copy", "rows_death:killed_mid_copy", (COPY_ROW,), 40),
                    Job("killed in a kernel", "rows_death:killed_in_a_kernel", (KERNEL_ROW,), 40),
                    Job("forked workers", "rows_death:forked_workers", (FORKED_ROW + ": fd",), 30, given=("fd",))]


class Victims:
    """Starts trainers, and kills each trainer a moment after it holds a batch."""

    def __init__(self, daemon, spec, way):
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


def memory_left(daemon, torch):
    """Waits until the daemon has no slot any more. Returns (free bytes on the GPU, bytes of slots in the daemon). The
    daemon keeps the GPU open for a while, and so its context, both times that this is called."""
    def slots():
        status = daemon.status()
        return status["memory"]["slot_bytes"] + sum(gpu["slot_bytes"] for gpu in status["gpus"]["devices"])

    until(lambda: slots() == 0, 8)
    if torch is None:
        return 0, slots()
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
        # As many as in the test itself: what the driver and the daemon keep for good is there from then on.
        first = Victims(daemon, spec, way)
        first.run(count, KILLS_LIMIT_S)
        if first.errors:
            return report.check(killed_row(way), False, remark=first.errors[0])
        free_before, _ = memory_left(daemon, torch)
        victims = Victims(daemon, spec, way)
        began = time.monotonic()
        victims.run(count, KILLS_LIMIT_S)
        took = time.monotonic() - began
        free_after, slots = memory_left(daemon, torch)
        is_open = torch is None or daemon.gpu()["state"] == "open"
        lost = free_before - free_after
        fine = victims.killed >= count and lost < MEMORY_GRAIN and slots == 0 and not victims.errors and is_open
        measured = f"{victims.killed} killed, {slots} bytes of slots left"
        if torch:
            measured += f", {lost} bytes of the GPU lost" + ("" if is_open else "; the GPU was closed meanwhile")
        report.check(killed_row(way), fine, measured, f"{count} killed, nothing lost",
                     victims.errors[0] if victims.errors else f"SIGKILL while batches were in use; {took:.0f} s, after as "
                     "many before", killed=victims.killed, free_before=free_before, free_after=free_after, slot_bytes=slots)


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


def images_of(loader, count, gpu=None):
    """Returns the bytes of the next images. `gpu` copies them, or they lie in host memory."""
    found = []
    for _ in range(count):
        image = next_batch(loader)["image"]
        found.append(gpu.bytes_of(image) if gpu else np.array(image).tobytes())
    return found


def killed_mid_copy(context, report):
    """Kills the daemon while copies are queued whose batches were handed out early. The trainer holds no batch then, and
    must get the very next batch from the next daemon."""
    gpu, kills, step = Gpu(), context.scaled(COPY_KILLS, 2), 3
    spec = context.pipeline("mid-copy", "float32", context.scaled(64, 4), prefetch_depth=4)
    with Daemon(context) as daemon:
        with daemon.attach(spec, group="host") as host:
            expected = images_of(host, step * (kills + 1))
        seen, waits = [], []
        with daemon.attach(spec, way="handle early", reconnect=20) as loader:
            seen += images_of(loader, step, gpu)
            for _ in range(kills):
                daemon.kill()
                daemon.start()
                began = time.monotonic()
                seen += images_of(loader, step, gpu)
                waits.append(time.monotonic() - began)
    right = sum(one == other for one, other in zip(seen, expected))
    report.check(COPY_ROW, right == len(expected), f"{right} of {len(expected)} right", "all right, none lost",
                 f"{kills} kills; the next {step} batches came within {max(waits):.1f} s")


class Victim:
    """A trainer that does `work` (see victim.py), as a block. It is killed at the end of the block, with its children."""

    def __init__(self, daemon, spec, way, work):
        self.process = subprocess.Popen([sys.executable, HERE / "victim.py", daemon.socket, spec, way, "victim", work],
                                        stdout=subprocess.PIPE, text=True)
        self.children = []

    def __enter__(self):
        word, *pids = (self.process.stdout.readline() or "nothing").split()
        if word != "ready":
            raise RuntimeError(f"the victim did not begin: {word}")
        self.children = [int(pid) for pid in pids]
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def kill_children(self):
        for pid in self.children:
            os.kill(pid, signal.SIGKILL)
        self.children = []

    def __exit__(self, *_):
        self.kill()
        self.kill_children()


def wrong_beside(daemon, spec, way, gpu, expected):
    with daemon.attach(spec, way=way, group="beside") as loader:
        return sum(one != other for one, other in zip(images_of(loader, len(expected), gpu), expected))


def beside_victim(context, daemon, name):
    """Returns (spec, its file, the first images by the host path)."""
    spec = context.pipeline(name, "float32", 8)
    file = daemon.folder / f"{name}.json"
    file.write_text(json.dumps(spec))
    with daemon.attach(spec, group="host") as host:
        return spec, file, images_of(host, CHECKED)


def killed_in_a_kernel(context, report):
    """Kills a trainer whose queued kernels write to its batch. Its slots must not reach another trainer before these
    kernels have ended."""
    torch_with_gpu()
    gpu, kills, wrong = Gpu(), context.scaled(3, 1), 0
    with Daemon(context) as daemon:
        spec, file, expected = beside_victim(context, daemon, "kernel")
        for _ in range(kills):
            with Victim(daemon, file, "fd", "kernel") as victim:
                victim.kill()
                wrong += wrong_beside(daemon, spec, "fd", gpu, expected)
    report.check(KERNEL_ROW, wrong == 0, f"{wrong} of {kills * CHECKED} wrong", "none", f"{kills} trainers killed")


def forked_workers(context, report, way):
    """Kills a trainer whose forked workers live on, as the workers of a DataLoader do. Its memory stays open in them."""
    gpu = Gpu() if way != "cpu" else None
    with Daemon(context) as daemon:
        spec, file, expected = beside_victim(context, daemon, "forked")
        with Victim(daemon, file, way, "fork") as victim:
            victim.kill()
            wrong = wrong_beside(daemon, spec, way, gpu, expected)
            victim.kill_children()
        given_back = until(lambda: memory_left(daemon, None)[1] == 0, 10)
    report.check(f"{FORKED_ROW}: {way}", wrong == 0 and given_back, f"{wrong} of {CHECKED} wrong"
                 + ("" if given_back else "; memory was not given back"), "none wrong, all memory given back",
                 "the workers lived on while the other trainer took its batches")
