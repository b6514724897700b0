"""Functions of a user's that take several samples a call, or that are async. Tests' pipelines call them by "own_bunches:NAME"."""
import asyncio
import contextlib
import os
import random

import numpy
import own_functions


def negative_all(pictures):
    pictures[:] = 255 - pictures  # an array of their own
    return pictures


def noisy_all(pictures, rng):
    assert len(rng) == len(pictures)
    return [noisy(picture, one) for picture, one in zip(pictures, rng, strict=True)]


def noisy(picture, rng):
    return (picture // 2 + rng.integers(0, 100, picture.shape)).astype(numpy.uint8)


def faulty_all(numbers):
    """The numbers themselves; but the call fails for all of them where one has a fault."""
    for number in numbers:
        own_functions.faulty(number)
    return numbers


def one_too_few(numbers):
    return numbers[1:] if 7 in numbers else numbers


def all_but_text(numbers):
    """One result does not fit, and the others do."""
    return ["seven" if number == 7 else number for number in numbers]


def sizes(numbers):
    """How many samples each was called with."""
    return numpy.full(len(numbers), len(numbers))


def counts_up(numbers):
    return [numpy.arange(int(number)) for number in numbers]


def sums(lists):
    assert isinstance(lists, list)
    return [one.sum() for one in lists]


def as_bytes_all(numbers):
    return [b"x" * int(number) for number in numbers]


def lengths(datas):
    assert isinstance(datas, list)
    return [len(data) for data in datas]


def twice(numbers):
    return 2 * numbers


UNDER_WAY = 0


async def levels(number):
    """The number, and how many calls were under way at most while it was."""
    global UNDER_WAY
    UNDER_WAY += 1
    level = UNDER_WAY
    for _ in range(4):
        await asyncio.sleep(0.005)
        level = max(level, UNDER_WAY)
    UNDER_WAY -= 1
    return numpy.array([number, level])


async def noisy_later(picture, rng):
    first = rng.integers(0, 100, picture.shape)
    await asyncio.sleep(random.random() / 1000)
    return (picture // 2 + first // 2 + rng.integers(0, 50, picture.shape)).astype(numpy.uint8)


async def faulty_later(number):
    await asyncio.sleep(0.001)
    fault = own_functions.FAULTS.get(str(int(number)))
    if fault == "waits":
        await asyncio.sleep(1000)
    if fault == "waits_on":
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
    if fault == "cancels":
        raise asyncio.CancelledError
    if fault == "leaves_process":
        os._exit(5)
    return own_functions.faulty(number) if fault not in (None, "waits") else number


class Later:
    async def __call__(self, number):
        await asyncio.sleep(0)
        return number


later = Later()
