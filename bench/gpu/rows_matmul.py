"""Measures what the daemon's copies cost a trainer that only computes: a loop of matrix products, and a loop of small
kernels, with and without batches."""
import statistics
import threading
import time

from arrays import torch_with_gpu
from jobs import Job
from node import Daemon, next_batch

FEED_BYTES_PER_S = 3e9
FEED_SHARE_MIN = 0.97  # of the above, to count as fed
LOSS_MAX = 0.03
ROUNDS, ROUND_S = 4, 3.0
SIZE = 8192
WAYS = ("fd", "handle")


def row_name(way):
    return f"matrix products while fed 3 GB/s: {way}"


SMALL_ROW = "small kernels beside copies"
SMALL_KERNELS, SMALL_ROUNDS = 2000, 10


def jobs(device):
    if device != "cuda":
        return []
    return [Job(f"matrix products, {way}", "rows_matmul:loss", (row_name(way),), 60, given=(way,)) for way in WAYS] + \
        [Job("small kernels", "rows_matmul:small_kernels", (SMALL_ROW,), 40)]


class Products:
    """Computes bf16 matrix products. At most two rounds are queued, so that the GPU is busy and the host keeps in
    step."""

    def __init__(self, torch):
        self.torch = torch
        self.left, self.right = (torch.randn(SIZE, SIZE, device="cuda").bfloat16() for _ in range(2))
        self.out = torch.empty_like(self.left)

    def queue(self, count):
        for _ in range(count):
            self.torch.mm(self.left, self.right, out=self.out)
        event = self.torch.cuda.Event()
        event.record()
        return event

    def run(self, count, seconds, between):
        """Returns the number of products a second. It calls `between` after every `count` products."""
        self.torch.cuda.synchronize()
        began, products, waiting = time.perf_counter(), 0, []
        while time.perf_counter() - began < seconds:
            waiting.append(self.queue(count))
            products += count
            between()
            if len(waiting) > 2:
                waiting.pop(0).synchronize()
        self.torch.cuda.synchronize()
        return products / (time.perf_counter() - began)


class Feed:
    """Takes one batch at each call, and counts its bytes."""

    def __init__(self, torch, loader):
        self.torch, self.loader, self.bytes = torch, loader, 0

    def __call__(self):
        batch = next_batch(self.loader)
        image = batch["image"]
        self.bytes += image.nbytes
        image.reshape(-1)[:1].clone()  # a look at it, on the stream of the products
        del image, batch


def loss(context, report, way):
    torch = torch_with_gpu()
    products = Products(torch)
    products.run(10, 2.0, lambda: None)  # clocks settle
    speed = products.run(10, 2.0, lambda: None)
    with Daemon(context) as daemon:
        spec = context.pipeline("feed", "float32", 64, prefetch_depth=8)
        with daemon.attach(spec, framework="torch", way=way) as loader:
            first = next_batch(loader)
            size = first["image"].nbytes
            del first
            count = max(1, int(size / FEED_BYTES_PER_S * speed))  # rather a little more than 3 GB/s
            idle, fed, rates = [], [], []
            for _ in range(ROUNDS):  # by turns, so that heat and clocks meet both alike
                idle.append(products.run(count, ROUND_S, lambda: None))
                feed = Feed(torch, loader)
                began = time.perf_counter()
                fed.append(products.run(count, ROUND_S, feed))
                rates.append(feed.bytes / (time.perf_counter() - began))
            gpu = daemon.gpu()
    without, with_daemon, rate = (statistics.median(values) for values in (idle, fed, rates))
    share = 1 - with_daemon / without
    teraflops = 2 * SIZE**3 / 1e12
    enough = rate >= FEED_BYTES_PER_S * FEED_SHARE_MIN
    report.check(row_name(way), share <= LOSS_MAX and enough, f"{100 * share:.1f} % lost at {rate / 1e9:.2f} GB/s",
                 f"at most {100 * LOSS_MAX:.0f} % at 3 GB/s",
                 f"{without * teraflops:.0f} TFLOP/s with an idle daemon, {with_daemon * teraflops:.0f} fed; "
                 f"{SIZE}x{SIZE} bf16, batches of {size / 1e6:.0f} MB"
                 + ("" if enough else "; the daemon could not feed as much"),
                 loss=share, bytes_per_s=rate, idle=idle, fed=fed, rates=rates, gpu=gpu)


def small_kernels(context, report):
    """Times runs of kernels that take some microseconds each, by the GPU's own clock. Another job takes the batches, so
    that nothing but the copies stands beside the kernels."""
    torch = torch_with_gpu()
    numbers = torch.zeros(4096, device="cuda")

    def run_us():
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        began.record()
        for _ in range(SMALL_KERNELS):
            numbers.add_(1)
        ended.record()
        ended.synchronize()
        return 1000 * began.elapsed_time(ended) / SMALL_KERNELS

    run_us()
    with Daemon(context) as daemon:
        spec = context.pipeline("small", "float32", 64, prefetch_depth=8)
        with daemon.attach(spec, way="fd") as loader:
            stop, taken = threading.Event(), []

            def take():
                while not stop.is_set():
                    taken.append(next_batch(loader)["image"].nbytes)

            alone = [run_us() for _ in range(SMALL_ROUNDS)]
            thread = threading.Thread(target=take)
            thread.start()
            began = time.perf_counter()
            beside = [run_us() for _ in range(SMALL_ROUNDS)]
            took = time.perf_counter() - began
            stop.set()
            thread.join()
    without, with_copies = statistics.median(alone), statistics.median(beside)
    report.measured(SMALL_ROW, f"{without:.2f} us a kernel alone, {with_copies:.2f} us beside copies",
                    f"{sum(taken) / took / 1e9:.2f} GB/s taken by another thread of the trainer; {SMALL_KERNELS} kernels a run",
                    alone_us=alone, beside_us=beside)
