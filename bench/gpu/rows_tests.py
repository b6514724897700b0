"""The tools as an operator and a C program use them: what spdlctl says about GPUs, and libspdld by its C interface."""
import json
import os
import select
import subprocess
import time
from pathlib import Path

import capi
from jobs import Job
from node import Daemon, next_batch, way_options
from report import NotPossible
from rows_speed import tell_latency

CTL_ROWS = ("spdlctl status tells of the GPUs", "spdlctl describe tells of the rings")
GPU_WAYS = ("fd", "handle")


def abi_row(way):
    return f"descriptor readable to spdld_next's tensor: {way}"


def jobs(device):
    ways, needs = (GPU_WAYS, ("cuda",)) if device == "cuda" else (("cpu",), ())
    name = "C ABI" if device == "cuda" else "C ABI, cpu"
    found = [Job(name, "rows_tests:c_abi", tuple(map(abi_row, ways)), 40, needs, ways)]
    if device == "cuda":
        found.insert(0, Job("spdlctl", "rows_tests:spdlctl", CTL_ROWS, 30))
    return found


def ctl(context, daemon, *words):
    """Runs spdlctl and returns its output."""
    program = context.ctl
    environment = {**os.environ, **({"LD_LIBRARY_PATH": program["library_path"]} if program["library_path"] else {})}
    done = subprocess.run([*program["command"], "--socket", daemon.socket, *words], capture_output=True, text=True, timeout=30,
                          env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"spdlctl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def spdlctl(context, report):
    with Daemon(context) as daemon, daemon.attach(context.pipeline("told"), way="fd") as loader:
        next_batch(loader)
        gpus = json.loads(ctl(context, daemon, "status", "-o", "json"))["gpus"]
        ring = json.loads(ctl(context, daemon, "describe", "told", "-o", "json"))["rings"][0]
        used = [gpu for gpu in gpus["devices"] if gpu["uuid"] == loader.info.gpu]
        fine = len(used) == 1 and used[0]["state"] == "open" and used[0]["slot_bytes"] > 0 and used[0]["copies"] > 0
        report.check(CTL_ROWS[0], fine and bool(gpus["driver"]), f"driver {gpus['driver']}, {len(gpus['devices'])} GPUs",
                     "the GPU in use is open, with slots and copies", str(used[0]) if used else gpus["reason"], gpus=gpus)
        report.check(CTL_ROWS[1], ring["memory"] == "cuda_vmm" and ring["gpu"] == loader.info.gpu,
                     f"{ring['memory']} on {ring['gpu']}", "cuda_vmm on the trainer's GPU", f"{ring['slots']} slots",
                     ring=ring)


def library_of(context):
    """Returns libspdld from the packed folder, or from the build that spdlctl lies in."""
    places = [Path(context.folder) / "lib", Path(context.ctl["command"][-1]).parent.parent / "src"]
    found = [place / "libspdld.so.0" for place in places if (place / "libspdld.so.0").exists()]
    if not found:
        raise NotPossible(f"no libspdld.so.0 in {' or '.join(map(str, places))}")
    return capi.Library(found[0])


def c_abi(context, report, *ways):
    library, count = library_of(context), context.scaled(300, 20)
    with Daemon(context) as daemon:
        for way in ways:
            spec = json.dumps(context.pipeline("c-abi", batch=context.scaled(32, 4)))
            with capi.Loader(library, daemon.socket, spec, **way_options(way)) as loader:
                took, shapes = [], set()
                for number in range(count + 10):
                    time.sleep(0.003)  # so that the batch lies ready
                    if not select.select([loader.poll_fd()], [], [], 20)[0]:
                        raise RuntimeError("the descriptor did not become readable in 20 s")
                    began = time.perf_counter_ns()
                    batch = loader.next(0)
                    if batch is None:
                        continue
                    tensor = loader.find(batch, b"image")
                    ended = time.perf_counter_ns()
                    shapes.add((tuple(tensor.shape[:tensor.rank]), bool(tensor.address)))
                    loader.release(batch)
                    if number >= 10:  # the first ones load and look things up
                        took.append((ended - began) / 1000)
            size = context.scaled(32, 4)
            if shapes != {((size, 224, 224, 3), True)}:
                report.check(abi_row(way), False, str(sorted(shapes)), f"batches of {size} x 224 x 224 x 3")
                continue
            tell_latency(context, report, abi_row(way), took, f"through ctypes, {len(took)} batches of {size} pictures, uint8")
