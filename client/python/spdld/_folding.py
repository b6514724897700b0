"""Leaves out what a script does not run, and writes out lists, dicts and loops whose parts its text tells."""
import ast
import copy
from collections.abc import Sequence
from typing import Any

from spdld._inlining import is_literal, placed
from spdld._names import FUNCTIONS
from spdld._values import Member, Refused

_UNROLLED_MAX = 64
_INNER = (*FUNCTIONS, ast.ClassDef)


def truth(script: Any, node: ast.expr) -> bool | None:
    """Whether a condition holds; None where the text does not tell."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(script, node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        parts = [truth(script, value) for value in node.values]
        decisive = isinstance(node.op, ast.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    try:
        value = script.value(node)
    except Refused:
        return None
    return None if isinstance(value, Member) else bool(value)


class Folder(ast.NodeTransformer):
    """One look at all conditions. changed: whether something was left out or written out."""

    def __init__(self, script: Any):
        self._script = script
        self.changed = False

    def visit_If(self, node: ast.If) -> Any:
        holds = truth(self._script, node.test)
        left_out = node.orelse if holds else node.body
        if holds is None or any(isinstance(part, (ast.Global, ast.Nonlocal)) for entry in left_out for part in ast.walk(entry)):
            return self.generic_visit(node)
        self.changed = True
        kept = node.body if holds else node.orelse
        return [entry for part in kept for entry in _listed(self.visit(part))] or ast.copy_location(ast.Pass(), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`a, b = pair`, where the text tells the pair."""
        target, value = node.targets[0], node.value
        if len(node.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and \
                len(value.elts) == len(target.elts) and \
                not any(isinstance(entry, ast.Starred) for entry in (*value.elts, *target.elts)):
            names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            if not any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(value)):
                self.changed = True
                return [ast.copy_location(ast.Assign(targets=[one], value=part), node)
                        for one, part in zip(target.elts, value.elts)]
        if len(node.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Name) and \
                all(isinstance(entry, ast.Name) for entry in target.elts):
            made = self._script.followed_or_none(node.value)
            if isinstance(made, ast.Tuple) and len(made.elts) == len(target.elts):
                self.changed = True
                return [_nth(node, entry, number) for number, entry in enumerate(target.elts)]
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        holds = truth(self._script, node.test)
        if holds is None:
            return self.generic_visit(node)
        self.changed = True
        return self.visit(node.body if holds else node.orelse)

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        rounds = self._rounds(node.generators, (node.key, node.value))
        if rounds is None:
            return self.generic_visit(node)
        self.changed = True
        return ast.copy_location(ast.Dict(keys=[key for key, _ in rounds], values=[value for _, value in rounds]), node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        rounds = self._rounds(node.generators, (node.elt,))
        if rounds is None:
            return self.generic_visit(node)
        self.changed = True
        return ast.copy_location(ast.List(elts=[entry[0] for entry in rounds], ctx=ast.Load()), node)

    def _rounds(self, generators: list[ast.comprehension], parts: Sequence[ast.expr]) -> list[tuple[ast.expr, ...]] | None:
        """The parts of a comprehension for each of its rounds."""
        if len(generators) != 1 or generators[0].ifs or generators[0].is_async:
            return None
        if any(isinstance(part, (ast.NamedExpr, ast.Lambda, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp))
               for entry in parts for part in ast.walk(entry)):
            return None
        rounds = rounds_of(self._script, generators[0].target, generators[0].iter)
        return None if rounds is None else [tuple(replaced(part, names) for part in parts) for names in rounds]


def _nth(node: ast.Assign, target: ast.expr, number: int) -> ast.stmt:
    part = ast.Subscript(value=copy.copy(node.value), slice=ast.Constant(value=number), ctx=ast.Load())
    return placed(ast.Assign(targets=[target], value=part), node)


def _listed(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [] if made is None else [made]


def rounds_of(script: Any, target: ast.expr, source: ast.expr) -> list[dict[str, ast.expr]] | None:
    """The expressions that a loop's names stand for, in each round; None where the text does not tell."""
    names: list[ast.expr] = [target] if isinstance(target, ast.Name) else \
        list(target.elts) if isinstance(target, ast.Tuple) else []
    entries = _entries(script, source)
    if entries is None or len(entries) > _UNROLLED_MAX or not names or not all(isinstance(name, ast.Name) for name in names):
        return None
    rounds = []
    for entry in entries:
        parts = [entry] if isinstance(target, ast.Name) else list(entry.elts) if isinstance(entry, ast.Tuple) else []
        if len(parts) != len(names):
            return None
        rounds.append({name.id: part for name, part in zip(names, parts) if isinstance(name, ast.Name)})
    return rounds


def _entries(script: Any, source: ast.expr) -> list[ast.expr] | None:
    is_method = isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not source.args
    method = source.func.attr if is_method else ""  # type: ignore[attr-defined]
    base = script.followed_or_none(source.func.value if method in ("items", "keys") else source)  # type: ignore[attr-defined]
    if isinstance(base, ast.Dict) and all(key is not None and is_literal(key) for key in base.keys):
        keys = [key for key in base.keys if key is not None]
        if method != "items":
            return keys
        owner: Any = source.func.value  # type: ignore[attr-defined]
        return [ast.Tuple(elts=[key, ast.Subscript(value=owner, slice=key, ctx=ast.Load())], ctx=ast.Load())
                for key in keys] if isinstance(owner, ast.Name) else None
    if isinstance(base, (ast.List, ast.Tuple)) and not method and all(is_literal(entry) for entry in base.elts):
        return list(base.elts)
    return None


class _Replacer(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]):
        self._names = names

    def visit_Name(self, node: ast.Name) -> Any:
        value = self._names.get(node.id)
        if value is None or not isinstance(node.ctx, ast.Load):
            return node
        made = copy.deepcopy(value)
        for part in ast.walk(made):
            ast.copy_location(part, node)
        return made


def replaced(node: Any, names: dict[str, ast.expr]) -> Any:
    """A copy in which names are replaced by expressions."""
    return _Replacer(names).visit(copy.deepcopy(node))


class Builder:
    """Lists and dicts that are made in one place and filled by the next lines: written out as one list or dict."""

    def __init__(self, script: Any, tree: ast.Module):
        self._script, self._tree = script, tree
        self.changed = False

    def run(self) -> bool:
        for holder in [self._tree, *self._script.nodes(ast.FunctionDef)]:
            self._block(holder.body)
        return self.changed

    def _block(self, body: list[ast.stmt]) -> None:
        for stmt in body:
            if isinstance(stmt, (ast.Try, ast.With, ast.For, ast.While, *_INNER)):
                continue  # a part of it may be left out at run time, or be run again
            for field in ("body", "orelse"):
                inner = getattr(stmt, field, None)
                if isinstance(inner, list):
                    self._block(inner)
        place = 0
        while place < len(body):
            target = _bound_name(body[place])
            if target is not None and self._is_alone(target):
                self._fill(body, place, target)
            place += 1

    def _is_alone(self, target: ast.Name) -> bool:
        """Whether the name is bound to a value here alone."""
        scope, bindings = self._script.place(target)
        return scope is not None and len([entry for entry in bindings if entry.value is not None]) == 1

    def _is_shared(self, target: ast.Name) -> bool:
        """Whether another function has the name, too, so that a call may change the value."""
        own = self._script.function_of(target)
        return any(self._script.function_of(node) is not own for node in self._script.nodes(ast.Name) if node.id == target.id)

    def _fill(self, body: list[ast.stmt], place: int, target: ast.Name) -> None:
        made: Any = getattr(body[place], "value", None)
        number, is_shared = place + 1, self._is_shared(target)
        while number < len(body):
            stmt = body[number]
            if self._adds(stmt, target.id, made):
                del body[number]
                self.changed = True
                continue
            if _mentions(stmt, target.id, isinstance(made, ast.Dict)) or (is_shared and self._script.calls_unknown(stmt)):
                return
            number += 1

    def _adds(self, stmt: ast.stmt, name: str, made: Any) -> bool:
        if isinstance(made, ast.List):
            return self._adds_to_list(stmt, name, made)
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
        if not isinstance(target, ast.Subscript) or not _is_name(target.value, name) or \
                not isinstance(target.slice, ast.Constant):
            return False
        known = [key.value for key in made.keys if isinstance(key, ast.Constant)]
        if len(known) != len(made.keys) or target.slice.value in known or _mentions(stmt.value, name, True):  # type: ignore
            return False
        made.keys.append(target.slice)
        made.values.append(stmt.value)  # type: ignore[attr-defined]
        return True

    def _adds_to_list(self, stmt: ast.stmt, name: str, made: ast.List) -> bool:
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add) and _is_name(stmt.target, name) and \
                isinstance(stmt.value, (ast.List, ast.Tuple)) and not _mentions(stmt.value, name, False):
            made.elts += stmt.value.elts
            return True
        call = stmt.value if isinstance(stmt, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not _is_name(call.func.value, name) or \
                call.keywords or any(_mentions(argument, name, False) for argument in call.args):
            return False
        if call.func.attr == "append" and len(call.args) == 1:
            made.elts.append(call.args[0])
        elif call.func.attr == "extend" and len(call.args) == 1 and isinstance(call.args[0], (ast.List, ast.Tuple)):
            made.elts += call.args[0].elts
        elif call.func.attr == "insert" and len(call.args) == 2 and isinstance(call.args[0], ast.Constant) and \
                isinstance(call.args[0].value, int) and not any(isinstance(entry, ast.Starred) for entry in made.elts):
            made.elts.insert(call.args[0].value, call.args[1])
        else:
            return False
        return True


def _bound_name(stmt: ast.stmt) -> ast.Name | None:
    """The name that a statement binds to a new list or dict."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target] if isinstance(stmt, ast.AnnAssign) else []
    value = getattr(stmt, "value", None)
    fits = isinstance(value, ast.List) or (isinstance(value, ast.Dict) and None not in value.keys)
    return targets[0] if fits and len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _mentions(node: ast.AST, name: str, but_parts: bool) -> bool:
    """Whether the name stands below a node; but_parts: otherwise than to look at one part, `name["a"]`."""
    parts = [part.value for part in ast.walk(node) if but_parts and isinstance(part, ast.Subscript) and
             isinstance(part.ctx, ast.Load) and isinstance(part.slice, ast.Constant)]
    return any(_is_name(part, name) and part not in parts for part in ast.walk(node))


class Unroller:
    """Loops over a few literals that make data sets: written out, with names of their own in each round."""

    def __init__(self, script: Any, tree: ast.Module):
        self._script, self._tree = script, tree
        self.changed = False
        self._count = 0

    def run(self) -> bool:
        for holder in list(ast.walk(self._tree)):
            for field in ("body", "orelse"):
                body = getattr(holder, field, None)
                if isinstance(body, list):
                    setattr(holder, field, [entry for stmt in body for entry in self._rounds(stmt)])
        return self.changed

    def _rounds(self, stmt: ast.stmt) -> list[ast.stmt]:
        if not isinstance(stmt, ast.For) or stmt.orelse or not self._script.makes_data(stmt):
            return [stmt]
        inside = set(ast.walk(stmt))
        own = {part.id for entry in stmt.body for part in ast.walk(entry) if isinstance(part, ast.Name) and
               isinstance(part.ctx, ast.Store)}
        looped = {part.id for part in ast.walk(stmt.target) if isinstance(part, ast.Name)}
        if any(isinstance(part, (ast.Break, ast.Continue, ast.Return, ast.Global, ast.Nonlocal, *_INNER)) for part in inside) or \
                looped & own or any(node.id in looped | own and node not in inside for node in self._script.nodes(ast.Name)):
            return [stmt]
        if not all(self._is_set_first(stmt.body, name) for name in own):
            return [stmt]
        rounds = rounds_of(self._script, stmt.target, stmt.iter)
        if rounds is None:
            return [stmt]
        self.changed = True
        done: list[ast.stmt] = []
        for names in rounds:
            self._count += 1
            for entry in stmt.body:
                made = replaced(entry, names)
                for part in ast.walk(made):
                    if isinstance(part, ast.Name) and part.id in own:
                        part.id = f"{part.id}@r{stmt.lineno}_{self._count}"
                done.append(made)
        return done

    @staticmethod
    def _is_set_first(body: Sequence[ast.stmt], name: str) -> bool:
        """Whether the first statement that has the name is an assignment to it in every round."""
        first = next(stmt for stmt in body if any(_is_name(part, name) for part in ast.walk(stmt)))
        if not isinstance(first, ast.Assign) or any(_is_name(part, name) for part in ast.walk(first.value)):
            return False
        return any(_is_name(part, name) for target in first.targets for part in ast.walk(target))
