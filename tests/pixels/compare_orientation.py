#!/usr/bin/env python3
"""Holds the daemon's orientation of pictures to Pillow's ImageOps.exif_transpose, whatever tells it.

    compare_orientation.py PIXEL_DUMP FORMAT...

JPEGs and PNGs, and WebPs and TIFFs where the build decodes these, tell an orientation by EXIF, by XMP, by both, doubled, damaged,
and among other segments and chunks. Pictures that Pillow does not open for a damaged note are upright.
"""
import io
import itertools
import pathlib
import struct
import sys
import tempfile
import zlib

import numpy as np
from PIL import Image, ImageOps

from compare_png import chunk
from dump import Daemon

NAME, ORIENTATION, OTHER = b"Exif\0\0", 0x0112, 0x0113
XMP = b"http://ns.adobe.com/xap/1.0/\0"


def saved(kind, **options):
    rng = np.random.default_rng(4)
    out = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (9, 14, 3), np.uint8)).save(out, kind, **options)
    return out.getvalue()


def tiff(*entries, order="<", count=None, magic=None):
    """An EXIF block of entries (tag, type, count, value of 4 bytes, or a number)."""
    content = struct.pack(f"{order}H", len(entries) if count is None else count)
    for tag, kind, number, value in entries:
        if isinstance(value, int):
            size = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 13: "I"}.get(kind, "I")
            value = struct.pack(f"{order}{size}", value).ljust(4, b"\0")
        content += struct.pack(f"{order}HHI", tag, kind, number) + value
    return (b"II" if order == "<"
            else b"MM") + (magic or struct.pack(f"{order}H", 42)) + struct.pack(f"{order}I", 8) + content + bytes(4)


def short(value, tag=ORIENTATION):
    return tag, 3, 1, value


def blocks():
    """EXIF blocks, by names."""
    for kind, order in itertools.product(range(1, 14), "<>"):
        yield f"type-{kind}-{order}", tiff((ORIENTATION, kind, 1, 6), order=order)
    for value in (0, 2, 3, 4, 5, 6, 7, 8, 9, 300):
        yield f"value-{value}", tiff(short(value))
    yield "two-numbers", tiff((ORIENTATION, 3, 2, struct.pack("<HH", 6, 1)))
    yield "far-numbers", tiff((ORIENTATION, 3, 3, 22))[:-4] + struct.pack("<HHH", 6, 1, 1)
    yield "no-number", tiff((ORIENTATION, 3, 0, 6))
    yield "last-6", tiff(short(1), short(6))
    yield "last-1", tiff(short(6), short(1))
    yield "last-unknown", tiff(short(6), (ORIENTATION, 2, 1, 1))
    yield "more-claimed", tiff(short(6), count=9)
    yield "cut", tiff(short(1, OTHER), short(6), count=9)[:-8]
    yield "other", tiff(short(6, OTHER))
    yield "little-magic", tiff(short(6), magic=b"\0*")
    yield "big-magic", tiff(short(6), order=">", magic=b"*\0")
    yield "nothing", b""
    yield "outside", b"II*\0\xff\0\0\0"


def texts():
    """XMP, by names."""
    for value in "0123456789":
        yield f"attribute-{value}", f'<x tiff:Orientation="{value}"/>'.encode()
    yield "element", b"<tiff:Orientation>6</tiff:Orientation>"
    yield "quoted", b"tiff:Orientation='5' tiff:Orientation=\"6\" tiff:Orientation=\"3\""
    yield "cut", b'tiff:Orientation="'
    yield "two-digits", b'tiff:Orientation="62"'
    yield "blank", b'tiff:Orientation= "6"'
    yield "none", b"<x/>"


def jpegs():
    plain = saved("JPEG", subsampling=0)

    def of(*segments):
        return plain[:2] + b"".join(segments) + plain[2:]

    def app1(content):
        return b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    six, three, xmp = app1(NAME + tiff(short(6))), app1(NAME + tiff(short(3))), app1(XMP + b'tiff:Orientation="8"')
    for name, block in blocks():
        yield f"exif-{name}", of(app1(NAME + block))
        yield f"exif-{name}-and-xmp", of(app1(NAME + block), xmp)
    for name, text in texts():
        yield f"xmp-{name}", of(app1(XMP + text))
    yield "named-twice", of(app1(NAME + NAME + tiff(short(6))))
    yield "named-three-times", of(app1(NAME * 3 + tiff(short(6))))
    yield "two", of(six, three)
    yield "empty-first", of(app1(NAME), six)
    yield "none-first", of(app1(NAME + tiff(short(6, OTHER))), six)
    yield "xmp-first", of(xmp, three)
    yield "two-xmp", of(xmp, app1(XMP + b'tiff:Orientation="3"'))
    yield "long-xmp-first", of(app1(b"http://ns.adobe.com/xmp/extension/\0" + b'tiff:Orientation="3"'), six)
    at = 2 + 2 + struct.unpack(">H", plain[4:6])[0]
    for stray in (b"\0", b"\0\0\0", b"\xff\0\xff\0", b"\xff\xff\xff"):
        yield f"stray-{stray.hex()}", plain[:at] + stray + six + plain[at:]
        yield f"stray-{stray.hex()}-behind", plain[:at] + three + stray + plain[at:]


