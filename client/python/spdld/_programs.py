"""The programs `spdld` and `spdlctl` of a wheel's environment: they lie in the package, and take this process's place."""
import os
import signal
import sys
from typing import NoReturn


def spdld() -> NoReturn:
    _become("spdld")


def spdlctl() -> NoReturn:
    _become("spdlctl")


def _become(program: str) -> NoReturn:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", program)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; a program would inherit it
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{program}: cannot start {path}: {error.strerror}; install the package spdld anew")
