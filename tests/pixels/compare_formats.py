#!/usr/bin/env python3
"""Holds the daemon's pixels of every colours and bits to Pillow's and to a model in numpy.

    compare_formats.py PIXEL_DUMP

PNGs of every kind, interlaced or not and with transparency, as RGB, grey and RGBA of 8 and 16 bits are the same values as the
samples that were written, by the rules of docs/pipelines.md. JPEGs' grey is what Pillow's draft("L") gives. Resized pictures of 8
bits are within 1 of Pillow's, and of 16 bits within 1 of the same formula in numpy and within 2 of torch's
interpolate(antialias=True).
"""
import pathlib
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from compare_png import HEIGHT, KINDS, TRANSPARENT, WIDTH, written
from dump import Daemon

LUMA = np.array([19595, 38470, 7471], np.int64)
FAILED = []


def check(name, wrong):
    if wrong:
        FAILED.append(name)
        print(f"FAILED {name}")


def bits_of(values, depth, bits):
    if depth == 16:
        return values if bits == 16 else values >> 8
    return values * 255 // ((1 << depth) - 1) * (257 if bits == 16 else 1)


def model_of(samples, palette, colour, depth, transparent, colours, bits):
    """The wanted pixels of a PNG's samples [height, width, channels]."""
    white = (1 << bits) - 1
    opaque = np.full(samples.shape[:2], white, np.int64)
    if colour == 3:
        rgb, alpha = bits_of(palette[samples[:, :, 0]], 8, bits), opaque
        if transparent:
            alpha = np.where(samples[:, :, 0] == 0, 0, white)
    else:
        scaled = bits_of(samples, depth, bits)
        rgb = scaled[:, :, :3] if colour in (2, 6) else np.repeat(scaled[:, :, :1], 3, 2)
        alpha = scaled[:, :, -1] if colour in (4, 6) else opaque
        if transparent:
            wanted = np.frombuffer(TRANSPARENT[colour], ">u2").astype(np.int64)
            alpha = np.where((samples == wanted).all(2), 0, white)
    if colours == "grey":
        return ((rgb @ LUMA + 32768) >> 16)[:, :, None]
    return rgb if colours == "rgb" else np.dstack([rgb, alpha])


def check_pngs(program, folder):
    made = []
    for colour, depth in KINDS:
        for interlaced in (False, True):
            for transparent in (False, True) if colour in TRANSPARENT else (False,):
                kept = {}
                png = written(np.random.default_rng(depth), colour, depth, interlaced, transparent, kept)
                path = folder / f"{colour}-{depth}-{interlaced}-{transparent}.png"
                path.write_bytes(png)
                made.append((path, kept, colour, depth, transparent))
    ops = f'{{ op = "center-crop", size = [{HEIGHT}, {WIDTH}] }}'
    for colours in ("rgb", "grey", "rgba"):
        for bits in (8, 16):
            convert = f', {{ op = "convert", dtype = "uint{bits}" }}'
            with Daemon(program, folder, f'colours = "{colours}", bits = {bits}', ops + convert) as daemon:
                for path, kept, colour, depth, transparent in made:
                    model = model_of(kept["samples"], kept.get("palette"), colour, depth, transparent, colours, bits)
                    check(f"{path.name} as {colours} of {bits} bits", not np.array_equal(daemon.of(path), model))
    # Pillow's own conversions, where it has them.
    with Daemon(program, folder, 'colours = "rgba"', ops) as rgba, Daemon(program, folder, 'colours = "grey"', ops) as grey:
        for path, _, colour, depth, _ in made:
            with Image.open(path) as picture:
                picture.load()
                if depth < 16:
                    check(f"{path.name} beside Pillow's L",
                          not np.array_equal(grey.of(path)[:, :, 0], np.asarray(picture.convert("L"))))
                if colour in (2, 3, 4, 6) and depth < 16:
                    check(f"{path.name} beside Pillow's RGBA",
                          not np.array_equal(rgba.of(path), np.asarray(picture.convert("RGBA"))))
    return len(made) * 6


