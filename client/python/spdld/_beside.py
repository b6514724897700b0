"""Modules that lie beside a script: the attributes that their functions set on an argument. Their text is read, and not run."""
import ast
from pathlib import Path

_BYTES_MAX = 4 * 2**20
_LOOKING = ("print", "hasattr", "getattr", "isinstance", "str", "repr")  # they are given the object, and change nothing
_CALLABLE = ("print", "hasattr", "getattr", "isinstance", "str", "repr", "int", "float", "bool", "len", "range", "min", "max")


class Beside:
    """folder: of the script; None: there is none, and nothing is known."""

    def __init__(self, folder: Path | None):
        self._folder = folder
        self._modules: dict[str, ast.Module | None] = {}

    def sets(self, full: str, place: int | str) -> frozenset[str] | None:
        """The attributes that a function, such as "utils.init_distributed_mode", may set or change on its argument at this place
        or of this name. None: the text does not tell, or the argument goes elsewhere."""
        module, _, name = full.rpartition(".")
        tree = self._module(module) if module and "." not in module else None
        made = None if tree is None else _function(tree, name)
        if tree is None or made is None:
            return None
        names = [entry.arg for entry in (*made.args.posonlyargs, *made.args.args)]
        if isinstance(place, int):
            place = names[place] if place < len(names) else ""
        if place not in (*names, *(entry.arg for entry in made.args.kwonlyargs)):
            return None
        return _attributes_set(made, place, _bound_in(tree))

    def _module(self, name: str) -> ast.Module | None:
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> ast.Module | None:
        file = None if self._folder is None else self._folder / f"{name}.py"
        try:
            if file is None or not file.is_file() or file.stat().st_size > _BYTES_MAX:
                return None
            return ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _bound_in(tree: ast.Module) -> set[str]:
    """All names that a module binds anywhere."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return bound


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The function of the module with this name, where nothing else may have it."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if len(found) != 1 or found[0].decorator_list:
        return None
    others = [node for node in ast.walk(tree) if node is not found[0]]
    return None if any(_may_bind(node, name) for node in others) else found[0]


def _may_bind(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id in ("exec", "eval", "globals", "setattr") or (node.id == name and not isinstance(node.ctx, ast.Load))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    return isinstance(node, (ast.Import, ast.ImportFrom)) and \
        any(alias.name == "*" or (alias.asname or alias.name) == name for alias in node.names)


def _attributes_set(made: ast.FunctionDef, name: str, bound: set[str]) -> frozenset[str] | None:
    above: dict[ast.AST, ast.AST] = {child: node for node in ast.walk(made) for child in ast.iter_child_nodes(node)}
    changed: list[str] = []
    for node in ast.walk(made):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        holder = above[node]
        if isinstance(holder, ast.Attribute) and not holder.attr.startswith("_"):
            if _may_change(holder, above, bound):
                changed.append(holder.attr)
        elif not (isinstance(holder, ast.Call) and node in holder.args and _is_builtin(holder.func, bound, _LOOKING)) or \
                isinstance(above.get(holder), ast.Attribute):
            return None
    return frozenset(changed)


def _may_change(part: ast.Attribute, above: dict[ast.AST, ast.AST], bound: set[str]) -> bool:
    """Whether an attribute is set, or its value goes to code that may change it."""
    if not isinstance(part.ctx, ast.Load):
        return True
    node: ast.AST = part
    while isinstance(above.get(node), ast.expr):
        node, child = above[node], node
        if isinstance(node, (ast.Compare, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp)):
            return False  # of its value there is a new one
        if isinstance(node, ast.Call) and not (child in node.args and _is_builtin(node.func, bound, _CALLABLE)):
            return True
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not (isinstance(node, ast.Subscript) and node.slice is child):
            return True
    return not isinstance(above.get(node), (ast.If, ast.While, ast.Expr, ast.Assert))


def _is_builtin(function: ast.expr, bound: set[str], names: "tuple[str, ...]") -> bool:
    return isinstance(function, ast.Name) and function.id in names and function.id not in bound
