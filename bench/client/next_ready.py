"""A trainer in Python for bench/handover.py. It uses only the package, and does the same as next_ready.cpp beside it.

next_ready.py SOCKET PIPELINE.toml CALLS
"""
import json
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import numpy  # noqa: F401  (a trainer has it before)
import figures
import processes

LOOKS_MAX, WARM_UP = 20_000, 20


def wait_until_full(spdld, socket):
    """Waits until the ring is full. A full ring has ready batches and fills no further batch."""
    for _ in range(LOOKS_MAX):
        ring = spdld.query("describe", "handover", socket=socket)["rings"][0]
        if ring["filling"] == 0 and ring["ready"] > 0:
            return
        time.sleep(0.0005)
    raise RuntimeError("the ring was not full within 10 s")


def take(loader, taken):
    """Takes one batch. Appends the nanoseconds of next(), the CPU nanoseconds including the tensor and the release, and
    the tensor's address."""
    cpu0, began = time.process_time_ns(), time.perf_counter_ns()
    batch = loader.next(timeout=10)
    ended = time.perf_counter_ns()
    if batch is None:
        return loader.position[0] < loader.epochs or loader.epochs == 0
    image = batch["image"]
    cpu1 = time.process_time_ns()
    address = image.__array_interface__["data"][0]  # this script's own question, not a trainer's
    cpu2 = time.process_time_ns()
    del image
    batch.release()
    taken.append((ended - began, cpu1 - cpu0 + time.process_time_ns() - cpu2, address))
    return True


def slot_ranges():
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if processes.is_slot(line)]
    return [tuple(int(end, 16) for end in words[0].split("-")) for words in lines]


def main():
    socket, pipeline, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
    before = processes.resident_without_slots("self")
    import spdld
    with spdld.attach(pipeline, socket=socket, private=False, framework="numpy") as loader:
        warm_up, taken = [], []
        for _ in range(WARM_UP):
            if not take(loader, warm_up):
                break
            wait_until_full(spdld, socket)
        slots = slot_ranges()
        while len(taken) < calls:
            wait_until_full(spdld, socket)
            if not take(loader, taken):
                break
        next_ns, cpu_ns, addresses = zip(*taken)
        grown = processes.resident_without_slots("self") - before
    print(json.dumps({"calls": len(taken), "next_us": figures.quantile(next_ns, 0.5) / 1e3,
                      "next_p99_us": figures.quantile(next_ns, 0.99) / 1e3, "cpu_us": figures.quantile(cpu_ns, 0.5) / 1e3,
                      "grown_bytes": grown, "slots": len(slots),
                      "in_slots": sum(any(low <= at < high for low, high in slots) for at in addresses)}))


if __name__ == "__main__":
    main()
