"""Puts the lines of a script's own functions where the script calls them, so that their arguments are known there."""
import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from spdld._names import FUNCTIONS, Names
from spdld._renaming import mark_anew, marks_of, plain_name

_COPIES_MAX, _DEPTH_MAX, _NODES_MAX = 400, 12, 400_000
_HARMLESS_DECORATORS = ("torch.no_grad", "torch.inference_mode", "torch.distributed.elastic.multiprocessing.errors.record")
_SPAWN = ("torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn")
_MAY_BE_SKIPPED = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await)
UNKNOWN = "?"  # a name that no script has, in place of what the text does not tell

Dotted = Callable[[ast.AST], str | None]


class _Known(NamedTuple):
    """A function whose lines can be put elsewhere. skipped: 1 for a method, whose first argument is the object."""

    node: ast.FunctionDef
    skipped: int


class Inliner:
    """One look at all calls of the code that is run from outside; the copied lines may have further calls.

    methods: the methods of the classes whose objects are known, by the class's name and the method's.
    """

    def __init__(self, tree: ast.Module, names: Names, dotted: Dotted, methods: dict[tuple[str, str], ast.FunctionDef],
                 counted: list[int]):
        self._tree, self._names, self._dotted, self._methods = tree, names, dotted, methods
        self._counted = counted  # copies so far
        self._kinds: dict[ast.AST, bool] = {}
        self._used: set[ast.AST] = set()
        self._pre: list[ast.stmt] = []
        self._globals: list[str] = []  # that the copied lines declare
        self._loads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]

    def run(self) -> bool:
        self._tree.body = self._block(self._tree.body)
        for node in list(ast.walk(self._tree)):
            if isinstance(node, ast.FunctionDef) and node not in self._used and self._is_root(node):
                self._globals = []
                node.body = self._block(node.body)
                if self._globals:
                    node.body.insert(0, placed(ast.Global(names=sorted(set(self._globals))), node))
        self._drop_unused()
        return bool(self._used)

    def _is_root(self, node: ast.FunctionDef) -> bool:
        """Whether code that is not looked at may call a function: nothing in the script calls it, or it is passed on."""
        if node in self._methods.values():
            return True
        inside = set(ast.walk(node))
        uses = [load for load in self._loads if load.id == node.name and load not in inside]
        return any(not self._is_called(load) for load in uses) or not uses or not self._is_known(node)

    def _is_called(self, load: ast.Name) -> bool:
        call = self._names.above.get(load)
        if not isinstance(call, ast.Call):
            return False
        return call.func is load or (self._dotted(call.func) in _SPAWN and call.args[:1] == [load])

    def _drop_unused(self) -> None:
        """Functions that are called no more, and were called only where their lines stand now."""
        kept = [node for node in ast.walk(self._tree) if isinstance(node, (ast.Name, ast.Attribute))]
        for holder in ast.walk(self._tree):
            body = getattr(holder, "body", None)
            if isinstance(body, list):
                for node in [entry for entry in body if entry in self._used]:
                    inside = set(ast.walk(node))
                    if node.name == "__init__" or not any(
                            part not in inside and node.name in (getattr(part, "id", None), getattr(part, "attr", None))
                            for part in kept):
                        body[body.index(node)] = ast.copy_location(ast.Pass(), node)

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for stmt in body:
            self._pre = []
            self._inline_in(stmt)
            done += [*self._pre, stmt]
            if isinstance(stmt, (*FUNCTIONS, ast.ClassDef)):
                continue
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(stmt, field, None), list):
                    setattr(stmt, field, self._block(getattr(stmt, field)))
            for handler in getattr(stmt, "handlers", []):
                handler.body = self._block(handler.body)
        return done

    def _inline_in(self, stmt: ast.AST) -> None:
        """The calls in the expressions of one statement, the inner ones first."""
        if isinstance(stmt, (*FUNCTIONS, ast.ClassDef, ast.While, ast.Assert)):
            return
        for field, value in ast.iter_fields(stmt):
            if isinstance(value, ast.expr):
                setattr(stmt, field, self._expression(value))
            elif isinstance(value, list) and field not in ("body", "orelse", "finalbody", "handlers"):
                for number, entry in enumerate(value):
                    if isinstance(entry, ast.expr):
                        value[number] = self._expression(entry)
                    elif isinstance(entry, (ast.keyword, ast.withitem)):
                        self._inline_in(entry)

    def _expression(self, node: ast.expr) -> ast.expr:
        if isinstance(node, _MAY_BE_SKIPPED):
            return node
        self._inline_in(node)
        return self._called(node) if isinstance(node, ast.Call) else node

    def _called(self, call: ast.Call) -> ast.expr:
        known, given = self._callee(call)
        chain: frozenset[str] = getattr(call, "chain", frozenset())
        if known is None or known.node.name in chain or len(chain) >= _DEPTH_MAX or self._counted[0] >= _COPIES_MAX or \
                self._counted[1] >= _NODES_MAX:
            return call
        bound = _bound(known, given)
        if bound is None:
            return call
        self._counted[0] += 1
        self._counted[1] += sum(1 for _ in ast.walk(known.node))
        self._used.add(known.node)
        fresh = f"@c{self._counted[0]}"
        body: list[ast.stmt] = [copy.deepcopy(entry) for entry in known.node.body]
        holder: ast.Module = _Undeclared(self._globals).visit(ast.Module(body=body, type_ignores=[]))
        body = holder.body
        marks = {mark: f"{fresh}_{number}" for number, mark in enumerate(marks_of(known.node))}
        mark_anew(holder, marks)
        for part in ast.walk(holder):
            if isinstance(part, ast.Call):
                part.chain = chain | {known.node.name} | getattr(part, "chain", frozenset())  # type: ignore[attr-defined]
        result = f"{plain_name(known.node.name)}(){fresh}"
        for name, value in bound.items():
            target = ast.Name(id=name, ctx=ast.Store())
            mark_anew(target, marks)
            self._pre.append(placed(ast.Assign(targets=[target], value=value), call))
        gives = any(_returns(entry, True) for entry in body)
        self._pre += tail_form(body, result if gives else None, self._dotted)
        if known.node.name == "__init__":
            made = ast.Call(func=call.func, args=[], keywords=[])
            made.is_made, made.instance_of = True, getattr(call, "instance_of", "")  # type: ignore[attr-defined]
            return placed(made, call)
        if not gives:
            return placed(ast.Constant(value=None), call)
        return placed(ast.Name(id=result, ctx=ast.Load()), call)

    def _callee(self, call: ast.Call) -> tuple[_Known | None, ast.Call]:
        if self._dotted(call.func) in _SPAWN and call.args:
            given = _spawned(call)
            return (None, call) if given is None else self._callee(given)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            owner = getattr(call.func.value, "owner", None)
            method = self._methods.get((owner, call.func.attr)) if owner is not None else None
            return (_Known(method, 1) if method is not None and self._is_known(method) else None), call
        if not isinstance(call.func, ast.Name):
            return None, call
        made_by = self._methods.get((call.func.id, "__init__"))
        if made_by is not None:
            return (_Known(made_by, 1) if not hasattr(call, "is_made") and self._is_known(made_by) else None), call
        bindings = self._names.bindings(call.func) if call.func in self._names.scopes else []
        made = bindings[0].made if len(bindings) == 1 else None
        return (_Known(made, 0) if isinstance(made, ast.FunctionDef) and self._is_known(made) else None), call

    def _is_known(self, node: ast.FunctionDef) -> bool:
        if node not in self._kinds:
            self._kinds[node] = self._look_at(node)
        return self._kinds[node]

    def _look_at(self, node: ast.FunctionDef) -> bool:
        if node.args.vararg is not None or node.args.kwarg is not None:
            return False
        for decorator in node.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._dotted(named) not in _HARMLESS_DECORATORS:
                return False
        own = list(_own(node))
        if any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal)) for part in own):
            return False
        dotted_imports = [alias for part in own if isinstance(part, ast.Import) for alias in part.names
                          if "." in alias.name and alias.asname is None]
        return not dotted_imports


