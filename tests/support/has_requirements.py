#!/usr/bin/env python3
"""has_requirements.py NAME... -r FILE: says which of these packages this Python does not have, in the versions that FILE pins.

FILE has a line NAME==VERSION or NAME[EXTRA]==VERSION a package, and comments. Exit code 1 when one is missing. Asks nobody on the
network.
"""
import sys
from importlib import metadata


def wanted(arguments):
    for argument in arguments:
        if argument == "-r":
            break
        yield argument, None
    with open(arguments[-1]) as file:
        for line in file:
            name, _, version = line.split("#")[0].strip().partition("==")
            if name:
                yield name.partition("[")[0], version


def main():
    missing = []
    for name, version in wanted(sys.argv[1:]):
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(f"{name} is not installed")
            continue
        if version is not None and found != version:
            missing.append(f"{name} is installed as {found}, and {version} is wanted")
    for sentence in missing:
        print(sentence + ".", file=sys.stderr)
    return 1 if missing else 0


sys.exit(main())
