"""Reads a training script's transforms, data sets and DataLoaders from its text. Nothing of the script is run."""
import ast
import math
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from spdld._changes import Changes
from spdld._names import Names
from spdld._operations import ARGUMENTS, DEFAULT, NONE, ONLY_V2, REQUIRED, Transform, why_none
from spdld._transforms import LIST
from spdld._values import Member, Refused

_SHOWN_MAX = 60
_STEPS_MAX = 100_000  # of one look at a value: names that double a list may not take for ever
_LIST_MAX, _TEXT_MAX, _WHOLE_MAX = 4096, 65536, 1 << 63
_DATASET = (("root", REQUIRED), ("transform", None), ("target_transform", None), ("loader", None), ("is_valid_file", None))
_LOADER = tuple((name, None) for name in (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last",
    "timeout", "worker_init_fn", "multiprocessing_context", "generator", "prefetch_factor", "persistent_workers", "pin_memory_device",
    "in_order"))
_FIRST = ("torchvision.transforms", "torchvision.transforms.transforms", "torchvision.transforms.autoaugment")
_SECOND = "torchvision.transforms.v2"
_ENUMS = ("InterpolationMode", "AutoAugmentPolicy")
# What "from module import *" brings.
_STARS = {
    "torchvision.transforms": {**{name: f"torchvision.transforms.{name}" for name in (*ARGUMENTS, *NONE, *_ENUMS)
                                  if name not in (*ONLY_V2, "Sequential")},
                               **{name: f"torchvision.transforms.{name}" for name in ("functional", "transforms", "autoaugment")}},
    _SECOND: {name: f"{_SECOND}.{name}" for name in (*ARGUMENTS, *NONE, *_ENUMS, "functional") if name != "Sequential"},
}


class Call(NamedTuple):
    """A call in the script: the arguments that it gives, by name."""

    line: int
    given: Dict[str, ast.expr]


