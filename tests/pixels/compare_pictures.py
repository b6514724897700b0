#!/usr/bin/env python3
"""Holds the daemon's pixels of one format of pictures to Pillow's, and its decoder to what every decoder promises.

    compare_pictures.py PIXEL_DUMP PICTURE_TRIAL FORMAT
    compare_pictures.py --make FOLDER FORMAT...      only makes pictures of these formats there
    compare_pictures.py --animate FOLDER FORMAT...   only makes animations, or pages

The pictures are made by Pillow, and by writers of picture_makers.py, tiff_makers.py and modern_makers.py where Pillow can't write
a kind. 1,000 damaged copies of them, spread over all pictures, neither crash the decoder nor have different verdicts for
different boxes. Headers that claim too much are refused.
"""
import importlib
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageOps

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import animation_makers
import bare_numbers
from dump import Daemon
from modern_makers import Avif, Jpeg2000, Jxl
from picture_makers import Bmp, Gif, Webp
from tiff_makers import Tiff

FORMATS = {"webp": Webp, "tiff": Tiff, "bmp": Bmp, "gif": Gif, "avif": Avif, "jxl": Jxl, "jpeg2000": Jpeg2000}
COPIES = 1000
TURNED = (".tif", ".jxl")  # by Pillow as it loads them


def pillows(path, mode):
    """Pillow's pixels. Of samples of 16 bits it takes the upper 8, but cuts grey ones at 255: of these, and of grey ones of 12
    bits, the upper 8 are taken here, too."""
    with Image.open(path) as picture:
        picture.load()
        if picture.mode.startswith("I"):
            grey = (np.asarray(picture, np.int64) & 0xFFFF) >> (4 if "-12-bits" in path.name else 8)
            opaque = [np.full(grey.shape, 255)] if mode == "RGBA" else []
            return np.dstack([grey] * 3 + opaque)
        upright = picture if path.suffix in TURNED else ImageOps.exif_transpose(picture)
        return np.asarray(upright.convert(mode), np.int64)


def check_pixels(program, folder, paths, maker):
    """The number of pictures that differ too much, with a line for each. Smaller differences are counted."""
    failed, dumps, samples, differing, largest = 0, {}, 0, 0, 0
    try:
        for path in paths:
            for mode in ("RGB", "RGBA"):
                wanted = pillows(maker.alike(path) if hasattr(maker, "alike") else path, mode)
                key = (mode, *wanted.shape[:2])
                if key not in dumps:
                    crop = f'{{ op = "center-crop", size = [{wanted.shape[0]}, {wanted.shape[1]}] }}'
                    dumps[key] = Daemon(program, folder, f'colours = "{mode.lower()}"', crop)
                try:
                    ours = dumps[key].of(path)
                except RuntimeError as error:
                    failed += 1
                    print(f"FAILED {error}")
                    continue
                if ours.shape == wanted.shape:
                    differences = np.abs(ours - wanted)
                    samples += differences.size
                    differing += np.count_nonzero(differences)
                    largest = max(largest, differences.max())
                tolerance = maker.tolerance(path) if hasattr(maker, "tolerance") else maker.TOLERANCE
                if ours.shape != wanted.shape or np.abs(ours - wanted).max() > tolerance:
                    failed += 1
                    differ = np.count_nonzero(ours != wanted) if ours.shape == wanted.shape else ours.shape
                    print(f"FAILED {path.name} as {mode}: {differ} samples differ")
    finally:
        for dump in dumps.values():
            dump.__exit__()
    print(f"{differing} of {samples} samples differ, by at most {largest}")
    return failed


