"""Measures the time from READY to a usable tensor, the daemon's copies beside plain copies, and the memory of its
context."""
import gc
import statistics
import subprocess
import time

import spdld
from arrays import Arrays, torch_with_gpu
from jobs import Job
from node import Daemon, next_batch, until

LATENCY_MAX_US = 50
COPY_SHARE_MIN = 0.9
GPU_WAYS = ("fd", "handle", "handle early", "pinned")
COPY_ROWS = ("host-to-device copies of the daemon", "the same with every core decoding", "memory of the daemon's context")


def latency_row(way):
    return f"READY to tensor: {way}"


def rate_row(way):
    return f"batches taken as fast as possible: {way}"


def jobs(device):
    ways = GPU_WAYS if device == "cuda" else ("cpu",)
    latency = [Job("latency", "rows_speed:latency", tuple(map(latency_row, ways)), 60, ("cuda",) * (device == "cuda"), ways)]
    if device != "cuda":
        return latency
    rated = ("fd", "handle early", "handle")
    return latency + [Job("rate", "rows_speed:rate", tuple(map(rate_row, rated)), 45, given=rated),
                      Job("copies", "rows_speed:copies", COPY_ROWS, 60)]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def take_ready(loader):
    """Returns (batch, tensor, nanoseconds for both) for a batch that was ready in the socket. Looks before it was ready
    do not count."""
    for _ in range(20_000):
        began = time.perf_counter_ns()
        try:
            batch = loader.next(timeout=0)
        except spdld.TimeoutError:
            time.sleep(0.001)
            continue
        if batch is None:  # the end of an epoch
            continue
        tensor = batch["image"]
        return batch, tensor, time.perf_counter_ns() - began
    raise RuntimeError("no batch became ready in 20 s")


def tell_latency(context, report, row, took_us, remark):
    """Reports the latency. A bound applies only on a machine with a GPU."""
    median, p99 = statistics.median(took_us), quantile(took_us, 0.99)
    text, values = f"{median:.1f} us median, {p99:.1f} us p99", {"median_us": median, "p99_us": p99}
    if context.device == "cuda":
        report.check(row, median <= LATENCY_MAX_US, text, f"median at most {LATENCY_MAX_US} us", remark, **values)
    else:
        report.measured(row, text, remark, **values)


def latency(context, report, *ways):
    """Takes a batch every few milliseconds from a daemon that has the next batches ready."""
    arrays = Arrays("torch")
    if context.device == "cuda":
        arrays.require_gpu()
        arrays.module.cuda.init()
    count = context.scaled(400, 20)
    with Daemon(context) as daemon:
        for way in ways:
            with daemon.attach(context.pipeline("latency", batch=context.scaled(32, 4)), framework="torch", way=way) as loader:
                for _ in range(10):  # first uses load and look things up
                    taken = take_ready(loader)
                    del taken
                took, given_back = [], []
                gc.disable()
                for _ in range(count):
                    time.sleep(0.003)
                    batch, tensor, taken_ns = take_ready(loader)
                    took.append(taken_ns / 1000)
                    began = time.perf_counter_ns()
                    del batch, tensor
                    given_back.append((time.perf_counter_ns() - began) / 1000)
                gc.enable()
            drop = statistics.median(given_back)
            tell_latency(context, report, latency_row(way), took,
                         f"next() and batch[...] of {count} ready batches; dropping one takes {drop:.1f} us")


def rate(context, report, *ways):
    """Compares early READY with the default, by the number of batches that a trainer gets when it only adds them up on
    the GPU."""
    torch = torch_with_gpu()
    with Daemon(context) as daemon:
        for way in ways:
            spec = context.pipeline("rate", "float32", 64, prefetch_depth=4)
            with daemon.attach(spec, framework="torch", way=way) as loader:
                total, samples, end = torch.zeros((), device="cuda"), 0, None
                for _ in range(10):
                    total += next_batch(loader)["image"].sum()
                torch.cuda.synchronize()
                began = time.perf_counter()
                while time.perf_counter() - began < 5:
                    batch = next_batch(loader)
                    image = batch["image"]
                    total += image.sum()
                    samples, size = samples + len(image), image.nbytes / len(image)
                    del batch, image
                torch.cuda.synchronize()
                end = time.perf_counter() - began
            report.measured(rate_row(way), f"{samples / end:.0f} pictures/s, {samples * size / end / 1e9:.2f} GB/s",
                            "float32, batches of 64, every core decoding", pictures_per_s=samples / end,
                            bytes_per_s=samples * size / end)


