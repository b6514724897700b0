"""The rows of the table: the loaders, the Python that runs each loader, and whether it is installed."""
import os
import re
import subprocess
import sys
from pathlib import Path

TAKES_CROP = "decodes the crop alone where it is drawn, else all"
DALI = f"{TAKES_CROP}; of rand-augment the first epoch, which builds a large pipeline, is not counted"
FREE = {"antialias": False}
SIMPLE, RECIPES, OBJECTS = ("train", "resize", "validate"), ("rand-augment", "multi-crop"), ("detection-masks",)
CLIPS, AUDIO = ("clips", "clips-4"), ("audio",)
WORKS = SIMPLE + RECIPES + OBJECTS + CLIPS + AUDIO
TORCH = "torchvision v2 on uint8 frames, antialiased; a process a thread"


class Row:
    """A row of the table. `peer` names the module peers/with_<peer>.py, `more` holds further arguments of its Job, and
    `differs` tells people how the loader's work differs. `works` names the works that the loader does."""

    def __init__(self, name, peer, title, differs, more=None, work=None, works=SIMPLE):
        self.name, self.peer, self.title, self.differs = name, peer, title, differs
        self.more, self.work, self.works = more or {}, work, works

    def job(self, work, folder, threads, epochs, batch, scratch):
        if self.work and work == "train":
            work = self.work
        # Cached epochs are short: more of them, for /proc tells CPU time in hundredths of a second.
        epochs *= {"decoded": 4}.get(self.more.get("cache"), 1)
        return {"peer": self.peer, "work": work, "folder": str(folder), "threads": threads, "epochs": epochs, "batch": batch,
                "scratch": scratch, **self.more}


ROWS = [
    Row("spdld", "spdld", "spdld, first epoch", "antialiased; nothing is cached, so that every epoch is a first one; "
        "each of four clips has a crop of its own", works=WORKS),
    Row("spdld-encoded", "spdld", "spdld, from cached bytes", "antialiased; later epochs, cache = \"encoded\"",
        {"cache": "encoded"}),
    Row("spdld-indexed", "spdld", "spdld, from indexed bytes", "antialiased; later epochs, cache = \"indexed\"",
        {"cache": "indexed"}),
    Row("spdld-packed", "spdld", "spdld, from packed coefficients", "antialiased; later epochs, cache = \"packed\"",
        {"cache": "packed"}),
    Row("spdld-decoded", "spdld", "spdld, from cached planes", "antialiased; later epochs, cache = \"decoded\"",
        {"cache": "decoded"}, works=(*SIMPLE, *CLIPS)),
    Row("spdld-pillow", "spdld", "spdld, resized as Pillow does", "first epoch, antialiased; resampling = \"pillow\"",
        {"way": "pillow"}),
    Row("spdld-pillow-decoded", "spdld", "spdld, from cached planes, resized as Pillow does",
        "antialiased; later epochs, cache = \"decoded\", resampling = \"pillow\"", {"way": "pillow", "cache": "decoded"}),
    Row("spdld-free", "spdld", "spdld, not antialiased", "first epoch, antialias = false", FREE),
    Row("spdld-uint8", "spdld", "spdld, uint8", "first epoch, antialiased; pixels as uint8, not normalised", work="crop8"),
    Row("dali", "dali", "DALI, CPU", f"not antialiased; {DALI}", FREE, works=(*SIMPLE, "rand-augment", *AUDIO)),
    Row("dali-antialias", "dali", "DALI, CPU, antialiased", DALI, works=(*SIMPLE, "rand-augment")),
    Row("tf", "tf", "tf.data", f"not antialiased; {TAKES_CROP}", FREE),
    Row("tf-antialias", "tf", "tf.data, antialiased", TAKES_CROP),
    Row("torch", "torch", "PyTorch DataLoader", "antialiased (torchvision on Pillow always is); a process a thread"),
    Row("torch-v2", "torch", "PyTorch DataLoader, v2", "torchvision v2 on Pillow's pictures; a process a thread", {"way": "v2"},
        works=("train", *RECIPES)),
    Row("torch-tensors", "torch", "PyTorch DataLoader, v2 on tensors", "torchvision v2 on tensors that torchvision decodes; a "
        "process a thread", {"way": "tensors"}, works=("train", *RECIPES)),
    Row("albumentations", "albumentations", "albumentations in a DataLoader",
        "OpenCV decodes and resizes, not antialiased; pycocotools "
        "draws the masks; a process a thread", works=OBJECTS),
    Row("spdl", "spdl", "SPDL", "FFmpeg's bicubic scaler; NumPy normalises, and makes the log-mel of sounds",
        works=SIMPLE + CLIPS + AUDIO),
    Row("spdl-uint8", "spdl", "SPDL, uint8", "FFmpeg's bicubic scaler; uint8 NHWC, not normalised", work="crop8"),
    Row("ffcv", "ffcv", "FFCV", "area-averaged; from a file of its own, its pictures encoded anew at quality 95; the first "
        "epoch, which compiles, is not counted", works=("train", "resize")),
    Row("torchcodec", "torchcodec", "torchcodec in a DataLoader",
        "seek_mode = \"exact\", which looks through each file for its frames; "
        f"{TORCH}; torch makes the log-mel of sounds", {"way": "exact"}, works=CLIPS + AUDIO),
    Row("torchcodec-approximate", "torchcodec", "torchcodec in a DataLoader, approximate",
        f"seek_mode = \"approximate\"; {TORCH}",
        {"way": "approximate"}, works=CLIPS),
    Row("pyav", "pyav", "PyAV in a DataLoader", f"seeks only where a key frame comes before the next frame; {TORCH}",
        works=CLIPS),
    Row("decord", "decord", "decord in a DataLoader", TORCH, works=CLIPS),
    Row("librosa", "librosa", "librosa",
        "libsndfile decodes and soxr resamples, in threads; the first epoch, which loads parts of "
        "librosa, is not counted", works=AUDIO),
]
BARE = Row("bare", "", "bare libjpeg-turbo", "one thread, files in memory already, no loader: decodes the crop alone, bilinear, "
           "not antialiased", works=("train", "validate"))
