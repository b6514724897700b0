#!/usr/bin/env python3
"""Holds `profile = "srgb"` of decode-image to Pillow's ImageCms.profileToProfile(picture, profile, sRGB), with its perceptual
intent.

    compare_profiles.py PIXEL_DUMP FORMAT...
    compare_profiles.py --make FOLDER FORMAT...      only makes pictures of these formats there

The test makes pictures of all formats with profiles of all kinds. The daemon's values differ by at most 1 from Pillow's values.
Pillow takes the profile that it finds in the file, and the pixels that the daemon decodes without a conversion, since other tests
compare these pixels with Pillow's. 1,000 damaged profiles neither crash the daemon nor pass
for sound in one decoding and for damaged in another.
"""
import importlib
import io
import pathlib
import random
import sys
import tempfile

import numpy as np
from PIL import Image, ImageCms

from dump import Daemon
from modern_makers import Jpeg2000, Jxl
from picture_makers import HEIGHT, WIDTH, exif_of, picture, saved
from profile_makers import CMYK, COLOURS, GREYS

TOLERANCE, LEAST, COPIES = 1, 200, 1000
# The format's ending, the module without which Pillow does not know it, its name in Pillow, and how it is saved.
KINDS = {
    "jpeg": ("jpg", None, "JPEG", [{"quality": 90}, {"quality": 60, "progressive": True, "subsampling": 0}]),
    "png": ("png", None, "PNG", [{}]),
    "webp": ("webp", None, "WEBP", [{"lossless": True}, {"quality": 70}]),
    "tiff": ("tif", None, "TIFF", [{}, {"compression": "tiff_lzw"}]),
    "avif": ("avif", None, "AVIF", [{"speed": 10, "max_threads": 1}]),
    "jxl": ("jxl", "pillow_jxl", None, [{}]),
    "jpeg2000": ("jp2", None, "JPEG2000", [{}]),
    "heif": ("heic", "pillow_heif.HeifImagePlugin", "HEIF", [{"chroma": 444}]),
}
ALPHA = ("png", "webp", "tiff", "avif", "jxl", "jpeg2000", "heif")
GREY = ("jpeg", "png", "tiff", "jpeg2000")
FAILED = []


def check(name, wrong):
    if wrong:
        FAILED.append(name)
        print(f"FAILED {name}")


def coded(image, name, profile, saving):
    """JPEG XL comes from libjxl's own program. Pillow writes no profile into JPEG 2000."""
    if name == "JPEG2000":
        return Jpeg2000.coloured(saved(image, name, **saving), b"\2\0\0" + profile)
    return saved(image, name, icc_profile=profile, **saving) if name else Jxl.coded(saved(image, "PNG", icc_profile=profile),
                                                                                    "-d", "0")


def made(kinds):
    """Each picture's name, and its content."""
    for kind in kinds:
        ending, module, name, options = KINDS[kind]
        if module:
            importlib.import_module(module)
        for number, saving in enumerate(options):
            for seed in (5, 6):
                for title, profile in COLOURS.items():
                    for mode in ("RGB", "RGBA") if kind in ALPHA else ("RGB",):
                        content = coded(picture(mode, seed=seed), name, profile, saving)
                        yield f"{kind}-{number}-{seed}-{title}-{mode}.{ending}", content
                for title, profile in GREYS.items() if kind in GREY else ():
                    yield f"{kind}-{number}-{seed}-{title}-L.{ending}", coded(picture("L", seed=seed), name, profile, saving)


def converted(rgb, profile, is_grey):
    source = Image.fromarray((rgb[:, :, 0] if is_grey else rgb).astype(np.uint8))
    sound = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    return np.asarray(ImageCms.profileToProfile(source, sound, ImageCms.createProfile("sRGB"), outputMode="RGB"), np.int64)


def profile_in_box(content):
    """Pillow reads none of JPEG 2000, either."""
    at = content.index(b"colr") - 4
    return content[at + 11:at + int.from_bytes(content[at:at + 4], "big")]


