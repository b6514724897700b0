"""Brings the lines that the user's code prints in a crew to the trainer's stderr: whole lines, none too long, not too many at
once."""
from collections.abc import Callable

_LINE_MAX = 4096  # bytes, with the end of the line
_LINES_MAX = 200  # of each second
_SECOND = 1.0
_CUT = b" ...\n"


class Relay:
    """Gives lines to `write`, which returns whether it took them. One thread. Times are in seconds."""

    def __init__(self, write: Callable[[bytes], bool], now: float) -> None:
        self._write = write
        self._rest = b""  # of a line without its end
        self._is_cut = False  # the line's beginning was given already
        self._begin, self._given, self._lost = now, 0, 0

    def take(self, data: bytes, now: float) -> None:
        self.look_at(now)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if self._is_cut:  # its end
                self._is_cut = False
            else:
                self._give(line + b"\n")
        if len(self._rest) >= _LINE_MAX or self._is_cut:
            if not self._is_cut:
                self._give(self._rest + b"\n")
            self._rest, self._is_cut = b"", True

    def end(self, now: float) -> None:
        """Nothing comes any more."""
        if self._rest:
            self.take(b"\n", now)
        self._tell_lost()

    def look_at(self, now: float) -> None:
        if now - self._begin >= _SECOND:
            self._tell_lost()
            self._begin, self._given = now, 0

    def due(self, now: float) -> float | None:
        """When to call look_at() again; None: it need not be called."""
        return max(0.0, self._begin + _SECOND - now) if self._lost else None

    def _give(self, line: bytes) -> None:
        if len(line) > _LINE_MAX:
            line = line[:_LINE_MAX - len(_CUT)] + _CUT
        if self._given >= _LINES_MAX or not self._write(line):
            self._lost += 1
        else:
            self._given += 1

    def _tell_lost(self) -> None:
        if self._lost:
            lines = "1 line that Python operations printed was" if self._lost == 1 else \
                f"{self._lost} lines that Python operations printed were"
            if self._write(f"spdld: {lines} left out: at most {_LINES_MAX} a second are shown\n".encode()):
                self._lost = 0
