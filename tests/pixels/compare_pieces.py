#!/usr/bin/env python3
"""Holds the operations that make several pieces of a picture to torchvision's and to the published algorithms in Pillow.

    compare_pieces.py PIXEL_DUMP

five-crop and ten-crop have the pixels of torchvision's FiveCrop and TenCrop. `grid` has those of InternVL's dynamic_preprocess
(https://huggingface.co/OpenGVLab/InternVL2-8B) and of LLaVA-NeXT's process_anyres_image (https://github.com/LLaVA-VL/LLaVA-NeXT,
llava/mm_utils.py), by a description of what each does. All values are the same, bit for bit.
"""
import math
import pathlib
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from compare_formats import FAILED, check
from dump import Daemon

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python/scripts"))
from torchvision_v2 import is_there, load_torchvision_v2

if is_there():
    transforms = load_torchvision_v2()[0]
else:
    from torchvision import transforms

SIZES = ((83, 61), (40, 40), (300, 40), (41, 257), (97, 200), (320, 240), (1, 400), (400, 1), (448, 224))
PINPOINTS = [(1, 2), (2, 1), (2, 2), (3, 1), (1, 3)]  # LLaVA-NeXT's grids, as rows and columns


def pictures(folder):
    """Pairs of a path and a picture of Pillow's, of JPEGs and PNGs."""
    rng = np.random.default_rng(7)
    for number, (width, height) in enumerate(SIZES):
        y, x = np.mgrid[0:height, 0:width]
        waves = np.dstack([128 + 100 * np.sin(x / (3 + c) + y / (9 - c)) for c in range(3)])
        picture = Image.fromarray((waves + rng.integers(-25, 26, waves.shape)).clip(0, 255).astype(np.uint8))
        for ending, options in (("png", {}), ("jpg", {"quality": 92, "subsampling": number % 3})):
            path = folder / f"{width}x{height}.{ending}"
            picture.save(path, **options)
            yield path, Image.open(path).convert("RGB")


def check_corners(program, folder):
    count = 0
    cases = [("five-crop", "", transforms.FiveCrop), ("ten-crop", "", transforms.TenCrop),
             ("ten-crop", ", vertical_flip = true", lambda size: transforms.TenCrop(size, vertical_flip=True))]
    for height, width in ((24, 31), (40, 40), (1, 1)):
        for name, options, reference in cases:
            ops = f'{{ op = "{name}", size = [{height}, {width}]{options} }}'
            with Daemon(program, folder, "exif = true", ops) as daemon, \
                    Daemon(program, folder, "exif = true", ops + ', { op = "convert", layout = "NCHW" }') as planar:
                for path, picture in pictures(folder):
                    if picture.width < width or picture.height < height:
                        continue
                    count += 1
                    tensor = torch.from_numpy(np.asarray(picture).transpose(2, 0, 1).copy())
                    theirs = np.stack([piece.numpy() for piece in reference((height, width))(tensor)])
                    check(f"{name}{options} of {path.name}", not np.array_equal(daemon.of(path), theirs.transpose(0, 2, 3, 1)))
                    check(f"{name}{options} of {path.name}, NCHW", not np.array_equal(planar.of(path), theirs))
    return count


# The two rules, by what the two programs do; each returns the pieces, and the grid as (rows, columns).


def resized(picture, width, height):
    return picture.resize((width, height), Image.BICUBIC)


def tiles_of(canvas, side):
    """The squares of a canvas, row by row."""
    columns, rows = canvas.width // side, canvas.height // side
    return [canvas.crop((side * x, side * y, side * (x + 1), side * (y + 1))) for y in range(rows) for x in range(columns)]


