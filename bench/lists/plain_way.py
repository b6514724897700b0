"""Measures Python, json and numpy on the contents of lists_bench.cpp: nanoseconds of CPU for each number, on one thread."""
import io
import json
import random
import time

import numpy as np


def cpu_ns_per_number(read, count):
    """The best of seven turns of some 50 ms."""
    best = float("inf")
    for _ in range(7):
        calls, start = 0, time.process_time_ns()
        while time.process_time_ns() - start < 50_000_000:
            read()
            calls += 1
        best = min(best, (time.process_time_ns() - start) / calls / count)
    return best


def main():
    print(f"{'content':14} {'numbers':>8} {'ns/number':>10}")
    for count in (16, 1024):
        numbers = random.Random(7)
        ids = ", ".join(str(numbers.randrange(100_000)) for _ in range(count))
        shares = ", ".join(str(numbers.randrange(1_000_000) / 1e6) for _ in range(count))
        file = io.BytesIO()
        np.save(file, np.zeros(count, np.float32))
        ways = {
            "text_int64": lambda: np.array(ids.split(","), dtype=np.int64),
            "text_float32": lambda: np.array(shares.split(","), dtype=np.float32),
            "json_int64": lambda: np.array(json.loads('{"meta": {"ids": [' + ids + "]}}")["meta"]["ids"], np.int64),
            "json_float32": lambda: np.array(json.loads('{"meta": {"ids": [' + shares + "]}}")["meta"]["ids"], np.float32),
            "npy_float32": lambda: np.load(io.BytesIO(file.getvalue())),
        }
        for name, read in ways.items():
            assert len(read()) == count
            print(f"{name:14} {count:8} {cpu_ns_per_number(read, count):10.1f}")


if __name__ == "__main__":
    main()
