#!/usr/bin/python3
"""Writes small JPEGs of all plain kinds for jpeg_fuzz, with and without restart markers. Each stands behind the five bytes with
which an input of jpeg_fuzz chooses.

    tests/fuzz/make_jpegs.py FOLDER
"""
import io
import itertools
import sys
from pathlib import Path

import numpy
import PIL
from PIL import Image

CHOICE = bytes((0x10, 0x80, 0x20, 0x90, 1))  # a box in the middle; EXIF counts


def picture(width, height, mode, random):
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / random.uniform(2, 20) + y / random.uniform(2, 20)) for _ in range(3)]
    pixels = numpy.stack(planes, axis=-1) + random.normal(0, 12, (height, width, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8)).convert(mode)


def main():
    folder = Path(sys.argv[1])
    if int(PIL.__version__.split(".")[0]) < 11:
        raise SystemExit(f"Pillow {PIL.__version__} writes no restart markers: set PYTHONPATH to build/pillow")
    random = numpy.random.default_rng(1)
    kinds = itertools.product(("RGB", "L"), (30, 75, 98), (0, 1, 2), (False, True), (False, True), (0, 1, 3))
    for number, (mode, quality, subsampling, optimize, progressive, restart_interval) in enumerate(kinds):
        out = io.BytesIO()
        options = {"restart_marker_blocks": restart_interval} | ({} if mode == "L" else {"subsampling": subsampling})
        size = [int(side) for side in random.integers(1, 60, 2)]
        picture(*size, mode, random).save(out, "JPEG", quality=quality, optimize=optimize, progressive=progressive, **options)
        (folder / f"{number}.jpg").write_bytes(CHOICE + out.getvalue())


if __name__ == "__main__":
    main()
