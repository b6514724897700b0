#!/usr/bin/env python3
"""Reads what `meson introspect --tests` prints, and chooses tests by name or suite.

    choose_tests.py names [SUITE]...           prints the names of the tests that are to run, a line each
    choose_tests.py targets BUILD [SUITE]...   reads --targets too, behind --tests; prints the files to build for those tests

Without a SUITE every test is chosen. With one that no test has, none is.
"""
import json
import os
import sys


def documents(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        at += len(text[at:]) - len(text[at:].lstrip())


def chosen(tests, wanted):
    names = [{test["name"], *(suite.split(":")[-1] for suite in test["suite"])} for test in tests]
    if set(wanted).difference(*names):
        return []
    return [test for test, own in zip(tests, names) if not wanted or own & set(wanted)]


def files_to_build(tests, targets, build):
    """What the tests run, and what they declare to need, as paths from the build folder."""
    outputs = {target["id"]: target["filename"] for target in targets}
    made = {file for files in outputs.values() for file in files}
    needed = set()
    for test in tests:
        needed.update(word for word in test["cmd"] if word in made)
        for dependency in test["depends"]:
            needed.update(outputs[dependency])
    return sorted(os.path.relpath(file, build) for file in needed)


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    read = list(documents(sys.stdin.read()))
    if what == "names":
        for test in chosen(read[0], arguments):
            print(test["name"])
    else:
        for file in files_to_build(chosen(read[0], arguments[1:]), read[1], arguments[0]):
            print(file)


main()
