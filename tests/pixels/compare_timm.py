#!/usr/bin/env python3
"""Holds timm-rand-augment to timm's RandAugment, bit for bit, with the numbers that the daemon draws.

    compare_timm.py PIXEL_DUMP

timm changes pictures of Pillow by Pillow's own functions. They are called here with the numbers that timm's description gives for
a magnitude; timm itself is not needed.
"""
import pathlib
import sys
import tempfile

import numpy as np
from PIL import Image

from dump import Daemon

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))
from draws import Draw
from timm_changes import CHANGES, timm_rand_augment

SIZES = [(64, 48), (61, 97), (224, 224), (2, 9)]  # width, height
PICTURES = 90  # of each size
FILL = (124, 116, 104)


def make_picture(random, width, height):
    y, x = np.mgrid[0:height, 0:width]
    a, b = random.uniform(0.02, 0.3, 2)
    waves = np.stack([random.uniform(60, 200) + 90 * np.sin(x * a + y * b * k + k) for k in range(3)], 2)
    return np.clip(waves + random.normal(0, random.uniform(0, 30), waves.shape), 0, 255).astype(np.uint8)


def main():
    random, failed, seen = np.random.default_rng(6), [], set()
    with tempfile.TemporaryDirectory() as folder:
        for width, height in SIZES:
            paths = []
            for number in range(PICTURES):
                paths.append(pathlib.Path(folder, f"{width}-{number}.png"))
                Image.fromarray(make_picture(random, width, height)).save(paths[-1])
            for how in (dict(num_ops=1, change_p=1.0), dict(num_ops=1, change_p=1.0, filter="bilinear", increasing=False),
                        dict(num_ops=2, filter="random", magnitude=5.0, magnitude_std=4.0), dict(num_ops=4, change_p=0.8)):
                values = ", ".join(f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}".replace("'", '"')
                                   for key, value in how.items())
                ops = f'{{ op = "timm-rand-augment", fill = {list(FILL)}, {values} }}'
                with Daemon(sys.argv[1], folder, 'colours = "rgb"',
                            f'{{ op = "center-crop", size = [{height}, {width}] }}, {ops}') as daemon:
                    for number, path in enumerate(paths):
                        draw = Draw(0, 0, number, "timm-rand-augment")
                        draw.uniform()  # for the operation's p
                        made, names = timm_rand_augment(Image.open(path), draw, fill=FILL, **how)
                        apart = np.abs(daemon.of(path, number) - np.asarray(made).astype(int))
                        seen |= set(names)
                        if apart.any():
                            failed.append(f"{ops} of {path.name}, {names}: {np.mean(apart > 0):.5f} differ, "
                                          f"at most {apart.max()}")
    if seen != set(CHANGES):
        failed.append(f"no picture had {set(CHANGES) - seen}")
    for line in failed[:20]:
        print("FAILED", line)
    print(f"{len(failed)} pictures differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
