"""Jobs: each job is one process that fills some rows within a time limit. Processes end with their groups, so nothing
is left."""
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from report import FAIL, NOT_POSSIBLE, NOT_TRIED, rows_in

HERE = Path(__file__).resolve().parent
END_S = 5


@dataclass
class Job:
    """One job. `function` is "module:name", and is called with (Context, Report). `rows` names all rows that it
    reports, in order. `needs` may hold "cuda" and "root". `given` holds further arguments of the function."""
    name: str
    function: str
    rows: tuple
    limit_s: int
    needs: tuple = ("cuda",)
    given: tuple = ()


def end_group(process):
    """Ends the process and its group. SIGTERM lets a daemon end in order, and processes that are left after a while are
    killed."""
    for number, wait_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, END_S)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue


def why_ended(code, lines):
    last = lines[-1] if lines else "it said nothing"
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}; its last line: {last}"
    return f"the process ended with code {code}; its last line: {last}"


def filled_up(job, rows, outcome, remark):
    """Returns the job's rows in their order. A row that was not reported gets `outcome` and `remark`."""
    told = {row["row"]: row for row in rows}
    missing = {"outcome": outcome, "measured": "", "wanted": "", "remark": remark, "values": {}}
    return [{"job": job.name, **told.get(name, {"row": name, **missing})} for name in job.rows]


def is_absent(job, absent):
    return any(need in absent for need in job.needs)


def not_tried(job, remark):
    return filled_up(job, [], NOT_TRIED, remark)


def run(job, context_file, environment, left_s, absent):
    """Runs a job and returns its rows. `absent` maps a need of jobs to the reason why this machine does not meet it."""
    for need in job.needs:
        if need in absent:
            return filled_up(job, [], NOT_POSSIBLE if need == "cuda" else NOT_TRIED, absent[need])
    limit_s = min(job.limit_s, left_s)
    if limit_s <= 0:
        return not_tried(job, "the time for the whole was up (see --limit)")
    command = [sys.executable, HERE / "child.py", context_file, job.function, *job.given]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env=environment, start_new_session=True)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(process)
        output.seek(0)
        rows, lines = rows_in(output.read())
    for line in lines:
        print(f"    {line[:300]}", flush=True)
    if code is None:
        return filled_up(job, rows, FAIL, f"no answer within {limit_s:.0f} s; its last line: {lines[-1] if lines else '-'}")
    if code != 0:
        return filled_up(job, rows, FAIL, why_ended(code, lines))
    return filled_up(job, rows, FAIL, "the job ended without telling of this row")
