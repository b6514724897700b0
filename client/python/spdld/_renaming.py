"""Gives each local name of a function a name of its own, so that a function's lines keep their meaning at another place."""
import ast
import re

from spdld._names import FUNCTIONS, Names, Scope

_MARKS = re.compile(r"@\w+")


def plain_name(text: str) -> str:
    """The name as the script has it."""
    return _MARKS.sub("", text)


class _Renamer:
    def __init__(self, names: Names):
        self._names = names
        self._numbers: dict[Scope, int] = {}

    def renamed(self, name: str, scope: "Scope | None") -> str:
        """A local name with its function's number; any other name as it is."""
        if scope is None or scope.kind != "function" or "@" in name:
            return name
        number = self._numbers.setdefault(scope, len(self._numbers) + 1)
        return f"{name}@{number}"

    def rename(self, node: ast.AST) -> None:
        names = self._names
        if isinstance(node, ast.Name):
            node.id = self.renamed(node.id, names.place(node)[0])
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            scope = names.scope_of(node)
            node.names = [self.renamed(name, scope.owner(name)) for name in node.names]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname or "." not in alias.name:
                    bound = alias.asname or alias.name
                    new = self.renamed(bound, names.scope_of(node).owner(bound))
                    alias.asname = new if new != bound else alias.asname
        elif isinstance(node, ast.arg):
            node.arg = self.renamed(node.arg, names.inner[names.above[names.above[node]]])
        for field in ("name", "rest") if not isinstance(node, ast.alias) else ():
            name = getattr(node, field, None)
            if isinstance(name, str) and node in names.scopes:
                setattr(node, field, self.renamed(name, names.scope_of(node).owner(name)))


def rename_locals(tree: ast.Module, names: Names) -> None:
    """A local name gets its function's number behind it, as `size@3`, which no script can write."""
    renamer = _Renamer(names)
    for node in list(ast.walk(tree)):
        renamer.rename(node)


def mark_anew(node: ast.AST, marks: dict[str, str]) -> None:
    """Changes the marks of all names below a node, for a copy of a function's lines."""
    def changed(text: str) -> str:
        return _MARKS.sub(lambda found: marks.get(found.group(), found.group()), text)
    for part in ast.walk(node):
        for field in ("id", "arg", "name", "rest", "asname"):
            value = getattr(part, field, None)
            if isinstance(value, str) and "@" in value:
                setattr(part, field, changed(value))
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            part.names = [changed(name) for name in part.names]


def marks_of(function: "ast.AST") -> dict[str, None]:
    """The marks that a function and the functions in it give to their local names."""
    found: dict[str, None] = {}
    for part in ast.walk(function):
        if isinstance(part, FUNCTIONS):
            spec = part.args
            for entry in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))):
                found.update(dict.fromkeys(_MARKS.findall(entry.arg)))
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and "." not in part.id:
            found.update(dict.fromkeys(_MARKS.findall(part.id)))
    return found
