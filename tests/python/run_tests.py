#!/usr/bin/env python3
"""Runs the tests of the package spdld, which must be importable; SPDLD_DAEMON: the daemon to test with.

    run_tests.py [NAME...]              a name: part of a test's full name
    run_tests.py --without NAME...      all tests but these

Ends with a line `cases: N passed, N failed, N skipped`; exit code 1 where one failed or none ran.
"""
import collections
import os
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = [str(HERE), *sorted(str(folder) for folder in HERE.iterdir() if any(folder.glob("*_test.py")))]
# Tests of all folders, and the scripts that they start, import what this folder has for all of them.
sys.path[:0] = FOLDERS
os.environ["PYTHONPATH"] = os.pathsep.join([*FOLDERS, *filter(None, [os.environ.get("PYTHONPATH")])])


class Timed(unittest.TextTestResult):
    """Keeps how long the tests of each file took."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.seconds = collections.Counter()
        self.ended = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        now = time.monotonic()  # what a class set up counts for its first test
        self.seconds[test.id().split(".")[0]] += now - self.ended
        self.ended = now


def cases_of(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from cases_of(entry)
        else:
            yield entry


def main():
    found = unittest.TestSuite(unittest.TestLoader().discover(folder, pattern="*_test.py", top_level_dir=folder)
                               for folder in FOLDERS)
    is_without = sys.argv[1:2] == ["--without"]
    names = sys.argv[2:] if is_without else sys.argv[1:]
    chosen = [case for case in cases_of(found) if not names or any(name in case.id() for name in names) != is_without]
    result = unittest.TextTestRunner(verbosity=2, resultclass=Timed).run(unittest.TestSuite(chosen))
    print("slowest: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in result.seconds.most_common(12)))
    # An entry may be a subtest, several of one case, or a class whose daemon did not start: then none of it ran.
    failed = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    failed |= {test.id() for test in result.unexpectedSuccesses}
    skipped = len(result.skipped)
    not_run = sum(1 for test in failed if test.startswith("setUpClass"))
    passed = result.testsRun - skipped - (len(failed) - not_run)
    print(f"cases: {passed} passed, {len(failed)} failed, {skipped} skipped", flush=True)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)


if __name__ == "__main__":
    main()