def check_frames(program, folder, trial, maker):
    """Every frame that Pillow shows of animations or pages, and the sentence for one frame more. All promises hold for a later
    frame, too."""
    failed, count = 0, 0
    animations = folder / "animations"
    animations.mkdir()
    maker.animate(animations, small=False)
    paths = sorted(animations.iterdir())
    for path in paths:
        if path.stem == "large":  # for the limits
            continue
        with Image.open(path) as picture:
            frames = picture.n_frames
        for frame in range(frames + 1):
            for mode in ("RGB", "RGBA"):
                with Image.open(path) as picture:
                    picture.seek(min(frame, frames - 1))
                    wanted = np.asarray(picture.convert(mode), np.int64)
                crop = f'{{ op = "center-crop", size = [{wanted.shape[0]}, {wanted.shape[1]}] }}'
                with Daemon(program, folder, f'colours = "{mode.lower()}", frame = {frame}', crop) as daemon:
                    try:
                        ours = daemon.of(path)
                        why = "" if ours.shape == wanted.shape and np.abs(ours - wanted).max() <= maker.TOLERANCE else \
                            f"{np.count_nonzero(ours != wanted) if ours.shape == wanted.shape else ours.shape} samples differ"
                    except RuntimeError as error:
                        why = str(error)
                if frame == frames:
                    why = "" if re.search(rf" of {frames} (frame|page)s?, counted from 0, where (frame|page) {frame} is wanted",
                                          why) else why
                count += 1
                if why:
                    failed += 1
                    print(f"FAILED frame {frame} of {path.name} as {mode}: {why}")
    with Daemon(program, folder, 'colours = "rgb", frame = 2', '{ op = "center-crop", size = [1, 1] }') as daemon:
        failed += sum(check_refusal(daemon, folder, *refused) for refused in getattr(maker, "refused_frames", list)())
    copies = str(COPIES // len(paths) + 1)
    failed += subprocess.run([trial, copies, "--frame=2", *paths], check=False).returncode != 0
    print(f"{count} frames of {len(paths)} pictures")
    return failed


def frames_of(path, mode):
    """All frames that Pillow shows; None where pages differ in size."""
    with Image.open(path) as picture:
        shown = []
        for frame in range(picture.n_frames):
            picture.seek(frame)
            shown.append(np.asarray(picture.convert(mode), np.int64))
    return np.stack(shown) if len({frame.shape for frame in shown}) == 1 else None


def check_several(program, folder, trial, maker):
    """Frames together: the ones of Pillow that numpy.linspace names, fewer and more than there are; and all promises of a
    decoder."""
    failed, count = 0, 0
    paths = [path for path in sorted((folder / "animations").iterdir()) if path.stem != "large"]
    for path in paths:
        for mode in ("RGB", "RGBA"):
            shown = frames_of(path, mode)
            height, width = (1, 1) if shown is None else shown.shape[1:3]
            for frames in (1, 2, 3, 4, 7):
                count += 1
                ops = f'{{ op = "center-crop", size = [{height}, {width}] }}'
                with Daemon(program, folder, f'colours = "{mode.lower()}", frames = {frames}', ops) as daemon:
                    try:
                        ours, why = daemon.of(path), ""
                    except RuntimeError as error:
                        why = str(error)
                if shown is None:
                    is_refused = frames == 1 or "frames must have one size" in why
                    why = "" if is_refused else f"pages of several sizes are not refused: {why}"
                elif not why:
                    wanted = shown[np.linspace(0, len(shown) - 1, frames).round().astype(int)]
                    if ours.shape != wanted.shape or np.abs(ours - wanted).max() > maker.TOLERANCE:
                        why = f"samples differ, of shape {ours.shape} and {wanted.shape}"
                if why:
                    failed += 1
                    print(f"FAILED {frames} frames of {path.name} as {mode}: {why}")
    with Daemon(program, folder, 'colours = "rgb", frames = 3', '{ op = "center-crop", size = [1, 1] }') as daemon:
        failed += sum(check_refusal(daemon, folder, *refused) for refused in animation_makers.REFUSED[sys.argv[3]]())
    paths = [path for path in sorted((folder / "animations").iterdir()) if frames_of(path, "RGB") is not None]
    copies = str(COPIES // len(paths) + 1)
    failed += subprocess.run([trial, copies, "--frames=3", *paths], check=False).returncode != 0
    print(f"several frames of {len(paths)} pictures, {count} times")
    return failed


def check_refusal(daemon, folder, name, content, sentence):
    """Whether it is not refused with this sentence."""
    path = folder / f"refused-{name}"
    path.write_bytes(content)
    try:
        daemon.of(path)
        why = "it is decoded"
    except RuntimeError as error:
        why = str(error)
    bare = bare_numbers.in_sentence(why.removeprefix(f"{path}: "))
    if sentence not in why or bare:
        print(f"FAILED {name}: " + (f"a number in the place of a name, \"{bare}\", in: {why}" if bare
                                    else f"no \"{sentence}\" in: {why}"))
    return sentence not in why or bool(bare)


def check_known_faults(program, folder, maker):
    """What some release of a library gets wrong is right, or refused with its sentence."""
    failed = refused = 0
    cases = list(maker.known_faults()) if hasattr(maker, "known_faults") else []
    for name, content, sentence in cases:
        path = folder / f"{name}{maker.ENDING}"
        path.write_bytes(content)
        wanted = pillows(path, "RGBA")
        with Daemon(program, folder, 'colours = "rgba"',
                    f'{{ op = "center-crop", size = [{wanted.shape[0]}, {wanted.shape[1]}] }}') as daemon:
            try:
                ours = daemon.of(path)
                why = "" if ours.shape == wanted.shape and np.abs(ours - wanted).max() <= maker.TOLERANCE else "samples differ"
            except RuntimeError as error:
                why = "" if sentence in str(error) else str(error)
                refused += 1
        failed += bool(why)
        if why:
            print(f"FAILED {name}: {why}")
    if cases:
        print(f"{refused} of {len(cases)} kinds that a release of the library gets wrong are refused")
    return failed


def check_deep(program, folder, maker):
    """Samples of more than 8 bits, as 16 bits."""
    failed = 0
    for name, content, wanted in maker.deep() if hasattr(maker, "deep") else []:
        path = folder / f"deep-{name}{maker.ENDING}"
        path.write_bytes(content)
        ops = f'{{ op = "center-crop", size = [{wanted.shape[0]}, {wanted.shape[1]}] }}, {{ op = "convert", dtype = "uint16" }}'
        with Daemon(program, folder, 'colours = "rgb", bits = 16', ops) as daemon:
            differ = np.count_nonzero(daemon.of(path) != wanted)
        failed += differ > 0
        if differ:
            print(f"FAILED {name} as 16 bits: {differ} samples differ")
    return failed


def check_refusals(program, folder, maker):
    """Each of these is refused with its sentence."""
    with Daemon(program, folder, 'colours = "rgb"', '{ op = "center-crop", size = [1, 1] }') as daemon:
        return sum(check_refusal(daemon, folder, *refused) for refused in maker.refused())


def maker_of(name):
    if name == "heif":  # which needs a library of its own
        return importlib.import_module("heif_makers").Heif
    maker = FORMATS[name]
    if hasattr(maker, "PLUGIN"):  # without which Pillow does not know the format
        importlib.import_module(maker.PLUGIN)
    return maker


def main():
    if sys.argv[1] == "--make":
        for name in sys.argv[3:]:
            maker_of(name).make(pathlib.Path(sys.argv[2]), small=True)
        return
    if sys.argv[1] == "--animate":
        for name in sys.argv[3:]:
            maker_of(name).animate(pathlib.Path(sys.argv[2]), small=True)
        return
    maker = maker_of(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch:
        folder, work = pathlib.Path(scratch, "pictures"), pathlib.Path(scratch, "work")
        folder.mkdir(), work.mkdir()
        maker.make(folder, small=False)
        paths = sorted(folder.iterdir())
        failed = check_pixels(sys.argv[1], work, paths, maker) + check_refusals(sys.argv[1], work, maker)
        failed += check_known_faults(sys.argv[1], work, maker)
        failed += check_deep(sys.argv[1], work, maker)
        if hasattr(maker, "animate"):
            failed += check_frames(sys.argv[1], work, sys.argv[2], maker)
            failed += check_several(sys.argv[1], work, sys.argv[2], maker)
        copies = str(COPIES // len(paths) + 1)
        failed += subprocess.run([sys.argv[2], copies, *paths], check=False).returncode != 0
    print(f"{len(paths)} pictures of the format {sys.argv[3]}: {failed} faults")
    sys.exit(1 if failed or len(paths) < maker.LEAST else 0)


if __name__ == "__main__":
    main()
