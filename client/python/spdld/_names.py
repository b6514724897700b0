"""Which expression each name of a script stands for, by Python's rules for scopes. Nothing of the script is run."""
import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Binding(NamedTuple):
    """One place that gives a name a value: an expression, or what an import brings; neither where the text does not tell.

    made: the definition of a function or a class. source: what a loop variable runs through.
    """

    line: int
    value: ast.expr | None = None
    full: str | None = None
    made: ast.AST | None = None
    source: ast.expr | None = None


class Scope:
    def __init__(self, kind: str, above: Optional["Scope"]):
        self.kind, self.above = kind, above
        self.names: dict[str, list[Binding]] = {}
        self.outer: dict[str, str] = {}  # names that are declared "global" or "nonlocal"

    def owner(self, name: str) -> "Scope":
        """The scope in which this scope binds the name."""
        scope: Scope = self
        if self.outer.get(name) == "global" or "." in name:  # what stands for an attribute of the script's own object
            while scope.above is not None:
                scope = scope.above
        elif self.outer.get(name) == "nonlocal":
            scope = next((entry for entry in scope.functions_above() if name in entry.names), scope)
        return scope

    def functions_above(self) -> Iterator["Scope"]:
        scope = self.above
        while scope is not None:
            if scope.kind == "function":
                yield scope
            scope = scope.above


class Names:
    """`stars`: the names that a "from module import *" binds, for the modules that are known."""

    def __init__(self, tree: ast.Module, stars: dict[str, dict[str, str]]):
        self._stars = stars
        self._unknown_stars: list[tuple[int, str]] = []
        self.module = Scope("module", None)
        self.scopes: dict[ast.AST, Scope] = {}  # the scope that a node stands in
        self.inner: dict[ast.AST, Scope] = {}  # the scope that a function makes
        self._handled: set[ast.AST] = set()
        self.above: dict[ast.AST, ast.AST] = {}  # the node that holds a node
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.above[child] = node
        self._visit(tree, self.module)
        self._all = {name for scope in {self.module, *self.scopes.values()} for name in scope.names}

    def bindings(self, node: ast.Name) -> list[Binding]:
        return self.place(node)[1]

    def place(self, node: ast.Name) -> tuple[Scope | None, list[Binding]]:
        """The scope that a name belongs to and all its bindings there. No scope: it is built in, or it is unknown."""
        scope: Scope | None = self.scopes.get(node, self.module)
        first = scope
        if scope is not None and (node.id in scope.outer or "." in node.id):
            scope = scope.owner(node.id)
        while scope is not None:
            found = scope.names.get(node.id, [])
            if found and (scope.kind != "class" or scope is first):
                hidden = [Binding(line) for line, _ in self._unknown_stars if scope is self.module and line > found[0].line]
                return scope, [*found, *hidden]
            scope = scope.above
        return None, [Binding(line) for line, _ in self._unknown_stars]

    def scope_of(self, node: ast.AST) -> Scope:
        return self.scopes[node]

    def is_builtin(self, name: str) -> bool:
        """Whether nothing in the script gives this name another meaning."""
        return not self._unknown_stars and name not in self._all

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        if scope.kind == "comprehension" and binding.source is None and binding.full is None and scope.above is not None:
            self._bind(scope.above, name, binding)  # of a named expression
        else:
            scope.owner(name).names.setdefault(name, []).append(binding)

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        self.scopes[node] = scope
        if isinstance(node, FUNCTIONS):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._bind(scope, node.name, Binding(node.lineno, made=node))
            for part in (*node.decorator_list, *node.bases, *node.keywords):
                self._visit(part, scope)
            self._body(node.body, Scope("class", scope))
        elif isinstance(node, _COMPREHENSIONS):
            inner = Scope("comprehension", scope)
            for number, each in enumerate(node.generators):
                self._assign(each.target, None, inner, each.iter)
                self._visit(each.iter, inner if number else scope)
                for inside in (each.target, *each.ifs):
                    self._visit(inside, inner)
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.comprehension):
                    self._visit(child, inner)
        else:
            self._note(node, scope)
            for child in ast.iter_child_nodes(node):
                self._visit(child, scope)

    def _function(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, FUNCTIONS)
        inner = self.inner[node] = Scope("function", scope)
        spec = node.args
        for part in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))):
            self._bind(inner, part.arg, Binding(node.lineno, made=part))
            if part.annotation is not None:
                self._visit(part.annotation, scope)
        for value in (*spec.defaults, *filter(None, spec.kw_defaults)):
            self._visit(value, scope)
        if isinstance(node, ast.Lambda):
            return self._body([node.body], inner)
        self._bind(scope, node.name, Binding(node.lineno, made=node))
        for outside in (*node.decorator_list, *filter(None, [node.returns])):
            self._visit(outside, scope)
        self._body(node.body, inner)

    def _body(self, nodes: Sequence[ast.AST], scope: Scope) -> None:
        for declared in _declarations(nodes):
            kind = "global" if isinstance(declared, ast.Global) else "nonlocal"
            scope.outer.update(dict.fromkeys(declared.names, kind))
        for node in nodes:
            self._visit(node, scope)

    def _note(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                self._bind(scope, alias.asname or first, Binding(node.lineno, full=alias.name if alias.asname else first))
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node, scope)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, node.value, scope)
            else:
                self._handled.add(node.target)
        elif isinstance(node, ast.NamedExpr):
            self._assign(node.target, node.value, scope)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._assign(node.target, None, scope, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assign(node.optional_vars, None, scope, node.context_expr)
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            self._bind(scope, node.name, Binding(node.lineno))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in self._handled:
            self._bind(scope, node.id, Binding(node.lineno))
        elif type(node).__name__ in ("MatchAs", "MatchStar", "MatchMapping"):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if name is not None:
                self._bind(scope, name, Binding(getattr(node, "lineno", 0)))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module if node.level == 0 else None
        for alias in node.names:
            if alias.name != "*":
                full = None if module is None else f"{module}.{alias.name}"
                self._bind(scope, alias.asname or alias.name, Binding(node.lineno, full=full))
            elif module in self._stars:
                for name, full in self._stars[module].items():
                    self._bind(scope, name, Binding(node.lineno, full=full))
            else:
                self._unknown_stars.append((node.lineno, module or "."))

    def _assign(self, target: ast.expr, value: ast.expr | None, scope: Scope, source: ast.expr | None = None) -> None:
        self._handled.add(target)
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, Binding(target.lineno, value, source=source))
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
            if parts is not None and any(isinstance(part, ast.Starred) for part in (*parts, *target.elts)):
                parts = None
            for number, part in enumerate(target.elts):
                part = part.value if isinstance(part, ast.Starred) else part
                self._assign(part, None if parts is None else parts[number], scope,
                             source if parts is not None else source or value)


def _declarations(nodes: Sequence[ast.AST]) -> Iterator["ast.Global | ast.Nonlocal"]:
    """The "global" and "nonlocal" of a body. Functions and classes in it have their own."""
    queue: list[ast.AST] = list(nodes)
    while queue:
        node = queue.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield node
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            queue += ast.iter_child_nodes(node)
