#!/usr/bin/env python3
"""Tests and measures spdld's batches on a GPU, on a machine that has an NVIDIA driver and a Python with torch.

    python3 run.py [--out FOLDER]              in a folder that bench/gpu/pack made; about 8 minutes
    run.py --device cpu --daemon build/daemon/spdld --ctl build/client/cli/spdlctl --corpus PICTURES    out of a build

The script ends with a table. Each row shows one test or measurement, with its outcome:
    - pass, fail      the row has a bound, and meets it or not
    - measured        the row is a figure without a bound
    - not possible    this machine cannot do it; the remark says why
    - not tried       it needs something else, such as root, or the time was up

A job begins only where all of its own limit is left. Where the time of the whole is up before the last job, the script ends
by saying which --after goes on with the rest. With the same --out, the rows of both runs then stand in one table.

The script writes table.md and result.json into --out. Exit code 1 means that a row failed, and 2 that nothing could be
run. The script installs nothing, changes no setting of the GPU, and writes everything else into temporary folders that
it removes.
"""
import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import jobs
import machine
import report
from bundle import Bundle

HERE = Path(__file__).resolve().parent
# In the order of the table. They import spdld, so they are imported when it is known where that lies.
PARTS = ("rows_tests", "rows_streams", "rows_equal", "rows_release", "rows_speed", "rows_death", "rows_sharing", "rows_matmul")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for table.md and result.json; made if it is not there")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                        help="cpu: only what makes sense without a GPU (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that everything runs")
    parser.add_argument("--only", metavar="TEXT", help="only jobs whose name has TEXT in it")
    parser.add_argument("--after", metavar="JOB", help="only jobs that come after this one")
    parser.add_argument("--limit", type=float, default=465, metavar="S", help="seconds for all of it (default %(default)s)")
    parser.add_argument("--daemon", help="spdld, instead of the packed one")
    parser.add_argument("--ctl", help="spdlctl, likewise")
    parser.add_argument("--corpus", help="class folders of .jpg files, likewise")
    return parser.parse_args()


def chosen_jobs(options, bundle):
    """Returns the jobs to run. The jobs for a GPU are listed on a machine without a GPU, too: their rows say why they
    could not be run."""
    if bundle.python:
        sys.path.insert(0, str(bundle.python))
    parts = [importlib.import_module(part) for part in PARTS]
    found = [job for part in parts for job in part.jobs("cuda")]
    if options.device == "cpu":
        found = [job for part in parts for job in part.jobs("cpu")] + [job for job in found if "cuda" in job.needs]
    names = [job.name for job in found]
    if options.after is not None:
        if options.after not in names:
            sys.exit(f"run.py: no job is named {options.after!r}; the jobs are {', '.join(names)}")
        found = found[names.index(options.after) + 1:]
    return [job for job in found if options.only is None or options.only in job.name]


def environment_of(bundle, folder):
    """Returns the environment of every job. The packed package comes first in it. Temporary files go into one folder,
    which is removed even where the job fails."""
    paths = [str(HERE), *([str(bundle.python)] if bundle.python else []), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": ":".join(paths), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
                   "TMPDIR": folder}
    environment.pop("SPDLD_SOCKET", None)
    return environment


def write_context(file, options, bundle, facts, chosen):
    file.write_text(json.dumps({
        "device": options.device, "quick": options.quick, "cores": facts["cores"], "corpus": str(bundle.corpus),
        "folder": str(bundle.folder), "daemon": bundle.daemon.to_json(), "ctl": bundle.ctl.to_json(),
        "jobs": [{"function": job.function, "given": job.given, "rows": job.rows} for job in chosen]}))


def run_all(options, bundle, facts, chosen):
    absent = {}
    if options.device == "cpu":
        absent["cuda"] = "no GPU: --device cpu"
    elif not facts["gpus"]:
        absent["cuda"] = f"no GPU: {facts['why_no_gpu']}"
    if facts["uid"] != 0:
        absent["root"] = "needs root"
    end, rows, last, goes_on = time.monotonic() + options.limit, [], options.after, None
    with tempfile.TemporaryDirectory(prefix="spdld-gpu-bench-") as folder:
        os.chmod(folder, 0o755)  # another user's trainer finds its socket below
        context_file = Path(folder) / "context.json"
        write_context(context_file, options, bundle, facts, chosen)
        for job in chosen:
            began = time.monotonic()
            if goes_on is None and not jobs.is_absent(job, absent) and end - began < job.limit_s:
                goes_on = last if last != options.after else ""
            if goes_on is not None:
                rows += jobs.not_tried(job, "the time was up; the last lines say how to go on")
                continue
            print(f"== {job.name}", flush=True)
            last = job.name
            found = jobs.run(job, context_file, environment_of(bundle, folder), end - began, absent)
            for row in found:
                print(f"   {row['outcome']}: {row['row']}: {report.plain(row['measured'] or row['remark'])}", flush=True)
            print(f"   {time.monotonic() - began:.1f} s", flush=True)
            rows += found
    return rows, goes_on


def with_earlier_rows(options, rows):
    """Returns the rows of this run, with the rows of an earlier run in the same folder for the jobs that are not in this
    run."""
    file = options.out / "result.json" if options.out else None
    if options.after is None or file is None or not file.is_file():
        return rows
    told = {row["row"] for row in rows}
    return [row for row in json.loads(file.read_text())["rows"] if row["row"] not in told] + rows


def written(options, bundle, facts, rows, took_s, goes_on):
    about = machine.sentences(facts)
    packed = f"packed from {bundle.packed['commit']}, {bundle.packed['build']}" if bundle.packed else "out of a build"
    about.append(f"spdld {packed}; started by {bundle.daemon.by}")
    text = "\n".join(["# spdld's batches on a GPU", "", *(f"- {line}" for line in about), "", report.table(rows), "",
                      f"{report.totals(rows)}; {took_s:.0f} s", ""])
    if goes_on is not None:
        out = f" --out {options.out}" if options.out else ""
        how = f"--after {goes_on!r}" if goes_on else "a larger --limit"
        text += f"\nThe time was up. Go on with: python3 {HERE}/run.py{out} {how}\n"
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "table.md").write_text(text)
        (options.out / "result.json").write_text(json.dumps(
            {"machine": facts, "packed": bundle.packed, "loader": bundle.daemon.by, "seconds": round(took_s, 1),
             "after": goes_on, "device": options.device, "rows": rows}, indent=1) + "\n")
    return text


def main():
    options = parsed()
    began = time.monotonic()
    bundle = Bundle(HERE, options.daemon, options.ctl, options.corpus)
    fault = bundle.fault()
    try:
        chosen = [] if fault else chosen_jobs(options, bundle)
    except ImportError as error:
        fault = f"the package spdld, or numpy, cannot be imported by {sys.executable}: {error}"
    if fault:
        print(f"run.py: {fault}.", file=sys.stderr)
        sys.exit(2)
    facts = machine.facts()
    rows, goes_on = run_all(options, bundle, facts, chosen)
    rows = with_earlier_rows(options, rows)
    print("\n" + written(options, bundle, facts, rows, time.monotonic() - began, goes_on))
    sys.exit(1 if any(row["outcome"] == report.FAIL for row in rows) or not rows else 0)


if __name__ == "__main__":
    main()
