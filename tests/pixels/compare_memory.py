#!/usr/bin/env python3
"""Holds what samples of every kind ask for, before they take it, to what they take.

    compare_memory.py MEMORY_TRIAL FORMAT...

Random pictures of all formats, of sizes up to two megapixels, videos and sounds go through operations of every kind, each with
decoders that were never used. None may take more than it has asked for; what is asked for is at most six times what is taken, and
twelve times for JPEG XL. SEED=N draws others, ROUNDS=N makes more.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from modern_makers import Jxl
from picture_makers import exif_of, picture, saved
from tiff_makers import Tiff

PICTURE_OPS = {
    "whole": '{ op = "decode-image" }, { op = "resize", size = [64, 64] }',
    "crop": '{ op = "decode-image" }, { op = "random-resized-crop", size = 64 }, { op = "horizontal-flip" }',
    "deep": '{ op = "decode-image", bits = 16 }, { op = "resize", size = [50, 40], filter = "bicubic" }, '
            '{ op = "convert", dtype = "uint16" }',
    "alpha": '{ op = "decode-image", colours = "rgba" }, { op = "resize", size = [50, 40] }',
    "grey": '{ op = "decode-image", colours = "grey" }, { op = "resize", size = [50, 40] }',
    "turned": '{ op = "decode-image" }, { op = "rotate", degrees = 45.0, expand = true }, { op = "resize", size = [64, 64] }',
    "blurred": '{ op = "decode-image" }, { op = "gaussian-blur", kernel_size = 31, sigma = 3.0 }, '
               '{ op = "resize", size = [64, 64] }',
    "sharp": '{ op = "decode-image" }, { op = "sharpness", factor = 2.0 }, { op = "jpeg", quality = 50 }, '
             '{ op = "resize", size = [64, 64] }',
    "elastic": '{ op = "decode-image" }, { op = "elastic", p = 1.0 }, { op = "resize", size = [64, 64] }',
    "enlarged": '{ op = "decode-image" }, { op = "resize", size = [1500, 1700] }, '
                '{ op = "gaussian-blur", kernel_size = 5, sigma = 1.0 }, { op = "center-crop", size = 64 }',
    "mixed": '{ op = "decode-image" }, { op = "aug-mix" }, { op = "resize", size = [64, 64] }',
    "pieces": '{ op = "decode-image" }, { op = "resize", size = [400, 500] }, { op = "ten-crop", size = 64 }',
}
VIDEO_OPS = {"clip": '{ op = "decode-video", frames = 8, stride = 2 }, { op = "resize", size = [64, 64] }',
             "blurred": '{ op = "decode-video", frames = 3 }, { op = "gaussian-blur", kernel_size = 5, sigma = 1.0 }, '
                        '{ op = "resize", size = [64, 64] }'}
SOUND_OPS = {"whole": '{ op = "decode-audio", rate = 16000, seconds = 20.0 }',
             "long": '{ op = "decode-audio", rate = 48000, seconds = 60.0 },'
             ' { op = "mel-spectrogram", preset = "kaldi", mels = 80 }'}


def write_pictures(folder, formats, draw):
    def size():
        megapixels = draw.choice((0.05, 0.5, 2))
        width = int((megapixels * 1e6) ** 0.5 * draw.uniform(0.5, 2))
        return int(megapixels * 1e6 / width), width

    def write(name, content):
        (folder / name).write_bytes(content)

    for number in range(int(os.environ.get("ROUNDS", "1"))):
        for mode in ("RGB", "L", "CMYK"):
            for progressive in (False, True):
                exif = exif_of(draw.choice((1, 6)))
                write(f"{mode}-{progressive}-{number}.jpg",
                      saved(picture(mode, *size()), "JPEG", progressive=progressive, exif=exif,
                            **({} if mode != "RGB" else {"subsampling": draw.choice((0, 1, 2))})))
        for mode in ("RGB", "L", "RGBA", "P"):
            write(f"{mode}-{number}.png", saved(picture("RGB" if mode == "P" else mode, *size()).convert(mode), "PNG",
                                                compress_level=1))
        if "webp" in formats:
            for lossless in (False, True):
                write(f"{lossless}-{number}.webp", saved(picture("RGBA", *size()), "WEBP", lossless=lossless,
                                                         method=0, quality=50))
        if "tiff" in formats:
            for kind in ("raw", "tiff_lzw", "jpeg"):
                write(f"{kind}-{number}.tif", saved(picture("RGB", *size()), "TIFF", compression=kind))
        if "bmp" in formats:
            write(f"{number}.bmp", saved(picture("RGB", *size()), "BMP"))
        if "gif" in formats:
            write(f"{number}.gif", saved(picture("RGB", *size()).convert("P"), "GIF"))
        if "avif" in formats:
            write(f"{number}.avif", saved(picture(draw.choice(("RGB", "RGBA")), *size()), "AVIF", speed=10, max_threads=1))
        if "jxl" in formats:
            for kind in ("fast", "lossy"):
                write(f"{kind}-{number}.jxl", Jxl.coded(saved(picture("RGB", *size()), "PNG", compress_level=1), "-e", "3",
                                                        *Jxl.KINDS[kind][:2]))
        if "heif" in formats:
            import pillow_heif.HeifImagePlugin  # noqa: F401  Pillow knows the format then
            write(f"{number}.heic", saved(picture(draw.choice(("RGB", "RGBA")), *size()), "HEIF", chroma=draw.choice((420, 444))))
        if "jpeg2000" in formats:
            write(f"{number}.jp2", saved(picture("RGB", *size()), "JPEG2000", **draw.choice(({}, {"tile_size": (256, 256)}))))


def write_further_tiffs(folder, draw):
    """Pages whose colours become RGB, and fax."""
    def size():
        return draw.randint(300, 900), draw.randint(300, 900)
    for mode, compression in (("CMYK", "tiff_lzw"), ("LAB", "raw"), ("1", "group4"), ("1", "group3")):
        content = saved(picture("RGB", *size()).convert(mode), "TIFF", compression=compression)
        (folder / f"{mode}-{compression}.tif").write_bytes(content)
    for coded in (False, True):
        (folder / f"ycbcr-{coded}.tif").write_bytes(Tiff.ycbcr(2, 2, coded, size=size(), rows=draw.choice((16, 1 << 20))))


def write_media(folder, draw):
    """Videos and sounds by the ffmpeg program; False: there is none."""
    videos = {"h264.mp4": "-c:v libx264 -preset veryfast -refs 4",
              "hevc.mp4": "-c:v libx265 -preset ultrafast -x265-params log-level=none",
              "mpeg4.avi": "-c:v mpeg4", "vp9.webm": "-c:v libvpx-vp9 -deadline realtime -cpu-used 8",
              "deep.mkv": "-c:v ffv1 -pix_fmt yuv444p10le", "mjpeg.avi": "-c:v mjpeg"}
    try:
        for name, coding in videos.items():
            width, height = draw.choice(((320, 180), (1280, 720), (1920, 1080)))
            source = f"testsrc2=size={width}x{height}:rate=10"
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-t", "3", *coding.split(), folder / name],
                           check=True)
        for name, coding in {"flac.flac": "", "pcm.wav": "", "mp3.mp3": "", "aac.m4a": "", "opus.ogg": "-c:a libopus"}.items():
            source = f"sine=frequency=440:sample_rate={draw.choice((16000, 48000))}"
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-t", "60", "-ac", draw.choice("12"),
                            *coding.split(), folder / name],
                           check=True)
    except FileNotFoundError:
        return False
    return True


def tried(program, folder, ops):
    lines = folder / "operations.txt"
    lines.write_text("".join(f"{name} {chain}\n" for name, chain in ops.items()))
    files = sorted(path for path in folder.iterdir() if path != lines)
    made = subprocess.run([program, lines, *files], capture_output=True, text=True)
    print(made.stdout, end="")
    print(made.stderr, end="")
    assert made.returncode == 0, f"{folder.name}: samples take another amount of memory than they ask for"


def main():
    program, formats = sys.argv[1], sys.argv[2:]
    seed = int(os.environ.get("SEED", "1"))
    print(f"seed {seed}")
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folders = [pathlib.Path(name, kind) for kind in ("pictures", "videos", "sounds")]
        for folder in folders:
            folder.mkdir()
        pictures, videos, sounds = folders
        write_pictures(pictures, formats, draw)
        if "tiff" in formats:
            write_further_tiffs(pictures, random.Random(seed))
        tried(program, pictures, PICTURE_OPS)
        if write_media(videos, draw):
            for path in list(videos.iterdir()):
                if path.suffix in (".flac", ".wav", ".mp3", ".m4a", ".ogg"):
                    path.rename(sounds / path.name)
            tried(program, videos, VIDEO_OPS)
            tried(program, sounds, SOUND_OPS)


main()