def photo(rng, channels, white):
    y, x = np.mgrid[0:211, 0:307]
    waves = [np.sin(x / (5 + c)) + np.cos(y / (7 + 2 * c)) for c in range(channels)]
    values = (np.dstack(waves) + 2) / 4 * white * 0.9 + rng.integers(0, max(2, white // 20), (211, 307, channels))
    return values.clip(0, white).astype(np.int64)


def check_jpegs(program, folder):
    rng = np.random.default_rng(3)
    colours = Image.fromarray(photo(rng, 3, 255).astype(np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    pictures = {"420": (colours, {"subsampling": 2}), "444": (colours, {"subsampling": 0}), "422": (colours, {"subsampling": 1}),
                "progressive": (colours, {"progressive": True}), "turned": (colours, {"exif": exif}),
                "grey": (colours.convert("L"), {})}
    for name, (picture, options) in pictures.items():
        path = folder / f"{name}.jpg"
        picture.save(path, quality=90, **options)
        height, width = (picture.width, picture.height) if name == "turned" else (picture.height, picture.width)
        crop = f'{{ op = "center-crop", size = [{height}, {width}] }}'
        with Image.open(path) as luma, Image.open(path) as rgb:
            luma.draft("L", luma.size)
            luma, rgb = np.asarray(luma.convert("L"), np.int64), np.asarray(rgb.convert("RGB"), np.int64)
            if name == "turned":
                luma, rgb = np.rot90(luma, -1), np.rot90(rgb, -1)
        wanted = {("grey", 8): luma[:, :, None], ("grey", 16): luma[:, :, None] * 257, ("rgb", 16): rgb * 257,
                  ("rgba", 8): np.dstack([rgb, np.full(rgb.shape[:2], 255)]),
                  ("rgba", 16): np.dstack([rgb * 257, np.full(rgb.shape[:2], 65535)])}
        for (kind, bits), model in wanted.items():
            with Daemon(program, folder, f'colours = "{kind}", bits = {bits}',
                        f'{crop}, {{ op = "convert", dtype = "uint{bits}" }}') as daemon:
                check(f"{path.name} as {kind} of {bits} bits", np.abs(daemon.of(path) - model).max() > 0)
    return len(pictures) * 5


def weights(count, wanted, antialias=True):
    """Pillow's triangle filter as a matrix."""
    scale = count / wanted
    reach = max(scale, 1.0) if antialias else 1.0
    centre = (np.arange(wanted)[:, None] + 0.5) * scale
    matrix = np.maximum(0, 1 - np.abs((np.arange(count) + 0.5 - centre) / reach))
    return matrix / matrix.sum(1, keepdims=True)


def check_resizes(program, folder):
    rng = np.random.default_rng(9)
    checks = 0
    for kind, channels, bits in (("grey", 1, 8), ("grey", 1, 16), ("rgb", 3, 16), ("rgba", 4, 8), ("rgba", 4, 16)):
        white = (1 << bits) - 1
        values = photo(rng, channels, white)
        path = folder / f"{kind}-{bits}.png"
        if bits == 8:
            Image.fromarray(values.astype(np.uint8)[:, :, 0] if channels == 1 else values.astype(np.uint8)).save(path)
        else:
            path.write_bytes(png_of(values))
        for height, width in ((64, 80), (300, 500), (211, 90), (33, 307), (7, 5), (250, 100)):
            for antialias in (True, False):
                checks += 1
                name = f"{kind} of {bits} bits to {width} x {height}, antialias {antialias}"
                resize = f'{{ op = "resize", size = [{height}, {width}], antialias = {str(antialias).lower()} }}'
                convert = f', {{ op = "convert", dtype = "uint{bits}" }}'
                with Daemon(program, folder, f'colours = "{kind}", bits = {bits}', resize + convert) as daemon:
                    ours = daemon.of(path)
                down, across = weights(values.shape[0], height, antialias), weights(values.shape[1], width, antialias)
                exact = np.einsum("hy,yxc,wx->hwc", down, values, across, optimize=True)
                # The kernels of 8-bit grey have weights of 15 bits; all others round the exact value once.
                check(f"{name} beside the formula", np.abs(ours - exact).max() > (1.1 if channels == 1 and bits == 8 else 0.55))
                tensor = torch.from_numpy(values.astype(np.float64).transpose(2, 0, 1)[None])
                theirs = torch.nn.functional.interpolate(tensor, (height, width), mode="bilinear", antialias=antialias,
                                                         align_corners=False)
                check(f"{name} beside torch", np.abs(ours - theirs[0].numpy().transpose(1, 2, 0)).max() > 1.1)
                if bits == 8 and antialias:
                    bands = [np.asarray(Image.fromarray(values[:, :, c].astype(np.uint8)).resize(
                        (width, height), Image.BILINEAR), np.int64)
                             for c in range(channels)]
                    check(f"{name} beside Pillow", np.abs(ours - np.dstack(bands)).max() > 1)
                if checks % 4 == 0:
                    check_tensors(program, folder, path, (kind, channels, bits), resize, ours)
    return checks


def check_tensors(program, folder, path, pixels, resize, values):
    """Floats, and the other layout, of what the same chain gives as whole numbers."""
    kind, channels, bits = pixels
    white = (1 << bits) - 1
    decode = f'colours = "{kind}", bits = {bits}'
    mean, std = [0.4, 0.5, 0.3, 0.1][:channels], [0.2, 0.25, 0.5, 1.0][:channels]
    with Daemon(program, folder, decode, f'{resize}, {{ op = "normalize", mean = {mean}, std = {std} }}') as daemon:
        model = (values / white - np.array(mean)) / np.array(std)
        check(f"normalized {path.name}", np.abs(daemon.of(path) - model.transpose(2, 0, 1)).max() > 1e-5)
    with Daemon(program, folder, decode, f'{resize}, {{ op = "convert", dtype = "float32", scale = {1 / white!r} }}') as daemon:
        check(f"floats of {path.name}", np.abs(daemon.of(path) - values / white).max() > 1e-6)
    with Daemon(program, folder, decode, f'{resize}, {{ op = "convert", dtype = "uint{bits}", layout = "NCHW" }}') as daemon:
        check(f"planes of {path.name}", not np.array_equal(daemon.of(path), values.transpose(2, 0, 1)))


def png_of(values):
    """A PNG of 16 bits: Pillow writes only grey ones."""
    import struct
    import zlib
    from compare_png import chunk
    height, width, channels = values.shape
    raw = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        done = [check_pngs(sys.argv[1], folder), check_jpegs(sys.argv[1], folder), check_resizes(sys.argv[1], folder)]
    print(f"{done[0]} PNGs' formats, {done[1]} JPEGs' formats and {done[2]} resizes: {len(FAILED)} differ")
    sys.exit(1 if FAILED or min(done) == 0 else 0)


if __name__ == "__main__":
    main()
