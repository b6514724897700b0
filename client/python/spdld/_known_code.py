"""Functions of a program whose meaning is known by their code, as torchvision's Lambda holds them. No function is called."""
import ast
import dis
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple


class Known(NamedTuple):
    """The meaning of a function of a picture or a tensor.

    kind: "rgb" (three channels of a picture of Pillow), "same" (nothing), "float" (floating-point numbers of the same values),
        "repeat" (three equal channels), or "linear" (value * scale + shift).
    """

    kind: str
    scale: float = 1.0
    shift: float = 0.0


class Compiled:
    """A function that was compiled from a script's text, and cannot be called."""

    def __init__(self, code: Any):
        self.__code__ = code


def compiled(made: ast.AST) -> Compiled | None:
    """The code of a lambda or of a definition; None where a decorator or a default would be computed first."""
    if not isinstance(made, (ast.Lambda, ast.FunctionDef)) or made.args.defaults or made.args.kw_defaults or \
            getattr(made, "decorator_list", None):
        return None
    body = ast.Expr(made) if isinstance(made, ast.Lambda) else made
    try:
        module = compile(ast.fix_missing_locations(ast.Module([body], [])), "script", "exec")
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    found = [entry for entry in module.co_consts if hasattr(entry, "co_code")]
    return Compiled(found[0]) if len(found) == 1 else None


_Shape = tuple[Any, ...]
_SKIPPED = ("RESUME", "CACHE", "NOP", "PRECALL", "PUSH_NULL")
_ARGUMENT = "the argument"
_NUMBER = "a number"
_CALLED = ("LOAD_METHOD", "LOAD_ATTR")
_UNKNOWN_FLAGS = 0x2ac  # *args, **kwargs, a generator, a coroutine


def meaning_of(function: Any) -> Known | None:
    """None where the code is not known."""
    shape, numbers = _read(function)
    make = _TABLE.get(shape)
    if shape == () or make is None:
        return None
    try:
        return make(*numbers)
    except (ZeroDivisionError, OverflowError):
        return None


def _read(function: Any) -> tuple[_Shape, list[float]]:
    """The steps of a function of one argument, and the numbers in it. Nothing where it needs other values."""
    code = function.__code__ if isinstance(function, (FunctionType, Compiled)) else None
    if code is None or code.co_argcount != 1 or code.co_kwonlyargcount or code.co_freevars or code.co_cellvars or \
            code.co_flags & _UNKNOWN_FLAGS or len(code.co_code) > 400:
        return (), []
    shape: list[Any] = []
    numbers: list[float] = []
    for step in dis.get_instructions(code):
        name, value = step.opname, step.argval
        if name in _SKIPPED:
            continue
        if name.startswith("RETURN_CONST") or name == "RETURN_GENERATOR":
            return (), []
        if name.startswith("LOAD_FAST"):
            shape.append(_ARGUMENT if value == code.co_varnames[0] else value)
        elif name in ("LOAD_CONST", "LOAD_SMALL_INT") and isinstance(value, (int, float)) and not isinstance(value, bool):
            shape.append(_NUMBER)
            numbers.append(value)
        elif name in _CALLED:
            shape.append(("attribute", value))
        else:
            shape.append((name, value))
    return tuple(shape), numbers


def _linear(scale: float, shift: float = 0.0) -> Known:
    return Known("linear", float(scale), float(shift))


_FORMS: list[tuple[Callable[[Any], Any], Callable[..., Known | None]]] = [
    (lambda x: x, lambda: Known("same")),
    (lambda x: x.convert("RGB"), lambda: Known("rgb")),
    (lambda x: x.float(), lambda: Known("float")),
    (lambda x: x.repeat(3, 1, 1), lambda *sizes: Known("repeat") if sizes == (3, 1, 1) else None),
    (lambda x: x.expand(3, -1, -1), lambda *sizes: Known("repeat") if sizes == (3, -1, -1) else None),
    (lambda x: x * 2, _linear), (lambda x: 2 * x, _linear), (lambda x: x.mul(2), _linear),
    (lambda x: x / 2, lambda a: _linear(1 / a)), (lambda x: x.div(2), lambda a: _linear(1 / a)),
    (lambda x: x + 2, lambda a: _linear(1, a)), (lambda x: x - 2, lambda a: _linear(1, -a)),
    (lambda x: x * 2 + 1, _linear), (lambda x: 2 * x + 1, _linear),
    (lambda x: x * 2 - 1, lambda a, b: _linear(a, -b)), (lambda x: 2 * x - 1, lambda a, b: _linear(a, -b)),
    (lambda x: x / 2 + 1, lambda a, b: _linear(1 / a, b)), (lambda x: x / 2 - 1, lambda a, b: _linear(1 / a, -b)),
    (lambda x: (x - 1) / 2, lambda a, b: _linear(1 / b, -a / b)), (lambda x: (x - 1) * 2, lambda a, b: _linear(b, -a * b)),
    (lambda x: 2 * (x - 1), lambda a, b: _linear(a, -a * b)),
    (lambda x: x.mul(2).sub(1), lambda a, b: _linear(a, -b)), (lambda x: x.mul(2).add(1), _linear),
    (lambda x: x.sub(1).div(2), lambda a, b: _linear(1 / b, -a / b)),
]
_TABLE: dict[_Shape, Callable[..., Known | None]] = {_read(function)[0]: make for function, make in _FORMS}
