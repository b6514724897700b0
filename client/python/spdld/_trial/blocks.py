"""Draws the pictures of a trial on a terminal, as coloured half blocks."""
from collections.abc import Iterator, Sequence
from typing import Any

from spdld._trial.steps import Trial

_WIDTH = 24  # characters of a picture
_HEIGHT_MAX = 24  # lines
_GAP = "  "
_RESET = "\x1b[0m"


def blocks_text(trial: Trial, columns: int) -> str:
    """The pictures of each output beside one another, each below its operation."""
    lines = []
    outputs = dict.fromkeys(step.output for step in trial.steps)
    across = max(1, (columns + len(_GAP)) // (_WIDTH + len(_GAP)))
    for output in outputs:
        drawn = [(step.operation, lines_of(picture)) for step in trial.steps if step.output == output
                 for picture in [picture_of(step.value)] if picture is not None]
        for first in range(0, len(drawn), across):
            lines += ["", *_beside(drawn[first:first + across])]
    return "\n".join(lines)


def picture_of(value: Any) -> Any:
    """[height, width, 3] of uint8; None: the value is no picture. Other types are shown from their least to their largest
    value."""
    if not hasattr(value, "ndim") or value.ndim != 3 or value.size == 0 or value.dtype.kind not in "uif":
        return None
    if value.dtype.name != "uint8":
        if value.shape[0] in (1, 3) and value.shape[2] not in (1, 3):
            value = value.transpose(1, 2, 0)
        least, largest = float(value.min()), float(value.max())
        if not largest - least < float("inf"):  # it has numbers that are none
            return None
        value = ((value - least) * (255 / (largest - least or 1))).astype("uint8")
    if value.shape[2] in (1, 2):
        return value[..., :1].repeat(3, axis=2)
    return value[..., :3] if value.shape[2] in (3, 4) else None


def lines_of(picture: Any) -> list[str]:
    height = min(2 * _HEIGHT_MAX, max(2, round(_WIDTH * picture.shape[0] / picture.shape[1] / 2) * 2))
    rows = [y * picture.shape[0] // height for y in range(height)]
    columns = [x * picture.shape[1] // _WIDTH for x in range(_WIDTH)]
    small = picture[rows][:, columns].tolist()
    return ["".join(f"\x1b[38;2;{_code(upper)};48;2;{_code(lower)}m\u2580"
                    for upper, lower in zip(small[y], small[y + 1], strict=True)) + _RESET for y in range(0, height, 2)]


def _code(colour: Sequence[int]) -> str:
    return ";".join(map(str, colour))


def _beside(drawn: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    yield _GAP.join(name[:_WIDTH].ljust(_WIDTH) for name, _ in drawn).rstrip()
    for number in range(max(len(lines) for _, lines in drawn)):
        yield _GAP.join(lines[number] if number < len(lines) else " " * _WIDTH for _, lines in drawn)