class Script:
    def __init__(self, text: "str | bytes", path: str):
        self._tree = ast.parse(text, path)
        self._names = Names(self._tree, _STARS)
        self._changes = Changes(self._tree, self._names, self._dotted)
        self._steps = 0

    def doubts(self) -> List[Tuple[int, str]]:
        """Lines that may give any name another meaning, and sentences about them."""
        return self._changes.doubts

    def nodes(self, *kinds: Any) -> List[Any]:
        return [node for node in ast.walk(self._tree) if isinstance(node, kinds)]

    def calls(self, *names: str) -> List[ast.Call]:
        """All calls of functions with these full names, in the order of the lines."""
        found = [node for node in self.nodes(ast.Call) if self.dotted(node.func) in names]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def calls_below(self, module: str) -> List[ast.Call]:
        found = [node for node in self.nodes(ast.Call) if (self.dotted(node.func) or "").startswith(module + ".")]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def dotted(self, node: ast.AST) -> Optional[str]:
        """The full name of what an expression names, by the script's imports; None where it is no such name."""
        full = self._dotted(node)
        return full if full is None or self._changes.line_of_patch(full) is None else None

    def _dotted(self, node: ast.AST) -> Optional[str]:
        for _ in range(20):
            if isinstance(node, ast.Attribute):
                base = self._dotted(node.value)
                return None if base is None else f"{base}.{node.attr}"
            if not isinstance(node, ast.Name):
                return None
            bindings = self._names.bindings(node)
            if bindings and all(binding.full is not None and binding.full == bindings[0].full for binding in bindings):
                return bindings[0].full
            if len(bindings) != 1 or not isinstance(bindings[0].value, (ast.Name, ast.Attribute)):
                return None
            node = bindings[0].value
        return None

    def why_unknown(self, node: ast.expr) -> str:
        """Why the text does not tell what a name of a module's member stands for; empty: there is nothing to say."""
        full = self._dotted(node)
        line = None if full is None else self._changes.line_of_patch(full)
        if line is not None:
            return f"needs {shown(node)}, which line {line} of the script changes"
        while isinstance(node, ast.Attribute):
            node = node.value
        bindings = self._names.bindings(node) if isinstance(node, ast.Name) else []
        if len(bindings) > 1:
            lines = " and ".join(str(line) for line in sorted({binding.line for binding in bindings})[:4])
            return f"needs {shown(node)}, which the script sets in {len(bindings)} places (line {lines})"
        return ""

    def name_of(self, node: ast.expr) -> Optional[ast.Name]:
        """The name that the script binds to this expression, alone."""
        above: Any = self._names.above.get(node)
        single: Any = getattr(above, "target", None)
        targets: List[Any] = above.targets if isinstance(above, ast.Assign) else [single]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or getattr(above, "value", None) is not node:
            return None
        return targets[0] if len(self._names.bindings(targets[0])) == 1 else None

    def line_of_change(self, name: ast.Name) -> Optional[int]:
        """The line that may change a part of what a name stands for, such as its attribute or its list."""
        return self._changes.line_of(name)

    def holds(self, target: ast.AST, node: ast.AST) -> bool:
        """Whether the target is assigned this expression."""
        above = self._names.above.get(target)
        return isinstance(above, (ast.Assign, ast.AnnAssign)) and above.value is node

    def made(self, node: ast.expr) -> Optional[ast.AST]:
        """The definition of the function that a name stands for alone, or a lambda."""
        if isinstance(node, ast.Name):
            bindings = self._names.bindings(node)
            if len(bindings) == 1 and bindings[0].made is not None:
                return bindings[0].made
        try:
            return self.followed(node)
        except Refused:
            return None

    def followed(self, node: ast.expr, even_changed: bool = False) -> ast.expr:
        """The expression that a name stands for, where the script binds it once and does not change the value.

        even_changed: the expression that made the value is wanted, whatever became of the value.
        """
        for _ in range(20):
            if not isinstance(node, ast.Name) or self.dotted(node) is not None:
                return node
            bindings = self._names.bindings(node)
            if len(bindings) > 1:
                raise Refused(f"needs {node.id}, which the script sets in {len(bindings)} places")
            if not bindings or bindings[0].value is None:
                raise Refused(f"needs {node.id}, whose value the script's text does not tell")
            line = self._changes.line_of(node)
            if line is not None and not even_changed:
                raise Refused(f"needs {node.id}, which line {line} of the script may change")
            node = bindings[0].value
        raise Refused(f"needs {shown(node)}, whose value the script's text does not tell")

    def value(self, node: ast.expr) -> Any:
        """The value of an expression made of literals, of names bound to such, and of arithmetic."""
        self._steps = 0
        return self._value(node)

    def _value(self, node: ast.expr) -> Any:
        self._steps += 1
        if self._steps > _STEPS_MAX:
            raise Refused("needs a value that is computed in too many steps")
        name = self.dotted(node)
        if name is not None:
            return Member(name)
        node = self.followed(node)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            values = [self._value(entry) for entry in node.elts]
            return values if isinstance(node, ast.List) else tuple(values)
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            return self._dict(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._number(node.operand)
        if isinstance(node, ast.BinOp):
            return self._computed(node)
        if isinstance(node, ast.Call):
            return self._called(node)
        name = self.dotted(node)
        if name is not None:
            return Member(name)
        raise Refused(self.why_unknown(node) or f"needs {shown(node)}, whose value the script's text does not tell")

    def _dict(self, node: ast.Dict) -> Any:
        made: Dict[Any, Any] = {}
        for key, entry in zip(node.keys, node.values):
            assert key is not None
            try:
                made[self._value(key)] = self._value(entry)
            except TypeError:
                raise Refused(f"needs {shown(node)}, which is no dict") from None
        return made

    def arguments(self, call: ast.Call, names: Sequence[Tuple[Any, ...]]) -> Call:
        """The arguments that a call gives, by their names in the order of `names`. Raises Refused for all others."""
        given: Dict[str, ast.expr] = {}
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(word.arg is None for word in call.keywords):
            raise Refused(f"has arguments in a list or a dict at line {call.lineno}: write them out")
        known = [entry[0] for entry in names]
        if len(call.args) > len(known):
            raise Refused(f"has {len(call.args)} arguments at line {call.lineno}, and {len(known)} are known")
        given.update(zip(known, call.args))
        for word in call.keywords:
            if word.arg is None or word.arg not in known:
                raise Refused(f"has an argument {word.arg} at line {call.lineno}, which is not known: use torchvision's newer names")
            if word.arg in given:
                raise Refused(f"has two arguments {word.arg} at line {call.lineno}")
            given[word.arg] = word.value
        return Call(call.lineno, given)

    def transform(self, node: Any) -> Transform:
        """A transform as an object's attributes would tell it."""
        line = getattr(node, "lineno", None)

        def unknown(what: ast.AST, why: str) -> Transform:
            return Transform(shown(what), lambda attribute: None, False, Refused(why), False, line=line)
        if not isinstance(node, ast.expr) or isinstance(node, ast.Starred):
            return unknown(node, "stands for several transforms with *: write them out")
        try:
            node = self.followed(node)
        except Refused as refused:
            return unknown(node, str(refused))
        if isinstance(node, (ast.List, ast.Tuple, ast.BinOp)):
            return Transform(LIST, lambda attribute: self._members(node), line=line)
        if isinstance(node, ast.Lambda):
            return unknown(ast.Name("Lambda"), why_none("Lambda"))
        if not isinstance(node, ast.Call):
            return unknown(node, "is no call of a class: the script's text does not tell what it does")
        full = self.dotted(node.func) or ""
        module, _, name = full.rpartition(".")
        if full in ("torch.nn.Sequential", "torch.nn.modules.container.Sequential"):
            return Transform("Compose", lambda attribute: self._positional(node), is_v2=True, line=line)
        if module not in (*_FIRST, _SECOND) or name == "Sequential":
            return unknown(node.func, self.why_unknown(node.func) or why_none(shown(node.func)))
        return Transform(name, lambda attribute: self._argument(node, name, attribute), is_v2=module == _SECOND, line=line)

    def _positional(self, call: ast.Call) -> List[ast.expr]:
        if call.keywords:
            raise Refused(f"has named arguments at line {call.lineno}, which it does not take")
        return call.args

    def loader(self, call: ast.Call) -> Call:
        return self.arguments(call, _LOADER)

    def dataset(self, call: ast.Call) -> Call:
        return self.arguments(call, _DATASET)

    def _members(self, node: ast.expr) -> List[ast.expr]:
        node = self.followed(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            if any(isinstance(entry, ast.Starred) for entry in node.elts):
                raise Refused(f"has a part with * at line {node.lineno}: write its transforms out")
            return list(node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            both = self._members(node.left) + self._members(node.right)
            if len(both) <= _LIST_MAX:
                return both
        if isinstance(node, ast.Call) and self.dotted(node.func) == "torch.nn.ModuleList" and len(node.args) == 1:
            return self._members(node.args[0])
        raise Refused(f"has transforms that the script computes, {shown(node)}: write them out")

    def _argument(self, call: ast.Call, name: str, attribute: str) -> Any:
        given = self.arguments(call, ARGUMENTS.get(name, ())).given
        if attribute not in given:
            return DEFAULT
        node = given[attribute]
        return self._members(node) if attribute == "transforms" else self.value(node)

    def _number(self, node: ast.expr) -> Any:
        value = self._value(node)
        if isinstance(value, (int, float)):
            return value
        raise Refused(f"needs the number {shown(node)}, which the script's text does not tell")

    def _computed(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        try:
            return _bounded(_arithmetic(node.op, left, right))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            raise Refused(f"needs {shown(node)}, which cannot be computed from the script's text") from None

    def _called(self, call: ast.Call) -> Any:
        """A few functions without effects: paths are joined, and numbers rounded."""
        name = call.func.id if isinstance(call.func, ast.Name) and self._names.is_builtin(call.func.id) else ""
        known = _FUNCTIONS.get(self.dotted(call.func) or name)
        if known is not None and call.args and not call.keywords:
            try:
                return _bounded(known(*[_no_member(self._value(argument)) for argument in call.args]))
            except (TypeError, ValueError, OverflowError):
                pass
        raise Refused(f"needs {shown(call)}, whose value the script's text does not tell")


class _Path(str):
    """A pathlib.Path, which "/" joins to a name."""


def _path(*parts: Any) -> "_Path":
    return _Path(os.path.join(*parts))


def _text(value: Any) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    raise TypeError


_FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "round": round, "tuple": tuple, "list": list, "str": _text, "math.ceil": math.ceil,
    "math.floor": math.floor, "pathlib.Path": _path, "os.path.join": os.path.join}


def _no_member(value: Any) -> Any:
    """A member of a module may be anything, and nothing is computed from it."""
    if isinstance(value, Member):
        raise TypeError
    return value


def _arithmetic(operator: ast.operator, left: Any, right: Any) -> Any:
    left, right = _no_member(left), _no_member(right)
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
    raise TypeError


def _bounded(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(value) > _LIST_MAX or isinstance(value, str) and len(value) > _TEXT_MAX or \
            isinstance(value, int) and abs(value) >= _WHOLE_MAX:
        raise ValueError
    return value


def shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."
