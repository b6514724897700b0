"""Writes ICC profiles (ICC.1:2010) of all kinds that pictures carry."""
import struct

import numpy as np


def fixed(*values):
    return struct.pack(f">{len(values)}i", *(round(value * 65536) for value in values))


def xyz(*values):
    return b"XYZ \0\0\0\0" + fixed(*values)


def gamma(value):
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(value * 256)) + b"\0\0"


def table(values):
    content = b"curv\0\0\0\0" + struct.pack(">I", len(values)) + np.asarray(values).astype(">u2").tobytes()
    return content + b"\0" * (-len(content) % 4)


# The curve of sRGB, by its five numbers.
CURVE = b"para\0\0\0\0\0\3\0\0" + fixed(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
D50 = (0.9642, 1.0, 0.8249)


def profile(space, tags, connection=b"XYZ ", kind=b"mntr"):
    tags = {b"desc": b"desc\0\0\0\0\0\0\0\2x\0" + bytes(78) + b"\0\0", b"wtpt": xyz(*D50), b"cprt": b"text\0\0\0\0none\0\0\0\0",
            **tags}
    place, directory, content = 128 + 4 + 12 * len(tags), struct.pack(">I", len(tags)), b""
    for name, value in tags.items():
        directory += name + struct.pack(">II", place + len(content), len(value))
        content += value + b"\0" * (-len(value) % 4)
    size = place + len(content)
    head = struct.pack(">I", size) + bytes(4) + struct.pack(">I", 0x04200000) + kind + space + connection + struct.pack(
        ">6H", 2020, 1, 1, 0, 0, 0)
    head += b"acsp" + bytes(28) + fixed(*D50)
    return head.ljust(128, b"\0") + directory + content


def of_primaries(red, green, blue, curve):
    return profile(b"RGB ", {b"rXYZ": xyz(*red), b"gXYZ": xyz(*green), b"bXYZ": xyz(*blue), b"rTRC": curve, b"gTRC": curve,
                             b"bTRC": curve})


def of_table(channels, grid, space=b"RGB "):
    """A table from colours to Lab that no three primaries could give."""
    places = np.stack(np.meshgrid(*[np.linspace(0, 1, grid)] * channels, indexing="ij"), -1).reshape(-1, channels)
    red, green, blue = places[:, 0], places[:, 1], places[:, 2]
    light = 0.2 * red + 0.7 * green + 0.1 * blue
    lab = np.stack([light ** 0.5, 0.5 + 0.3 * (red - green) * light, 0.5 + 0.25 * (green - blue)], -1)
    colours = (lab.clip(0, 1) * 0xFF00).round().astype(">u2").tobytes()
    line = np.linspace(0, 65535, 2).astype(">u2").tobytes()
    lut = b"mft2\0\0\0\0" + bytes([channels, 3, grid, 0]) + fixed(1, 0, 0, 0, 1, 0, 0, 0, 1) + struct.pack(">HH", 2, 2)
    return profile(space, {b"A2B0": lut + line * channels + colours + line * 3}, connection=b"Lab ")


P3 = ((0.515102, 0.241182, -0.001050), (0.291965, 0.692236, 0.041882), (0.157153, 0.066582, 0.784378))
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
PROPHOTO = ((0.797675, 0.288040, 0), (0.135192, 0.711874, 0), (0.031353, 0.000086, 0.825210))
SRGB = ((0.436066, 0.222488, 0.013916), (0.385147, 0.716873, 0.097076), (0.143066, 0.060608, 0.714096))

COLOURS = {
    "p3": of_primaries(*P3, CURVE),
    "adobe": of_primaries(*ADOBE, gamma(563 / 256)),
    "prophoto": of_primaries(*PROPHOTO, gamma(1.8)),
    "linear": of_primaries(*SRGB, gamma(1)),
    "table-curve": of_primaries(*P3, table((np.linspace(0, 1, 1024) ** 2.1 * 65535).round())),
    "swapped": of_primaries(SRGB[1], SRGB[2], SRGB[0], CURVE),
    "lut": of_table(3, 9),
    "large-lut": of_table(3, 25),  # in several segments of a JPEG
}
GREYS = {"grey": profile(b"GRAY", {b"kTRC": gamma(1.5)}), "grey-curve": profile(b"GRAY", {b"kTRC": CURVE})}
CMYK = of_table(4, 5, b"CMYK")
