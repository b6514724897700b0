"""Values that are computed from a script's text: arithmetic, and a few functions without effects, each within bounds."""
import ast
import math
import os
from collections.abc import Callable
from typing import Any

from spdld._values import Member

_LIST_MAX, _TEXT_MAX, _WHOLE_MAX = 4096, 65536, 1 << 63


class _Path(str):
    """A pathlib.Path, which "/" joins to a name."""


def _path(*parts: Any) -> "_Path":
    return _Path(os.path.join(*parts))


def _text(value: Any) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    raise TypeError


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "round": round, "tuple": tuple, "list": list, "str": _text, "math.ceil": math.ceil,
    "math.floor": math.floor, "pathlib.Path": _path, "os.path.join": os.path.join, "len": len, "min": min, "max": max, "abs": abs,
    "bool": bool}
METHODS: dict[str, Callable[..., Any]] = {
    name: getattr(str, name) for name in ("lower", "upper", "strip", "startswith", "endswith", "replace", "split")}


def no_member(value: Any) -> Any:
    """A member of a module may be anything, and nothing is computed from it."""
    if isinstance(value, Member):
        raise TypeError
    return value


def arithmetic(operator: ast.operator, left: Any, right: Any) -> Any:
    left, right = no_member(left), no_member(right)
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        for many, count in ((left, right), (right, left)):
            if isinstance(many, (list, tuple)) and isinstance(count, int) and len(many) * count <= _LIST_MAX:
                return many * count
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return left * right
    if isinstance(operator, ast.Div):
        return _path(left, right) if isinstance(left, _Path) else left / right
    if isinstance(operator, ast.FloorDiv):
        return left // right
    if isinstance(operator, ast.Mod) and isinstance(left, (int, float)):
        return left % right
    if isinstance(operator, ast.Pow) and isinstance(right, int) and abs(right) <= 64 and isinstance(left, (int, float)) and \
            abs(left) <= 1_000_000:
        return left ** right
    raise TypeError


def bounded(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(value) > _LIST_MAX or isinstance(value, str) and len(value) > _TEXT_MAX or \
            isinstance(value, int) and abs(value) >= _WHOLE_MAX:
        raise ValueError
    return value


_COMPARED: dict[Any, Callable[[Any, Any], Any]] = {
    ast.Eq: lambda left, right: left == right, ast.NotEq: lambda left, right: left != right,
    ast.Lt: lambda left, right: left < right, ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right, ast.GtE: lambda left, right: left >= right,
    ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
}


def compared(operator: ast.cmpop, left: Any, right: Any) -> bool:
    left, right = no_member(left), no_member(right)
    if isinstance(operator, (ast.Is, ast.IsNot)):
        if not any(value is None or isinstance(value, bool) for value in (left, right)):
            raise TypeError  # whether two equal numbers are one object is the interpreter's own affair
        return (left is right) == isinstance(operator, ast.Is)
    return bool(_COMPARED[type(operator)](left, right))


def joined(parts: "list[Any]") -> str:
    """An f-string of texts and whole numbers."""
    if any(isinstance(part, bool) or not isinstance(part, (str, int)) for part in parts):
        raise TypeError
    return str(bounded("".join(str(part) for part in parts)))


def part_of(value: Any, index: Any) -> Any:
    value, index = no_member(value), no_member(index)
    is_number = isinstance(index, int) and not isinstance(index, bool)
    if isinstance(value, dict) or (isinstance(value, (list, tuple, str)) and is_number):
        return value[index]
    raise TypeError
