#!/usr/bin/env python3
"""Holds the daemon's pixels to Pillow's and torchvision's, for every picture of a folder, and says how far they differ.

    compare_pixels.py PIXEL_DUMP [FOLDER]

Without FOLDER it makes a few dozen pictures of many kinds. Pictures that are not resized, and all that `resampling = "pillow"`
gives, are the same values. Others keep to the bounds of docs/torchvision.md: see PHOTOS and MADE. Needs Pillow, numpy and
torchvision.
"""
import dataclasses
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torchvision.transforms.functional as F
from PIL import Image, ImageOps
from torchvision.transforms import InterpolationMode



@dataclasses.dataclass
class Bounds:
    """How far pictures that are resized by default may differ."""
    mean_max: float  # the mean difference of each picture, in levels of 255
    most: int  # of any value
    psnr_min: float  # of each picture
    psnr_mean_min: float  # the mean over all pictures
    beyond: dict  # the part of all values that differ by more than so many levels


PHOTOS = Bounds(0.7, 30, 44, 53, {1: 0.005, 4: 0.0005})  # docs/torchvision.md and docs/figures.md
MADE = Bounds(0.4, 15, 52, 55, {1: 0.0004, 4: 0.00002})  # of the softer colours that this program makes
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BILINEAR = InterpolationMode.BILINEAR

HEAD = """
name = "pixels"
seed = 5
[source]
type = "image-folder"
uri = "/"
[batch]
size = 1
[[output]]
name = "image"
from = "image"
ops = [{ op = "decode-image", resampling = "%s" }, %s]
"""


def reference_rrc(picture, header):
    x, y, width, height = header["box"]
    return F.resized_crop(picture, y, x, height, width, [224, 224], BILINEAR, antialias=True)


def of_uint8(tensor):
    return tensor.astype(np.float64)


def of_normalized(tensor):
    values = tensor.astype(np.float64) * np.array(STD)[:, None, None] + np.array(MEAN)[:, None, None]
    return values.transpose(1, 2, 0) * 255


# name: (operations, reference from the upright picture and our answer, tensor to grey levels [h, w, 3])
WORKS = {
    "decode": ('{ op = "center-crop", size = [200, 264] }',
               lambda picture, _: F.center_crop(picture, [200, 264]), of_uint8),
    "resize": ('{ op = "resize", size = [240, 200] }',
               lambda picture, _: F.resize(picture, [240, 200], BILINEAR), of_uint8),
    "shorter+center": ('{ op = "resize", size = 256 }, { op = "center-crop", size = 224 }',
                       lambda picture, _: F.center_crop(F.resize(picture, 256, BILINEAR), 224), of_uint8),
    "random-resized-crop": ('{ op = "random-resized-crop", size = 224 }', reference_rrc, of_uint8),
    "rrc+resize+flip": ('{ op = "random-resized-crop", size = 224 }, { op = "resize", size = [96, 130] }, '
                        '{ op = "horizontal-flip", p = 1 }',
                        lambda picture, header: F.hflip(F.resize(reference_rrc(picture, header), [96, 130], BILINEAR)),
                        of_uint8),
    "train": ('{ op = "random-resized-crop", size = 224 }, { op = "horizontal-flip", p = 1.0 }, '
              f'{{ op = "normalize", mean = {MEAN}, std = {STD} }}',
              lambda picture, header: F.hflip(reference_rrc(picture, header)), of_normalized),
}