def plain_copy_rate(torch, size, count=30):
    """Returns the median of the bytes a second of pinned copies, one at a time, by CUDA's own clock."""
    source = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    target = torch.empty(size, dtype=torch.uint8, device="cuda")
    source.fill_(1)
    rates = []
    for _ in range(count):
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        began.record()
        target.copy_(source, non_blocking=True)
        ended.record()
        ended.synchronize()
        rates.append(size / (began.elapsed_time(ended) / 1000))
    return statistics.median(rates[count // 3:])


def daemons_copies(context, torch, threads, batches):
    """Returns the bytes a second while the daemon copied, the number of bytes, the size of a batch, and the daemon's
    entry for its GPU at the end."""
    with Daemon(context, threads=threads) as daemon:
        with daemon.attach(context.pipeline("copies", "float32", 128), way="fd") as loader:
            for _ in range(8):
                next_batch(loader)
            before = daemon.gpu()
            for _ in range(batches):
                next_batch(loader)
            after = daemon.gpu()
            size = loader.info.slot_bytes
    copied, busy = (after[key] - before[key] for key in ("copied_bytes", "copy_busy_s"))
    return (copied / busy if busy > 0 else 0.0), copied, size, after


def memory_by_nvidia_smi(pid):
    """Returns the MiB that a process has on GPUs by nvidia-smi, or None where nvidia-smi does not tell."""
    try:
        told = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    of_pid = [line.split(",")[1].strip() for line in told.splitlines() if line.split(",")[0].strip() == str(pid)]
    return int(of_pid[0]) if of_pid and of_pid[0].isdigit() else None


def context_memory(context, report):
    with Daemon(context) as daemon, daemon.attach(context.pipeline("context"), way="fd") as loader:
        next_batch(loader)
        until(lambda: daemon.gpu()["context_bytes"] > 0, 5)
        gpu, seen = daemon.gpu(), memory_by_nvidia_smi(daemon.process.pid)
    report.check(COPY_ROWS[2], gpu["context_bytes"] > 0, f"{gpu['context_bytes'] / 2**20:.0f} MiB", "measured and told",
                 f"beside {gpu['slot_bytes'] / 2**20:.0f} MiB of slots and {gpu['staging_bytes'] / 2**20:.0f} MiB of pinned "
                 f"staging; nvidia-smi's sum for the daemon: {'not told' if seen is None else f'{seen} MiB'}",
                 context_bytes=gpu["context_bytes"], nvidia_smi_mib=seen)


def copies(context, report):
    torch = torch_with_gpu()
    few = min(4, context.cores)
    context_memory(context, report)
    for row, threads, wanted in ((COPY_ROWS[0], few, COPY_SHARE_MIN), (COPY_ROWS[1], context.cores, None)):
        own, copied, size, gpu = daemons_copies(context, torch, threads, 40)
        plain = plain_copy_rate(torch, size)
        share = own / plain
        values = {"bytes_per_s": own, "plain_bytes_per_s": plain, "copied_bytes": copied, "batch_bytes": size}
        text = f"{own / 1e9:.1f} GB/s, {share:.2f} of {plain / 1e9:.1f} GB/s"
        remark = f"batches of {size / 1e6:.0f} MB, {threads} decode threads; plain: torch, pinned, of the same size, alone"
        if wanted is None:
            report.measured(row, text, remark, **values)
        else:
            report.check(row, share >= wanted, text, f"at least {wanted} of plain copies", remark, **values)
