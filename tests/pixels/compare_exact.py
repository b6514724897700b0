#!/usr/bin/env python3
"""Holds the daemon's pixels to Pillow's where no value may differ.

    compare_exact.py PIXEL_DUMP JPEG_CASES

JPEGs of all samplings, codings, turns and odd sizes that are not resized: whole, cropped, mirrored, in pieces, and where an
operation on colours stands before a resize. And all pictures that `resampling = "pillow"` resizes: beside Pillow's resize(), with
all filters, and beside torchvision's functions of Pillow's pictures. From files, and from every form of the cache.
"""
import functools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torchvision.transforms.functional as F
from PIL import Image, ImageOps
from torchvision.transforms import InterpolationMode

from compare_formats import FAILED, check
from dump import Daemon

FORMS = (None, "decoded", "packed", "indexed")
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS, "box": Image.BOX,
           "nearest": Image.NEAREST}
PLAIN, PILLOW = "exif = true", 'resampling = "pillow"'
WHOLE = 310  # no picture is larger: the middle's so many pixels are the whole picture in a black border
# One of so many JPEGs is looked at where it comes from the cache, or is resized. The numbers share no factor with that of the
# sizes.
OF_FORMS, OF_RESIZED = 5, 11


@functools.cache
def upright(path):
    with Image.open(path) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


@functools.cache
def luma(path):
    """As JPEGs have stored it."""
    with Image.open(path) as picture:
        picture.draft("L", picture.size)
        return ImageOps.exif_transpose(picture).convert("L")


def cut(picture, height, width):
    """torchvision's center_crop of a picture that may be smaller."""
    return F.center_crop(picture, [height, width])


def flipped(picture):
    return F.vflip(F.hflip(picture))


def resized(picture, height, width, name="bilinear"):
    return picture.resize((width, height), FILTERS[name])


def centre(height, width):
    return f'{{ op = "center-crop", size = [{height}, {width}] }}'


def resize(height, width, name="bilinear"):
    return f'{{ op = "resize", size = [{height}, {width}], filter = "{name}" }}'


FLIPS = '{ op = "horizontal-flip", p = 1 }, { op = "vertical-flip", p = 1 }'
INVERT = '{ op = "invert", p = 1 }'
NCHW = '{ op = "convert", layout = "NCHW" }'
FLOATS = '{ op = "convert", dtype = "float32", scale = 1.0, layout = "NCHW" }'

# Operations, and the same of Pillow's picture and pixel_dump's answer.
UNRESIZED = {
    centre(WHOLE, WHOLE): lambda picture, _: cut(picture, WHOLE, WHOLE),
    f"{centre(13, 21)}, {FLIPS}": lambda picture, _: flipped(cut(picture, 13, 21)),
    f"{FLIPS}, {centre(40, 6)}": lambda picture, _: cut(flipped(picture), 40, 6),
    f"{centre(1, 1)}": lambda picture, _: cut(picture, 1, 1),
    f"{INVERT}, {centre(14, 18)}": lambda picture, _: cut(Image.eval(picture, lambda value: 255 - value), 14, 18),
    f"{centre(15, 35)}, {NCHW}": lambda picture, _: np.asarray(cut(picture, 15, 35)).transpose(2, 0, 1),
    f"{centre(34, 20)}, {FLOATS}": lambda picture, _: np.asarray(cut(picture, 34, 20)).transpose(2, 0, 1),
    # The picture is adjusted before it is resized, by a filter that is exact.
    f"{INVERT}, {resize(20, 30, 'lanczos')}":
        lambda picture, _: resized(Image.eval(picture, lambda value: 255 - value), 20, 30, "lanczos"),
}


def crop_of(picture, header, height, width, name="bilinear"):
    x, y, across, down = header["box"]
    return resized(picture.crop((x, y, x + across, y + down)), height, width, name)


def short(picture, size):
    return F.resize(picture, size, InterpolationMode.BILINEAR)


def tall(picture):
    """The corners of a picture that was resized."""
    one = resized(picture, 40, 30)
    return np.stack([np.asarray(one.crop((x, y, x + 20, y + 20))) for x, y in ((0, 0), (10, 0), (0, 20), (10, 20), (5, 10))])


