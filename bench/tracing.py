#!/usr/bin/env python3
"""Measures what recordings (`spdlctl trace`) cost: in a daemon that records nothing, and while it records.

    bench/tracing.py FOLDER --before BUILD --after BUILD [--epochs 3] [--windows 12] [--seconds 2] [--only WORK,WORK] [--out DIR]

FOLDER holds <class>/<name>.jpg. A BUILD is a release build of Meson with daemon/spdld and client/cli/spdlctl. The works:
"pictures" are decoded and cropped, and "numbers" are texts of some bytes, whose samples take microseconds. One decode
thread works.

Off: both builds' instructions for a sample, as valgrind's callgrind counts them within the turns of the decode thread,
over --epochs epochs. On: the CPU time of the later build's daemon for a sample, in windows of
--seconds that take turns with recordings. The value is the median of the quotients of neighbouring windows.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import figures
import machine
from daemon_process import DaemonProcess

ROWS = 50_000
TURN = "spdld::pipeline::Stream::Task::run(unsigned int)"
SETTINGS = """\
[limits]
cpu_budget = 1
[tuning]
decode = 1
[state]
folder = "off"
[gpu]
enabled = false
[log]
level = "error"
"""
PICTURES = """\
name = "pictures"
cache = "off"
[source]
type = "image-folder"
uri = {uri}
[order]
epochs = {epochs}
[[output]]
name = "image"
from = "image"
ops = [ {{ op = "decode-image" }}, {{ op = "random-resized-crop", size = [224, 224] }} ]
[batch]
size = 32
"""
NUMBERS = """\
name = "numbers"
[source]
type = "manifest"
uri = {uri}
[order]
epochs = {epochs}
[[output]]
name = "number"
from = "number"
ops = [ {{ op = "parse-int" }} ]
[batch]
size = 1000
"""


class Build:
    def __init__(self, folder):
        self.daemon, self.ctl = Path(folder) / "daemon/spdld", Path(folder) / "client/cli/spdlctl"
        for program in (self.daemon, self.ctl):
            if not program.exists():
                raise SystemExit(f"{program} is not there: build {folder} with ninja first.")

    def ask(self, daemon, *words):
        done = subprocess.run([self.ctl, "--socket", daemon.socket, "--timeout-ms", "600000", "-o", "json", *map(str, words)],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)


def for_a_sample(build, pipeline, samples, folder):
    """Instructions within turns, over this pipeline file."""
    counts = folder / "callgrind.out"
    # Valgrind has something to say of each call that is newer than itself; the daemon then takes an older one.
    command = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--log-file={folder / 'valgrind.log'}",
               f"--callgrind-out-file={counts}", f"--toggle-collect={TURN}"]
    with DaemonProcess([*command, build.daemon], SETTINGS) as daemon:
        build.ask(daemon, "bench", pipeline, "--epochs", epochs_of(pipeline))
        if bad := build.ask(daemon, "errors")["total"]:
            raise SystemExit(f"{bad} samples could not be used")
    total = int(re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.MULTILINE)[1])
    return total / (epochs_of(pipeline) * samples)


def epochs_of(pipeline):
    return int(re.search(r"^epochs = (\d+)", pipeline.read_text(), re.MULTILINE)[1])


def window(build, daemon, name, seconds, folder):
    """CPU seconds of the daemon for a sample, and the number of dropped notes; `folder`: one for a recording, or none."""
    def look():
        stage = next(stage for stage in build.ask(daemon, "describe", name)["stages"] if stage["name"] == "decode")
        return build.ask(daemon, "status")["cpu"]["used_s"], stage["samples"]

    recording = folder and subprocess.Popen([build.ctl, "--socket", daemon.socket, "-o", "json", "trace", name,
                                             folder / "trace.json", "--seconds", str(seconds + 0.8)], stdout=subprocess.PIPE)
    time.sleep(0.4)  # until it has begun
    before = look()
    time.sleep(seconds)
    after = look()
    dropped = json.loads(recording.communicate()[0])["dropped"] if recording else 0
    return (after[0] - before[0]) / (after[1] - before[1]), dropped


def while_it_records(build, pipeline, options, folder):
    name = pipeline.stem.split("-")[0]
    with DaemonProcess([build.daemon], SETTINGS) as daemon:
        trainer = subprocess.Popen([build.ctl, "--socket", daemon.socket, "bench", pipeline, "--epochs", "1000000"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            # A recording of the cheapest samples is full within a second.
            seconds = options.seconds if name == "pictures" else min(options.seconds, 0.2)
            turns = [(window(build, daemon, name, seconds, None), window(build, daemon, name, seconds, folder))
                     for _ in range(options.windows)]
        finally:
            trainer.terminate()
            trainer.wait()
    quotients = [on[0] / off[0] for off, on in turns]
    return {"off_us": 1e6 * statistics.median(off[0] for off, _ in turns), "quotient": statistics.median(quotients),
            "least": min(quotients), "most": max(quotients), "dropped": max(on[1] for _, on in turns)}


def make(folder, data, epochs):
    """The works' pipeline files, over `epochs` and without an end; and their numbers of samples."""
    table = folder / "numbers.csv"
    table.write_text("number\n" + "".join(f"{row}\n" for row in range(ROWS)))
    paths, _ = machine.pictures_of(data)
    works = {}
    for name, text, uri, samples in (("pictures", PICTURES, data, len(paths)), ("numbers", NUMBERS, table, ROWS)):
        files = []
        for count in (epochs, 0):
            files.append(folder / f"{name}-{count}.toml")
            files[-1].write_text(text.format(uri=json.dumps(str(Path(uri).resolve())), epochs=count))
        works[name] = files, samples
    return works


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--windows", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="pictures,numbers")
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    before, after = Build(options.before), Build(options.after)
    measured, rows = {}, []
    with tempfile.TemporaryDirectory(prefix="spdld-bench-") as name:
        folder = Path(name)
        for work, (files, samples) in make(folder, options.folder, options.epochs).items():
            if work not in options.only.split(","):
                continue
            off = {build: for_a_sample(of, files[0], samples, folder) for build, of in (("before", before), ("after", after))}
            on = while_it_records(after, files[1], options, folder)
            measured[work] = {**off, **on}
            rows.append([work, f"{off['before']:,.0f}", f"{off['after']:,.0f}",
                         f"{100 * (off['after'] / off['before'] - 1):+.2f} %",
                         f"{on['off_us']:.2f}", f"{100 * (on['quotient'] - 1):+.1f} %",
                         f"{100 * (on['least'] - 1):+.1f} to {100 * (on['most'] - 1):+.1f} %", on["dropped"]])
    text = f"{machine.hardware()}\n\n" + figures.markdown(
        ["Work", "Instructions before", "after", "off costs", "CPU us", "on costs", "between windows", "dropped"], rows)
    figures.finish("tracing", text, options.out, measured)


if __name__ == "__main__":
    main()
