#!/usr/bin/env python3
"""Runs one job: `child.py CONTEXT.json MODULE:FUNCTION [ARGUMENT...]`. Only jobs.py starts it."""
import importlib
import signal
import sys
import traceback

from report import NotPossible, Report


class Once(Report):
    """Remembers which rows were reported, so that the other rows can get a reason."""

    def __init__(self):
        super().__init__()
        self.told = set()

    def row(self, name, *arguments, **values):
        self.told.add(name)
        super().row(name, *arguments, **values)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that a daemon is ended in order
    from node import Context  # imports spdld: a fault of it is this job's, and is printed
    context = Context.load(sys.argv[1])
    module, function = sys.argv[2].split(":")
    report = Once()
    rows = [row for job in context.jobs if job["function"] == sys.argv[2] and list(job["given"]) == sys.argv[3:]
            for row in job["rows"]]
    try:
        getattr(importlib.import_module(module), function)(context, report, *sys.argv[3:])
    except (NotPossible, ImportError) as error:
        for row in rows:
            if row not in report.told:
                report.not_possible(row, str(error))
    except Exception as error:  # whatever it is, the other jobs go on
        traceback.print_exc()
        for row in rows:
            if row not in report.told:
                report.check(row, False, remark=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
