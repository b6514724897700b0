"""Reads a training script's transforms, data sets and DataLoaders from its text. Nothing of the script is run."""
import ast
import math
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from spdld._operations import ARGUMENTS, NONE, REQUIRED, Refused, Transform

_CHANGES = ("append", "extend", "insert", "pop", "remove", "reverse", "clear", "sort")
_SHOWN_MAX = 60
_DATASET = (("root", REQUIRED), ("transform", None), ("target_transform", None), ("loader", None), ("is_valid_file", None))
_LOADER = (("dataset", REQUIRED), ("batch_size", 1), ("shuffle", False), ("sampler", None), ("batch_sampler", None),
           ("num_workers", 0), ("collate_fn", None), ("pin_memory", False), ("drop_last", False))


class Dotted(str):
    """A name of a module's member, such as torchvision.transforms.InterpolationMode.BICUBIC."""


class Call(NamedTuple):
    """A call in the script: the arguments that it gives, by name."""

    line: int
    given: Dict[str, ast.expr]


class Script:
    def __init__(self, text: str, path: str):
        self._tree = ast.parse(text, path)
        self._modules: Dict[str, str] = {}
        self._bound: Dict[str, List[ast.expr]] = {}
        self._changed: Dict[str, int] = {}
        for node in ast.walk(self._tree):
            self._note(node)

    def calls(self, *names: str) -> List[ast.Call]:
        """All calls of functions with these full names, in the order of the lines."""
        found = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call) and self.dotted(node.func) in names]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def calls_below(self, module: str) -> List[ast.Call]:
        found = [node for node in ast.walk(self._tree)
                 if isinstance(node, ast.Call) and (self.dotted(node.func) or "").startswith(module + ".")]
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def dotted(self, node: ast.AST) -> Optional[str]:
        """The full name of what an expression names, by the script's imports; None where it is no such name."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def name_of(self, node: ast.expr) -> Optional[str]:
        """The name that the script binds to this expression, alone."""
        return next((name for name, values in self._bound.items() if values == [node]), None)

    def line_of_change(self, name: str) -> Optional[int]:
        """The line that changes a part of what a name stands for, such as its attribute or its list."""
        return self._changed.get(name)

    def followed(self, node: ast.expr) -> ast.expr:
        """The expression that a name stands for, where the script binds it once and does not change the value."""
        for _ in range(20):
            if not isinstance(node, ast.Name) or self.dotted(node) is not None:
                return node
            values = self._bound.get(node.id, [])
            if len(values) != 1:
                raise Refused(f"needs {node.id}, which the script sets in {len(values)} places" if values else
                              f"needs {node.id}, whose value the script's text does not tell")
            if node.id in self._changed:
                raise Refused(f"needs {node.id}, which line {self._changed[node.id]} of the script changes")
            node = values[0]
        raise Refused(f"needs {ast.unparse(node)}, whose value the script's text does not tell")

    def value(self, node: ast.expr) -> Any:
        """The value of an expression made of literals, of names bound to such, and of arithmetic."""
        name = self.dotted(node)
        if name is not None:
            return Dotted(name)
        node = self.followed(node)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(entry) for entry in node.elts]
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            return {self.value(key): self.value(entry) for key, entry in zip(node.keys, node.values) if key is not None}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._number(node.operand)
        if isinstance(node, ast.BinOp):
            return self._computed(node)
        if isinstance(node, ast.Call):
            return self._called(node)
        name = self.dotted(node)
        if name is not None:
            return Dotted(name)
        raise Refused(f"needs {shown(node)}, whose value the script's text does not tell")

    def arguments(self, call: ast.Call, names: Tuple[Tuple[str, Any], ...]) -> Call:
        given: Dict[str, ast.expr] = {}
        for (name, _), argument in zip(names, call.args):
            given[name] = argument
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(word.arg is None for word in call.keywords):
            raise Refused(f"has arguments in a list or a dict at line {call.lineno}: write them out")
        given.update({word.arg: word.value for word in call.keywords if word.arg is not None})
        return Call(call.lineno, given)

    def transform(self, node: Any) -> Transform:
        """A transform as an object's attributes would tell it."""
        try:
            node = self.followed(node)
        except Refused as refused:
            return Transform(shown(node), lambda attribute: None, unknown=refused)
        if isinstance(node, (ast.List, ast.Tuple, ast.BinOp)):
            return Transform("Compose", lambda attribute: self._members(node))
        if isinstance(node, ast.Lambda):
            return Transform("Lambda", lambda attribute: None)
        if not isinstance(node, ast.Call):
            return Transform(shown(node), lambda attribute: None)
        full = self.dotted(node.func) or ""
        name = full.rpartition(".")[2]
        if full == "torch.nn.Sequential":
            return Transform("Compose", lambda attribute: node.args)
        if not full.startswith("torchvision.transforms."):
            return Transform(shown(node.func), lambda attribute: None)
        return Transform(name, lambda attribute: self._argument(node, name, attribute))

    def loader(self, call: ast.Call) -> Call:
        return self.arguments(call, _LOADER)

    def dataset(self, call: ast.Call) -> Call:
        return self.arguments(call, _DATASET)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._modules[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else \
                    alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            below = node.module.startswith("torchvision.transforms")
            for name in (*ARGUMENTS, *NONE, "InterpolationMode", "AutoAugmentPolicy") if below and node.names[0].name == "*" else ():
                self._modules[name] = f"{node.module}.{name}"
            for alias in node.names:
                self._modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, node.value)
        elif isinstance(node, (ast.AugAssign, ast.Delete)):
            for target in node.targets if isinstance(node, ast.Delete) else [node.target]:
                self._note_change(target, node.lineno)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._bind_unknown(node.target)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind_unknown(node.optional_vars)
        elif isinstance(node, ast.arg):  # of a function: its callers say what it is
            self._bound.setdefault(node.arg, []).extend([ast.Name("?"), ast.Name("?")])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            self._note_change(node.func.value, node.lineno)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._bound.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            self._note_change(target, target.lineno)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for part, entry in zip(target.elts, value.elts):
                    self._bind(part, entry)
            else:
                self._bind_unknown(target)

    def _note_change(self, target: ast.expr, line: int) -> None:
        """Of made.transforms[0] it is `made` that changes."""
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name):
            self._changed[target.id] = line

    def _bind_unknown(self, target: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self._bound.setdefault(node.id, []).extend([ast.Name("?"), ast.Name("?")])

    def _members(self, node: ast.expr) -> List[ast.expr]:
        node = self.followed(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            if any(isinstance(entry, ast.Starred) for entry in node.elts):
                raise Refused(f"has a part with * at line {node.lineno}: write its transforms out")
            return list(node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._members(node.left) + self._members(node.right)
        if self.dotted(getattr(node, "func", node)) == "torch.nn.ModuleList" and isinstance(node, ast.Call):
            return self._members(node.args[0])
        raise Refused(f"has transforms that the script computes, {shown(node)}: write them out")

    def _argument(self, call: ast.Call, name: str, attribute: str) -> Any:
        names = ARGUMENTS.get(name, ())
        given = self.arguments(call, names).given
        unknown = next((word for word in given if word not in dict(names)), None)
        if unknown is not None:
            raise Refused(f"has an argument {unknown} at line {call.lineno}, which is not known: use torchvision's newer names")
        if len(call.args) > len(names):
            raise Refused(f"has {len(call.args)} arguments at line {call.lineno}, and {len(names)} are known")
        if attribute in given:
            node = given[attribute]
            return self._members(node) if attribute == "transforms" else self.value(node)
        default = dict(names).get(attribute)
        if default is REQUIRED:
            raise Refused(f"lacks its argument {attribute} at line {call.lineno}")
        return default

    def _number(self, node: ast.expr) -> Any:
        value = self.value(node)
        if isinstance(value, (int, float)):
            return value
        raise Refused(f"needs the number {shown(node)}, which the script's text does not tell")

    def _computed(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        try:
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult) and not isinstance(left, (str, list)) and not isinstance(right, (str, list)):
                return left * right
            if isinstance(node.op, ast.Div):
                return os.path.join(left, right) if isinstance(left, str) else left / right
            if isinstance(node.op, ast.FloorDiv):
                return left // right
        except (TypeError, ZeroDivisionError, OverflowError):
            pass
        raise Refused(f"needs {shown(node)}, which cannot be computed from the script's text")

    def _called(self, call: ast.Call) -> Any:
        """A few functions without effects: paths are joined, and numbers rounded."""
        full = self.dotted(call.func) or (call.func.id if isinstance(call.func, ast.Name) else "")
        known: Dict[str, Callable[..., Any]] = {
            "int": int, "float": float, "round": round, "tuple": list, "list": list, "str": str, "math.ceil": math.ceil,
            "math.floor": math.floor, "pathlib.Path": os.path.join, "os.path.join": os.path.join}
        if full in known and call.args and not call.keywords:
            try:
                return known[full](*[self.value(argument) for argument in call.args])
            except (TypeError, ValueError, OverflowError):
                pass
        raise Refused(f"needs {shown(call)}, whose value the script's text does not tell")


def shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."
