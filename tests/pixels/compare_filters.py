#!/usr/bin/env python3
"""Holds the filters of `resize` and `random-resized-crop` to Pillow's and torchvision's.

    compare_filters.py PIXEL_DUMP

Pictures of 8 bits have Pillow's values bit for bit: antialiased bicubic, lanczos and box, and nearest. Pictures of 16 bits are
within 1 of the same formula in numpy. Bicubic without antialias is within 1 of torchvision's resize of tensors. Stripes of 0 and
255 overshoot, and show that values are cut off.
"""
import pathlib
import sys
import tempfile

import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image
from torchvision.transforms import InterpolationMode

import compare_formats
from compare_formats import check, photo, png_of
from dump import Daemon

FILTERS = {"nearest": Image.NEAREST, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS, "box": Image.BOX,
           "bilinear": Image.BILINEAR}
EXACT = ("nearest", "bicubic", "lanczos", "box")
SIZES = ((64, 80), (300, 500), (211, 90), (33, 307), (7, 5), (1, 1), (250, 100), (212, 308), (105, 600))
CHANNELS = {"grey": 1, "rgb": 3, "rgba": 4}


def pictures(kind, bits):
    """A photo, noise, and stripes and a checkerboard of the least and greatest values, of odd sizes."""
    rng = np.random.default_rng(9)
    channels, white = CHANNELS[kind], (1 << bits) - 1
    y, x = np.mgrid[0:211, 0:307]
    made = {"photo": photo(rng, channels, white), "noise": rng.integers(0, white + 1, (211, 307, channels)),
            "across": np.dstack([(x // (2 + c) % 2) * white for c in range(channels)]),
            "down": np.dstack([(y // (3 + c) % 2) * white for c in range(channels)]),
            "squares": np.dstack([((x // 5 + y // 4 + c) % 2) * white for c in range(channels)])}
    return {name: values.astype(np.int64) for name, values in made.items()}


def write(path, values, bits):
    if bits == 16:
        path.write_bytes(png_of(values))
    else:
        narrow = values.astype(np.uint8)
        Image.fromarray(narrow[:, :, 0] if narrow.shape[2] == 1 else narrow).save(path)


def of_pillow(values, height, width, name):
    bands = [np.asarray(Image.fromarray(values[:, :, c].astype(np.uint8)).resize((width, height), FILTERS[name]), np.int64)
             for c in range(values.shape[2])]
    return np.dstack(bands)


def heights(name, x):
    if name == "box":
        return np.where((x > -0.5) & (x <= 0.5), 1, 0)
    x = np.abs(x)
    if name == "bicubic":
        return np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, np.where(x < 2, (((x - 5) * x + 8) * x - 4) * -0.5, 0))
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


def weights(count, wanted, name):
    """An antialiased filter as a matrix."""
    if count == wanted:
        return np.eye(count)
    scale = count / wanted
    widened = max(scale, 1.0)
    reach = {"bicubic": 2, "lanczos": 3, "box": 0.5}[name] * widened
    centre = (np.arange(wanted)[:, None] + 0.5) * scale
    place = np.arange(count)
    inside = (place >= np.floor(centre - reach + 0.5)) & (place < np.floor(centre + reach + 0.5))
    matrix = heights(name, (place + 0.5 - centre) / widened) * inside
    return matrix / matrix.sum(1, keepdims=True)


def resize_of(name, height, width, antialias=True):
    return f'{{ op = "resize", size = [{height}, {width}], filter = "{name}", antialias = {str(antialias).lower()} }}'


def check_against_pillow(program, folder):
    count = 0
    for kind in ("rgb", "grey", "rgba"):
        made = pictures(kind, 8)
        for name, values in made.items():
            write(folder / f"{kind}-{name}.png", values, 8)
        for filter_name in EXACT:
            for height, width in SIZES:
                with Daemon(program, folder, f'colours = "{kind}"', resize_of(filter_name, height, width)) as daemon:
                    for name, values in made.items():
                        count += 1
                        wanted = of_pillow(values, height, width, filter_name)
                        check(f"{name} in {kind} by {filter_name} to {width} x {height}",
                              not np.array_equal(daemon.of(folder / f"{kind}-{name}.png"), wanted))
    return count


def check_boxes(program, folder):
    """Boxes anywhere, mirrored, with a second pass of another filter behind."""
    count = 0
    made = pictures("rgb", 8)
    for filter_name in EXACT:
        for options in ("scale = [0.01, 0.1]", "scale = [0.5, 1]"):
            ops = (f'{{ op = "random-resized-crop", size = [61, 47], filter = "{filter_name}", {options} }}, '
                   f'{{ op = "horizontal-flip", p = 1 }}, {{ op = "center-crop", size = [51, 53] }}, '
                   f'{resize_of("lanczos", 40, 70)}')
            with Daemon(program, folder, 'colours = "rgb"', ops) as daemon:
                for sample in range(12):
                    for name in ("photo", "noise", "squares"):
                        count += 1
                        ours = daemon.of(folder / f"rgb-{name}.png", sample)
                        x, y, width, height = daemon.header["box"]
                        cropped = of_pillow(made[name][y:y + height, x:x + width], 61, 47, filter_name)[:, ::-1]
                        padded = np.zeros((51, 53, 3), np.int64)
                        padded[:, 3:50] = cropped[5:56]
                        check(f"box {daemon.header['box']} of {name} by {filter_name}",
                              not np.array_equal(ours, of_pillow(padded, 40, 70, "lanczos")))
    return count


def check_16_bits(program, folder):
    count = 0
    for kind in ("grey", "rgba"):
        made = pictures(kind, 16)
        for filter_name in ("bicubic", "lanczos", "box"):
            for height, width in SIZES:
                ops = resize_of(filter_name, height, width) + ', { op = "convert", dtype = "uint16" }'
                down, across = weights(211, height, filter_name), weights(307, width, filter_name)
                with Daemon(program, folder, f'colours = "{kind}", bits = 16', ops) as daemon:
                    for name, values in made.items():
                        count += 1
                        path = folder / f"{kind}-{name}-16.png"
                        if not path.exists():
                            write(path, values, 16)
                        exact = np.einsum("hy,yxc,wx->hwc", down, values, across, optimize=True)
                        check(f"{name} in {kind} of 16 bits by {filter_name} to {width} x {height}",
                              np.abs(daemon.of(path) - exact.clip(0, 65535)).max() > 0.6)
                        if name == "squares" and filter_name != "box" and (height, width) == (300, 500):
                            check(f"{filter_name} overshoots", exact.min() > -2000 or exact.max() < 67000)
    return count


def check_tensors_of_torchvision(program, folder):
    count = 0
    for kind in ("rgb", "rgba"):
        made = pictures(kind, 8)
        for height, width in SIZES:
            with Daemon(program, folder, f'colours = "{kind}"', resize_of("bicubic", height, width, False)) as daemon:
                for name, values in made.items():
                    count += 1
                    tensor = torch.from_numpy(values.astype(np.uint8).transpose(2, 0, 1).copy())
                    theirs = F.resize(tensor, [height, width], InterpolationMode.BICUBIC,
                                      antialias=False).numpy().transpose(1, 2, 0)
                    ours = daemon.of(folder / f"{kind}-{name}.png")
                    check(f"{name} in {kind} to {width} x {height} beside torchvision", np.abs(ours - theirs).max() > 1)
    return count


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        counts = [step(sys.argv[1], folder) for step in (check_against_pillow, check_boxes, check_16_bits,
                                                         check_tensors_of_torchvision)]
    failed = len(compare_formats.FAILED)
    print(f"{sum(counts)} pictures by filters: {failed} differ")
    sys.exit(1 if failed or min(counts) == 0 else 0)


if __name__ == "__main__":
    main()
