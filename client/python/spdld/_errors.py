"""The exceptions of spdld: each carries one sentence, or one a line, of what is wrong and what to do."""
import builtins

__all__ = ["Error", "InvalidError", "NoDaemonError", "DeniedError", "NotFoundError", "ConflictError", "ChangedError",
           "LimitError", "TimeoutError", "FailedError", "VersionError", "UnsupportedError", "ForkedError"]


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
    """Another process holds the rank."""


class ChangedError(Error):
    """The position belongs to another data set, pipeline or global batch."""


class LimitError(Error):
    """A quota of the daemon is reached, or all batches that may be held are held."""


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
