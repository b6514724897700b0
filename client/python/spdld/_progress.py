"""The line on stderr that shows how far the listing of a data set is, while attach() waits for it."""
import os
import sys
import time
from typing import Any

from spdld import _spdld

_COLUMNS = 80
_LOCAL_RANKS = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")


def display_for(wanted: bool | None, rank: int | None, local_rank: int | None) -> "Display | None":
    """Returns the display that attach() tells its progress to, or None where nothing is shown.

    wanted: True or False, as attach() was told. With None the environment variable SPDLD_PROGRESS (0 or 1) decides. Where
        it is not set, only the first rank of a node shows the progress, and only where stderr is a terminal or a
        notebook's output.
    """
    if wanted is None:
        wanted = {"0": False, "1": True}.get(os.environ.get("SPDLD_PROGRESS", ""))
    if wanted is None:
        wanted = _is_first(rank, local_rank) and _draws_in_place(sys.stderr)
    return Display(sys.stderr) if wanted and sys.stderr is not None else None


class Display:
    """One line on a stream, which is drawn anew in its place. After a failure the stream is left alone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._line = _spdld.ProgressLine("spdld: ")

    def __call__(self, what: str, done: int, total: int) -> None:
        self._write(self._line.show(what, done, total, time.monotonic(), _columns_of(self._stream)))

    def close(self) -> None:
        """Removes the line."""
        self._write(self._line.clear())

    def _write(self, text: str) -> None:
        if not text or self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the stream is closed, or its reader is gone, which is no reason for attach() to fail
            self._stream = None


def _is_first(rank: int | None, local_rank: int | None) -> bool:
    if local_rank is not None:
        return local_rank == 0
    if rank is not None:
        return rank == 0
    return next((os.environ[name] for name in _LOCAL_RANKS if os.environ.get(name)), "0") == "0"


def _draws_in_place(stream: Any) -> bool:
    # A notebook's stream is not a terminal, but follows carriage returns.
    if type(stream).__module__.split(".")[0] == "ipykernel":
        return True
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # the stream is closed, or is not a stream of Python
        return False


def _columns_of(stream: Any) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (AttributeError, OSError, ValueError):  # no terminal
        return _COLUMNS
