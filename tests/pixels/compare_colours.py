#!/usr/bin/env python3
"""Holds the daemon's operations on colours to torchvision v2's kernels for uint8 tensors.

    compare_colours.py PIXEL_DUMP

Each operation is given numbers that leave nothing to chance. The values are the same where torchvision computes with integers,
and within 1 where it computes in float32. A random order, of channels or of color-jitter's four changes, gives one of
torchvision's orders.
"""
import itertools
import pathlib
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from dump import Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/scripts"))
from torchvision_v2 import is_there, load_torchvision_v2

SKIPPED = 77  # Meson's
SIZES = [(61, 47), (128, 96), (3, 3), (2, 5), (20, 1), (1, 1)]  # width, height
FAILED = []


def make_pictures(rng):
    """Pictures of noise, of waves, of few values and of one colour."""
    for width, height in SIZES:
        y, x = np.mgrid[0:height, 0:width]
        waves = np.stack([128 + 90 * np.sin(x * 0.07 + y * 0.03 * c + c) for c in range(3)], 2)
        yield rng.integers(0, 256, (height, width, 3), np.uint8)
        yield np.clip(waves, 0, 255).astype(np.uint8)
        yield rng.choice(np.array([3, 40, 41, 200], np.uint8), (height, width, 3))
        yield np.broadcast_to(np.array([17, 90, 201], np.uint8), (height, width, 3)).copy()
    colours = np.array(list(itertools.product(range(0, 256, 15), repeat=3)), np.uint8)
    yield colours.reshape(18 * 18, 18, 3)


class Colours(Daemon):
    """The daemon with a chain that leaves pictures of this size as they are but for `ops`."""

    def __init__(self, program, folder, ops, shape, colours="rgb"):
        crop = f'{{ op = "center-crop", size = [{shape[0]}, {shape[1]}] }}'
        super().__init__(program, folder, f'colours = "{colours}"', f"{crop}, {ops}")


def kernels():
    """v2's functions. Its kernel for hue wants a newer torch; the first interface computes the same."""
    functional = load_torchvision_v2()[0].functional
    from torchvision.transforms import functional as first
    functional.adjust_hue = first.adjust_hue
    return functional


def cut_off(unit):
    return (unit * np.float32(255)).astype(np.uint8)


def hsv_gains(picture, gains):
    """YOLO's RandomHSV: look-up tables over OpenCV's conversions of 8 bits, whose hues have 180 steps."""
    numbers = np.arange(256, dtype=np.float64)
    hues = (numbers * gains[0] % 180).astype(np.uint8)
    saturations, values = (np.clip(numbers * gain, 0, 255).astype(np.uint8) for gain in gains[1:])
    if picture.shape[2] == 1:
        return values[picture]
    red, green, blue = (picture[:, :, i].astype(np.int64) for i in range(3))
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    reciprocal = lambda times, of: np.rint(times * 4096 / np.maximum(of, 1)).astype(np.int64) * (of > 0)
    saturation = span * reciprocal(255.0, value) + 2048 >> 12
    along = np.where(value == red, green - blue, np.where(value == green, blue - red + 2 * span, red - green + 4 * span))
    hue = along * reciprocal(30.0, span) + 2048 >> 12
    hue = hues[np.where(hue < 0, hue + 180, hue)]
    s, v = (one.astype(np.float32) * np.float32(1 / 255) for one in (saturations[saturation], values[value]))
    sixths = hue.astype(np.float32) * np.float32(6 / 180)
    sector = sixths.astype(np.int64)
    within = sixths - sector.astype(np.float32)
    table = cut_off(np.stack([v, v * (1 - s), v * (1 - s * within), v * (1 - s * (1 - within))]))
    colours = np.array([(0, 3, 1), (2, 0, 1), (1, 0, 3), (1, 2, 0), (3, 1, 0), (0, 1, 2)])[sector % 6]
    return np.stack([np.choose(colours[:, :, i], table) for i in range(3)], 2)


def works(F):
    """Name: operations, the same in torchvision, and the greatest difference."""
    kernels = {}

    def add(ops, function, bound):
        kernels[ops] = (function, bound)

    for factor in (0, 0.4, 1, 1.7):
        add(f'{{ op = "brightness", factor = {factor} }}', lambda x, f=factor: F.adjust_brightness(x, f), 0)
        add(f'{{ op = "contrast", factor = {factor} }}', lambda x, f=factor: F.adjust_contrast(x, f), 1)
        add(f'{{ op = "saturation", factor = {factor} }}', lambda x, f=factor: F.adjust_saturation(x, f), 1)
        add(f'{{ op = "sharpness", factor = {factor}, p = 1 }}', lambda x, f=factor: F.adjust_sharpness(x, f), 1)
    for turn in (-0.5, -0.21, 0.07, 0.5):
        add(f'{{ op = "hue", factor = {turn} }}', lambda x, h=turn: F.adjust_hue(x, h), 1)
    for gains in ((1, 1, 1), (0.985, 0.3, 1.4), (1.015, 1.7, 0.6), (1.9, 0, 3), (0, 1.2, 0)):
        pairs = ", ".join(f"{name} = [{gain}, {gain}]" for name, gain in zip(("hue", "saturation", "value"), gains))
        add(f'{{ op = "hsv-gains", {pairs} }}', lambda x, g=gains: torched(hsv_gains(untorched(x), g)), 0)
    for gamma, gain in ((0.5, 1), (2.2, 1), (1.4, 1.3), (0, 0.5)):
        add(f'{{ op = "gamma", gamma = {gamma}, gain = {gain} }}', lambda x, g=gamma, k=gain: F.adjust_gamma(x, g, k), 1)
    for bits in (0, 1, 3, 7, 8):
        add(f'{{ op = "posterize", bits = {bits}, p = 1 }}', lambda x, b=bits: F.posterize(x, b), 0)
    for threshold in (0, 40, 127.5, 255):
        add(f'{{ op = "solarize", threshold = {threshold}, p = 1 }}', lambda x, t=threshold: F.solarize(x, t), 0)
    add('{ op = "equalize", p = 1 }', F.equalize, 0)
    add('{ op = "autocontrast", p = 1 }', F.autocontrast, 0)
    add('{ op = "invert", p = 1 }', F.invert, 0)
    add('{ op = "invert", p = 0 }', lambda x: x, 0)
    add('{ op = "grayscale" }', lambda x: F.rgb_to_grayscale(x, 3), 1)
    add('{ op = "grayscale", channels = 1 }', lambda x: F.rgb_to_grayscale(x, 1), 1)
    add('{ op = "posterize", bits = 3, p = 1 }, { op = "invert", p = 1 }, { op = "solarize", threshold = 90, p = 1 }, '
        '{ op = "equalize", p = 1 }',
        lambda x: F.equalize(F.solarize(F.invert(F.posterize(x, 3)), 90)), 0)
    add('{ op = "brightness", factor = 1.3 }, { op = "horizontal-flip", p = 1 }, { op = "autocontrast", p = 1 }',
        lambda x: F.autocontrast(F.horizontal_flip(F.adjust_brightness(x, 1.3))), 0)
    return kernels


