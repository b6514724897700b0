"""The exceptions of spdld: each carries one sentence, or one a line, of what is wrong and what to do."""
import builtins
import sys
import warnings
from typing import Type

__all__ = ["Error", "InvalidError", "NoDaemonError", "DeniedError", "NotFoundError", "ConflictError", "ChangedError",
           "LimitError", "TimeoutError", "FailedError", "VersionError", "UnsupportedError", "ForkedError", "SpdldWarning",
           "DataWarning"]


class SpdldWarning(UserWarning):
    """What a program should know although nothing failed. The warnings module filters it like any other."""


def warn(sentence: str, category: Type[SpdldWarning] = SpdldWarning) -> None:
    """Warns at the innermost line of the program that is not in this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spdld":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)


class Error(Exception):
    """Of all exceptions of spdld the base; itself for what should not happen."""


class InvalidError(Error, ValueError):
    """An argument or a pipeline is wrong. All faults of a pipeline are told at once, a line each."""


class NoDaemonError(Error, ConnectionError):
    """No daemon runs and none could be started, or it went away and did not come back in time."""


class DeniedError(Error, PermissionError):
    """The daemon does not allow this user that."""


class NotFoundError(Error, LookupError):
    """There is no pipeline, file or folder of this name."""


class ConflictError(Error):
    """Another process, or another loader of this one, holds the rank."""


class ChangedError(Error):
    """The position belongs to another data set, pipeline or global batch."""


class LimitError(Error):
    """A quota of the daemon is reached, or the program holds all batches that it may hold and none came back in time."""


class TimeoutError(Error, builtins.TimeoutError):
    """Nothing came within the time given; the call may be made again."""


class FailedError(Error):
    """The pipeline failed."""


class VersionError(Error):
    """The daemon and this package share no version of their protocol."""


class UnsupportedError(Error):
    """Understood, but not possible in this build, on this machine or in this framework."""


class ForkedError(Error):
    """The loader belongs to the parent of this forked process."""


class DataWarning(SpdldWarning):
    """Samples can't be used and were replaced or left zero, or the data set is not whole: the run goes on without them. Once
    for each reason; loader.stats() counts. Where a filter makes an error of it, no batch is lost: the next call gives the
    batch that it came with."""
