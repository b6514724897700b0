"""The exceptions of spdld. Each carries one sentence, or one sentence a line, that says what is wrong and what to do."""
import builtins
import sys
import warnings

__all__ = ["Error", "InvalidError", "NoDaemonError", "DeniedError", "NotFoundError", "ConflictError", "ChangedError",
           "LimitError", "TimeoutError", "FailedError", "TrialError", "VersionError", "UnsupportedError", "ForkedError",
           "SpdldWarning", "DataWarning"]


class SpdldWarning(UserWarning):
    """Tells a program something that it should know although nothing failed. The warnings module can filter it."""


def warn(sentence: str, category: type[SpdldWarning] = SpdldWarning) -> None:
    """Gives a warning at the innermost line of the program that is not in this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "spdld":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)


class Error(Exception):
    """The base of all exceptions of spdld. The class itself stands for failures that should not happen."""


class InvalidError(Error, ValueError):
    """An argument or a pipeline is wrong. The text tells all faults of a pipeline at once, a line each."""


class NoDaemonError(Error, ConnectionError):
    """No daemon runs and none could be started, or the daemon went away and did not come back in time."""


class DeniedError(Error, PermissionError):
    """The daemon does not allow this user to do what was asked for."""


class NotFoundError(Error, LookupError):
    """There is no pipeline, file or folder of this name."""


class ConflictError(Error):
    """Another process, or another loader of this process, holds the rank."""


class ChangedError(Error):
    """The position belongs to another data set, pipeline or global batch."""


class LimitError(Error):
    """A quota of the daemon is reached, or the program holds all batches that it may hold and none came back in time."""


class TimeoutError(Error, builtins.TimeoutError):
    """Nothing came within the given time. The call may be made again."""


class FailedError(Error):
    """The pipeline failed."""


class TrialError(FailedError):
    """A sample that was tried (spdld.try_sample) is bad. trial: what was seen before, and str() of it is a table. exception:
    what a function of the program's own has raised, with its traceback, or None where the daemon refuses the sample. The
    traceback of the TrialError ends where that one ends, so that pdb.pm() stands in the function."""

    def __init__(self, sentence: str, trial: object = None, exception: BaseException | None = None) -> None:
        super().__init__(sentence)
        self.trial, self.exception = trial, exception


class VersionError(Error):
    """The daemon and this package share no version of their protocol."""


class UnsupportedError(Error):
    """The request is understood, but not possible in this build, on this machine or in this framework."""


class ForkedError(Error):
    """The loader belongs to the parent of this forked process."""


class DataWarning(SpdldWarning):
    """Some samples could not be used and were replaced or left zero, or the data set is not whole. The run goes on
    without these samples. The warning comes once for each reason, and loader.stats() counts the samples. Where a filter
    turns the warning into an error, no batch is lost: the next call gives the batch that the warning came with."""