def blurs(F, shape):
    for taps, sigma in (((3, 3), 0.6), ((5, 9), 1.7), ((23, 1), 6)):
        if taps[0] // 2 < shape[1] and taps[1] // 2 < shape[0]:  # torch reflects once
            yield (f'{{ op = "gaussian-blur", kernel_size = [{taps[0]}, {taps[1]}], sigma = {sigma} }}',
                   lambda x, t=taps, s=sigma: F.gaussian_blur(x, list(t), [s, s]))


def check(name, ours, theirs, bound):
    delta = np.abs(ours.astype(int) - theirs.astype(int))
    if ours.shape != theirs.shape or delta.max() > bound:
        FAILED.append(name)
        print(f"FAILED {name}: {ours.shape} {theirs.shape}, at most {delta.max()} apart, {np.mean(delta > bound):.4f} beyond "
              "the bound")


def torched(picture):
    return torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))


def untorched(tensor):
    return tensor.numpy().transpose(1, 2, 0)


def check_shape(F, program, folder, pictures, colours):
    """Pictures of one size, by their numbers."""
    for number, picture in pictures.items():
        Image.fromarray(picture.squeeze(2) if colours == "grey"
                        else picture).save(pathlib.Path(folder, f"{colours}-{number}.png"))
    shape = next(iter(pictures.values())).shape
    chains = [(ops, *of) for ops, of in works(F).items()] + [(ops, of, 1) for ops, of in blurs(F, shape)]
    for ops, function, bound in chains:
        with Colours(program, folder, ops, shape, colours) as daemon:
            for number, picture in pictures.items():
                ours = daemon.of(pathlib.Path(folder, f"{colours}-{number}.png"))
                check(f"{ops} of {colours} picture {number}", ours, untorched(function(torched(picture))), bound)


def check_orders(F, program, folder, path, picture):
    """Of each sample the order is random; the numbers are not."""
    jitter = '{ op = "color-jitter", brightness = [1.4, 1.4], contrast = [0.6, 0.6], saturation = [1.8, 1.8], hue = [0.1, 0.1] }'
    changes = [lambda x: F.adjust_brightness(x, 1.4), lambda x: F.adjust_contrast(x, 0.6), lambda x: F.adjust_saturation(x, 1.8),
               lambda x: F.adjust_hue(x, 0.1)]
    wanted = []
    for order in itertools.permutations(changes):
        changed = torched(picture)
        for change in order:
            changed = change(changed)
        wanted.append(untorched(changed))
    seen = set()
    with Colours(program, folder, jitter, picture.shape) as daemon:
        for sample in range(200):
            ours = daemon.of(path, sample).astype(int)
            differences = [np.abs(ours - one).mean() for one in wanted]
            seen.add(int(np.argmin(differences)))
            if min(differences) > 0.25:  # a mean that differs a little moves a fifth of the values by 1
                FAILED.append(f"color-jitter, sample {sample}: {min(differences)}")
    if len(seen) != len(wanted):
        FAILED.append(f"color-jitter: {len(seen)} orders of {len(wanted)} occur")
    seen = set()
    with Colours(program, folder, '{ op = "channel-permutation" }', picture.shape) as daemon:
        for sample in range(60):
            ours = daemon.of(path, sample)
            orders = [order for order in itertools.permutations(range(3))
                      if np.array_equal(ours, untorched(F.permute_channels(torched(picture), list(order))))]
            seen.update(orders)
    if len(seen) != 6:
        FAILED.append(f"channel-permutation: the orders {seen} occur")


def main():
    if not is_there():
        print("torchvision v2 is not there: tests/install installs it")
        sys.exit(SKIPPED)
    F = kernels()
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        pictures = list(make_pictures(np.random.default_rng(7)))
        for shape in sorted({picture.shape for picture in pictures}):
            alike = {number: picture for number, picture in enumerate(pictures) if picture.shape == shape}
            check_shape(F, program, folder, alike, "rgb")
            if shape[1] == SIZES[0][0]:
                check_shape(F, program, folder, {number: picture[:, :, :1] for number, picture in alike.items()}, "grey")
        check_orders(F, program, folder, pathlib.Path(folder, "rgb-1.png"), pictures[1])
    for name in FAILED[:20]:
        print("FAILED", name)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