BARE_VIDEO = Row("bare-video", "", "bare libavcodec",
                 "one thread, files in memory and indexed already, no loader: decodes the frames "
                 "that must be decoded, and leaves their pixels as they are", works=CLIPS)
YARDSTICKS = {BARE.name: "bare_jpeg", BARE_VIDEO.name: "bare_video"}  # row -> its program
EVERY = [*ROWS, BARE, BARE_VIDEO]
NAMES = [row.name for row in EVERY]


def chosen(names):
    """Returns the rows of these names, or all rows where there are no names. "peers" stands for every row but spdld's
    rows."""
    unknown = [name for name in names if name not in [*NAMES, "peers"]]
    if unknown:
        raise SystemExit(f"there is no row {unknown[0]}; there are: {', '.join(NAMES)}.")
    return [row for row in EVERY if not names or row.name in names or ("peers" in names and row.peer != "spdld")]


class Pythons:
    """The interpreters of the peers. The interpreter of a peer is FOLDER/<peer>/bin/python, as bench/compare/setup
    makes it. Without a folder it is this interpreter."""

    def __init__(self, folder):
        self.folder, self.known = folder, {}

    def of(self, peer):
        if peer == "spdld" or not self.folder:
            return sys.executable
        return str(Path(self.folder).absolute() / peer / "bin/python")

    def missing(self, peer):
        """Returns one sentence that says why this peer cannot run, or None where it can."""
        if peer not in self.known:
            self.known[peer] = self.look(peer)
        return self.known[peer]

    def look(self, peer):
        python = self.of(peer)
        if not os.access(python, os.X_OK):
            return f"there is no {peer}/bin/python in the folder of --peers-from"
        here = Path(__file__).resolve().parent
        folders = [str(here / "peers"), str(here.parent / "support")]
        search = f"import sys; sys.dont_write_bytecode = True; sys.path[:0] = {folders!r}"
        done = subprocess.run([python, "-c", f"{search}; import with_{peer}" + ("; import spdld" if peer == "spdld" else "")],
                              capture_output=True, text=True, timeout=300)
        if done.returncode == 0:
            return None
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return re.sub(r"\s+", " ", last)[:200]
