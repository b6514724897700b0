"""Checks that a slot is not filled anew before the trainer's work on it is done, on any stream and in graphs."""
import numpy as np

from arrays import torch_with_gpu
from jobs import Job
from node import Daemon, next_batch

WAYS = ("fd", "handle", "handle early", "pinned")
SLEEP_CYCLES = 400_000_000  # some 0.2 s: long enough to fill every slot of the ring many times over
TAKEN_AFTERWARDS = 30


def side_row(way):
    return f"release waits for a side stream: {way}"


def graph_row(way):
    return f"captured into a graph: {way}"


def jobs(device):
    if device != "cuda":
        return []
    return [Job("release", "rows_release:side_streams", tuple(map(side_row, WAYS)), 40, given=WAYS),
            Job("graphs", "rows_release:graphs", (graph_row("fd"), graph_row("handle")), 40, given=("fd", "handle"))]


def host_path(daemon, spec, count):
    with daemon.attach(spec, group="host", framework="numpy") as loader:
        return [np.array(next_batch(loader)["image"]) for _ in range(count)]


def side_streams(context, report, *ways):
    torch = torch_with_gpu()
    spec = context.pipeline("side", "float32", 32)
    side = torch.cuda.Stream()
    with Daemon(context) as daemon:
        expected = host_path(daemon, spec, 1)[0]
        for way in ways:
            with daemon.attach(spec, framework="torch", way=way, group=way) as loader:
                batch = next_batch(loader)
                image = batch["image"]
                copy = torch.empty(image.shape, dtype=image.dtype, device="cuda")
                torch.cuda.synchronize()
                with torch.cuda.stream(side):
                    torch.cuda._sleep(SLEEP_CYCLES)
                    copy.copy_(image, non_blocking=True)
                del image
                batch.release(side)
                del batch
                late = not side.query()
                for _ in range(TAKEN_AFTERWARDS):
                    next_batch(loader)["image"]
                side.synchronize()
                right = copy.cpu().numpy().tobytes() == expected.tobytes()
                report.check(side_row(way), right and late,
                             ("the batch's own bytes" if right else "bytes of a later batch")
                             + ("" if late else "; the stream had ended too soon to show anything"),
                             "the batch's own bytes", f"{TAKEN_AFTERWARDS} batches were taken while the stream still slept")


def graphs(context, report, *ways):
    """Captures a graph that reads a slot, and replays it while the batch is in use."""
    torch = torch_with_gpu()
    spec = context.pipeline("graph", "float32", 32)
    with Daemon(context) as daemon:
        expected = host_path(daemon, spec, 5)
        for way in ways:
            with daemon.attach(spec, framework="torch", way=way, group=way) as loader:
                wrong = 0
                for wanted in expected:
                    batch = next_batch(loader)
                    image = batch["image"]
                    copy = torch.empty_like(image)
                    torch.cuda.synchronize()
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        copy.copy_(image)
                    graph.replay()
                    del image
                    batch.release(torch.cuda.current_stream())
                    torch.cuda.synchronize()
                    wrong += copy.cpu().numpy().tobytes() != wanted.tobytes()
            report.check(graph_row(way), wrong == 0, f"{len(expected) - wrong} of {len(expected)} right", "all right")
