#!/usr/bin/python3
"""Makes a labelled corpus of JPEGs from real photographs. The bytes are the same on every Debian 12.

The photographs come from Debian's packages gnome-backgrounds and plasma-workspace-wallpapers. Every picture is a crop of a
photograph at a random place and scale, with some sensor noise. Sizes, qualities and chroma subsampling vary as in real
collections; some pictures are grey, progressive, or carry an EXIF orientation.

    FOLDER/<class>/<number>.jpg            one folder for each class, whose pictures come from a few photographs
    FOLDER/<number>.tar                    with --tar: WebDataset, <key>.jpg and <key>.cls (the number of the class)
"""
import argparse
import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

PACKAGES = ("gnome-backgrounds", "plasma-workspace-wallpapers")
LONG_SIDE_MAX = 2560  # of a photograph before it is cropped
SHARD_SAMPLES = 200
# (weight, range of the width, range of the height)
SIZES = ((60, (500, 500), (375, 375)), (20, (375, 375), (500, 500)), (13, (180, 520), (180, 520)), (7, (640, 1300), (480, 1000)))
QUALITIES = (75, 85, 90, 92, 95, 96)
SUBSAMPLINGS = (2, 2, 2, 1, 0)  # Pillow's: 4:2:0, 4:2:2, 4:4:4
ORIENTATION_TAG = 0x0112


def photographs():
    """Returns the paths of the packages' photographs, at most one size of each, in a fixed order."""
    listed = subprocess.run(["dpkg", "-L", *PACKAGES], capture_output=True, text=True).stdout.splitlines()
    largest = {}
    for name in sorted(listed):
        path = Path(name)
        if path.suffix.lower() not in (".jpg", ".jpeg", ".png", ".webp") or "screenshot" in path.name:
            continue
        if not path.is_file() or path.is_symlink():
            continue
        scene = path.parents[1] if path.parent.name.startswith("images") else path.with_suffix("")
        if scene not in largest or path.stat().st_size > largest[scene].stat().st_size:
            largest[scene] = path
    return [largest[scene] for scene in sorted(largest)]


def shrunk(path):
    """Returns the photograph in RGB, with its long side at most LONG_SIDE_MAX."""
    photo = Image.open(path).convert("RGB")
    photo.thumbnail((LONG_SIDE_MAX, LONG_SIDE_MAX), Image.BICUBIC, reducing_gap=None)
    return photo


def drawn_size(draw, photo):
    _, widths, heights = draw.choices(SIZES, weights=[size[0] for size in SIZES])[0]
    return min(draw.randint(*widths), photo.width), min(draw.randint(*heights), photo.height)


def picture(photo, draw):
    """Returns a crop of `photo` at a drawn place and scale, as the bytes of a file."""
    width, height = drawn_size(draw, photo)
    zoom = draw.uniform(1.0, min(photo.width / width, photo.height / height, 2.8))
    box_width, box_height = int(width * zoom), int(height * zoom)
    left, top = draw.randint(0, photo.width - box_width), draw.randint(0, photo.height - box_height)
    crop = photo.resize((width, height), Image.BICUBIC, box=(left, top, left + box_width, top + box_height))
    # Scaling leaves flat areas, which photographs from a camera do not have.
    noise = np.random.default_rng(draw.getrandbits(64)).normal(0.0, draw.uniform(2.0, 6.0), (height, width, 3))
    crop = Image.fromarray((np.asarray(crop, np.float32) + noise).clip(0, 255).astype(np.uint8))
    options = {"quality": draw.choice(QUALITIES), "progressive": draw.random() < 0.03}
    if draw.random() < 0.02:
        crop = crop.convert("L")
    else:
        options["subsampling"] = draw.choice(SUBSAMPLINGS)
    if draw.random() < 0.03:
        exif = Image.Exif()
        exif[ORIENTATION_TAG] = draw.randint(2, 8)
        options["exif"] = exif.tobytes()
    file = io.BytesIO()
    crop.save(file, "JPEG", **options)
    return file.getvalue()


def write_all_of(photograph, numbers, classes, seed, folder):
    """Writes every picture that comes from one photograph, which is opened once."""
    photo = shrunk(photograph)
    for number in numbers:
        target = folder / f"{number % classes:03d}"
        target.mkdir(exist_ok=True)
        (target / f"{number:06d}.jpg").write_bytes(picture(photo, random.Random(f"{seed}/{number}")))


def shared_out(count, classes, seed):
    """Returns {photograph: numbers of the samples that come from it}. Sample n is of class n % classes. Ends the program where
    there are no photographs."""
    sources = photographs()
    if not sources:
        sys.exit(f"{Path(sys.argv[0]).name}: there are no photographs: install them with `apt-get install {' '.join(PACKAGES)}`.")
    # A class keeps to its share of the photographs, so that its samples have something in common.
    choose = random.Random(f"{seed}/sources")
    choose.shuffle(sources)
    of_class = [sources[label % len(sources):: classes] or [sources[label % len(sources)]] for label in range(classes)]
    numbers_of = {}
    for number in range(count):
        numbers_of.setdefault(choose.choice(of_class[number % classes]), []).append(number)
    return numbers_of


def write_pictures(folder, count, classes, seed):
    with ProcessPoolExecutor() as pool:
        for done in [pool.submit(write_all_of, source, numbers, classes, seed, folder)
                     for source, numbers in shared_out(count, classes, seed).items()]:
            done.result()


def pack(folder):
    """Turns the class folders into shards."""
    pictures = sorted(folder.glob("[0-9]*/*.jpg"))
    random.Random(len(pictures)).shuffle(pictures)
    for first in range(0, len(pictures), SHARD_SAMPLES):
        with tarfile.open(folder / f"{first // SHARD_SAMPLES:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
            for path in pictures[first:first + SHARD_SAMPLES]:
                for extension, content in (("jpg", path.read_bytes()), ("cls", str(int(path.parent.name)).encode())):
                    member = tarfile.TarInfo(f"{path.stem}.{extension}")
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
    for label in {path.parent for path in pictures}:
        shutil.rmtree(label)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def add_options(parser, samples):
    """Adds the options that every maker of a corpus has."""
    parser.add_argument("folder", type=Path, help="must not exist yet, or be empty")
    parser.add_argument("--count", type=positive, default=500, help=f"{samples} (default %(default)s)")
    parser.add_argument("--classes", type=positive, default=10, help="(default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help=f"another seed, other {samples} (default %(default)s)")


@contextlib.contextmanager
def corpus_at(parser, options):
    """Gives an empty folder to write the corpus into, and moves it to its place at the end of the block. A run that breaks off
    so leaves nothing that looks like a corpus."""
    if options.classes > 999:
        parser.error("--classes must be at most 999")
    if options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    options.folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".corpus-", dir=options.folder.resolve().parent))
    try:
        yield made
        made.chmod(0o755)
        os.replace(made, options.folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def tell(options, samples):
    size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
    print(f"{options.count} {samples}, {size / 1e6:.1f} MB in {options.folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "pictures")
    parser.add_argument("--tar", action="store_true", help="shards instead of class folders")
    options = parser.parse_args()
    with corpus_at(parser, options) as made:
        write_pictures(made, options.count, options.classes, options.seed)
        if options.tar:
            pack(made)
    tell(options, "pictures")


if __name__ == "__main__":
    main()
