#!/usr/bin/env python3
"""Holds the daemon's pixels of PNGs to Pillow's: they are the same bytes.

    compare_png.py PIXEL_DUMP
    compare_png.py --make FOLDER      only makes the pictures there

It makes pictures of all colours, depths and filters, interlaced or not, with transparency and EXIF, by a writer of its own and by
Pillow's. Pillow cuts grey samples of 16 bits at 255; of these, the upper 8 bits are expected, as Pillow takes them of all other
pictures of 16 bits.
"""
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from PIL import Image, ImageOps

WIDTH, HEIGHT = 61, 47
KINDS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16),
         (6, 8), (6, 16)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
TRANSPARENT = {0: struct.pack(">H", 1), 2: struct.pack(">HHH", 1, 2, 3), 3: bytes([0])}


def spec_of(ops, further=""):
    """A pipeline of pictures with these operations, as pixel_dump reads it; `further` lines are the output's."""
    return f"""
name = "pixels"
[source]
type = "image-folder"
uri = "/"
[batch]
size = 1
[[output]]
name = "image"
from = "image"
ops = [{ops}]
{further}
"""


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def packed(samples, depth):
    """A row of samples as bytes."""
    if depth == 16:
        return samples.astype(">u2").tobytes()
    if depth == 8:
        return samples.astype(np.uint8).tobytes()
    bits = (samples.reshape(-1, 1) >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.astype(np.uint8).reshape(-1)).tobytes()


def paeth(left, up, corner):
    estimate = left + up - corner
    by = [abs(estimate - value) for value in (left, up, corner)]
    return (left, up, corner)[by.index(min(by))]


def filtered(row, above, step, kind):
    out = bytearray([kind])
    for i, value in enumerate(row):
        left, up = row[i - step] if i >= step else 0, above[i] if above else 0
        corner = above[i - step] if above and i >= step else 0
        guess = (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]
        out.append((value - guess) & 255)
    return bytes(out)


def written(rng, colour, depth, interlaced, transparent, kept=None):
    """A PNG. `kept` gets its samples, and its palette where it has one."""
    channels = CHANNELS[colour]
    x, y = np.arange(WIDTH), np.arange(HEIGHT)[:, None]
    slope = (x + 2 * y)[:, :, None] * (1 << depth) // 200 + np.arange(channels) * 3
    samples = (slope + rng.integers(0, max(2, (1 << depth) // 8), (HEIGHT, WIDTH, channels))) % (1 << depth)
    raw, step, turn = b"", max(1, channels * depth // 8), 0
    for first_x, first_y, across, down in PASSES if interlaced else [(0, 0, 1, 1)]:
        above = b""
        for row in samples[first_y::down, first_x::across]:
            row = packed(row.reshape(-1), depth)
            raw += filtered(row, above, step, turn % 5)
            above, turn = row, turn + 1
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, colour, 0, 0, int(interlaced))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"gAMA", struct.pack(">I", 30000))
    if colour == 3:
        palette = rng.integers(0, 256, 3 << depth, np.uint8)
        png += chunk(b"PLTE", palette.tobytes())
        if kept is not None:
            kept["palette"] = palette.reshape(-1, 3).astype(np.int64)
    if kept is not None:
        kept["samples"] = samples.astype(np.int64)
    if transparent:
        png += chunk(b"tRNS", TRANSPARENT[colour])
    return png + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


def saved_by_pillow(rng):
    picture = Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8), "RGBA")
    turned = Image.fromarray(rng.integers(0, 256, (WIDTH, HEIGHT, 3), np.uint8), "RGB")
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
        yield f"pillow-{mode}", picture.convert(mode), {"optimize": True}
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        yield f"exif-{orientation}", turned if orientation >= 5 else picture.convert("RGB"), {"exif": exif}
    frames = [Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)) for _ in range(3)]
    yield "animated", frames[0], {"save_all": True, "append_images": frames[1:]}


def make_pictures(folder):
    rng = np.random.default_rng(5)
    for colour, depth in KINDS:
        for interlaced in (False, True):
            for transparent in (False, True) if colour in TRANSPARENT else (False,):
                name = f"{colour}-{depth}-{'interlaced' if interlaced else 'plain'}-{'trns' if transparent else 'opaque'}"
                (folder / f"{name}.png").write_bytes(written(rng, colour, depth, interlaced, transparent))
    for name, picture, options in saved_by_pillow(rng):
        picture.save(folder / f"{name}.png", **options)


def expected(path):
    with Image.open(io.BytesIO(path.read_bytes())) as picture:
        if picture.mode.startswith("I"):
            return np.repeat((np.asarray(picture, np.int64) >> 8).astype(np.uint8)[:, :, None], 3, 2)
        return np.asarray(ImageOps.exif_transpose(picture).convert("RGB"))


def main():
    if sys.argv[1] == "--make":
        return make_pictures(pathlib.Path(sys.argv[2]))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        make_pictures(folder)
        (folder / "spec.toml").write_text(spec_of(
            f'{{ op = "decode-image" }}, {{ op = "center-crop", size = [{HEIGHT}, {WIDTH}] }}'))
        paths = sorted(folder.glob("*.png"))
        with subprocess.Popen([sys.argv[1], folder / "spec.toml"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for index, path in enumerate(paths):
                process.stdin.write(f"{index} {path}\n".encode())
                process.stdin.flush()
                header = json.loads(process.stdout.readline())
                if "error" in header:
                    failed += 1
                    print(f"FAILED {path.name}: {header['error']}")
                    continue
                ours = np.frombuffer(process.stdout.read(header["bytes"]), np.uint8).reshape(header["shape"])
                if not np.array_equal(ours, expected(path)):
                    failed += 1
                    print(f"FAILED {path.name}: {np.count_nonzero(ours != expected(path))} samples differ")
            process.stdin.close()
    print(f"{len(paths)} PNGs, {failed} differ from Pillow's pixels")
    sys.exit(1 if failed or len(paths) < 50 else 0)


if __name__ == "__main__":
    main()
