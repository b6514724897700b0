"""Writes the steps of a trial into a folder: pictures as PNG, everything else as arrays of numpy or as bytes."""
import os
import re
import struct
import zlib
from typing import Any

from spdld._trial.steps import Step, Trial

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # of PNG, by the number of channels


def save(trial: Trial, folder: str) -> list[str]:
    """Returns the paths. The folder is made where it is missing, and files of the same names are written over."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for step in trial.steps:
        if step.error is None:
            paths += _save_step(step, os.path.join(folder, _file_name(f"{step.output}.{step.place + 1}.{step.operation}")))
    for name, value in trial.outputs.items():
        paths.append(_save_array(value, os.path.join(folder, _file_name(f"{name}.batch"))))
    return paths


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)


def _save_step(step: Step, path: str) -> list[str]:
    if isinstance(step.value, bytes):
        with open(path + ".bin", "wb") as file:
            file.write(step.value)
        return [path + ".bin"]
    if step.kind != "tensor":
        return []
    picture = _picture_of(step.value)
    if picture is None:
        return [_save_array(step.value, path)]
    with open(path + ".png", "wb") as file:
        file.write(_png_of(picture))
    return [path + ".png"]


def _save_array(value: Any, path: str) -> str:
    import numpy

    numpy.save(path + ".npy", value)
    return path + ".npy"


def _picture_of(array: Any) -> Any:
    """[height, width, channels] of uint8, or None where the array is not a picture of that type."""
    if array.dtype.name != "uint8" or array.size == 0:
        return None
    if array.ndim == 2:
        return array[..., None]
    return array if array.ndim == 3 and array.shape[2] in _COLOUR_TYPES else None


def _png_of(picture: Any) -> bytes:
    height, width, channels = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
