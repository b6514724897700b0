#!/usr/bin/env python3
"""Holds the daemon's pictures of floating-point numbers to numpy's values and to Pillow's pictures of mode F.

    compare_floats.py PIXEL_DUMP PICTURE_TRIAL

Values stay as they are through crops and flips, in strips, tiles and planes, in both orders of bytes. Resized values differ from
Pillow's by the rounding of float32. 1,000 damaged copies have one verdict each.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

from dump import Daemon
from picture_makers import picture, saved
from tiff_makers import Tiff

WIDTH, HEIGHT, COPIES = 61, 47, 1000
FLOATS = (339, (3, [3]))  # the tag SampleFormat
CONVERT = '{ op = "convert", dtype = "float32" }'
FAILED = []


def check(name, ours, theirs, bound=0.0):
    """`bound`: of the difference, as a part of the largest value."""
    if ours.shape != theirs.shape:
        FAILED.append(f"{name}: {ours.shape} {theirs.shape}")
    elif bound == 0:
        if not np.array_equal(ours, theirs.astype(ours.dtype), equal_nan=True):
            FAILED.append(f"{name}: {np.count_nonzero(ours != theirs)} values differ")
    elif np.abs(ours - theirs).max() > bound * np.abs(theirs).max():
        FAILED.append(f"{name}: at most {np.abs(ours - theirs).max()} apart")


def values_of(channels, seed=3):
    """Of any size and sign."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(HEIGHT, WIDTH, channels)) * 10.0 ** rng.integers(-3, 4, (HEIGHT, WIDTH, 1))).astype(np.float32)


def tiff(values, order="<", **options):
    channels = values.shape[2]
    return Tiff.file(values.view(np.uint32), Tiff.RGB if channels >= 3 else Tiff.GREY, order, bits=32,
                     tags=[(339, (3, [3] * channels))], **options)


def make(folder):
    """Path: the values."""
    made = {}
    def write(name, content, values):
        made[folder / f"{name}.tif"] = values
        (folder / f"{name}.tif").write_bytes(content)
    for channels in (1, 3):
        values = values_of(channels)
        for order, end in (("<", "little"), (">", "big")):
            for tile in (None, (16, 32)):
                for separate in (False, True) if channels == 3 else (False,):
                    write(f"{channels}-{end}-{tile is not None}-{separate}", tiff(values, order, tile=tile, separate=separate),
                          values)
    write("alpha", tiff(values_of(4), extra=2), values_of(4)[:, :, :3])
    for name, photometric in (("inverted", Tiff.GREY_INVERTED), ("untold", None)):  # as Pillow takes them
        write(name, Tiff.file(values_of(1).view(np.uint32), photometric, bits=32, tags=[FLOATS]), values_of(1))
    odd = values_of(1)
    odd[3, 5], odd[7, 9], odd[11, 13] = np.nan, np.inf, -np.inf
    write("odd", tiff(odd), odd)
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "zstd"):
        grey = values_of(1, 9)
        write(compression, saved(Image.fromarray(grey[:, :, 0]), "TIFF", compression=compression), grey)
    return made


