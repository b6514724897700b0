"""Starts the programs `spdld` and `spdlctl` that a wheel installs. They lie in the package, and replace this process."""
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
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these signals, and a program would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{program}: cannot start {path}: {error.strerror}; install the package spdld anew")
