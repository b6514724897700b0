#!/usr/bin/env python3
"""Runs the tests of the package spdld, which must be importable; SPDLD_DAEMON: the daemon to test with.

    run_tests.py [NAME...]              a name: part of a test's full name
    run_tests.py --without NAME...      all tests but these

Ends with a line `cases: N passed, N failed, N skipped`; exit code 1 where one failed or none ran.
"""
import sys
import unittest
from pathlib import Path


def cases_of(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from cases_of(entry)
        else:
            yield entry


def main():
    folder = str(Path(__file__).resolve().parent)
    found = unittest.TestLoader().discover(folder, pattern="*_test.py", top_level_dir=folder)
    is_without = sys.argv[1:2] == ["--without"]
    names = sys.argv[2:] if is_without else sys.argv[1:]
    chosen = [case for case in cases_of(found) if not names or any(name in case.id() for name in names) != is_without]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(chosen))
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
