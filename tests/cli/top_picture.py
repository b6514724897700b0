#!/usr/bin/python3
"""Makes docs/top.png: spdlctl top beside a daemon that serves some pipelines, drawn from what tmux shows.

    top_picture.py --daemon SPDLD --ctl SPDLCTL --package FOLDER [--python PYTHON] PICTURE.png [OPENED.png]

OPENED.png shows one pipeline. --package is the build's folder client/python, whose package the trainers import with PYTHON.
"""
import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from daemon import Daemon, make_pictures
from terminal_picture import picture
from tmux import Tmux

COLUMNS, ROWS, SEEN_AFTER_S = 100, 24, 14

PIPELINE = """\
name = "{name}"
{cache}
[source]
type = "image-folder"
uri = "{folder}"
[order]
epochs = 0
[[output]]
name = "image"
from = "image"
ops = [ {{ op = "decode-image" }}, {{ op = "random-resized-crop", size = [224, 224] }},
        {{ op = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }} ]
[[output]]
name = "label"
from = "class"
[batch]
size = {batch}
"""

# Takes a batch and works on it for so many seconds.
TRAINER = """\
import sys, time, spdld
loader = spdld.attach(sys.argv[1], rank=int(sys.argv[2]), world_size=int(sys.argv[3]), group=sys.argv[1])
while True:
    for batch in loader:
        time.sleep(float(sys.argv[4]))
        del batch
"""

# Name, the pictures' sides, cache, samples of a batch, ranks, seconds of a trainer's step.
JOBS = (("imagenet-train", (500, 375), 'cache = "decoded"', 32, 2, 0.4),
        ("finetune-large", (1600, 1200), 'cache = "off"', 16, 1, 0),
        ("clip-eval", (320, 240), 'cache = "encoded"', 16, 1, 0.5))
DAMAGED = "clip-eval"  # the job that has a damaged picture


def words():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--daemon", "--ctl", "--package"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("picture", type=Path)
    parser.add_argument("opened", type=Path, nargs="?")
    return parser.parse_args()


@contextlib.contextmanager
def trainers(options, folder, environment):
    (folder / "trainer.py").write_text(TRAINER)
    running = []
    try:
        for name, size, cache, batch, ranks, step_s in JOBS:
            make_pictures(folder / name, of_each=16, size=size)
            if name == DAMAGED:
                (folder / name / "class-0/0.jpg").write_bytes(b"no picture")
            file = folder / f"{name}.toml"
            file.write_text(PIPELINE.format(name=name, folder=folder / name, cache=cache, batch=batch))
            running += [subprocess.Popen([options.python, folder / "trainer.py", file, str(rank), str(ranks), str(step_s)],
                                         env=environment) for rank in range(ranks)]
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main():
    options = words()
    with tempfile.TemporaryDirectory() as name, contextlib.closing(Daemon(options.daemon)) as daemon:
        environment = {**daemon.environment(), "PYTHONPATH": options.package}
        with trainers(options, Path(name), environment):
            with Tmux(options.ctl, "top", environment=environment, columns=COLUMNS, rows=ROWS) as terminal:
                terminal.await_text("clip-eval")
                time.sleep(SEEN_AFTER_S)  # until the ten seconds of a verdict have passed
                while not re.search(r"(?m)^PIPELINE .*\nfinetune-large ", terminal.screen()):
                    terminal.type("<")
                terminal.type("Home")
                terminal.await_text(r"(?m)^fetch .*decode .*-> 1 trainer")
                picture(terminal.coloured(), COLUMNS).save(options.picture, optimize=True)
                if options.opened:
                    terminal.type("Enter")
                    terminal.await_text("STAGE")
                    picture(terminal.coloured(), COLUMNS).save(options.opened, optimize=True)


if __name__ == "__main__":
    main()
