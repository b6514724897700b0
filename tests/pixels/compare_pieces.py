#!/usr/bin/env python3
"""Holds the operations that make several pieces of a picture to torchvision's and to the published algorithms in Pillow.

    compare_pieces.py PIXEL_DUMP

five-crop and ten-crop have the pixels of torchvision's FiveCrop and TenCrop. `grid` has those of InternVL's dynamic_preprocess
(https://huggingface.co/OpenGVLab/InternVL2-8B) and of LLaVA-NeXT's process_anyres_image (https://github.com/LLaVA-VL/LLaVA-NeXT,
llava/mm_utils.py), which are written here as they were published. All values are the same, bit for bit.
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


# --- InternVL, as it was published but for the order of grids with one number of tiles, which Python's sets leave open ---


def find_closest_aspect_ratio(aspect_ratio, target_ratios, width, height, image_size):
    best_ratio_diff = float("inf")
    best_ratio = (1, 1)
    area = width * height
    for ratio in target_ratios:
        target_aspect_ratio = ratio[0] / ratio[1]
        ratio_diff = abs(aspect_ratio - target_aspect_ratio)
        if ratio_diff < best_ratio_diff:
            best_ratio_diff = ratio_diff
            best_ratio = ratio
        elif ratio_diff == best_ratio_diff and area > 0.5 * image_size * image_size * ratio[0] * ratio[1]:
            best_ratio = ratio
    return best_ratio


def target_ratios_of(min_num, max_num):
    ratios = {(i, j) for n in range(min_num, max_num + 1) for i in range(1, n + 1) for j in range(1, n + 1)
              if min_num <= i * j <= max_num}
    return sorted(ratios, key=lambda x: (x[0] * x[1], x[0]))


def dynamic_preprocess(image, min_num, max_num, image_size, use_thumbnail):
    orig_width, orig_height = image.size
    ratio = find_closest_aspect_ratio(orig_width / orig_height, target_ratios_of(min_num, max_num), orig_width,
                                      orig_height, image_size)
    target_width, target_height = image_size * ratio[0], image_size * ratio[1]
    resized_img = image.resize((target_width, target_height), Image.BICUBIC)
    processed_images = []
    for i in range(ratio[0] * ratio[1]):
        across = target_width // image_size
        box = ((i % across) * image_size, (i // across) * image_size, (i % across + 1) * image_size,
               (i // across + 1) * image_size)
        processed_images.append(resized_img.crop(box))
    if use_thumbnail and len(processed_images) != 1:
        processed_images.append(image.resize((image_size, image_size), Image.BICUBIC))
    return processed_images, (ratio[1], ratio[0])


# --- LLaVA-NeXT, as it was published ---


def select_best_resolution(original_size, possible_resolutions):
    original_width, original_height = original_size
    best_fit = None
    max_effective_resolution = 0
    min_wasted_resolution = float("inf")
    for width, height in possible_resolutions:
        scale = min(width / original_width, height / original_height)
        downscaled_width, downscaled_height = int(original_width * scale), int(original_height * scale)
        effective_resolution = min(downscaled_width * downscaled_height, original_width * original_height)
        wasted_resolution = (width * height) - effective_resolution
        if effective_resolution > max_effective_resolution or (
                effective_resolution == max_effective_resolution and wasted_resolution < min_wasted_resolution):
            max_effective_resolution = effective_resolution
            min_wasted_resolution = wasted_resolution
            best_fit = (width, height)
    return best_fit


def resize_and_pad_image(image, target_resolution):
    original_width, original_height = image.size
    target_width, target_height = target_resolution
    scale_w = target_width / original_width
    scale_h = target_height / original_height
    if scale_w < scale_h:
        new_width = target_width
        new_height = min(math.ceil(original_height * scale_w), target_height)
    else:
        new_height = target_height
        new_width = min(math.ceil(original_width * scale_h), target_width)
    resized_image = image.resize((new_width, new_height), Image.BICUBIC)
    new_image = Image.new("RGB", (target_width, target_height), (0, 0, 0))
    new_image.paste(resized_image, ((target_width - new_width) // 2, (target_height - new_height) // 2))
    return new_image


def process_anyres_image(image, pinpoints, patch):
    resolution = select_best_resolution(image.size, [(columns * patch, rows * patch) for rows, columns in pinpoints])
    padded = resize_and_pad_image(image, resolution)
    patches = [padded.crop((j, i, j + patch, i + patch)) for i in range(0, resolution[1], patch)
               for j in range(0, resolution[0], patch)]
    return [image.resize((patch, patch), Image.BICUBIC)] + patches, (resolution[1] // patch, resolution[0] // patch)


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
                theirs, grid = dynamic_preprocess(picture, least, most, 32, thumbnail == "last")
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
                compare_grid(daemon, path, picture, *process_anyres_image(picture, pinpoints, 28), f"LLaVA-NeXT of {names}")
    return count


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        counts = [step(sys.argv[1], folder) for step in (check_corners, check_internvl, check_llava)]
    print(f"{sum(counts)} pictures in pieces: {len(FAILED)} differ")
    sys.exit(1 if FAILED or min(counts) == 0 else 0)


if __name__ == "__main__":
    main()
