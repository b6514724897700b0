"""The function that bench/functions_soak.py has a pipeline call: it fails on the samples that a file names."""
import os
from pathlib import Path

import numpy

FAULTS = dict(line.split() for line in Path(os.environ["SPDLD_SOAK_FAULTS"]).read_text().splitlines())


def thrice(number):
    fault = FAULTS.get(str(int(number)))
    if fault == "raises":
        raise ValueError("this one can't be used")
    if fault == "ends":
        os._exit(3)
    while fault == "hangs":
        pass
    if fault == "bursts":
        bytearray(8 << 30)
    return numpy.int64(3 * number)
