"""Functions of a user's, which the tests' pipelines call by "own_functions:NAME"."""
import os
import random
import signal
import subprocess
import sys
import time

import numpy

import spdld

# In the processes of a crew the environment says what goes wrong: "NUMBER:FAULT NUMBER:FAULT ...", by what a sample holds.
FAULTS = dict(pair.split(":") for pair in os.environ.get("OWN_FAULTS", "").split())


def negative(picture):
    picture[:] = 255 - picture  # an array of its own
    return picture


def noisy(picture, rng):
    shift = rng.integers(0, 5) + random.randrange(5) + numpy.random.randint(5)
    return (picture // 2 + shift).astype(numpy.uint8)


def drawn_by_torch(picture):
    import torch
    return torch.randint(0, 256, picture.shape, dtype=torch.uint8)


def padded(data):
    return b"00" + data


def first_of_a_set(number):
    return numpy.int64(next(iter({f"text {i}" for i in range(100)})).split()[1])


def count_up(number):
    return numpy.arange(int(number), dtype=numpy.int64)


def faulty(number):
    """The number itself; but some numbers have a fault."""
    fault = FAULTS.get(str(int(number)))
    if fault is not None:
        globals()["fault_" + fault]()
    return number


def doubled(number):
    return 2 * number


def fault_raises():
    raise ValueError("this one can't be used")


def fault_exits():
    os._exit(3)


def fault_crashes():
    os.kill(os.getpid(), signal.SIGSEGV)


def fault_once():
    """Ends its process, but for the second time."""
    path = os.environ["OWN_ONCE"]
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os._exit(4)


def fault_hangs():
    while True:
        pass


def fault_bursts():
    bytearray(4 << 30)


def fault_leaves():
    """A worker that leaves things behind: a process of its own group, a process that has left the group, and open files."""
    for session in (False, True):
        subprocess.Popen(["sleep", "1000"], start_new_session=session)
    if os.fork() == 0:
        time.sleep(1000)
    os.open("/dev/null", os.O_RDONLY)


def fault_prints():
    print("a line of the user's")
    print("and one of the user's on stderr", file=sys.stderr)


def turned(data):
    return data[::-1]


def as_bytes(number):
    return b"x%d" % number


def length(data):
    return len(data)


def all_but_the_seventh(number):
    """For a plug-in that does its work on what begins with a g."""
    return b"x" if number == 7 else b"g"


def thirds(number):
    """A filter."""
    return number if number % 3 == 0 else spdld.DROP


def none(number):
    return spdld.DROP


def some(number, rng):
    """A filter that draws anew in each epoch."""
    return number if rng.random() < 0.5 else spdld.DROP


def nested(number):
    """It is no sample that is dropped."""
    return [spdld.DROP]
