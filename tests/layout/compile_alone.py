#!/usr/bin/python3
"""Compiles each C++ file by itself, without making code: one that leans on another file's includes is named.

    tests/layout/compile_alone.py [--since REVISION] [FILE]...

The build compiles the files of a room together, which would hide this. With --since, only files that differ from a
revision are compiled; without it and without files, all of them, which takes some minutes. Works in build/alone.
Exit code 1: a file does not compile by itself.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

import own_units

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "alone"
SHOWN_MAX = 2000  # characters that the compiler says of one file


def compile_one(command):
    command = re.sub(r" -MD| -M[QF] \S+| -o \S+| -c(?= )", "", command)
    done = subprocess.run(command + " -fsyntax-only", shell=True, cwd=BUILD, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--since", metavar="REVISION")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    commands = own_units.set_up(ROOT, BUILD, "-Dpython=disabled", "-Dparquet=enabled", "-Dbench=disabled")
    wanted = {os.path.realpath(file) for file in options.files}
    if options.since:
        differing = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", options.since], check=True,
                                   capture_output=True, text=True)
        wanted |= {os.path.realpath(ROOT / name) for name in differing.stdout.split()}
    chosen = sorted(file for file in commands if file in wanted or not (options.files or options.since))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, said in zip(chosen, pool.map(lambda file: compile_one(commands[file]), chosen)):
            if said:
                failed += 1
                print(f"{os.path.relpath(file, ROOT)}\n{said[:SHOWN_MAX]}")
    print(f"{len(chosen) - failed} files compile by themselves, {failed} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
