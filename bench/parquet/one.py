"""Reads with one reader for some seconds, and prints {rows, bytes, seconds, cpu_s, daemon_cpu_s} as a line of JSON.

    one.py '{a job, as readers.py has it, with warm_s and seconds}'

cpu_s is the user and system time of this process and of all processes below it while the rows were counted; daemon_cpu_s is the
part of a daemon of spdld's. Counting begins when the reader has given batches for warm_s.
"""
import json
import os
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import processes
import readers


def measure(job):
    batches = readers.READERS[job["reader"]](job)
    next(batches)
    until = time.monotonic() + job["warm_s"]
    while time.monotonic() < until:
        next(batches)

    def daemon_cpu():
        return processes.cpu_s(job["daemon_pid"]) if "daemon_pid" in job else 0

    rows = size = 0
    cpu, daemon, began = processes.tree_cpu_s(), daemon_cpu(), time.monotonic()
    until = began + job["seconds"]
    while time.monotonic() < until:
        more, more_bytes = next(batches)
        rows += more
        size += more_bytes
    told = {"rows": rows, "bytes": size, "seconds": time.monotonic() - began, "cpu_s": processes.tree_cpu_s() - cpu,
            "daemon_cpu_s": daemon_cpu() - daemon}
    batches.close()
    return told


def main():
    print(json.dumps(measure(json.loads(sys.argv[1]))), flush=True)
    for pid in processes.descendants(os.getpid()):  # workers of a loader that is not at its end
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