def pieces_of_internvl(picture, least, most, side, with_thumbnail):
    """The grid whose shape is nearest to the picture's. Python leaves open in which order InternVL meets grids that are as near:
    here it is from few tiles to many. A later one is taken where the picture has more than half of its pixels."""
    grids = sorted((columns * rows, columns, rows) for columns in range(1, most + 1) for rows in range(1, most + 1)
                   if least <= columns * rows <= most)
    aspect = picture.width / picture.height
    nearest = min(abs(aspect - columns / rows) for _, columns, rows in grids)
    first, *later = [grid for grid in grids if abs(aspect - grid[1] / grid[2]) == nearest]
    chosen = ([first] + [grid for grid in later if 2 * picture.width * picture.height > side * side * grid[0]])[-1]
    _, columns, rows = chosen
    pieces = tiles_of(resized(picture, side * columns, side * rows), side)
    if with_thumbnail and len(pieces) > 1:
        pieces.append(resized(picture, side, side))
    return pieces, (rows, columns)


def pieces_of_llava(picture, grids, side):
    """Of the grids the one in which most of the picture's pixels are left, then the one with the least margin; on it the whole
    picture, as large as it fits, between black margins."""
    width, height = picture.size

    def worth(grid):
        rows, columns = grid
        by = min(side * columns / width, side * rows / height)
        left = min(int(width * by) * int(height * by), width * height)
        return left, left - side * columns * side * rows

    rows, columns = max(grids, key=worth)
    canvas = Image.new("RGB", (side * columns, side * rows))
    across, down = canvas.width / width, canvas.height / height
    if across < down:
        fitted = (canvas.width, min(math.ceil(height * across), canvas.height))
    else:
        fitted = (min(math.ceil(width * down), canvas.width), canvas.height)
    canvas.paste(resized(picture, *fitted), ((canvas.width - fitted[0]) // 2, (canvas.height - fitted[1]) // 2))
    return [resized(picture, side, side), *tiles_of(canvas, side)], (rows, columns)


def compare_grid(daemon, path, picture, theirs, grid, name):
    ours = daemon.of(path)
    check(f"{name}: the grid of {path.name}", daemon.header["grid"] != [*grid, picture.height, picture.width])
    check(f"{name}: the tiles of {path.name}", not np.array_equal(ours, np.stack([np.asarray(piece) for piece in theirs])))


def check_internvl(program, folder):
    count = 0
    for least, most, thumbnail in ((1, 12, "last"), (1, 6, "none"), (1, 1, "last"), (4, 9, "last")):
        ops = (f'{{ op = "grid", size = 32, tiles_min = {least}, tiles_max = {most}, thumbnail = "{thumbnail}", '
               'filter = "bicubic" }')
        with Daemon(program, folder, "exif = true", ops, "" if most == 1 else "ragged = true") as daemon:
            for path, picture in pictures(folder):
                count += 1
                theirs, grid = pieces_of_internvl(picture, least, most, 32, thumbnail == "last")
                compare_grid(daemon, path, picture, theirs, grid, f"InternVL with {least} to {most} tiles")
    return count


def check_llava(program, folder):
    count = 0
    for pinpoints in (PINPOINTS, [(3, 1)], [(1, 1), (4, 4), (2, 6)]):
        names = ", ".join(f'"{rows}x{columns}"' for rows, columns in pinpoints)
        ops = f'{{ op = "grid", size = 28, grids = [{names}], rule = "resolution", thumbnail = "first", filter = "bicubic" }}'
        with Daemon(program, folder, "exif = true", ops, "ragged = true" if len(pinpoints) > 1 else "") as daemon:
            for path, picture in pictures(folder):
                count += 1
                compare_grid(daemon, path, picture, *pieces_of_llava(picture, pinpoints, 28), f"LLaVA-NeXT of {names}")
    return count


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        counts = [step(sys.argv[1], folder) for step in (check_corners, check_internvl, check_llava)]
    print(f"{sum(counts)} pictures in pieces: {len(FAILED)} differ")
    sys.exit(1 if FAILED or min(counts) == 0 else 0)


if __name__ == "__main__":
    main()
