#!/usr/bin/python3
"""Runs one test program and ends its output with `cases: P passed, F failed, S skipped`.

    meson test --wrapper "tests/support/one_test.py REPORTS" ...

A Catch2 program is run with its XML reporter, into REPORTS: the JUnit reporter keeps every assertion in memory. Any other
program may print that line itself, and counts as one case where it does not. A program that ends by a signal or without a
report has failed. Exit code 77: skipped (Meson's own rule).
"""
import html
import os
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

CATCH_MARK = b"Run with -? for options"  # a text of Catch2's console reporter
CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SKIPPED = 77
SANITIZER = re.compile(r"(ERROR|WARNING): \w*Sanitizer|runtime error: |terminate called")
SHOWN_LINES, SHOWN_LINE_MAX = 12, 200  # of a sanitizer's report
SHOWN_MAX = 20000  # characters of one failure
TROUBLES = {"Exception", "FatalErrorCondition", "Failure"}  # elements of a report, beside expressions that were false


def is_catch_program(path):
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return content.startswith(b"\x7fELF") and CATCH_MARK in content


def texts(element):
    return [f"  {entry.tag.lower()}: {entry.text.strip()}" for entry in element.iter() if (entry.text or "").strip()]


def failures(container):
    """What the reporter says of each failure in a case or a section: the place, the texts, and what was told before it."""
    told = []
    for entry in container:
        if entry.tag == "Info":
            told += texts(entry)
        elif entry.tag == "Section":
            yield from failures(entry)
        elif entry.tag in TROUBLES or entry.tag == "Expression" and entry.get("success") == "false":
            place = f"{entry.get('filename', '')}:{entry.get('line', '')}: {entry.get('type', entry.tag)}"
            yield "\n".join([place, *texts(entry), *told])
            told = []


def count_report(report):
    """(passed, failed, skipped) of a file of Catch2's XML reporter; prints what failed. None: not a whole report."""
    try:
        tree = ElementTree.parse(report)
    except (OSError, ElementTree.ParseError):
        return None
    passed = failed = skipped = 0
    for case in tree.iter("TestCase"):
        result = case.find("OverallResult")
        if result is None:
            return None
        if result.get("success") != "true":
            failed += 1
            for text in list(failures(case)) or ["without an assertion that says why"]:
                print(f"FAILED {case.get('name')}\n{text[:SHOWN_MAX]}")
        elif int(result.get("skips", 0)) > 0:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def run(command, **options):
    """The exit code; a signal's name is told. SIGTERM (Meson's time-out) goes on to the program."""
    process = subprocess.Popen(command, **options)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    code = process.wait()
    if code < 0:
        print(f"{command[0]} ended by {signal.Signals(-code).name}", flush=True)
    return code


def last_case(report):
    """The name of the last case in a report: the program died in this case."""
    names = re.findall(r'<TestCase name="([^"]*)"', Path(report).read_text(errors="replace"))
    return html.unescape(names[-1]) if names else "no case"


def tell_death(command, code, report, told):
    """Told last, and shortly: Meson shows the end of a long output alone. A sanitizer's first lines say what it found."""
    print(f"FAILED {last_case(report)}\n{command[0]} left no whole report (exit code {code})")
    lines = told.splitlines()
    found = next((i for i, line in enumerate(lines) if SANITIZER.search(line)), None)
    if found is not None:
        print("\n".join(line[:SHOWN_LINE_MAX] for line in lines[found:found + SHOWN_LINES]))


def run_catch(command, reports):
    fd, report = tempfile.mkstemp(prefix=Path(command[0]).name + "-", suffix=".xml", dir=reports)
    os.close(fd)
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        code = run([*command, "-r", "xml", "-d", "yes", "-o", report], stderr=errors)
        errors.seek(0)
        told = errors.read()
    sys.stderr.write(told)
    counts = count_report(report)
    if counts is None:
        tell_death(command, code, report, told)
        counts = (0, 1, 0)
    if code != 0 and counts[1] == 0:
        print(f"FAILED {command[0]}\nall cases passed, and yet the exit code is {code}")
        counts = (counts[0], 1, counts[2])
    return code, counts


def run_other(command):
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        code = run(command, stdout=output, stderr=subprocess.STDOUT)
        output.seek(0)
        text = output.read()
    print(CASES.sub("", text), end="" if text.endswith("\n") else "\n")
    told = CASES.findall(text)
    counts = tuple(map(int, told[-1])) if told else (int(code == 0), int(code not in (0, SKIPPED)), int(code == SKIPPED))
    if code not in (0, SKIPPED) and counts[1] == 0:
        print(f"FAILED {command[0]}\nno case failed, and yet the exit code is {code}")
        counts = (counts[0], 1, counts[2])
    return code, counts


def main():
    reports, *command = sys.argv[1:]
    Path(reports).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="spdld-test-cache-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # of daemons that are started by themselves
        code, counts = run_catch(command, reports) if is_catch_program(command[0]) else run_other(command)
    print("cases: {} passed, {} failed, {} skipped".format(*counts))
    if counts[1] > 0 and code == 0:
        code = 1
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
