#!/usr/bin/python3
"""Adds up the cases of a `meson test` run, and prints one line: `N passed, N failed, N skipped`.

    count_cases.py BUILD/meson-logs/testlog.json...

The tests must have run under one_test.py. Exit code 1: something failed, or nothing ran.
"""
import json
import sys
from pathlib import Path

from one_test import CASES


def count(test):
    """(passed, failed, skipped) of one test of the log."""
    result = test["result"]
    told = CASES.findall(test.get("stdout") or "")
    if result == "SKIP" and not told:
        return 0, 0, 1
    passed, failed, skipped = map(int, told[-1]) if told else (int(result == "OK"), 0, 0)
    if result not in ("OK", "SKIP", "EXPECTEDFAIL"):
        failed = max(failed, 1)  # ended before it could say anything: a time-out, a crash of the wrapper
    return passed, failed, skipped


def main():
    total, failures = [0, 0, 0], []
    for log in sys.argv[1:]:
        for line in Path(log).read_text().splitlines():
            test = json.loads(line)
            counts = count(test)
            total = [a + b for a, b in zip(total, counts)]
            if counts[1] > 0:
                failures.append(f"{test['name']}: {test['result']}, {counts[1]} failed")
    for failure in failures:
        print(failure)
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] > 0 or sum(total) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
