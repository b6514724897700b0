#!/usr/bin/env python3
"""Says whether two builds give the same bytes: a tree before a change, and the tree after it.

    bench/same_bytes.py BEFORE AFTER [--corpus FOLDER] [--only TEXT] [--out FOLDER]

BEFORE and AFTER are build directories of Meson with the daemon and the Python package (ninja). A fixed set of pipelines
runs on the daemon of each build, with the client of that build, over the same files: pictures that deploy/make_corpus.py
makes, or <class>/<name>.jpg in the folder that --corpus names, and small data sets that this script makes. The bytes of
every tensor of every batch are hashed and compared. With --only, the pipelines whose names contain TEXT are run.

The exit code is 0 when all pipelines ran in both builds and gave the same bytes in the same order, dtypes and shapes.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE / "same"), str(HERE / "support")]
import corpora
import figures
import machine
import own_daemon
import pipelines

PICTURES, CLASSES = 48, 4
ARCHIVED_MAX = 60
RUN_S = 1800


def make_corpus(folder, *options):
    command = [sys.executable, str(HERE.parent / "deploy/make_corpus.py"), str(folder)]
    made = subprocess.run([*command, "--count", str(PICTURES), "--classes", str(CLASSES), *options],
                          capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(f"{made.stderr.strip()[-500:]}\nOr name a folder of pictures with --corpus.")


def make_data(folder, corpus):
    """Makes all data sets in `folder`, and returns the folder of the pictures."""
    pictures = Path(corpus).resolve() if corpus else folder / "pictures"
    if not corpus:
        make_corpus(pictures)
        make_corpus(folder / "shards", "--tar", "--seed", "1")
    odd = corpora.odd_pictures()
    corpora.write_folder(folder / "odd", odd)
    corpora.write_folder(folder / "bad", corpora.bad_pictures())
    paths, _ = machine.pictures_of(pictures)
    corpora.write_archives(folder / "archives", [Path(path).read_bytes() for path in paths[:ARCHIVED_MAX]])
    corpora.write_lists(folder, len(odd))
    return pictures


def run(build, listed):
    """Returns what hashes.py tells of a build."""
    command = [sys.executable, "-B", str(HERE / "same/hashes.py"), str(build), str(listed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=RUN_S)
    if done.returncode != 0:
        raise SystemExit(f"the pipelines did not run in {build}: see above.")
    return json.loads(done.stdout)


def difference(before, after):
    """Returns what the first difference of two runs is, or an empty text."""
    for name, told in (("BEFORE", before), ("AFTER", after)):
        if told["error"]:
            return f"not compared: {name}: {told['error']}"
    for one, other in zip(before["tensors"], after["tensors"]):
        place = f"job {one[0]}, epoch {one[1]}, step {one[2]}, {one[3]}"
        if one[:4] != other[:4]:
            return f"{place}: AFTER has job {other[0]}, epoch {other[1]}, step {other[2]}, {other[3]} in its place"
        if one[4:6] != other[4:6]:
            return f"{place}: {one[4]} {one[5]} became {other[4]} {other[5]}"
        if one[6] != other[6]:
            return f"{place}: other bytes"
    if len(before["tensors"]) != len(after["tensors"]):
        return f"{len(before['tensors'])} tensors became {len(after['tensors'])}"
    return "" if before["tensors"] else "not compared: no tensor came"


def verdict(pipeline, before, after):
    """Returns ("yes" or "**no**", remark)."""
    wrong = difference(before, after)
    if not wrong and pipeline.get("is_kept") and 0 in (before["kept"], after["kept"]):
        wrong = f"the cache gave {before['kept']} fields before and {after['kept']} after, so its bytes were not compared"
    return ("**no**", wrong) if wrong else ("yes", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--corpus", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    for build in (arguments.before, arguments.after):
        own_daemon.check_build(build)
    with tempfile.TemporaryDirectory(prefix="spdld-same-") as made:
        folder = Path(made)
        chosen = [each for each in pipelines.make(folder, make_data(folder, arguments.corpus)) if arguments.only in each["name"]]
        if not chosen:
            raise SystemExit(f"nothing was compared: no pipeline's name contains {arguments.only!r}.")
        listed = folder / "pipelines.json"
        listed.write_text(json.dumps(chosen))
        before, after = run(arguments.before, listed), run(arguments.after, listed)
    body, differing, compared = [], 0, 0
    for pipeline in chosen:
        one, other = before[pipeline["name"]], after[pipeline["name"]]
        same, remark = verdict(pipeline, one, other)
        differing += same != "yes"
        compared += min(len(one["tensors"]), len(other["tensors"]))
        body.append([pipeline["name"], same, remark, len(one["tensors"]), f"{one['bytes'] / 1e6:.1f}"])
    text = figures.markdown(["pipeline", "same bytes", "first difference", "tensors", "MB"], body, right_from=3)
    text += f"\nPipelines: {len(chosen)}. Tensors compared: {compared}. " + (
        f"Pipelines that differ or were not compared: {differing}.\n" if differing else "All bytes are the same.\n")
    if arguments.before.resolve() == arguments.after.resolve():
        text += "Both builds are the same folder, so this says only that the bytes are the same in every run.\n"
    figures.finish("same_bytes", text, arguments.out, failed=bool(differing) or compared == 0)


if __name__ == "__main__":
    main()
