#!/usr/bin/env python3
"""Reads tar, tar.gz and tar.zst archives of the same samples with spdld's source and in the plain way of Python, in turn.

    packed.py FOLDER --build BUILD [--rounds N]

FOLDER holds a.tar, a.tar.gz and a.tar.zst of the same samples; BUILD/bench/source/packed_bench must be built, and the package
zstandard must be installed. The plain way is tarfile over open, gzip and zstandard, as the webdataset package reads shards. The
figures are of the best of the rounds: MB/s of the members, and CPU seconds of the process.
"""
import argparse
import gzip
import subprocess
import tarfile
import time
from pathlib import Path

import zstandard


def plain(path):
    """(MB, wall seconds, CPU seconds)"""
    openers = {".tar": open, ".gz": gzip.open, ".zst": zstandard.open}
    began, cpu, total = time.monotonic(), time.process_time(), 0
    with openers[path.suffix](path, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            total += len(archive.extractfile(member).read())
    return total / 1e6, time.monotonic() - began, time.process_time() - cpu


def ours(path, build):
    said = subprocess.run([build / "bench/source/packed_bench", path], check=True, capture_output=True, text=True).stdout.split()
    return float(said[1]), float(said[1]) / float(said[3]), float(said[5])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    found = parser.parse_args()
    print(f"{'archive':12} {'reader':8} {'MB/s':>7} {'CPU ms/MB':>10}")
    for name in ("a.tar", "a.tar.gz", "a.tar.zst"):
        path = found.folder / name
        best = {}
        for _ in range(found.rounds):
            for reader, (size, wall, cpu) in (("plain", plain(path)), ("spdld", ours(path, found.build))):
                before = best.get(reader, (float("inf"), float("inf")))
                best[reader] = (min(before[0], wall / size), min(before[1], cpu / size))
        for reader, (wall, cpu) in best.items():
            print(f"{name:12} {reader:8} {1 / wall:7.0f} {1000 * cpu:10.2f}")


if __name__ == "__main__":
    main()
