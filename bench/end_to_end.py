#!/usr/bin/env python3
"""Measures spdld end to end, from files to a Python trainer, on the work by which loaders are compared.

    bench/end_to_end.py WORK FOLDER [--batch 64] [--threads 2] [--epochs 3] [--framework numpy]

WORK: resize  JPEG -> bilinear 224x224 (antialiased) -> uint8 NHWC
      train   JPEG -> RandomResizedCrop(224) -> flip -> normalise -> float32 NCHW
FOLDER: class folders of .jpg files. Needs the package spdld, and $SPDLD_DAEMON or spdld in PATH.

Starts a daemon of its own with `--threads` decode threads and prints one JSON line. cpu_ms_per_img is user + system time of
daemon and trainer over the run, less what both had used before attach; img_per_s is over everything after the first batch;
first_batch_s from attach (listing included); peak_pss_mb of both processes together, slots counted once.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import spdld

DECODE = [{"op": "decode-image"}]
OPS = {
    "resize": DECODE + [{"op": "resize", "size": [224, 224]}],
    "train": DECODE + [{"op": "random-resized-crop", "size": 224}, {"op": "horizontal-flip"},
                       {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}],
}


def make_spec(work, folder, batch, epochs):
    return {"name": "bench", "source": {"type": "image-folder", "uri": str(Path(folder).resolve())},
            "order": {"epochs": epochs}, "batch": {"size": batch},
            "output": [{"name": "image", "from": "image", "ops": OPS[work]}, {"name": "label", "from": "class"}]}


def own_cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def pss_mb(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Peak(threading.Thread):
    """Samples the proportional set size of some processes five times a second."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.mb, self.ended = pids, 0.0, threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            self.mb = max(self.mb, sum(pss_mb(pid) for pid in self.pids))


class Daemon:
    def __init__(self, threads):
        self.folder = tempfile.TemporaryDirectory(prefix="spdld-bench-")
        self.socket = str(Path(self.folder.name) / "spdld.sock")
        settings = Path(self.folder.name) / "spdld.toml"
        settings.write_text(f"[limits]\ncpu_budget = {threads}\n")
        program = os.environ.get("SPDLD_DAEMON") or shutil.which("spdld")
        self.process = subprocess.Popen([program, "--config", settings, "--socket", self.socket, "--log-level", "warn"])
        give_up = time.monotonic() + 10
        while not Path(self.socket).exists() and time.monotonic() < give_up:
            time.sleep(0.01)

    def cpu_s(self):
        return spdld.query("status", socket=self.socket)["cpu"]["used_s"]

    def end(self):
        self.process.terminate()
        self.process.wait(10)
        self.folder.cleanup()


def measure(arguments, daemon):
    peak = Peak([os.getpid(), daemon.process.pid])
    peak.start()
    cpu0, start = daemon.cpu_s() + own_cpu_s(), time.monotonic()
    images = first_images = 0
    spec = make_spec(arguments.work, arguments.folder, arguments.batch, arguments.epochs)
    with spdld.attach(spec, socket=daemon.socket, framework=arguments.framework, private=False) as loader:
        for _ in range(arguments.epochs):
            for batch in loader:
                image = batch["image"]
                images += len(image)
                if not first_images:
                    first, first_images, shape, dtype = time.monotonic(), images, tuple(image.shape), str(image.dtype)
        end = time.monotonic()
        cpu1 = daemon.cpu_s() + own_cpu_s()
    peak.ended.set()
    return {"peer": "spdld", "work": arguments.work, "threads": arguments.threads, "shape": shape, "dtype": dtype,
            "images": images, "img_per_s": round((images - first_images) / (end - first), 1),
            "cpu_ms_per_img": round(1000 * (cpu1 - cpu0) / images, 3), "first_batch_s": round(first - start, 3),
            "peak_pss_mb": round(peak.mb)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=OPS)
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--framework", default="numpy")
    arguments = parser.parse_args()
    daemon = Daemon(arguments.threads)
    try:
        print(json.dumps(measure(arguments, daemon)))
    finally:
        daemon.end()


if __name__ == "__main__":
    main()
