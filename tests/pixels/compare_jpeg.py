#!/usr/bin/env python3
"""Holds the operation `jpeg` to Pillow: the same pixels as of a picture that was saved with this quality and opened again.

    compare_jpeg.py PIXEL_DUMP
"""
import io
import pathlib
import sys
import tempfile

import numpy as np
from PIL import Image

from dump import Daemon

# Width, height: one block and less, parts of blocks of 8 and 16 pixels, and one long side.
SIZES = [(1, 1), (2, 5), (16, 16), (17, 33), (61, 47), (300, 1), (1, 300), (200, 150)]
LONG = [(65500, 3), (3, 65500)]
QUALITIES = (1, 2, 20, 24, 49, 50, 51, 75, 90, 95, 99, 100)
FAILED = []


def make_pictures(rng, width, height):
    """Noise, which makes long codes, waves, and one colour."""
    y, x = np.mgrid[0:height, 0:width]
    yield rng.integers(0, 256, (height, width, 3), np.uint8)
    yield np.clip(np.stack([128 + 90 * np.sin(x * 0.07 + y * 0.03 * c + c) for c in range(3)], 2), 0, 255).astype(np.uint8)
    yield np.broadcast_to(np.array([17, 90, 201], np.uint8), (height, width, 3)).copy()


def saved(picture, quality):
    """By Pillow."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "jpeg", quality=quality)
    return np.asarray(Image.open(file))


def check(name, ours, theirs):
    if ours.shape != theirs.shape or not np.array_equal(ours, theirs):
        FAILED.append(f"{name}: {ours.shape} {theirs.shape}, {np.mean(ours != theirs) if ours.shape == theirs.shape else 1:.4f} "
                      "differ")


def check_size(program, folder, pictures, colours):
    paths = []
    for number, picture in enumerate(pictures):
        paths.append(pathlib.Path(folder, f"{number}.png"))
        Image.fromarray(picture).save(paths[-1])
    height, width = pictures[0].shape[:2]
    ending = {"rgb": (height, width, 3), "grey": (height, width, 1)}[colours]
    for quality in QUALITIES:
        # Behind the crop, and between an adjustment of values and one of the whole picture.
        crop = f'{{ op = "center-crop", size = [{height}, {width}] }}'
        jpeg = f'{{ op = "jpeg", quality = {quality} }}'
        for ops, before, after in ((jpeg, np.array, np.array),
                                   (f'{{ op = "invert", p = 1 }}, {jpeg}, {{ op = "invert", p = 1 }}', np.invert, np.invert),
                                   (f"{jpeg}, {jpeg}", lambda picture: saved(picture, quality), np.array)):
            with Daemon(program, folder, f'colours = "{colours}"', f"{crop}, {ops}") as daemon:
                for path, picture in zip(paths, pictures):
                    check(f"{ops} of {colours} {path.name}, {width} x {height}", daemon.of(path),
                          after(saved(before(picture), quality)).reshape(ending))


def check_draws(program, folder, picture):
    """Each sample has one of the qualities, and its flip stands before it or behind it."""
    path = pathlib.Path(folder, "drawn.png")
    Image.fromarray(picture).save(path)
    height, width = picture.shape[:2]
    crop = f'{{ op = "center-crop", size = [{height}, {width}] }}'
    flip = '{ op = "horizontal-flip", p = 1 }'
    jpeg = '{ op = "random-apply", p = 1, ops = [ { op = "jpeg", quality = [30, 34] } ] }'
    for ops, wanted in ((f"{crop}, {flip}, {jpeg}", [saved(picture[:, ::-1], quality) for quality in range(30, 35)]),
                        (f"{crop}, {jpeg}, {flip}", [saved(picture, quality)[:, ::-1] for quality in range(30, 35)])):
        seen = set()
        with Daemon(program, folder, 'colours = "rgb"', ops) as daemon:
            for sample in range(100):
                ours = daemon.of(path, sample)
                fitting = [number for number, one in enumerate(wanted) if np.array_equal(one, ours)]
                if not fitting:
                    FAILED.append(f"{ops}, sample {sample}: no quality fits")
                seen.update(fitting)
        if len(seen) != 5:
            FAILED.append(f"{ops}: the qualities {seen} occur")


def check_long(program, folder, width, height):
    """A picture of the most pixels that a JPEG may have on a side, whose middle is compared."""
    path = pathlib.Path(folder, "long.png")
    picture = next(iter(make_pictures(np.random.default_rng(1), width, height)))
    Image.fromarray(picture).save(path)
    across, down = min(width, 16384), min(height, 16384)
    x, y = (width - across) // 2, (height - down) // 2
    with Daemon(program, folder, 'colours = "rgb"',
                f'{{ op = "jpeg", quality = 60 }}, {{ op = "center-crop", size = [{down}, {across}] }}') as daemon:
        check(f"{width} x {height}", daemon.of(path), saved(picture, 60)[y:y + down, x:x + across])


def main():
    program = sys.argv[1]
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            pictures = list(make_pictures(rng, *size))
            check_size(program, folder, pictures, "rgb")
            check_size(program, folder, [np.ascontiguousarray(picture[:, :, 1]) for picture in pictures], "grey")
        for size in LONG:
            check_long(program, folder, *size)
        check_draws(program, folder, next(iter(make_pictures(rng, 64, 48))))
    for name in FAILED[:20]:
        print("FAILED", name)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
