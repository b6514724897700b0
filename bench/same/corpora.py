"""Makes the small data sets of bench/same_bytes.py: odd pictures, bad content, archives, and lists. Every run makes the
same content."""
import io
import json
import struct
import tarfile

import numpy as np
from PIL import Image

ODD_SIZES = ((1, 1), (3, 170), (170, 3), (17, 13), (33, 64), (256, 256), (500, 375), (641, 479))
ORIENTATION_TAG, SHORT, LONG = 0x0112, 3, 4


def picture(draw, width, height):
    """Returns a picture with soft colours and some noise."""
    colours = Image.fromarray(draw.integers(0, 256, (5, 7, 3), dtype=np.uint8)).resize((width, height), Image.BICUBIC)
    noise = draw.integers(-12, 13, (height, width, 3))
    return Image.fromarray((np.asarray(colours, np.int16) + noise).clip(0, 255).astype(np.uint8))


def jpeg(image, **options):
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def exif(orientation, order, kind):
    """Returns an EXIF block with an orientation. `order` is "<" or ">", and `kind` is SHORT or LONG."""
    value = struct.pack(order + ("I" if kind == LONG else "H"), orientation).ljust(4, b"\0")
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HIHHHI", 42, 8, 1, ORIENTATION_TAG, kind, 1)
    return b"Exif\0\0" + head + value + bytes(4)


def odd_pictures():
    """Returns {name: bytes} of pictures of many sizes and codings, and with every orientation."""
    draw = np.random.default_rng(14)
    made = {f"size-{width}x{height}": jpeg(picture(draw, width, height), quality=90) for width, height in ODD_SIZES}
    for subsampling in (0, 1, 2):
        for progressive in (False, True):
            made[f"coding-{subsampling}{progressive:d}"] = jpeg(picture(draw, 301, 211), quality=80, subsampling=subsampling,
                                                               progressive=progressive)
    for mode in ("L", "CMYK"):
        made[f"mode-{mode}"] = jpeg(picture(draw, 150, 101).convert(mode), quality=85)
    for orientation in range(1, 9):
        for number, (order, kind) in enumerate((("<", SHORT), (">", SHORT), ("<", LONG), (">", LONG))):
            made[f"turned-{orientation}{number}"] = jpeg(picture(draw, 120, 75), quality=85, exif=exif(orientation, order, kind))
    return made


def bad_pictures():
    """Returns {name: bytes} of pictures. Some of the pictures cannot be decoded, or are damaged."""
    draw = np.random.default_rng(15)
    made = {f"good-{number:02}": jpeg(picture(draw, 160, 120), quality=85) for number in range(24)}
    whole = made["good-00"]
    damaged = bytearray(whole)
    damaged[len(whole) // 2:len(whole) // 2 + 40] = draw.bytes(40)
    gif = io.BytesIO()
    picture(draw, 40, 30).save(gif, "GIF")
    made.update({"bad-cut": whole[:len(whole) // 2], "bad-damaged": bytes(damaged), "bad-empty": b"",
                 "bad-noise": draw.bytes(5000),
                 "bad-gif": gif.getvalue(), "bad-start": whole[:20], "bad-text": b"This is no picture."})
    return made


def write_folder(folder, pictures, classes=3):
    """Writes FOLDER/<class>/<name>.jpg, in turn over the classes."""
    for number, (name, content) in enumerate(pictures.items()):
        label = folder / f"class-{number % classes}"
        label.mkdir(parents=True, exist_ok=True)
        (label / f"{name}.jpg").write_bytes(content)


def members_of(number, content, draw):
    """Returns {extension: bytes} of one sample of an archive. Every third sample has its picture under another name."""
    label = int(draw.integers(0, 1000))
    value = float(np.float32(draw.normal()))
    note = {"meta": {"label": label - 500, "score": value, "words": f"sample {number}"}, "list": [number, number * 2]}
    return {"jpeg" if number % 3 == 0 else "jpg": content, "cls": str(label).encode(), "flt": repr(value).encode(),
            "txt": ("word " * (number % 9)).encode() + b".", "json": json.dumps(note).encode(),
            "num": b"none" if number % 5 == 4 else str(number).encode()}


def write_archives(folder, pictures, of_each=20):
    """Writes FOLDER/<number>.tar, with `of_each` samples in each archive."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(16)
    contents = list(pictures)
    for first in range(0, len(contents), of_each):
        with tarfile.open(folder / f"{first // of_each:03}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for number, content in enumerate(contents[first:first + of_each], first):
                for extension, member in members_of(number, content, draw).items():
                    header = tarfile.TarInfo(f"{number:05}.{extension}")
                    header.size = len(member)
                    archive.addfile(header, io.BytesIO(member))


def write_lists(folder, samples):
    """Writes lists of sample ids, and weights of all samples."""
    draw = np.random.default_rng(17)
    (folder / "include.txt").write_text("".join(f"{number}\n" for number in range(0, samples, 2)))
    (folder / "exclude.txt").write_text("".join(f"{number}\n" for number in range(0, samples, 6)))
    weights = [draw.integers(0, 5) / 2 + (number == 0) for number in range(samples)]
    (folder / "weights.csv").write_text("".join(f"{number},{weight}\n" for number, weight in enumerate(weights)))
