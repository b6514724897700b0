"""Rows that need the driver alone: attach times, captures on another thread, batches of other sizes on one stream, and
the time from the end of a copy to READY."""
import ctypes
import statistics
import threading
import time

import numpy as np

import spdld
from driver import Gpu
from jobs import Job
from node import Daemon, next_batch
from rows_speed import quantile

GPU_WAYS = ("fd", "handle", "pinned")
SIZES = (32, 48)  # of batches on one shared stream
LAG_ROW = "end of the copy to READY"
LOOK_S = 0.5  # for one slot to be filled anew
TAIL_BYTES = 16


def attach_row(way):
    return f"time of an attach: {way}"


def capture_row(way):
    return f"a capture on another thread: {way}"


def sizes_row(way):
    return f"batches of {SIZES[0]} and {SIZES[1]} on one shared stream: {way}"


def jobs(device):
    if device != "cuda":
        return [Job("attach, cpu", "rows_streams:attach_times", (attach_row("cpu"),), 20, (), ("cpu",))]
    return [Job("captures", "rows_streams:captures", tuple(map(capture_row, GPU_WAYS)), 25, given=GPU_WAYS),
            Job("attach", "rows_streams:attach_times", tuple(map(attach_row, GPU_WAYS)), 30, given=GPU_WAYS),
            Job("shared sizes", "rows_streams:shared_sizes", tuple(map(sizes_row, GPU_WAYS[:2])), 30, given=GPU_WAYS[:2]),
            Job("ready lag", "rows_streams:ready_lag", (LAG_ROW,), 30)]


def attach_times(context, report, *ways):
    count = context.scaled(8, 2)
    for way in ways:
        with Daemon(context) as daemon:  # of its own, so that the first attach opens the GPU
            took = []
            for number in range(count + 1):
                began = time.perf_counter()
                loader = daemon.attach(context.pipeline("attach", batch=context.scaled(64, 4)), way=way, group=f"a{number}")
                took.append(time.perf_counter() - began)
                next_batch(loader)
                loader.close()
        report.measured(attach_row(way), f"first {1000 * took[0]:.0f} ms, later {1000 * statistics.median(took[1:]):.1f} ms",
                        f"median of {count} later ones; the first one also lists the pictures, "
                        "and opens the GPU in both processes",
                        seconds=took)


def take_beside_a_capture(context, daemon, gpu, way, faults):
    try:
        gpu.enter_thread()
        with daemon.attach(context.pipeline("captured", batch=context.scaled(32, 4)), way=way, group=way) as loader:
            for _ in range(12):
                batch = next_batch(loader)
                batch.use(1)
                batch.wait()
                del batch
    except (spdld.Error, RuntimeError) as error:
        faults.append(f"{type(error).__name__}: {error}")


def captures(context, report, *ways):
    """Captures a stream on this thread, while another thread attaches, takes batches and closes its loader."""
    gpu = Gpu()
    stream = gpu.stream()
    with Daemon(context) as daemon:
        for way in ways:
            faults = []
            thread = threading.Thread(target=take_beside_a_capture, args=(context, daemon, gpu, way, faults))
            gpu.begin_capture(stream)
            thread.start()
            thread.join()
            code = gpu.end_capture(stream)
            report.check(capture_row(way), code == 0 and not faults, "both well" if code == 0 and not faults
                         else f"the capture ended with {code}", "neither disturbs the other", "; ".join(faults))


def shared_sizes(context, report, *ways):
    """Two jobs with batches of other sizes share a stream, so that the daemon copies from slot to slot on the GPU."""
    gpu, count = Gpu(), 6
    for way in ways:
        with Daemon(context) as daemon:
            spec = context.pipeline("sizes", "float32", SIZES[0], size=64)
            shared = {**spec, "share": "stream"}
            with daemon.attach(shared, way=way, group="a") as one, \
                    daemon.attach(shared, way=way, group="b", batch_size=SIZES[1]) as other:
                seen = [[], []]
                for _ in range(count):
                    for number, loader in enumerate((one, other)):
                        batch = next_batch(loader)
                        seen[number].append(((batch.epoch, batch.step), gpu.bytes_of(batch["image"])))
                        del batch
                both_share = one.shared and other.shared
        with Daemon(context) as daemon:
            wrong = 0
            for number, size in enumerate(SIZES):
                with daemon.attach(spec, group=f"host{number}", batch_size=size) as host:
                    for (epoch, step), content in seen[number]:
                        host.seek(epoch, step)
                        wrong += np.array(next_batch(host)["image"]).tobytes() != content
        report.check(sizes_row(way), both_share and wrong == 0, f"{2 * count - wrong} of {2 * count} right"
                     + ("" if both_share else "; the jobs did not share"), "all right, shared")


def watch_slot(gpu, address, before, stream):
    """Waits until the end of a slot's memory is no more `before`. Returns the time in nanoseconds, or None where it stays."""
    now = ctypes.create_string_buffer(TAIL_BYTES)
    end = time.perf_counter() + LOOK_S
    while time.perf_counter() < end:
        gpu.copy(now, address, TAIL_BYTES, stream)
        if now.raw != before.raw:
            return time.perf_counter_ns()
    return None


def ready_lag(context, report):
    """Holds all slots but one, watches the last bytes of the slot that is filled, and then takes its batch. Each look
    copies some bytes from the GPU, so the end of the copy is known to within such a look."""
    gpu, lags = Gpu(), []
    stream = gpu.stream()
    with Daemon(context) as daemon:
        spec = context.pipeline("lag", "float32", context.scaled(64, 4), prefetch_depth=1, held_max=2)
        with daemon.attach(spec, way="fd") as loader:
            held = [next_batch(loader) for _ in range(loader.info.slot_count)]
            for _ in range(context.scaled(60, 8)):
                tensor = held[0]["image"]
                tail = tensor.__cuda_array_interface__["data"][0] + tensor.nbytes - TAIL_BYTES
                before = ctypes.create_string_buffer(TAIL_BYTES)
                gpu.copy(before, tail, TAIL_BYTES, stream)  # while the slot is still held
                del tensor, held[0]
                changed = watch_slot(gpu, tail, before, stream)
                held.append(next_batch(loader))
                if changed is not None:
                    lags.append((time.perf_counter_ns() - changed) / 1000)
    if not lags:
        return report.check(LAG_ROW, False, "no slot was seen to change", "some")
    report.measured(LAG_ROW, f"{statistics.median(lags):.0f} us median, {quantile(lags, 0.9):.0f} us p90",
                    f"{len(lags)} batches, by looks at the end of the slot; includes next()", lags_us=lags)
