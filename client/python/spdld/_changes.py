"""Lists, transforms and data sets that a script may change after they were made, by whatever name, and members of modules.

A value counts as changed where the script assigns to a part of it, calls a method that may change it, gives it to code that is
not known, or puts it where the text does not tell who reaches it.
"""
import ast
from collections.abc import Callable

from spdld._beside import Beside
from spdld._names import Names, Scope

_MODULE_CHANGES = ("setattr", "delattr")
_HARMLESS_METHODS = ("copy", "count", "index", "keys", "values", "items", "get", "format", "join", "split", "eval", "train",
                     "forward", "find_classes", "__len__", "__getitem__", "add_argument", "add_argument_group",
                     "add_mutually_exclusive_group", "set_defaults", "parse_args", "parse_known_args", "print_help", "error",
                     "set_epoch")
_HARMLESS_FUNCTIONS = ("print", "len", "list", "tuple", "str", "repr", "isinstance", "issubclass", "type", "sorted",
                       "enumerate", "zip", "reversed", "dict", "range", "sum", "min", "max", "iter", "next", "any", "all", "set",
                       "id", "hasattr", "getattr", "callable", "int", "float", "round", "bool", "map", "filter", "vars")
# Their results may hold what they are given.
_KEEPERS = ("list", "tuple", "sorted", "enumerate", "zip", "reversed", "dict", "iter", "next", "set", "getattr", "map", "filter",
            "vars", "min", "max")
_DATA = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "torchvision.datasets.ImageFolder",
         "torchvision.datasets.folder.ImageFolder")
_LOGGING = ("debug", "info", "warning", "error", "exception", "critical", "log", "print")
_LIBRARIES = ("torch", "torchvision", "PIL", "numpy", "os", "math", "pathlib", "json", "yaml", "pprint", "logging", "wandb",
              "random")
_PARSING = ("parse_args", "parse_known_args")
_TRAINERS = ("accelerate", "lightning", "pytorch_lightning")
_HOLDERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.BinOp, ast.IfExp, ast.BoolOp, ast.Starred, ast.keyword,
            ast.FormattedValue, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_READERS = (ast.Compare, ast.If, ast.While, ast.Assert, ast.Expr, ast.JoinedStr, ast.UnaryOp, ast.For, ast.AsyncFor,
            ast.comprehension)
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.Call, ast.ListComp, ast.DictComp, ast.SetComp)

Key = tuple[Scope, str]


