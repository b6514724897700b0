#!/usr/bin/python3
"""Makes a labelled corpus of short videos, or of sounds, by the program ffmpeg. With one ffmpeg the bytes are always the same.

In a video a camera moves over a photograph, with some sensor noise. Pieces of the photograph move before it on ways of their own.
Half of the videos have a cut. make_corpus.py says where the photographs come from. A sound is like speech: syllables of voice and
hiss, with pauses, in a room that hums.

    FOLDER/<class>/<number>.mp4            H.264 of ten seconds, with 30 frames a second
    FOLDER/<class>/<number>.flac           with --audio: ten seconds in stereo; also .mp3 and .opus
"""
import argparse
import math
import random
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

sys.dont_write_bytecode = True
import make_corpus

SECONDS, FRAMES_A_SECOND = 10, 30
FRAMES = SECONDS * FRAMES_A_SECOND
FIXED = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags", "+bitexact", "-threads", "1"]  # the same bytes every time
# Codec -> (samples a second, what ffmpeg is told)
SOUNDS = {"flac": (44100, ["-c:a", "flac"]), "mp3": (44100, ["-c:a", "libmp3lame", "-b:a", "128k"]),
          "opus": (48000, ["-c:a", "libopus", "-b:a", "64k"])}
SYLLABLES_A_SECOND = 4
FORMANTS = ((300, 900), (900, 2300), (2300, 3200))  # Hz; the range of each


def ffmpeg(arguments, target):
    """Starts ffmpeg, which reads its standard input and writes `target`."""
    return subprocess.Popen(["ffmpeg", "-nostdin", "-loglevel", "error", "-y", *arguments, *FIXED, str(target)],
                            stdin=subprocess.PIPE)


def finish(process, target):
    process.stdin.close()
    if process.wait() != 0:
        raise RuntimeError(f"ffmpeg could not write {target}")


class Way:
    """A smooth way between 0 and 1: an even movement, with a slow swing on it."""

    def __init__(self, draw, swing=0.05):
        self.first, self.last = draw.random(), draw.random()
        self.swing, self.turns, self.phase = swing, draw.uniform(1, 5), draw.uniform(0, 2 * math.pi)

    def at(self, share):
        """Returns the place at a share of the video."""
        place = self.first + (self.last - self.first) * share + self.swing * math.sin(
            self.phase + 2 * math.pi * self.turns * share)
        return min(max(place, 0.0), 1.0)


class Camera:
    """Moves a box over the photograph, with a hand that shakes."""

    SHAKE = 0.7  # standard deviation in pixels of the video

    def __init__(self, draw, photo, size):
        self.photo, self.size = photo, size
        self.zoom_max = min(photo.width / size[0], photo.height / size[1])
        self.left, self.top, self.zoom, self.draw = Way(draw, 0.1), Way(draw, 0.1), Way(draw), draw

    def frame(self, share):
        zoom = max(1.0, self.zoom_max * (0.3 + 0.7 * self.zoom.at(share)))  # from afar, as cameras see
        width, height = self.size[0] * zoom, self.size[1] * zoom
        left, top = (min(max(room * way.at(share) + self.draw.gauss(0, self.SHAKE * zoom), 0), room) for room, way in
                     ((self.photo.width - width, self.left), (self.photo.height - height, self.top)))
        return self.photo.resize(self.size, Image.BILINEAR, box=(left, top, left + width, top + height), reducing_gap=2.0)


class Piece:
    """A round piece of the photograph that moves before the camera."""

    def __init__(self, draw, photo, size):
        self.size = [max(8, int(side * draw.uniform(0.15, 0.4))) for side in size]
        width, height = (min(whole, side * 4) for whole, side in zip(photo.size, self.size))
        left, top = draw.randint(0, photo.width - width), draw.randint(0, photo.height - height)
        self.pixels = photo.resize(self.size, Image.BILINEAR, box=(left, top, left + width, top + height))
        self.mask = Image.new("L", self.size)
        ImageDraw.Draw(self.mask).ellipse((2, 2, self.size[0] - 3, self.size[1] - 3), fill=255)
        self.mask = self.mask.filter(ImageFilter.GaussianBlur(1))
        self.room = [whole - side for whole, side in zip(size, self.size)]
        self.ways = Way(draw, 0.2), Way(draw, 0.2)

    def put(self, frame, share):
        frame.paste(self.pixels, tuple(round(room * way.at(share)) for room, way in zip(self.room, self.ways)), self.mask)