RESIZED = {
    resize(20, 30): lambda picture, _: resized(picture, 20, 30),
    resize(90, 211): lambda picture, _: resized(picture, 90, 211),
    f"{resize(75, 130)}": lambda picture, _: resized(picture, 75, 130),  # of some pictures one side, or both, stay
    f'{{ op = "resize", size = 50 }}, {centre(40, 44)}, {FLIPS}': lambda picture, _: flipped(cut(short(picture, 50), 40, 44)),
    f"{FLIPS}, {resize(31, 17)}": lambda picture, _: resized(flipped(picture), 31, 17),
    f"{resize(64, 81)}, {centre(70, 60)}, {resize(24, 25)}, {NCHW}":
        lambda picture, _: np.asarray(resized(cut(resized(picture, 64, 81), 70, 60), 24, 25)).transpose(2, 0, 1),
    f"{INVERT}, {resize(20, 30)}": lambda picture, _: resized(Image.eval(picture, lambda value: 255 - value), 20, 30),
    '{ op = "random-resized-crop", size = [24, 32], scale = [0.05, 1] }, { op = "horizontal-flip", p = 1 }':
        lambda picture, header: F.hflip(crop_of(picture, header, 24, 32)),
    f'{{ op = "random-resized-crop", size = [37, 29], scale = [0.05, 0.5] }}, {resize(60, 50)}':
        lambda picture, header: resized(crop_of(picture, header, 37, 29), 60, 50),
    f'{resize(40, 30)}, {{ op = "five-crop", size = 20 }}': lambda picture, _: tall(picture),
    **{resize(26, 33, name): (lambda picture, _, name=name: resized(picture, 26, 33, name)) for name in FILTERS},
}


def compare(program, folder, paths, decode, works, forms=FORMS, read=upright):
    """Returns how many pictures were compared, and how many came from each form."""
    count, kept = 0, dict.fromkeys(forms, 0)
    for form in forms:
        for ops, reference in works.items():
            with Daemon(program, folder, decode, ops, form=form) as daemon:
                for number, path in enumerate(paths):
                    try:
                        ours = daemon.of(path, number)
                    except RuntimeError as error:
                        check(f"{ops} of {error}", True)
                        continue
                    theirs = np.asarray(reference(read(path), daemon.header)).reshape(ours.shape)
                    check(f"{decode}, {ops} of {path.name}, form {form}: by {np.abs(ours - theirs).max()}",
                          not np.array_equal(ours, theirs))
                    kept[form] += daemon.header["kept"]
                    count += 1
    return count, kept


def other_pictures(folder):
    """CMYK as it is stored, and formats that have no planes."""
    rng = np.random.default_rng(4)
    y, x = np.mgrid[0:88, 0:133]
    waves = np.dstack([128 + 110 * np.sin(x / (3 + c) + y / (9 - c)) for c in range(3)])
    picture = Image.fromarray((waves + rng.integers(-25, 26, waves.shape)).clip(0, 255).astype(np.uint8))
    noise = Image.fromarray(rng.integers(0, 2, (88, 133, 3), np.uint8) * 255)
    for name, one in (("waves", picture), ("noise", noise)):
        one.convert("CMYK").save(folder / f"{name}-cmyk.jpg", quality=90)
        one.save(folder / f"{name}.png")
        one.convert("L").save(folder / f"{name}-grey.png")
        one.save(folder / f"{name}.bmp")
    return sorted(path for path in folder.iterdir() if path.suffix in (".jpg", ".png", ".bmp"))


def check_grey(program, folder, paths):
    """Luma alone."""
    grey = {ops: reference for ops, reference in {**UNRESIZED, **RESIZED}.items() if "NCHW" not in ops and "float32" not in ops
            and "five" not in ops}
    jpegs = [path for path in paths if "ycck" not in path.name]
    return [compare(program, folder, jpegs, 'colours = "grey", resampling = "pillow"', grey, (None, "decoded"), luma)[0]]


def main():
    program, maker = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        cases, others = pathlib.Path(scratch, "cases"), pathlib.Path(scratch, "others")
        cases.mkdir(), others.mkdir()
        subprocess.run([maker, cases], check=True)
        jpegs, more = sorted(cases.iterdir()), other_pictures(others)
        counts = [compare(program, scratch, more, PLAIN, UNRESIZED, (None,))[0],
                  compare(program, scratch, more, PILLOW, RESIZED, (None,))[0]]
        counts.append(compare(program, scratch, jpegs, PLAIN, UNRESIZED, (None,))[0])
        for paths, decode, works, forms in ((jpegs[::OF_FORMS], PLAIN, UNRESIZED, FORMS[1:]),
                                            (jpegs[::OF_RESIZED], PILLOW, RESIZED, FORMS)):
            count, kept = compare(program, scratch, paths, decode, works, forms)
            counts.append(count)
            for form in FORMS[1:]:
                check(f"{decode}: few pictures have the form {form}: {kept[form]} of {count // len(forms)}",
                      kept[form] < count / len(forms) / 15)
        counts += check_grey(program, scratch, jpegs[::OF_RESIZED])
    print(f"{sum(counts)} pictures beside Pillow's: {len(FAILED)} differ")
    sys.exit(1 if FAILED or min(counts) == 0 else 0)


if __name__ == "__main__":
    main()
