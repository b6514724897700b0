#!/usr/bin/env python3
"""Measures spdld beside other loaders on one folder of pictures, in turns, and draws a chart of the results.

    bench/compare/run.py FOLDER [--build DIR] [--peers-from DIR] [--rounds 3] [--threads 2] [--work train]
                         [--peers NAME,...] [--epochs 3] [--batch N] [--out DIR]

FOLDER         holds <class>/<name>.jpg, as deploy/make_corpus.py makes them; .png and .webp are read, too. For clips it holds
               .mp4 and for audio .flac, .mp3 or .opus, as deploy/make_videos.py makes them. It must fit into the page cache.
--build        a build directory of Meson with buildtype=release. Without it, the spdld of the system is used.
--peers-from   the folder that bench/compare/setup made, with a virtual environment for each peer. Without it, the peers
               that this Python can import are used.
--work         train: random-resized-crop 224, flip, normalise, float32 NCHW; resize: 224 x 224, uint8 NHWC;
               validate: the shorter side to 256, the middle's 224 x 224, normalise, float32 NCHW;
               rand-augment: train with RandAugment before normalise; multi-crop: DINOv2's two large and eight small crops;
               detection-masks: objects with boxes, labels and masks. Its pictures are JPEGs, for which objects are drawn; they
               are cropped at random to 512, flipped, changed in colour and normalised. Batches of 16 need 1 GB.
               clips: 16 frames of a video, 4 frames apart, from a random start; one random-resized-crop 224 and one flip for all
               of them; normalise, float32 [16, 3, 224, 224]. clips-4: four such clips of each video, which may share a crop.
               audio: ten seconds at 16 kHz in mono, as the logarithms of 80 mel bands (windows of 400, 160 apart).
--peers        the rows to measure, by the names below. The name "peers" stands for all loaders but spdld. The default is
               all rows that can run.
--batch        rows of a batch. The default is 64, for clips and audio 8.
--out          a folder for table.md, chart.svg and result.json. It is made if it does not exist.

Each round runs every row once, in a fresh process. CPU is the user and system time of all processes of a row, for one
picture, clip or sound. Pictures/s count after the first batch. Memory is the largest proportional set size of all processes of a
row together. The table shows medians over the rounds. "spdld ÷ it" divides the value of spdld's first epoch by the value of the
row, within each round. In the first batches of a run the memory of tensors is new to the system, which is dear for the 10 MB of a
clip: works on clips want some 500 clips a round.
"""
import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import chart
import clips
import figures
import machine
import own_daemon
import processes
import rows

LIMIT_S = 1800  # of one process
LOOK_FIRST_S, LOOK_LAST_S = 0.2, 3.2  # between looks at its memory; each look costs it some milliseconds
HEAD = ["loader", "CPU ms per {0}", "spdld ÷ it", "{0}s/s", "spdld ÷ it", "first batch s", "memory MB"]


