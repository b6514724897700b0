#!/usr/bin/env python3
"""Runs functions of a user's own that fail in every way, and holds the outcome to the book.

    bench/functions_soak.py --build BUILD [--samples 100000] [--processes 2] [--seed 1]

Of the samples, 1 % raise an exception, 0.1 % end their process, 0.05 % never return, and 0.01 % take more memory than they may.
Each other sample must come once and right, the counts must be exact, and at the end no process may be left, and no descriptor and
no scratch memory of the daemon. The exit code is 1 where anything of this does not hold.
"""
import argparse
import collections
import os
import random
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import own_daemon
import processes

PARTS = {"raises": 100, "ends": 10, "hangs": 5, "bursts": 1}  # of 10,000 samples
LIMIT_S, MEMORY = 0.5, "1 GiB"
WORD = "SPDLD_SOAK_WORD"
WAIT_S = 5


def draw_faults(samples, seed):
    """The fault of each sample that has one."""
    numbers = iter(random.Random(seed).sample(range(samples), sum(samples * part // 10_000 for part in PARTS.values())))
    return {next(numbers): fault for fault, part in PARTS.items() for _ in range(samples * part // 10_000)}


def crew():
    return processes.with_variable(f"{WORD}={os.environ[WORD]}")


def scratch_pages(pid):
    return sum(resident for name, _, resident, _ in processes.mappings(pid) if "spdld-scratch" in name)


def run(daemon, options, faults, folder):
    """The faults of the outcome, as sentences."""
    import numpy

    spec = {"name": "soak", "source": {"type": "npy", "uri": str(folder)}, "order": {"epochs": 1}, "batch": {"size": 64},
            "on_bad": "mask", "python": {"processes": options.processes, "call_limit_s": LIMIT_S, "memory": MEMORY},
            "output": [{"name": "number", "from": "array", "ops": [{"op": "raw-int"}, {
                "op": "python", "call": "soak_functions:thrice", "gives": {"dtype": "int64", "shape": []}}]}]}
    loader = daemon.attach(spec)
    times, wrong, left_out = collections.Counter(), 0, set()
    for batch in loader:
        rows = zip(*(numpy.asarray(batch[name]).tolist() for name in ("sample_id", "number", "mask")), strict=True)
        for sample, number, is_good in rows:
            times[sample] += 1
            if is_good:
                wrong += number != 3 * sample
            else:
                left_out.add(sample)
    stats = loader.stats()
    loader.close()
    said = []
    if times != collections.Counter(range(options.samples)):
        said.append("not every sample came once")
    if wrong:
        said.append(f"{wrong} samples have wrong values")
    if left_out != set(faults):
        said.append(f"{len(left_out - set(faults))} samples were left out that have no fault, and "
                    f"{len(set(faults) - left_out)} came that have one")
    if stats["masked"] != len(faults):
        said.append(f"{stats['masked']} samples count as left zero, not {len(faults)}")
    return said


def look_at_end(daemon, before):
    said = []
    until = time.monotonic() + WAIT_S
    while crew() and time.monotonic() < until:
        time.sleep(0.05)
    if crew():
        said.append(f"{len(crew())} processes are left")
    while (pages := scratch_pages(daemon.process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    if pages:
        said.append(f"{pages} bytes of samples are left in memory")
    while (more := processes.descriptors_of(daemon.process.pid) - before) > 0 and time.monotonic() < until:
        time.sleep(0.05)
    if more > 0:
        said.append(f"the daemon has {more} descriptors more than before")
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="", help="a build directory of Meson; else the system's spdld")
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    own_daemon.use_build(options.build)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "support"), os.environ.get("PYTHONPATH", "")])
    import numpy

    faults = draw_faults(options.samples, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").mkdir()
        numpy.save(Path(folder) / "data/x.npy", numpy.arange(options.samples, dtype=numpy.int64))
        book = Path(folder) / "faults"
        book.write_text("".join(f"{sample} {fault}\n" for sample, fault in faults.items()))
        with own_daemon.OwnDaemon(2) as daemon:
            os.environ[WORD], os.environ["SPDLD_SOAK_FAULTS"] = f"{os.getpid()}", os.devnull
            said = run(daemon, options, {}, Path(folder) / "data")  # so that the daemon keeps what it keeps for a pipeline
            while crew():
                time.sleep(0.05)
            os.environ["SPDLD_SOAK_FAULTS"] = str(book)
            before, begun = processes.descriptors_of(daemon.process.pid), time.monotonic()
            said += run(daemon, options, faults, Path(folder) / "data") + look_at_end(daemon, before)
    print(f"{options.samples} samples, {len(faults)} with a fault, in {time.monotonic() - begun:.0f} s")
    for sentence in said:
        print(sentence)
    print("all as it must be" if not said else f"{len(said)} things are not as they must be")
    sys.exit(1 if said else 0)


if __name__ == "__main__":
    main()