def pngs():
    plain = saved("PNG")
    start, end = plain.index(b"IDAT") - 4, plain.index(b"IEND") - 4

    def of(before=(), behind=()):
        return plain[:start] + b"".join(before) + plain[start:end] + b"".join(behind) + plain[end:]

    def raw(block, name="exif"):
        digits = block.hex()
        return f"\n{name}\n{len(block):8}\n".encode() + b"\n".join(digits[i:i + 72].encode()
                                                                   for i in range(0, len(digits), 72)) + b"\n"

    def forms(key, text):
        yield "tEXt", chunk(b"tEXt", key + b"\0" + text)
        yield "zTXt", chunk(b"zTXt", key + b"\0\0" + zlib.compress(text))
        yield "iTXt", chunk(b"iTXt", key + b"\0\0\0en\0key\0" + text)
        yield "iTXt-z", chunk(b"iTXt", key + b"\0\1\0\0\0" + zlib.compress(text))
    profile, xmp_key = b"Raw profile type exif", b"XML:com.adobe.xmp"
    xmp = chunk(b"iTXt", xmp_key + b'\0\0\0\0\0tiff:Orientation="8"')
    for name, block in blocks():
        for behind in (False, True):
            one = [chunk(b"eXIf", block)]
            yield f"exif-{name}-{behind}", of([], one) if behind else of(one)
        yield f"exif-{name}-and-xmp", of([chunk(b"eXIf", block), xmp])
        yield f"profile-{name}", of([chunk(b"tEXt", profile + b"\0" + raw(NAME + block))])
    for form, made in forms(profile, raw(NAME + tiff(short(6)))):
        yield f"profile-{form}", of([made])
        yield f"profile-{form}-behind", of([], [made])
    for name, text in texts():
        for form, made in forms(xmp_key, text):
            yield f"xmp-{name}-{form}", of([made])
    yield "profile-unnamed", of([chunk(b"tEXt", profile + b"\0" + raw(tiff(short(6))))])
    yield "profile-app1", of([chunk(b"tEXt", b"Raw profile type APP1\0" + raw(tiff(short(6))))])
    yield "profile-beside-exif", of([chunk(b"eXIf", tiff(short(6, OTHER))),
                                     chunk(b"tEXt", profile + b"\0" + raw(tiff(short(6))))])
    yield "two-exif", of([chunk(b"eXIf", tiff(short(6)))], [chunk(b"eXIf", tiff(short(3)))])
    yield "two-profiles", of([chunk(b"tEXt", profile + b"\0" + raw(tiff(short(value)))) for value in (6, 3)])
    yield "two-xmp", of([xmp, chunk(b"iTXt", xmp_key + b'\0\0\0\0\0tiff:Orientation="3"')])
    yield "named-twice", of([chunk(b"eXIf", NAME + NAME + tiff(short(6)))])


def webps():
    for name, block in blocks():
        if block:
            yield f"exif-{name}", saved("WEBP", lossless=True, exif=NAME + block)
            yield f"exif-{name}-and-xmp", saved("WEBP", lossless=True, exif=block, xmp=b'tiff:Orientation="8"')
    for name, text in texts():
        yield f"xmp-{name}", saved("WEBP", lossless=True, xmp=text)
    both = bytearray(saved("WEBP", lossless=True, exif=tiff(short(6)), xmp=b'tiff:Orientation="8"'))
    for flags in (0x00, 0x04, 0x08, 0x0C):  # what the header tells of
        both[20] = flags
        yield f"flags-{flags:02x}", bytes(both)


def tiffs():
    for name, text in texts():
        yield f"xmp-{name}", saved("TIFF", tiffinfo={700: text})
        yield f"tag-and-xmp-{name}", saved("TIFF", tiffinfo={700: text, ORIENTATION: 3})


def pillows(content, ending):
    """Pillow's upright picture; as it is stored where Pillow fails by the note."""
    try:
        with Image.open(io.BytesIO(content)) as picture:
            upright = picture if ending == "tiff" else ImageOps.exif_transpose(picture)
            return np.asarray(upright.convert("RGB"), np.int64)
    except (SyntaxError, ValueError):
        with Image.open(io.BytesIO(content)) as picture:
            return np.asarray(picture.convert("RGB"), np.int64)


def main():
    makers = {"jpeg": jpegs, "png": pngs} | {name: {"webp": webps, "tiff": tiffs}[name] for name in sys.argv[2:]
                                             if name in ("webp", "tiff")}
    failed = count = turned = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        sizes = ((9, 14), (14, 9))
        with Daemon(sys.argv[1], folder, 'colours = "rgb"', f'{{ op = "center-crop", size = {list(sizes[0])} }}') as lying, \
                Daemon(sys.argv[1], folder, 'colours = "rgb"', f'{{ op = "center-crop", size = {list(sizes[1])} }}') as standing:
            for ending, maker in makers.items():
                for name, content in maker():
                    path = folder / f"{ending}-{count}"
                    path.write_bytes(content)
                    wanted = pillows(content, ending)
                    count += 1
                    turned += wanted.shape[0] == 14
                    try:
                        ours = (lying if wanted.shape[0] == 9 else standing).of(path)
                        why = "" if np.array_equal(ours, wanted) else "is turned otherwise"
                    except RuntimeError as error:
                        why = str(error)
                    if why:
                        failed += 1
                        print(f"FAILED {ending} {name}: {why}")
    print(f"{count} pictures, {turned} of them turned by a quarter: {failed} differ")
    sys.exit(1 if failed or turned < 30 or len(sys.argv) < 2 else 0)


if __name__ == "__main__":
    main()
