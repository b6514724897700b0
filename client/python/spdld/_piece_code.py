"""Functions that do a transform to each of several pieces and stack them, as torchvision's page has them behind FiveCrop:

    Lambda(lambda crops: torch.stack([ToTensor()(crop) for crop in crops]))

Such a function is known by its code, and is not called.
"""
import dis
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

_SKIPPED = ("RESUME", "CACHE", "NOP", "PRECALL", "PUSH_NULL", "COPY_FREE_VARS")
_VARIABLES = ("LOAD_FAST", "STORE_FAST", "LOAD_CLOSURE", "DELETE_FAST")


class Piece(NamedTuple):
    """The transform of each piece: an object, or where `is_class` the class of an object that is made without arguments."""

    what: Any
    is_class: bool


def piece_of(function: Any) -> Piece | None:
    """None where a function does something else."""
    code = function.__code__ if isinstance(function, FunctionType) else None
    if code is None or code.co_argcount != 1 or code.co_kwonlyargcount or len(code.co_code) > 400:
        return None
    names: list[list[str]] = []
    is_class = _TABLE.get(_shape(code, names))
    if is_class is None or len(names) != 2 or names[0] != ["torch", "stack"]:
        return None
    if function.__globals__.get("torch") is not sys.modules.get("torch"):
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    first, *attributes = names[1]
    try:
        what = cells[first].cell_contents if first in cells else function.__globals__[first]
        for attribute in attributes:
            what = vars(what)[attribute]  # of a module
    except (KeyError, TypeError, ValueError):
        return None
    return Piece(what, is_class)


def _shape(code: Any, names: list[list[str]]) -> tuple[Any, ...]:
    """The steps of the code and of the code in it. `names`: is given each name from outside, with the attributes behind it."""
    shape: list[Any] = []
    for step in dis.get_instructions(code):
        name, value = step.opname, step.argval
        if name in _SKIPPED:
            continue
        if name in ("LOAD_GLOBAL", "LOAD_DEREF"):
            names.append([value])
            shape.append("a name")
        elif name in ("LOAD_METHOD", "LOAD_ATTR") and shape and shape[-1] in ("a name", "its attribute"):
            names[-1].append(value)
            shape.append("its attribute")
        elif hasattr(value, "co_code"):
            shape.append(_shape(value, names))
        elif name.startswith(_VARIABLES) or "JUMP" in name or name == "FOR_ITER":
            shape.append(name)
        elif name != "LOAD_CONST" or not isinstance(value, str):  # the name of code in it
            shape.append((name, value if name != "MAKE_FUNCTION" else None))
    return tuple(shape)


def _enclosed(normalize: Any) -> Callable[[Any], Any]:
    return lambda crops: torch.stack([normalize(crop) for crop in crops])  # type: ignore[name-defined]  # noqa: F821


_FORMS: list[tuple[Callable[[Any], Any], bool]] = [
    (lambda crops: torch.stack([module.Class()(crop) for crop in crops]), True),  # type: ignore[name-defined]  # noqa: F821
    (lambda crops: torch.stack([Class()(crop) for crop in crops]), True),  # type: ignore[name-defined]  # noqa: F821
    (lambda crops: torch.stack([done(crop) for crop in crops]), False),  # type: ignore[name-defined]  # noqa: F821
    (_enclosed(None), False),
]
_TABLE: dict[tuple[Any, ...], bool] = {_shape(form.__code__, []): is_class for form, is_class in _FORMS}