def _own(node: ast.AST) -> Any:
    """The nodes of a function without the nodes of the functions and classes in it."""
    queue = list(ast.iter_child_nodes(node))
    while queue:
        part = queue.pop()
        yield part
        if not isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            queue += ast.iter_child_nodes(part)


def _spawned(call: ast.Call) -> ast.Call | None:
    """The call that torch.multiprocessing.spawn makes in each process: its first argument is the process's number."""
    words = {word.arg: word.value for word in call.keywords}
    listed = words.get("args", call.args[1] if len(call.args) > 1 else ast.Tuple(elts=[], ctx=ast.Load()))
    if not isinstance(listed, ast.Tuple) or not isinstance(call.args[0], ast.Name):
        return None
    made = ast.Call(func=call.args[0], args=[ast.Name(id=UNKNOWN, ctx=ast.Load()), *listed.elts], keywords=[])
    if hasattr(call, "chain"):
        made.chain = call.chain  # type: ignore[attr-defined]
    return placed(made, call)


def _bound(known: _Known, call: ast.Call) -> dict[str, ast.expr] | None:
    """Each argument's expression; None where the call's text does not tell them."""
    spec = known.node.args
    if any(isinstance(entry, ast.Starred) for entry in call.args) or any(word.arg is None for word in call.keywords):
        return None
    positional = [entry.arg for entry in (*spec.posonlyargs, *spec.args)][known.skipped:]
    every = {plain_name(name): name for name in (*positional, *(entry.arg for entry in spec.kwonlyargs))}
    if len(call.args) > len(positional):
        return None
    bound: dict[str, ast.expr] = dict(zip(positional, call.args))
    for word in call.keywords:
        name = every.get(word.arg or "")
        if name is None or name in bound:
            return None
        bound[name] = word.value
    defaults = dict(zip(reversed([entry.arg for entry in (*spec.posonlyargs, *spec.args)]), reversed(spec.defaults)))
    defaults.update({entry.arg: value for entry, value in zip(spec.kwonlyargs, spec.kw_defaults) if value is not None})
    for name in every.values():
        if name not in bound:
            default = defaults.get(name)
            fixed = default is not None and is_literal(default)
            bound[name] = copy.deepcopy(default) if default is not None and fixed else placed(
                ast.Name(id=UNKNOWN, ctx=ast.Load()), call)
    return bound


