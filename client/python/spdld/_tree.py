"""A script's tree: its names, what may change them, and looks at its nodes."""
import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spdld._beside import Beside
from spdld._changes import Changes
from spdld._inlining import UNKNOWN
from spdld._names import FUNCTIONS, Binding, Names, Scope
from spdld._operations import ARGUMENTS, NONE, ONLY_V2
from spdld._renaming import plain_name

_SHOWN_MAX = 60
FIRST = ("torchvision.transforms", "torchvision.transforms.transforms", "torchvision.transforms.autoaugment")
SECOND = "torchvision.transforms.v2"
ENUMS = ("InterpolationMode", "AutoAugmentPolicy")
# What "from module import *" brings.
_STARS = {
    "torchvision.transforms": {**{name: f"torchvision.transforms.{name}" for name in (*ARGUMENTS, *NONE, *ENUMS)
                                  if name not in (*ONLY_V2, "Sequential")},
                               **{name: f"torchvision.transforms.{name}"
                                  for name in ("functional", "transforms", "autoaugment")}},
    SECOND: {name: f"{SECOND}.{name}" for name in (*ARGUMENTS, *NONE, *ENUMS, "functional") if name != "Sequential"},
}


class Tree:
    def __init__(self, tree: ast.Module, folder: Path | None = None):
        """folder: in which the script lies; none: modules beside it are unknown."""
        self._tree = tree
        self._beside = Beside(folder)
        self.look()

    def look(self) -> None:
        """Looks at the whole tree anew, after a change of it."""
        self._all: list[ast.AST] | None = None  # the nodes of the tree, where they were asked for
        self._names = Names(self._tree, _STARS)
        self._changes = Changes(self._tree, self._names, self._dotted, self._beside)

    @property
    def names(self) -> Names:
        return self._names

    def doubts(self) -> list[tuple[int, str]]:
        """Lines that may give any name another meaning, and sentences about them."""
        return self._changes.doubts

    def nodes(self, *kinds: Any) -> list[Any]:
        if self._all is None:
            self._all = list(ast.walk(self._tree))
        return [node for node in self._all if isinstance(node, kinds)]

    def nodes_in_order(self, *kinds: Any) -> list[Any]:
        return sorted(self.nodes(*kinds), key=lambda node: (node.lineno, node.col_offset))

    def above(self, node: ast.AST) -> ast.AST | None:
        return self._names.above.get(node)

    def place(self, name: ast.Name) -> tuple[Scope | None, list[Binding]]:
        return self._names.place(name)

    def module_bindings(self, name: str) -> list[Binding]:
        return self._names.module.names.get(name, [])

    def is_builtin(self, name: str) -> bool:
        return self._names.is_builtin(name)

    def function_of(self, node: ast.AST) -> ast.AST | None:
        """The function that a node stands in."""
        above = self._names.above.get(node)
        while above is not None and not isinstance(above, FUNCTIONS):
            above = self._names.above.get(above)
        return above

    def stands_in(self, name: ast.Name, node: ast.ClassDef) -> bool:
        """Whether a name belongs to a class's own scope."""
        scope = self._names.place(name)[0]
        return scope is not None and scope.kind == "class" and self._names.scopes.get(node.body[0]) is scope

    def is_certain(self, node: ast.AST) -> bool:
        """Whether a line is run where its function is."""
        above = self._names.above.get(node)
        while above is not None and not isinstance(above, FUNCTIONS):
            if isinstance(above, (ast.If, ast.IfExp, ast.BoolOp, ast.For, ast.While, ast.Try, ast.comprehension)):
                return False
            above = self._names.above.get(above)
        return True

    def is_unchanged(self, name: ast.Name) -> bool:
        return self._changes.line_of(name) is None

    def is_unchanged_expression(self, node: ast.expr) -> bool:
        return all(self.is_unchanged(part) for part in ast.walk(node) if isinstance(part, ast.Name) and part.id != UNKNOWN)

    def set_beside(self) -> set[str]:
        """The attributes of parsed arguments that functions beside the script may set."""
        return self._changes.parts()

    def set_elsewhere(self, methods: Iterable[ast.FunctionDef]) -> list[str | None]:
        """The attributes that are set outside of these methods; None for one whose name the text does not tell."""
        inside = {part for method in methods for part in ast.walk(method)}
        names: list[str | None] = [node.attr for node in self.nodes(ast.Attribute)
                                      if not isinstance(node.ctx, ast.Load) and node not in inside]
        for call in self.nodes(ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr") and len(call.args) > 1:
                names.append(str(call.args[1].value) if isinstance(call.args[1], ast.Constant) else None)
        return names

    def changes_command_line(self) -> bool:
        """Whether the script uses sys.argv otherwise than to look at it."""
        for node in self.nodes(ast.Name, ast.Attribute):
            if self._dotted(node) == "sys.argv":
                above: Any = self._names.above.get(node)
                is_part = isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load)
                is_shown = isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and \
                    above.func.id in ("len", "print", "str")
                if not (is_part or is_shown or isinstance(above, (ast.Compare, ast.FormattedValue))) or \
                        not isinstance(node.ctx, ast.Load):
                    return True
        return False

    def makes_data(self, node: ast.AST) -> bool:
        """Whether data sets, DataLoaders or transforms are made below a node."""
        names = [self.dotted(part.func) or "" for part in ast.walk(node) if isinstance(part, ast.Call)]
        return any(name.startswith(("torchvision.", "torch.utils.data.")) for name in names)

    def calls_unknown(self, node: ast.AST) -> bool:
        """Whether functions are called that are no library's."""
        return any(isinstance(part, ast.Call) and self.dotted(part.func) is None and
                   not (isinstance(part.func, ast.Name) and self._names.is_builtin(part.func.id)) for part in ast.walk(node))

    def replace(self, old: ast.AST, new: ast.expr) -> None:
        """Puts another expression into the place of one."""
        self._all = None
        above = self._names.above[old]
        for part in ast.walk(new):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, old)
        for field, value in ast.iter_fields(above):
            if value is old:
                setattr(above, field, new)
            elif isinstance(value, list):
                value[:] = [new if entry is old else entry for entry in value]
        self._names.above[new] = above
        self._names.scopes[new] = self._names.scopes.get(old, self._names.module)

    def insert_before(self, node: ast.AST, made: list[ast.stmt]) -> None:
        """Puts statements before the statement that a node stands in."""
        self._all = None
        while not isinstance(node, ast.stmt):
            node = self._names.above[node]
        for _, value in ast.iter_fields(self._names.above[node]):
            if isinstance(value, list) and node in value:
                place = value.index(node)
                value[place:place] = made

    def calls(self, *names: str) -> list[ast.Call]:
        """All calls of functions with these full names, in the order of the lines."""
        return [node for node in self.nodes_in_order(ast.Call) if self.dotted(node.func) in names]

    def calls_below(self, module: str) -> list[ast.Call]:
        """All calls of functions of a module, in the order of the lines."""
        return [node for node in self.nodes_in_order(ast.Call) if (self.dotted(node.func) or "").startswith(module + ".")]

    def dotted(self, node: ast.AST) -> str | None:
        """The full name of what an expression names, by the script's imports; None where it is no such name."""
        full = self._dotted(node)
        return full if full is None or self._changes.line_of_patch(full) is None else None

    def _dotted(self, node: ast.AST) -> str | None:
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

    def name_of(self, node: ast.expr) -> ast.Name | None:
        """The name that the script binds to this expression, alone."""
        above: Any = self._names.above.get(node)
        single: Any = getattr(above, "target", None)
        targets: list[Any] = above.targets if isinstance(above, ast.Assign) else [single]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or getattr(above, "value", None) is not node:
            return None
        return targets[0] if len(self._names.bindings(targets[0])) == 1 else None

    def line_of_change(self, name: ast.Name) -> int | None:
        """The line that may change a part of what a name stands for, such as its attribute or its list."""
        return self._changes.line_of(name)

    def called(self, node: ast.AST | None) -> str | None:
        """The name that a script gives the value of an expression: its last name, or its key in a dict."""
        found: str | None = None
        for _ in range(10):
            above: Any = None if node is None else self._names.above.get(node)
            if isinstance(above, ast.Dict) and isinstance(node, ast.expr) and node in above.values:
                key = above.keys[above.values.index(node)]
                return str(key.value) if isinstance(key, ast.Constant) else found
            one: Any = getattr(above, "target", None)
            targets: list[Any] = above.targets if isinstance(above, ast.Assign) else [one]
            if above is None or getattr(above, "value", None) is not node or not isinstance(targets[0], ast.Name):
                return found
            found = targets[0].id if "()" not in targets[0].id else found
            again = [use for use in self.nodes(ast.Name) if use.id == targets[0].id and isinstance(use.ctx, ast.Load) and
                     isinstance(self._names.above.get(use), (ast.Assign, ast.Subscript))]
            node = again[0] if len(again) == 1 else None
        return found

    def holds(self, target: ast.AST, node: ast.AST) -> bool:
        """Whether the target is assigned this expression."""
        above = self._names.above.get(target)
        return isinstance(above, (ast.Assign, ast.AnnAssign)) and above.value is node


def shown(node: ast.AST) -> str:
    text = plain_name(" ".join(ast.unparse(node).split()))
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."
