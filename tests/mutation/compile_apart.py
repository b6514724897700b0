#!/usr/bin/python3 -IS
"""Stands before the compiler's words in a build of a copy: what holds the change that is tried is compiled file by file.

    compile_apart.py g++ ... -o OBJECT -c FILE

In a unity build a file costs as much as the eight that are compiled with it. Where CHANGED names a file of such a unit, the
unit's files are compiled each alone, and their objects become the unit's. The compiler cache knows all of them but the changed
one from the second time on. In every other case the words are run as they are: a changed header is mostly in all files of a unit.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHANGED = "SPDLD_CHANGED_FILE"  # in the environment: the file's path
INCLUDED = re.compile(r'^#include\s*[<"]([^">]+)[">]', re.MULTILINE)
COMPILERS = 2  # at once


def value_of(words, option):
    return words[words.index(option) + 1] if option in words else None


def files_of(source, changed):
    """The files of a unit that are to be compiled apart; empty: it is no unit, or not the one with the change."""
    if not changed or not re.search(r"-unity\d+\.\w+$", source):
        return []
    with open(source) as unit:
        files = [os.path.normpath(os.path.join(os.path.dirname(source), file)) for file in INCLUDED.findall(unit.read())]
    is_in = any(os.path.realpath(file) == os.path.realpath(changed) for file in files)
    return files if len(files) > 1 and is_in else []


def with_values(words, values):
    """The words, with other values behind these options."""
    return [values.get(before, word) for before, word in zip(["", *words], words)]


def needed_by(list_of_needs):
    """What Make's list says that an object needs, as it is written there."""
    with open(list_of_needs) as needs:
        return needs.read().partition(":")[2].replace("\\\n", " ").split()


def compile_apart(words, files):
    """The exit code."""
    made, needs, target = value_of(words, "-o"), value_of(words, "-MF"), value_of(words, "-MQ")
    parts = [(file, f"{made}.{i}.o", f"{made}.{i}.d") for i, file in enumerate(files)]

    def compile_one(part):
        file, made_of_it, needs_of_it = part
        return subprocess.run(with_values(words, {"-c": file, "-o": made_of_it, "-MF": needs_of_it})).returncode

    with ThreadPoolExecutor(COMPILERS) as pool:
        code = max(pool.map(compile_one, parts))
    if code == 0:
        code = subprocess.run(["ld", "-r", "-o", made, *(made_of_it for _, made_of_it, _ in parts)]).returncode
    if code == 0 and needs:
        with open(needs, "w") as whole:
            whole.write(f"{target or made}: " + " ".join(name for part in parts for name in needed_by(part[2])) + "\n")
    for part in parts:
        for name in part[1:]:
            if os.path.exists(name):
                os.remove(name)
    return code


def main():
    words = sys.argv[1:]
    source = value_of(words, "-c")
    files = files_of(source, os.environ.get(CHANGED)) if source and "-o" in words else []
    if not files:
        os.execvp(words[0], words)
    sys.exit(compile_apart(words, files))


if __name__ == "__main__":
    main()