def check_values(program, folder, made):
    crop = f'{{ op = "center-crop", size = [{HEIGHT}, {WIDTH}] }}'
    flips = '{ op = "horizontal-flip", p = 1 }, { op = "vertical-flip", p = 1 }'
    for path, values in made.items():
        channels = values.shape[2]
        colours = "grey" if channels == 1 else "rgb"
        of = lambda colours, ops: one(program, folder, path, colours, ops)
        check(f"{path.name}", of(colours, f"{crop}, {CONVERT}"), values)
        if path.stem == "odd":
            continue
        check(f"{path.name} flipped", of(colours, f"{crop}, {flips}, {CONVERT}"), values[::-1, ::-1])
        check(f"{path.name} cut", of(colours, f'{{ op = "center-crop", size = [21, 15] }}, {CONVERT}'), values[13:34, 23:38])
        check(f"{path.name} narrow", of(colours, f'{{ op = "center-crop", size = [3, 3] }}, {CONVERT}'), values[22:25, 29:32])
        padded = np.pad(values, ((2, 2), (2, 2), (0, 0)))
        check(f"{path.name} with a border",
              of(colours, f'{{ op = "center-crop", size = [{HEIGHT + 4}, {WIDTH + 4}] }}, {CONVERT}'), padded)
        if channels == 1:
            check(f"{path.name} as rgb", of("rgb", f"{crop}, {CONVERT}"), np.repeat(values, 3, 2))
        else:
            check(f"{path.name} as grey", of("grey", f"{crop}, {CONVERT}"), values @ np.array([[0.299], [0.587], [0.114]]), 1e-5)
        numbers = f"mean = {[0.5] * channels}, std = {[0.25] * channels}"
        check(f"{path.name} normalised", of(colours, f"{crop}, {{ op = \"normalize\", {numbers} }}"),
              ((values - 0.5) / 0.25).transpose(2, 0, 1), 1e-6)
        check(f"{path.name} scaled",
              of(colours, f'{crop}, {{ op = "convert", dtype = "float32", scale = 0.5, layout = "NCHW" }}'),
              (values * 0.5).transpose(2, 0, 1))
        check(f"{path.name} as float16", of(colours, f'{crop}, {{ op = "convert", dtype = "float16" }}'),
              values.astype(np.float16).astype(float))


def check_sizes(program, work, folder, made):
    """Each channel is a picture of mode F."""
    filters = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS, "box": Image.BOX,
               "nearest": Image.NEAREST}
    for path in (folder / "1-little-False-False.tif", folder / "3-big-True-True.tif"):
        values = made[path]
        for name, filter in filters.items():
            for height, width in ((20, 30), (90, 100), (47, 13)):
                ops = f'{{ op = "resize", size = [{height}, {width}], filter = "{name}" }}, {CONVERT}'
                wanted = np.dstack([np.asarray(Image.fromarray(values[:, :, c]).resize((width, height), filter))
                                    for c in range(values.shape[2])])
                check(f"{path.name} {name} {height} x {width}",
                      one(program, work, path, "grey" if values.shape[2] == 1 else "rgb", ops), wanted, 1e-5)


def one(program, folder, path, colours, ops):
    with Daemon(program, folder, f'colours = "{colours}", bits = 32', ops) as daemon:
        return daemon.of(path)


def check_refusals(program, folder):
    double = Tiff.file(values_of(1).astype(np.float64).view(np.uint64), Tiff.GREY, bits=64, tags=[FLOATS])
    inks = Tiff.file(values_of(4).view(np.uint32), Tiff.CMYK, bits=32, tags=[(339, (3, [3] * 4))])
    for decode, content, sentence in (
            ("bits = 8", tiff(values_of(1)), "write bits = 32 in decode-image"),
            ("bits = 16", tiff(values_of(3)), "write bits = 32 in decode-image"),
            ("bits = 32", saved(picture("RGB"), "TIFF"), "a TIFF of whole numbers"),
            ("bits = 32", saved(picture("RGB"), "PNG"), "of another format"),
            ("bits = 32", double, "floating-point samples of 64 bits"), ("bits = 32", inks, "that are neither grey nor RGB")):
        path = folder / "refused"
        path.write_bytes(content)
        try:
            with Daemon(program, folder, decode, f'{{ op = "center-crop", size = 1 }}, {CONVERT}') as daemon:
                daemon.of(path)
            FAILED.append(f"{decode}: no \"{sentence}\"")
        except RuntimeError as error:
            if sentence not in str(error):
                FAILED.append(f"{decode}: no \"{sentence}\" in: {error}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder, work = pathlib.Path(scratch, "pictures"), pathlib.Path(scratch, "work")
        folder.mkdir(), work.mkdir()
        made = make(folder)
        check_values(sys.argv[1], work, made)
        check_sizes(sys.argv[1], work, folder, made)
        check_refusals(sys.argv[1], work)
        if subprocess.run([sys.argv[2], str(COPIES // len(made) + 1), "--bits=32", *made], check=False).returncode != 0:
            FAILED.append("the trial")
    for name in FAILED[:20]:
        print("FAILED", name)
    print(f"{len(made)} pictures, {len(FAILED)} faults")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