def is_literal(node: ast.expr) -> bool:
    """A number, a text, None, or a tuple of such: one that nobody can change."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and is_literal(node.operand)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Tuple) and all(map(is_literal, node.elts)))


_Node = TypeVar("_Node", bound=ast.AST)


def placed(node: _Node, at: ast.AST) -> _Node:
    """The node, with the line of another one where it has none of its own."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno") and isinstance(part, (ast.expr, ast.stmt)):
            ast.copy_location(part, at)
    return node


def _returns(stmt: ast.AST, with_value: bool = False) -> bool:
    return any(isinstance(part, ast.Return) and (part.value is not None or not with_value)
               for part in (stmt, *(() if isinstance(stmt, (*FUNCTIONS, ast.ClassDef)) else _own(stmt))))


_PLAIN_MANAGERS = ("torch.no_grad", "torch.inference_mode", "contextlib.nullcontext", "tempfile.TemporaryDirectory")


def ends(body: Sequence[ast.stmt], dotted: Dotted) -> bool:
    """Whether nothing behind these statements is run."""
    for stmt in body:
        if isinstance(stmt, (ast.Return, ast.Raise)):
            return True
        if isinstance(stmt, ast.If) and ends(stmt.body, dotted) and ends(stmt.orelse, dotted):
            return True
        if isinstance(stmt, ast.With) and ends(stmt.body, dotted) and _swallows_nothing(stmt, dotted):
            return True
    return False


def _swallows_nothing(stmt: ast.With, dotted: Dotted) -> bool:
    """Whether what is raised in a block leaves the block: other context managers may swallow it."""
    return all(isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func) in _PLAIN_MANAGERS
               for item in stmt.items)


def tail_form(body: Sequence[ast.stmt], result: str | None, dotted: Dotted) -> list[ast.stmt]:
    """The same without `return`: what it gives is assigned to `result`, and what is not run then stands in an `else`."""
    done: list[ast.stmt] = []
    for number, stmt in enumerate(body):
        rest = list(body[number + 1:])
        if isinstance(stmt, ast.Return):
            return done + _assigned(result, stmt.value, stmt)
        if isinstance(stmt, ast.Raise):
            return done + [stmt]
        if not _returns(stmt):
            done.append(stmt)
        elif isinstance(stmt, ast.If) and ends(stmt.body, dotted):
            return done + [_branch(stmt, stmt.test, tail_form(stmt.body, result, dotted),
                                   tail_form([*stmt.orelse, *rest], result, dotted) or _assigned(result, None, stmt))]
        elif isinstance(stmt, ast.If) and stmt.orelse and ends(stmt.orelse, dotted):
            return done + [_branch(stmt, stmt.test, tail_form([*stmt.body, *rest], result, dotted),
                                   tail_form(stmt.orelse, result, dotted))]
        elif isinstance(stmt, ast.With) and ends([stmt], dotted):
            stmt.body = tail_form(stmt.body, result, dotted)
            return done + [stmt]
        else:  # in a loop, for example: the rest may be run or not
            done.append(_Assigner(result).visit(stmt))
            unknown = placed(ast.Name(id=UNKNOWN, ctx=ast.Load()), stmt)
            return done + [_branch(stmt, unknown, tail_form(rest, result, dotted) or _assigned(result, None, stmt), [])]
    return done + (_assigned(result, None, body[-1]) if body else [])


def _branch(at: ast.stmt, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.stmt:
    made: ast.stmt = placed(ast.If(test=test, body=body, orelse=orelse), at)
    return made


def _assigned(result: str | None, value: ast.expr | None, at: ast.stmt) -> list[ast.stmt]:
    if result is None:
        return [] if value is None else [placed(ast.Expr(value=value), at)]
    value = ast.Constant(value=None) if value is None else value
    return [placed(ast.Assign(targets=[ast.Name(id=result, ctx=ast.Store())], value=value), at)]


class _Undeclared(ast.NodeTransformer):
    """Takes the declarations of global names out, which then stand at the head of the function that gets the lines."""

    def __init__(self, found: list[str]):
        self._found = found

    def visit_Global(self, node: ast.Global) -> Any:
        self._found += node.names
        return ast.copy_location(ast.Pass(), node)

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else super().visit(node)


class _Assigner(ast.NodeTransformer):
    """Puts assignments in the place of `return` wherever it stands."""

    def __init__(self, result: str | None):
        self._result = result

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Return):
            return _assigned(self._result, node.value, node) or placed(ast.Pass(), node)
        return node if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else self.generic_visit(node)