def run_limited(command):
    """Runs a command in a session of its own. Returns its output and the peak of the proportional set size of its
    processes. Raises RuntimeError where the command fails."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1",
                   "OPENBLAS_NUM_THREADS": "1"}  # for NumPy in the threads of a loader, which would wait for one another
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as words:
        process = subprocess.Popen(command, stdout=output, stderr=words, env=environment, start_new_session=True)
        peak, until, interval_s = 0, time.monotonic() + LIMIT_S, LOOK_FIRST_S
        try:
            while True:
                try:
                    process.wait(interval_s)
                    break
                except subprocess.TimeoutExpired:
                    peak = max(peak, processes.tree_pss_bytes(process.pid))
                    interval_s = min(2 * interval_s, LOOK_LAST_S)
                if time.monotonic() > until:
                    raise RuntimeError(f"no end within {LIMIT_S} s")
        finally:
            with contextlib.suppress(ProcessLookupError):  # together with all processes that it left behind
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0), words.seek(0)
        if process.returncode != 0:
            last = (words.read().strip().splitlines() or [""])[-1]
            raise RuntimeError(f"it ended with code {process.returncode}: {last[:300]}")
        return output.read(), peak


def thing(work):
    """Returns the word for what a work counts."""
    return "sound" if work in rows.AUDIO else "clip" if work in rows.CLIPS else "picture"


def yardstick(row, build):
    return Path(build) / "bench/compare" / rows.YARDSTICKS[row.name]


def measure(row, pythons, job, build):
    if row.name in rows.YARDSTICKS:
        # As many clips as a loader makes: how much has to be decoded for one depends on where it lies.
        more = [str(job["epochs"]), str(clips.CLIPS[job["work"]])] if job["work"] in rows.CLIPS else ["3", job["work"]]
        told = json.loads(run_limited([str(yardstick(row, build)), job["folder"], *more])[0])
        return {**told, "pictures_per_s": 1000 / told["cpu_ms"]}
    output, peak = run_limited([pythons.of(row.peer), str(HERE / "one.py"), json.dumps(job)])
    return {**json.loads(output.strip().splitlines()[-1]), "memory_mb": peak / 2 ** 20}


def missing(row, pythons, arguments):
    if arguments.work not in row.works:
        return f"it does not do the work {arguments.work}"
    if row.name not in rows.YARDSTICKS:
        return pythons.missing(row.peer)
    if not arguments.build or not yardstick(row, arguments.build).exists():
        return f"it is not built: ninja bench/compare/{rows.YARDSTICKS[row.name]} in the directory of --build"
    return None


def measure_all(arguments, note=print):
    """Returns ({row name: lines, one for each round}, {row name: reason why the row is missing})."""
    own_daemon.use_build(arguments.build)
    pythons, lines, skipped = rows.Pythons(arguments.peers_from), {}, {}
    wanted = rows.chosen(arguments.peers)
    for row in wanted:
        why = missing(row, pythons, arguments)
        if why:
            skipped[row.name] = why
            note(f"{row.name}: not measured: {why}")
    machine.warm_page_cache(clips.files_of(arguments.work, arguments.folder)[0])
    with tempfile.TemporaryDirectory(prefix="spdld-compare-") as scratch:
        for turn in range(arguments.rounds):
            for row in wanted:
                if row.name in skipped:
                    continue
                job = row.job(arguments.work, arguments.folder, arguments.threads, arguments.epochs, arguments.batch, scratch)
                try:
                    line = measure(row, pythons, job, arguments.build)
                except (RuntimeError, ValueError, KeyError) as error:
                    skipped[row.name] = str(error)
                    lines.pop(row.name, None)
                    note(f"{row.name}: failed: {error}")
                    continue
                lines.setdefault(row.name, []).append(line)
                note(f"round {turn + 1}: {row.name}: {line['cpu_ms']:.3f} ms, {line['pictures_per_s']:.0f}/s")
    return lines, skipped


def ratio(lines, name, key):
    """Divides the figure of spdld's first epoch by this row's figure in each round, and returns the median."""
    ours = lines.get("spdld")
    if not ours or name not in lines:
        return None
    pairs = [(mine[key], its[key]) for mine, its in zip(ours, lines[name]) if its.get(key)]
    return statistics.median(mine / its for mine, its in pairs) if pairs else None


def told(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def table(lines, work):
    """Returns the table, in the order of CPU time."""
    medians = {name: figures.medians(of_row) for name, of_row in lines.items()}
    titles, body = {row.name: row.title for row in rows.EVERY}, []
    for name, line in sorted(medians.items(), key=lambda pair: pair[1]["cpu_ms"]):
        bold = "**" if name.startswith("spdld") else ""
        body.append([f"{bold}{titles[name]}{bold}", f"{line['cpu_ms']:.3f}", told(ratio(lines, name, "cpu_ms"), 2),
                     f"{line['pictures_per_s']:.0f}", told(ratio(lines, name, "pictures_per_s"), 2),
                     told(line.get("first_batch_s"), 2), told(line.get("memory_mb"), 0)])
    return figures.markdown([title.format(thing(work)) for title in HEAD], body)


def report(arguments, lines, skipped):
    paths, _ = clips.files_of(arguments.work, arguments.folder)
    corpus_mb, count = sum(Path(path).stat().st_size for path in paths) / 1e6, len(paths)
    files = {"clip": "videos", "sound": "sounds", "picture": "pictures"}[thing(arguments.work)]
    text = [f"{machine.hardware()}; {arguments.threads} threads, batches of {arguments.batch}, work \"{arguments.work}\", "
            f"{count} {files} of {1000 * corpus_mb / count:.0f} KB, in the page cache; medians of {arguments.rounds} rounds.\n",
            table(lines, arguments.work), "What differs:\n"]
    for row in rows.EVERY:
        if row.name in lines:
            first = lines[row.name][0]
            made = f" ({first['dtype']} {first['shape']})" if "shape" in first else ""
            share = first.get("hit_rate", 1)
            decoded = f"; {1 - share:.0%} of the pictures have no planes" if share < 1 else ""
            found = (f"; {first['objects']:.2f} objects a picture, mean areas {first['box_area']:.4f} of boxes and "
                     f"{first['mask_area']:.4f} of masks") if "objects" in first else ""
            text.append(f"- {row.title}: {row.differs}{decoded}{found}{made}")
    if skipped:
        text += ["\nNot measured:\n", *(f"- {name}: {why}" for name, why in skipped.items())]
    return "\n".join(text) + "\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__ + "\nRows: " + ", ".join(rows.NAMES),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--peers-from", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", choices=rows.WORKS, default="train")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=[])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    if arguments.batch is None:
        arguments.batch = 8 if arguments.work in rows.CLIPS + rows.AUDIO else 64
    if min(arguments.rounds, arguments.threads, arguments.epochs, arguments.batch) < 1:
        parser.error("rounds, threads, epochs and batch are at least 1")
    return arguments


def main():
    arguments = parse()
    lines, skipped = measure_all(arguments, lambda text: print(text, file=sys.stderr, flush=True))
    if not lines:
        raise SystemExit("nothing was measured; why stands above.")
    text = report(arguments, lines, skipped)
    print(text)
    figures.save(arguments.out, {"table.md": text, "chart.svg": chart.draw(lines, arguments),
                                 "result.json": json.dumps({"lines": lines, "skipped": skipped}, indent=1) + "\n"})


if __name__ == "__main__":
    main()