class Dumps:
    def __init__(self, program, folder):
        crop = f'{{ op = "center-crop", size = [{HEIGHT}, {WIDTH}] }}'
        def way(decode, end=""):
            return Daemon(program, folder, decode, crop + end)
        self.stored, self.srgb = way('colours = "rgba"'), way('colours = "rgba", profile = "srgb"')
        self.rgb, self.grey = way('colours = "rgb", profile = "srgb"'), way('colours = "grey", profile = "srgb"')
        self.deep = way('colours = "rgb", bits = 16, profile = "srgb"', ', { op = "convert", dtype = "uint16" }')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for dump in (self.stored, self.srgb, self.rgb, self.grey, self.deep):
            dump.__exit__()


def check_pictures(dumps, folder, kinds):
    count = differing = samples = 0
    for name, content in made(kinds):
        path = folder / name
        path.write_bytes(content)
        with Image.open(path) as opened:
            profile = profile_in_box(content) if name.endswith(".jp2") else opened.info["icc_profile"]
        stored, srgb, rgb = dumps.stored.of(path), dumps.srgb.of(path), dumps.rgb.of(path)
        wanted = converted(stored[:, :, :3], profile, "-L." in name)
        differences = np.abs(rgb - wanted)
        check(f"{name}: it differs by {differences.max()}", differences.max() > TOLERANCE)
        check(f"{name}: nothing was converted", "grey-curve" not in name and (rgb == stored[:, :, :3]).all())
        check(f"{name}: alpha or the colours beside it", (srgb[:, :, 3] != stored[:, :, 3]).any()
              or (srgb[:, :, :3] != rgb).any())
        luma = (rgb @ np.array([19595, 38470, 7471]) + 32768) >> 16
        check(f"{name}: grey", (dumps.grey.of(path)[:, :, 0] != luma).any())
        deep = np.abs(dumps.deep.of(path) / 257 - wanted).max()
        check(f"{name}: 16 bits differ by {deep} of 255", deep > TOLERANCE + 0.5)  # the wanted values are rounded to 8 bits
        count, samples, differing = count + 1, samples + differences.size, differing + np.count_nonzero(differences)
    print(f"{count} pictures: {differing} of {samples} samples differ")
    check(f"{count} pictures are too few", count < LEAST)


def check_stray_bytes(dumps, folder):
    """Bytes between the segments of a JPEG hide no profile and no orientation, as they hide none from Pillow."""
    jpeg = saved(picture("RGB"), "JPEG", icc_profile=COLOURS["p3"], exif=exif_of(6), quality=90)
    plain = folder / "stray-none.jpg"
    plain.write_bytes(jpeg)
    at = 2 + 2 + int.from_bytes(jpeg[4:6], "big")  # behind the first segment
    for name, stray in (("zeros", bytes(5)), ("fill", b"\xff" * 3), ("stuffed", b"\xff\0" * 2), ("any", b"stray \0\xff\0")):
        path = folder / f"stray-{name}.jpg"
        path.write_bytes(jpeg[:at] + stray + jpeg[at:])
        with Image.open(path) as opened:
            check(f"{path.name}: Pillow sees no profile", opened.info.get("icc_profile") != COLOURS["p3"])
        check(f"{path.name}: its profile or its orientation is missed",
              not np.array_equal(dumps.rgb.of(path), dumps.rgb.of(plain)))


def check_plain(dumps, folder):
    for mode in ("RGB", "L"):
        path = folder / f"plain-{mode}.jpg"
        path.write_bytes(saved(picture(mode), "JPEG", quality=90))
        check(f"{path.name}: without a profile nothing changes", (dumps.srgb.of(path) != dumps.stored.of(path)).any())


def verdict(dump, path):
    try:
        return dump.of(path).tobytes()
    except RuntimeError as error:
        return str(error)


