"""Data sets as users write them, for data_sets_test.py."""
import os
import random
from pathlib import Path

import numpy
import torch
from PIL import Image
from torch.utils.data import Dataset

import spdld

SIDE = 24


def random_crop(picture):
    left, top = random.randrange(picture.width - SIDE + 1), int(torch.randint(picture.height - SIDE + 1, (1,)))
    picture = picture.crop((left, top, left + SIDE, top + SIDE))
    return picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if numpy.random.rand() < 0.5 else picture


def to_tensor(picture):
    return torch.from_numpy(numpy.array(picture)).permute(2, 0, 1).float().div(255)


def middle(picture):
    return picture.crop((0, 0, SIDE, SIDE))


class ImageFolder(Dataset):
    """As torchvision's: pictures by PIL, with a transform, and classes."""

    def __init__(self, root, transform):
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.samples = [(str(path), number) for number, name in enumerate(self.classes)
                        for path in sorted(Path(root, name).glob("*.jpg"))]
        self.transform = transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        with Image.open(path) as picture:
            return to_tensor(self.transform(picture.convert("RGB"))), label


class Detection(Dataset):
    """Pictures of different sizes, with as many boxes as there are."""

    def __len__(self):
        return 30

    def __getitem__(self, index):
        size = 8 + index % 5
        image = torch.full((3, size, size + 1), float(index))
        boxes = torch.full((index % 4, 4), float(index))
        return image, {"boxes": boxes, "labels": torch.arange(index % 4), "name": f"{index}.jpg"}


class Tokens(Dataset):
    """Windows of a file of tokens, which is opened when it is first needed."""

    def __init__(self, path, window):
        self.path, self.window, self.tokens = path, window, None

    def __len__(self):
        return os.path.getsize(self.path) // 2 // self.window

    def __getitem__(self, index):
        if self.tokens is None:
            self.tokens = numpy.memmap(self.path, dtype=numpy.uint16, mode="r")
        start = index * self.window
        window = torch.from_numpy(self.tokens[start:start + self.window].astype(numpy.int64))
        return {"tokens": window, "first": int(window[0])}


class MappedTokens(Dataset):
    """The same, mapped when it is made, with an item that is a part of the mapping."""

    def __init__(self, path, window):
        self.window, self.tokens = window, numpy.memmap(path, dtype=numpy.int16, mode="r")

    def __len__(self):
        return len(self.tokens) // self.window

    def __getitem__(self, index):
        return self.tokens[index * self.window:(index + 1) * self.window]


class Lazy(Dataset):
    """Has an open file, which can't be pickled, from its first item on."""

    def __init__(self, path):
        self.path, self.file = path, None

    def __len__(self):
        return os.path.getsize(self.path) // 4

    def __getitem__(self, index):
        if self.file is None:
            self.file = open(self.path, "rb")
        return numpy.frombuffer(os.pread(self.file.fileno(), 4, 4 * index), numpy.int32)[0], os.getpid()


class Faulty(Dataset):
    """Items that raise, have another shape, end their process, or never come."""

    def __init__(self, faults=None):
        self.faults = faults or {}

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if self.faults.get(index) == "raises":
            raise ValueError("this one is broken")
        if self.faults.get(index) == "exits":
            os._exit(3)
        while self.faults.get(index) == "hangs":
            pass
        return numpy.full(5 if self.faults.get(index) == "long" else 4, index, numpy.int64)


class Nested(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return {"image": numpy.full((2, 3), index, numpy.uint8), "flags": (index % 2 == 0, float(index)),
                "score": numpy.float32(index), "text": "ü" * (index % 4),
                "meta": {"id": index, "raw": bytes([index]) * (index % 3)}}


class Images(Dataset):
    """Arrays whose values are their number, and the number."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return numpy.full((3, 20, 20), index, numpy.float32), index


class Draws(Dataset):
    """An item that is drawn by the three libraries."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return index, random.random(), numpy.random.rand(), torch.rand(1)


def pad(items):
    """The collate_fn of a detection program."""
    height, width = (max(image.shape[side] for image, _ in items) for side in (1, 2))
    images = torch.zeros(len(items), 3, height, width)
    for row, (image, _) in enumerate(items):
        images[row, :, :image.shape[1], :image.shape[2]] = image
    return images, [target for _, target in items]


class Sieve(Dataset):
    """Every so many items from `start` on are kept."""

    def __init__(self, size, often, start=0):
        self.size, self.often, self.start = size, often, start

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index >= self.size:
            raise IndexError(index)
        return index if index >= self.start and index % self.often == 0 else spdld.DROP
