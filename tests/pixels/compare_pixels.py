#!/usr/bin/env python3
"""Holds the daemon's pixels to Pillow's and torchvision's, for every picture of a folder.

    compare_pixels.py PIXEL_DUMP [FOLDER]

Without FOLDER it makes a few dozen pictures of many kinds. The bounds, for each picture and each work: a mean absolute
difference of at most 1.0 grey level and a PSNR of at least 44 dB; and for each work a PSNR of 50 dB on average. Needs Pillow, numpy and torchvision.
"""
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

MAE_MAX, PSNR_MIN, PSNR_MEAN_MIN = 1.0, 44.0, 50.0
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
ops = [{ op = "decode-image" }, %s]
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


def difference(ours, theirs):
    delta = ours - theirs
    error = float(np.mean(delta * delta))
    return float(np.mean(np.abs(delta))), math.inf if error == 0 else 10 * math.log10(255 * 255 / error)


def upright(path):
    """As a daemon should see it; what Pillow itself refuses is compared by nobody."""
    with Image.open(io.BytesIO(path.read_bytes())) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


def compare(dump, spec, pictures, paths, work):
    _, reference, levels = WORKS[work]
    rows = []
    with subprocess.Popen([dump, spec], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for index, path in enumerate(paths):
            process.stdin.write(f"{index} {path}\n".encode())
            process.stdin.flush()
            header = json.loads(process.stdout.readline())
            if "error" in header:
                rows.append((math.inf, 0.0, path, header["error"]))
                continue
            picture = pictures(path)
            tensor = np.frombuffer(process.stdout.read(header["bytes"]), header["dtype"]).reshape(header["shape"])
            theirs = np.asarray(reference(picture, header), np.float64)
            rows.append((*difference(levels(tensor), theirs), path, f"{picture.size} box {header['box']}"))
        process.stdin.close()
    return rows


def main():
    dump = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else scratch
        if folder is scratch:
            make_pictures(folder)
        paths = sorted(path for path in folder.resolve().rglob("*.jpg"))
        if not paths:
            sys.exit(f"no .jpg in {folder}")
        failed = 0
        for work, (ops, _, _) in WORKS.items():
            spec = scratch / "spec.toml"
            spec.write_text(HEAD % ops)
            rows = compare(dump, str(spec), upright, paths, work)
            mae, psnr = [row[0] for row in rows], [row[1] for row in rows]
            finite = [value for value in psnr if math.isfinite(value)]
            same = len(psnr) - len(finite)
            print(f"{work:20} {len(rows)} pictures: MAE mean {np.mean(mae):.4f} worst {max(mae):.4f}; PSNR mean "
                  f"{np.mean(finite) if finite else math.inf:.2f} dB worst {min(psnr):.2f} dB; identical {same}")
            if finite and np.mean(finite) < PSNR_MEAN_MIN:
                failed += 1
                print(f"  FAILED {work}: the mean is below {PSNR_MEAN_MIN} dB")
            for row in rows:
                if row[0] > MAE_MAX or row[1] < PSNR_MIN:
                    failed += 1
                    print(f"  FAILED {row[2]}: MAE {row[0]:.3f}, PSNR {row[1]:.2f} dB, {row[3]}")
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