def frames(photo, draw, size):
    """Gives the frames of one video as bytes in RGB."""
    cameras = [Camera(draw, photo, size) for _ in range(draw.randint(1, 2))]
    pieces = [Piece(draw, photo, size) for _ in range(draw.randint(1, 4))]
    cut = draw.randint(FRAMES // 4, 3 * FRAMES // 4)
    random_noise = np.random.default_rng(draw.getrandbits(64))
    # Drawn once and moved for each frame, because drawing takes longer than all else.
    noise = random_noise.normal(0.0, draw.uniform(2.0, 5.0), (2 * size[1], 2 * size[0], 3)).round().astype(np.int16)
    for number in range(FRAMES):
        frame = cameras[-1 if number >= cut else 0].frame(number / FRAMES)
        for piece in pieces:
            piece.put(frame, number / FRAMES)
        y, x = random_noise.integers(0, size[1]), random_noise.integers(0, size[0])
        pixels = np.asarray(frame, np.int16) + noise[y:y + size[1], x:x + size[0]]
        yield pixels.clip(0, 255).astype(np.uint8).tobytes()


def write_videos(photograph, numbers, folder, options):
    """Writes every video that comes from one photograph, which is opened once."""
    photo, size = make_corpus.shrunk(photograph), options.size
    if photo.width < size[0] or photo.height < size[1]:
        photo = photo.resize((max(photo.width, size[0]), max(photo.height, size[1])), Image.BICUBIC)
    # Key frames at equal distances, and nowhere else.
    coded = ["-c:v", "libx264", "-preset", "medium", "-crf", "20", "-pix_fmt", "yuv420p", "-g", str(options.gop), "-keyint_min",
             str(options.gop), "-sc_threshold", "0", "-bf", str(options.bframes), "-movflags", "+faststart"]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", str(FRAMES_A_SECOND), "-i", "-"]
    for number in numbers:
        target = file_of(folder, number, options, "mp4")
        process = ffmpeg(given + coded, target)
        for frame in frames(photo, random.Random(f"{options.seed}/{number}"), size):
            process.stdin.write(frame)
        finish(process, target)


def steps_of(values, samples, smooth):
    """Holds each value for an equal share of the samples, with soft edges of `smooth` samples."""
    held = np.repeat(np.asarray(values, np.float64), -(-samples // len(values)))[:samples]
    summed = np.cumsum(np.pad(held, (smooth, 0), mode="edge"))
    return (summed[smooth:] - summed[:-smooth]) / smooth


def speech(seed, rate):
    """Returns ten seconds of a sound like speech in stereo, as 16-bit samples [samples, 2]."""
    random_sound = np.random.default_rng(seed)
    samples, syllables, smooth = SECONDS * rate, SECONDS * SYLLABLES_A_SECOND, rate // 50
    spoken = random_sound.random(syllables) > 0.15
    hiss = steps_of(spoken * (random_sound.random(syllables) < 0.3), samples, smooth)
    loud = steps_of(spoken * random_sound.uniform(0.3, 1, syllables), samples, smooth)
    base = random_sound.uniform(90, 220)
    pitch = steps_of(base * random_sound.uniform(0.85, 1.2, syllables), samples, smooth)
    formants = [steps_of(random_sound.uniform(*limits, syllables), samples, smooth) for limits in FORMANTS]
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = np.zeros(samples)
    for harmonic in range(1, int(4000 / base)):
        strength = sum(1 / (1 + ((harmonic * pitch - formant) / 150) ** 2) for formant in formants)
        voice += strength / harmonic ** 0.5 * np.sin(harmonic * phase)
    noise = np.diff(random_sound.normal(size=samples + 1))  # mostly high tones
    room = random_sound.normal(size=(samples, 2)) * 0.004 + 0.003 * np.sin(2 * np.pi * 50 * np.arange(samples) / rate)[:, None]
    sound = loud * ((1 - hiss) * voice / 3 + 0.2 * hiss * noise)
    late = int(random_sound.integers(1, rate // 1000))  # the right ear hears it later and softer
    both = np.stack([sound, 0.8 * np.roll(sound, late)], axis=1) * 0.3 + room
    return (both.clip(-1, 1) * 32767).round().astype("<i2")


def write_sound(number, folder, options):
    codec = options.audio[number // options.classes % len(options.audio)]
    rate, coded = SOUNDS[codec]
    target = file_of(folder, number, options, codec)
    process = ffmpeg(["-f", "s16le", "-ar", str(rate), "-ac", "2", "-i", "-", *coded], target)
    process.stdin.write(speech([options.seed, number], rate).tobytes())
    finish(process, target)


def file_of(folder, number, options, extension):
    target = folder / f"{number % options.classes:03d}"
    target.mkdir(exist_ok=True)
    return target / f"{number:06d}.{extension}"


def write_all(folder, options):
    with ProcessPoolExecutor() as pool:
        if options.audio:
            jobs = [pool.submit(write_sound, number, folder, options) for number in range(options.count)]
        else:
            shares = make_corpus.shared_out(options.count, options.classes, options.seed)
            jobs = [pool.submit(write_videos, photograph, numbers, folder, options) for photograph, numbers in shares.items()]
        for job in jobs:
            job.result()


def size(text):
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit() and min(int(width), int(height)) >= 32
            and int(width) % 2 == int(height) % 2 == 0):
        raise argparse.ArgumentTypeError("must be as 340x256, in even numbers of at least 32")
    return int(width), int(height)


def codecs(text):
    names = text.split(",")
    if not set(names) <= set(SOUNDS):
        raise argparse.ArgumentTypeError(f"must name some of {', '.join(SOUNDS)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    make_corpus.add_options(parser, "videos")
    parser.set_defaults(count=100)
    parser.add_argument("--size", type=size, default=(340, 256), help="(default 340x256)")
    parser.add_argument("--gop", type=make_corpus.positive, default=50,
                        help="frames from one key frame to the next (default %(default)s)")
    parser.add_argument("--bframes", type=int, choices=range(9), default=2, metavar="N",
                        help="at most so many B-frames in a row (default %(default)s)")
    parser.add_argument("--audio", type=codecs, nargs="?", const=",".join(SOUNDS), metavar="CODECS",
                        help=f"sounds instead of videos, in turns of these codecs (default {','.join(SOUNDS)})")
    options = parser.parse_args()
    if isinstance(options.audio, str):
        options.audio = codecs(options.audio)
    if shutil.which("ffmpeg") is None:
        sys.exit("make_videos.py: there is no ffmpeg: install it with `apt-get install ffmpeg`.")
    with make_corpus.corpus_at(parser, options) as made:
        write_all(made, options)
    make_corpus.tell(options, "sounds" if options.audio else "videos")


if __name__ == "__main__":
    main()
