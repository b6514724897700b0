"""For test programs in Python that Meson runs: unittest, with the line that tests/run counts cases by."""
import argparse
import sys
import unittest


def options(*names):
    """Takes `--NAME VALUE` for each name out of the command line; all must be there."""
    parser = argparse.ArgumentParser(add_help=False)
    for name in names:
        parser.add_argument(f"--{name}", required=True)
    found, sys.argv[1:] = parser.parse_known_args()
    return found


def main():
    """Runs the calling program's TestCases; ends the process."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    bad = len({test.id() for test, _ in result.failures + result.errors}) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    sys.stderr.flush()
    print(f"cases: {max(result.testsRun - bad - skipped, 0)} passed, {bad} failed, {skipped} skipped", flush=True)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
