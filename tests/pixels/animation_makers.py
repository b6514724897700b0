"""Animations and pages that are refused where three frames of them are wanted, as a name, the content and a part of the
sentence."""
import struct

import numpy as np

from modern_makers import moved, saved
from picture_makers import Gif, noise, picture


def webp():
    frames = [moved("RGB", number) for number in range(5)]
    sound = saved(frames[0], "WEBP", lossless=True, save_all=True, append_images=frames[1:], duration=50)
    last = sound.rindex(b"VP8L")
    yield "damaged-frame", sound[:last + 9] + b"\xff" * 30 + sound[last + 39:], "a damaged WebP"
    yield "cut-frame", sound[:last + 20], "WebP"


def tiff():
    pages = [picture("RGB", seed=number) for number in range(5)]
    stack = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    place = 4
    for _ in range(3):  # from the place of a page's header to the place of the next one's
        header = struct.unpack_from("<I", stack, place)[0]
        place = header + 2 + 12 * struct.unpack_from("<H", stack, header)[0]
    yield "page", stack[:header + 2] + b"\xff" * 24 + stack[header + 26:], "TIFF"
    pixels = stack.index(np.asarray(pages[4]).tobytes()[:60])
    yield "cut-page", stack[:pixels + 1000], "TIFF"


def gif():
    frames = [{"image": noise(1, 20, 20)[:, :, 0] % 16, "place": (0, 0), "palette": None, "interlaced": False,
               "disposal": 1, "transparent": None, "control": True} for _ in range(3)]
    sound = Gif.animated(frames, noise(3, 1, 16)[0], 0)
    yield "behind", sound[:-1] + b"\x01", "something else than a frame stands behind its frame 2"
    yield "cut-frame", sound[:-60], "giflib can't decode its row"
    tiny = [{**frames[0], "image": frames[0]["image"][:1, :1], "control": False}]
    one = Gif.animated(tiny, noise(3, 1, 16)[0], 0)
    yield "many", one[:13 + 48] + one[13 + 48:-1] * 10001, "a GIF of more than 10000 frames"


def avif():
    frames = [moved("RGB", number) for number in range(5)]
    sound = saved(frames[0], "AVIF", speed=10, max_threads=1, save_all=True, append_images=frames[1:])
    count = sound.index(b"stsz") + 12
    yield "many", sound[:count] + b"\x7f\xff\xff\xff" + sound[count + 4:], "AVIF"
    yield "many-alike", sound[:count - 4] + b"\0\0\0\1\x7f\xff\xff\xff" + sound[count + 4:], "AVIF"
    sizes = struct.unpack_from(">5I", sound, count + 4)
    last = len(sound) - sizes[-1]
    yield "damaged-frame", sound[:last] + b"\xff" * 60 + sound[last + 60:], "AVIF"


REFUSED = {"webp": webp, "tiff": tiff, "gif": gif, "avif": avif}