def check_refusals(dumps, folder):
    jpeg = saved(picture("RGB"), "JPEG", icc_profile=COLOURS["large-lut"])
    png = saved(picture("RGB"), "PNG", icc_profile=COLOURS["p3"])
    second = jpeg.index(b"ICC_PROFILE\0", jpeg.index(b"ICC_PROFILE\0") + 1)
    cases = (("part.jpg", jpeg[:second] + b"x" + jpeg[second + 1:], "a JPEG with a damaged colour profile"),
             ("number.jpg", jpeg[:second + 12] + b"\x01" + jpeg[second + 13:], "a JPEG with a damaged colour profile"),
             ("chunk.png", png.replace(b"ICC Profile", b"ICC profile"), "a PNG with a damaged colour profile"),
             ("none.jpg", saved(picture("RGB"), "JPEG", icc_profile=b"this is no profile"), "a damaged colour profile"),
             ("inks.jpg", saved(picture("CMYK"), "JPEG", icc_profile=CMYK), "colour profile is for CMYK"),
             ("grey.jpg", saved(picture("RGB"), "JPEG", icc_profile=GREYS["grey"]), "colour profile is for grey"))
    for name, content, sentence in cases:
        path = folder / name
        path.write_bytes(content)
        why = verdict(dumps.rgb, path)
        check(f"{name}: no \"{sentence}\" in: {why}", not isinstance(why, str) or sentence not in why)
        check(f"{name}: it is decoded where the profile is ignored",
              name != "chunk.png" and isinstance(verdict(dumps.stored, path), str))


def check_damage(dumps, folder):
    drawn, refused, path = random.Random(7), 0, folder / "damaged.jpg"
    profiles = [COLOURS[name] for name in ("p3", "table-curve", "lut", "adobe")] + [GREYS["grey"]]
    pictures = [saved(picture("L" if profile in GREYS.values() else "RGB"), "JPEG", icc_profile=profile) for profile in profiles]
    for number in range(COPIES):
        copy = bytearray(pictures[number % len(pictures)])
        start = copy.index(b"ICC_PROFILE\0") + 14
        length = len(profiles[number % len(profiles)])
        reach = drawn.choice((128, 400, length))  # the header, the directory, or all
        for _ in range(drawn.randint(1, 8)):
            copy[start + drawn.randrange(min(reach, length))] = drawn.choice((0, 1, 0x7F, 0xFF, drawn.randrange(256)))
        path.write_bytes(copy)
        first, again, alpha = verdict(dumps.rgb, path), verdict(dumps.rgb, path), verdict(dumps.srgb, path)
        check(f"damaged profile {number}: another verdict", first != again or isinstance(first, str) != isinstance(alpha, str))
        check(f"damaged profile {number}: {first}", isinstance(first, str) and "colour profile" not in first)
        refused += isinstance(first, str)
    print(f"{refused} of {COPIES} damaged profiles are refused")
    check("no damaged profile is refused", refused == 0)


def check_frames(program, folder, kinds):
    """Frames together are the frames one by one, in every format that has both frames and profiles; pages have profiles of their
    own."""
    frames, whole = [picture("RGB", seed=seed) for seed in range(3)], f'{{ op = "center-crop", size = [{HEIGHT}, {WIDTH}] }}'
    for kind in set(kinds).intersection(("webp", "avif", "tiff")):
        ending, _, name, (saving, *_) = KINDS[kind]
        path = folder / f"frames.{ending}"
        path.write_bytes(saved(frames[0], name, icc_profile=COLOURS["p3"], save_all=True, append_images=frames[1:], **saving))
        for colours in ("rgb", "grey", "rgba"):
            decode = f'colours = "{colours}", profile = "srgb", '
            with Daemon(program, folder, decode + "frames = 3", whole) as together:
                if kind == "tiff":
                    why = verdict(together, path)
                    check(f"pages in sRGB: {why}", not isinstance(why, str) or "wanted in sRGB" not in why)
                    continue
                several = together.of(path)
            for number in range(3):
                with Daemon(program, folder, decode + f"frame = {number}", whole) as alone:
                    check(f"frame {number} of {path.name} in {colours}", not np.array_equal(alone.of(path), several[number]))
            check(f"{path.name} is not converted", np.array_equal(several[0][:, :, :3], np.asarray(frames[0])))


def main():
    kinds = [kind for kind in KINDS if kind in ("jpeg", "png", *sys.argv[2:])]
    if sys.argv[1] == "--make":
        for name, content in made(kinds):
            pathlib.Path(sys.argv[2], name).write_bytes(content)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        with Dumps(sys.argv[1], folder) as dumps:
            check_pictures(dumps, folder, kinds)
            check_plain(dumps, folder)
            check_stray_bytes(dumps, folder)
            check_refusals(dumps, folder)
            check_damage(dumps, folder)
        check_frames(sys.argv[1], folder, kinds)
    print(f"{len(FAILED)} faults")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