def make_pictures(folder):
    """Pictures of all samplings, orientations and modes, of sizes from tiny to large."""
    rng = np.random.default_rng(3)
    sizes = [(640, 480), (333, 500), (17, 23), (224, 224), (1500, 900), (90, 1000), (256, 256), (63, 41)]
    number = 0
    for subsampling in (0, 1, 2):
        for progressive in (False, True):
            for size in sizes:
                width, height = size
                y, x = np.mgrid[0:height, 0:width]
                waves = [128 + 70 * np.sin(x * rng.uniform(-0.1, 0.1) + y * rng.uniform(-0.1, 0.1) + c) for c in range(3)]
                pixels = np.stack(waves, 2) + rng.normal(0, 9, (height, width, 3))
                pixels[height // 3:height // 2, width // 4:width // 2] += 50
                picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
                mode = ["RGB", "L", "RGB", "CMYK"][number % 4]
                exif = Image.Exif()
                exif[0x0112] = number % 8 + 1
                options = {} if mode == "L" else {"subsampling": subsampling}
                picture.convert(mode).save(folder / f"{number:03}.jpg", quality=90, progressive=progressive, exif=exif,
                                           **options)
                number += 1


class Differences:
    """Of one work, over all pictures."""

    def __init__(self, bounds):
        self.bounds, self.mae, self.psnr, self.failed = bounds, [], [], []
        self.histogram = np.zeros(256, np.int64)  # of how many levels values differ

    def add(self, ours, theirs, name):
        levels = np.abs(np.rint(ours) - theirs).astype(np.int64)
        self.histogram += np.bincount(levels.ravel(), minlength=256)
        error = float(np.mean(levels * levels))
        self.mae.append(float(np.mean(levels)))
        self.psnr.append(math.inf if error == 0 else 10 * math.log10(255 * 255 / error))
        if self.mae[-1] > self.bounds.mean_max or self.psnr[-1] < self.bounds.psnr_min:
            self.failed.append(f"{name}: MAE {self.mae[-1]:.3f}, PSNR {self.psnr[-1]:.2f} dB")

    def beyond(self, levels):
        """The part of all values that differ by more."""
        return self.histogram[levels + 1:].sum() / max(1, self.histogram.sum())

    def most(self):
        return int(np.flatnonzero(self.histogram).max(initial=0))

    def mean_psnr(self):
        finite = [value for value in self.psnr if math.isfinite(value)]
        return float(np.mean(finite)) if finite else math.inf

    def told(self):
        if not self.mae:
            return "no picture"
        parts = ", ".join(f"{self.beyond(levels):.4%} by more than {levels}" for levels in self.bounds.beyond)
        return (f"{len(self.mae)} pictures: mean {np.mean(self.mae):.4f}, of one picture at most {max(self.mae):.4f}; "
                f"most {self.most()}; {parts}; "
                f"PSNR mean {self.mean_psnr():.2f} dB, worst {min(self.psnr):.2f} dB; {sum(map(math.isinf, self.psnr))} are the "
                "same")

    def faults(self, is_exact):
        if is_exact:
            return [*self.failed, *([f"values differ by up to {self.most()}"] if self.most() > 0 else [])]
        bounds, faults = self.bounds, list(self.failed)
        faults += [f"{self.beyond(levels):.4%} differ by more than {levels}" for levels, part in bounds.beyond.items()
                   if self.beyond(levels) > part]
        faults += [f"a value differs by {self.most()}"] if self.most() > bounds.most else []
        return faults + ([f"the mean PSNR is below {bounds.psnr_mean_min} dB"] if self.mean_psnr() < bounds.psnr_mean_min else [])


def upright(path):
    """As a daemon should see it; what Pillow itself refuses is compared by nobody."""
    with Image.open(io.BytesIO(path.read_bytes())) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


def compare(dump, spec, paths, work, bounds):
    _, reference, levels = WORKS[work]
    found = Differences(bounds)
    with subprocess.Popen([dump, spec], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for index, path in enumerate(paths):
            process.stdin.write(f"{index} {path}\n".encode())
            process.stdin.flush()
            header = json.loads(process.stdout.readline())
            if "error" in header:
                found.failed.append(f"{path}: {header['error']}")
                continue
            tensor = np.frombuffer(process.stdout.read(header["bytes"]), header["dtype"]).reshape(header["shape"])
            found.add(levels(tensor), np.asarray(reference(upright(path), header), np.float64), f"{path}, box {header['box']}")
        process.stdin.close()
    return found


def main():
    dump, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else scratch
        if folder is scratch:
            make_pictures(folder)
        paths = sorted(path for path in folder.resolve().rglob("*.jpg"))
        if not paths:
            sys.exit(f"no .jpg in {folder}")
        for resampling in ("own", "pillow"):
            for work, (ops, _, _) in WORKS.items():
                spec = scratch / "spec.toml"
                spec.write_text(HEAD % (resampling, ops))
                found = compare(dump, str(spec), paths, work, MADE if folder is scratch else PHOTOS)
                print(f"{resampling:6} {work:20} {found.told()}")
                for fault in found.faults(resampling == "pillow" or work == "decode"):
                    failed += 1
                    print(f"  FAILED {fault}")
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