class Changes:
    """beside: the modules that lie beside the script."""

    def __init__(self, tree: ast.Module, names: Names, dotted: Callable[[ast.AST], str | None], beside: Beside):
        self._names, self._dotted, self._beside = names, dotted, beside
        self._lines: dict[Key, int] = {}
        self._part_lines: dict[Key, dict[str, int]] = {}  # of parsed arguments, whose other attributes stay as they are
        self._patched: list[tuple[str, int]] = []
        self.doubts: list[tuple[int, str]] = []  # what may change any name: lines and sentences
        for node in ast.walk(tree):
            self._look_at(node)

    def line_of(self, node: ast.Name) -> int | None:
        """The line that may change a part of what a name stands for."""
        scope, _ = self._names.place(node)
        return None if scope is None else self._lines.get((scope, node.id))

    def line_of_part(self, node: ast.Name, attribute: str) -> int | None:
        """The line that calls a function beside the script, which may set this attribute of what the name stands for."""
        scope, _ = self._names.place(node)
        return None if scope is None else self._part_lines.get((scope, node.id), {}).get(attribute)

    def parts(self) -> set[str]:
        """All attributes that functions beside the script may set."""
        return {attribute for lines in self._part_lines.values() for attribute in lines}

    def line_of_patch(self, full: str) -> int | None:
        """The line that gives a member of a library, or a part of it, another meaning."""
        for patched, line in self._patched:
            if patched == full or full.startswith(patched + ".") or patched.startswith(full + "."):
                return line
            if patched.partition(".")[0] == full.partition(".")[0] == "torchvision" and \
                    patched.split(".")[1:2] == full.split(".")[1:2]:
                return line  # a class has several full names, by its package and by its file
        return None

    def _look_at(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            self._change(node.value, node.lineno, node)
        elif isinstance(node, ast.Call):
            self._look_at_call(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and self._is_mutable(node) and self._escapes(node):
            self._spread(node, node.lineno, True, set())

    def _look_at_call(self, call: ast.Call) -> None:
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        for binding in self._names.bindings(call.func) if isinstance(call.func, ast.Name) else []:
            method = binding.value  # add = steps.append
            if isinstance(method, ast.Attribute) and method.attr not in _HARMLESS_METHODS and self._dotted(method) is None:
                self._change(method.value, call.lineno)
        if name in _MODULE_CHANGES and call.args:
            known = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) else None
            self._change(call.args[0], call.lineno, ast.Attribute(call.args[0], str(known), ast.Store()) if known else None)
        elif name == "exec":
            self.doubts.append((call.lineno, "exec runs text, which may give any name another meaning"))
        elif name in ("globals", "locals", "vars") and self._may_write(call):
            if name != "vars" or not call.args or self._dotted(call.args[0]) is not None:
                self.doubts.append((call.lineno, f"{name}() may give any name another meaning"))
        elif (self._dotted(call.func) or "").startswith("unittest.mock.patch"):
            self.doubts.append((call.lineno, "unittest.mock may give any name another meaning"))
        elif self._dotted(call.func) in ("sys.modules.update", "sys.modules.setdefault", "importlib.reload"):
            self.doubts.append((call.lineno, "modules are replaced"))

    def _may_write(self, call: ast.expr) -> bool:
        """Whether what globals() gives is used otherwise than by a look at a part of it."""
        above = self._names.above.get(call)
        if isinstance(above, ast.Subscript) and above.value is call:
            part = self._names.above.get(above)
            is_part_changed = isinstance(part, (ast.Attribute, ast.Subscript)) and part.value is above and not (
                isinstance(part.ctx, ast.Load) and not isinstance(self._names.above.get(part), ast.Call))
            return is_part_changed or not isinstance(above.ctx, ast.Load)
        if isinstance(above, ast.Attribute):
            return above.attr not in ("get", "keys", "values", "items", "copy")
        return not isinstance(above, (ast.Compare, ast.Expr, ast.Call, ast.keyword, ast.Starred))

    def _is_mutable(self, node: ast.Name, depth: int = 8) -> bool:
        """Whether the name is bound to a list or another object that can change, to a part of one, or to another name for
        which this holds."""
        for binding in self._names.bindings(node):
            for value in filter(None, (binding.value, self._parted(binding.source))):
                for part in ast.walk(value):
                    if isinstance(part, _MUTABLE) and not self._is_plain(part):
                        return True
                    if isinstance(part, ast.Name) and depth > 0 and self._is_mutable(part, depth - 1):
                        return True
        return False

    def _parted(self, source: ast.expr | None) -> ast.expr | None:
        """The expression whose parts a loop variable may be; none for samples of a data set, and for results of unknown calls."""
        if source is None or self._gives_data(source):
            return None
        calls = [part for part in ast.walk(source) if isinstance(part, ast.Call)]
        is_known = all(isinstance(call.func, ast.Name) and call.func.id in _KEEPERS for call in calls)
        return source if is_known else None

    def _gives_data(self, source: ast.expr) -> bool:
        parts = self._parts(source)
        return any(isinstance(part, ast.Call) and self._dotted(part.func) in _DATA for part in parts) and \
            not any(isinstance(part, ast.Attribute) and part.attr in ("transform", "transforms") for part in ast.walk(source))

    def _parts(self, source: ast.expr, depth: int = 12) -> list[ast.AST]:
        """The nodes of an expression, and of what its names are bound to."""
        parts: list[ast.AST] = list(ast.walk(source))
        for name in [part for part in parts if isinstance(part, ast.Name)] if depth > 0 else []:
            for binding in self._names.bindings(name):
                if binding.value is not None:
                    is_alias = isinstance(binding.value, (ast.Name, ast.Subscript))
                    parts += self._parts(binding.value, depth - 1) if is_alias else ast.walk(binding.value)
        return parts

    def _is_plain(self, node: ast.AST) -> bool:
        """A call that gives a number or a text."""
        if not isinstance(node, ast.Call):
            return False
        name = self._dotted(node.func) or (node.func.id if isinstance(node.func, ast.Name) else "")
        return name.partition(".")[0] in ("os", "math", "pathlib", "int", "float", "str", "round", "len")

    def _escapes(self, name: ast.Name) -> bool:
        """Whether code that is not looked at reaches the value. Its own names are looked at, too."""
        node: ast.AST = name
        above = self._names.above.get(node)
        called: ast.AST | None = None
        while above is not None:
            if isinstance(above, (ast.Attribute, ast.Subscript)):
                if above.value is not node:
                    return False  # an index
                if not isinstance(above.ctx, ast.Load):
                    return False  # _look_at() sees the change
                called = above
            elif isinstance(above, ast.Call):
                if above.func is node and isinstance(node, ast.Call):
                    return True  # getattr(steps, "append")(...)
                if above.func is node:
                    return isinstance(called, ast.Attribute) and called.attr not in (*_HARMLESS_METHODS, *_LOGGING)
                if name in (node, getattr(node, "value", None)) and self._sets_parts(name, above):
                    return False
                if not self._is_harmless(above) or (isinstance(node, ast.Attribute) and node is called and
                                                    getattr(above.func, "id", "") in ("map", "filter", "sorted", "min", "max")):
                    return True
                if not self._keeps(above):
                    return False
                called = None
            elif not isinstance(above, _HOLDERS):
                break
            node, above = above, self._names.above.get(above)
        if isinstance(above, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            targets = above.targets if isinstance(above, ast.Assign) else [above.target]
            return any(isinstance(part, (ast.Attribute, ast.Subscript)) for target in targets for part in ast.walk(target))
        return not isinstance(above, _READERS) and not (isinstance(above, ast.Return) and node is name and self._is_loader(name))

    def _sets_parts(self, name: ast.Name, call: ast.Call) -> bool:
        """Whether a call of a function beside the script is given parsed arguments and sets known attributes of them alone."""
        full = self._dotted(call.func)
        if full is None or not self._is_namespace(name) or any(isinstance(entry, ast.Starred) for entry in call.args):
            return False
        places: list[int | str | None] = [place for place, entry in enumerate(call.args) if entry is name]
        places += [word.arg for word in call.keywords if word.value is name]
        found = [None if place is None else self._beside.sets(full, place) for place in places]
        if not found or None in found:
            return False
        for attributes in found:
            self._spread(name, call.lineno, False, set(), attributes)
        return True

    def _is_namespace(self, name: ast.Name, depth: int = 12) -> bool:
        """Whether a name stands for parsed arguments alone."""
        values = [binding.value for binding in self._names.bindings(name)]
        made = values[0] if len(values) == 1 else None
        if isinstance(made, ast.Name) and depth > 0:
            return self._is_namespace(made, depth - 1)
        return isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _PARSING

    def _is_harmless(self, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Name) and self._names.is_builtin(call.func.id):
            return call.func.id in _HARMLESS_FUNCTIONS
        full = self._dotted(call.func)
        if full is not None:
            return full.partition(".")[0] in _LIBRARIES
        return isinstance(call.func, ast.Attribute) and (call.func.attr in _LOGGING or self._is_trainers(call.func.value))

    def _is_trainers(self, node: ast.expr) -> bool:
        """An object of a library that trains with data as it is."""
        values = [binding.value for binding in self._names.bindings(node)] if isinstance(node, ast.Name) else [node]
        made = values[0] if len(values) == 1 else None
        full = self._dotted(made.func) if isinstance(made, ast.Call) else None
        return full is not None and full.partition(".")[0] in _TRAINERS

    def _is_loader(self, name: ast.Name, depth: int = 12) -> bool:
        """Whether a name stands for a DataLoader alone."""
        values = [binding.value for binding in self._names.bindings(name)]
        made = values[0] if len(values) == 1 else None
        if isinstance(made, ast.Name) and depth > 0:
            return self._is_loader(made, depth - 1)
        return isinstance(made, ast.Call) and self._dotted(made.func) in _DATA[:2]

    def _keeps(self, call: ast.Call) -> bool:
        """Whether what a harmless call gives may hold its arguments, and is no DataLoader, which everybody may have."""
        full = self._dotted(call.func)
        if full is not None:
            return full not in _DATA[:2] and full.partition(".")[0] in ("torch", "torchvision")
        return isinstance(call.func, ast.Name) and call.func.id in _KEEPERS

    def _change(self, changed: ast.expr, line: int, target: ast.AST | None = None) -> None:
        """`changed`: the expression whose value gets another part; `target`: that part, where it has a name."""
        full = self._dotted(target) if isinstance(target, ast.Attribute) else None
        full = full or self._dotted(changed)
        if full is not None:
            if full.startswith("sys.modules"):
                self.doubts.append((line, "modules are replaced"))
            self._patched.append((full, line))
            return
        if any(isinstance(part, ast.Attribute) and part.attr == "dataset" for part in ast.walk(changed)):
            self.doubts.append((line, f"{ast.unparse(changed)} is changed, which may be a part of any data set"))
        self._spread(changed, line, any(isinstance(part, ast.Subscript) for part in ast.walk(changed)), set())

    def _spread(self, changed: ast.expr, line: int, is_deep: bool, seen: set[Key],
                parts: frozenset[str] | None = None) -> None:
        """All names that may stand for the same value: where a part of a part changes, also the names of the parts. `parts`: the
        attributes that change, where no others do."""
        for name in _names_of(changed, is_deep):
            scope, bindings = self._names.place(name)
            if scope is None or (scope, name.id) in seen:
                continue
            seen.add((scope, name.id))
            if parts is not None:
                for attribute in parts:
                    self._part_lines.setdefault((scope, name.id), {}).setdefault(attribute, line)
            elif name is changed or self._is_mutable(name):
                self._lines.setdefault((scope, name.id), line)
            for binding in bindings:
                if binding.value is not None:
                    self._spread(binding.value, line, is_deep, seen, parts)
                source = self._parted(binding.source)
                if source is not None:  # the values that a loop runs through
                    self._spread(source, line, True, seen, parts)


def _names_of(node: ast.expr, is_deep: bool) -> list[ast.Name]:
    """The names whose values an expression's value may be; of a call, the names of its arguments."""
    if is_deep:
        return _names_below(node)
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Name):
        return [node]
    if isinstance(node, ast.Call):
        return [name for part in (*node.args, *(word.value for word in node.keywords)) for name in _names_of(part, False)]
    if isinstance(node, ast.IfExp):
        return _names_of(node.body, False) + _names_of(node.orelse, False)
    if isinstance(node, ast.BoolOp):
        return [name for part in node.values for name in _names_of(part, False)]
    return []


def _names_below(node: ast.AST) -> list[ast.Name]:
    """All names of an expression whose values the expression's value may hold: no indexes, and no parser of what it has
    parsed."""
    if isinstance(node, ast.Name):
        return [node]
    if isinstance(node, ast.Subscript):
        return _names_below(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
            node.func.attr in _PARSING:
        return []
    return [name for child in ast.iter_child_nodes(node) for name in _names_below(child)]
