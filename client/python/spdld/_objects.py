"""Attributes of a script's own objects as names: of its classes that hold settings, of its data modules, of parsed arguments.

An attribute becomes a name with a dot in it, as `self.size@DataModule`, which belongs to the whole script.
"""
import ast
from typing import Any

from spdld._inlining import UNKNOWN, is_literal, placed
from spdld._renaming import plain_name
from spdld._values import Refused

_BASES = ("lightning.pytorch.LightningDataModule", "lightning.LightningDataModule", "pytorch_lightning.LightningDataModule",
          "lightning.pytorch.LightningModule", "lightning.LightningModule", "pytorch_lightning.LightningModule",
          "lightning.pytorch.core.LightningDataModule", "pytorch_lightning.core.LightningDataModule")
_DATACLASSES = ("dataclasses.dataclass",)
_TUNERS = ("scale_batch_size", "auto_scale_batch_size")  # Lightning changes the data module's batch_size then


_SPECIAL = ("__init__", "__len__", "__getitem__", "__repr__", "__str__", "__call__", "__iter__", "__enter__", "__exit__")


class Known:
    """A class of the script whose attributes are known by its text."""

    def __init__(self, node: ast.ClassDef, bases: set[str]):
        self.node, self.bases = node, bases
        self.methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        self.attributes: set[str] = set()
        self.calls: list[ast.Call] = []
        self.is_dataclass = False

    def name(self, attribute: str) -> str:
        return f"{'self' if self.methods else plain_name(self.node.name)}.{attribute}@{plain_name(self.node.name)}"

    @property
    def is_lightning(self) -> bool:
        return any("Lightning" in base for base in self.bases)


class Objects:
    def __init__(self, script: Any, tree: ast.Module):
        self._script, self._tree = script, tree
        self.known: dict[str, Known] = {}
        self.methods: dict[tuple[str, str], ast.FunctionDef] = {}

    def find(self) -> None:
        """Looks at all classes once, and gives names to the attributes of known classes."""
        for node in self._tree.body:
            known = self._looked_at(node) if isinstance(node, ast.ClassDef) else None
            if known is not None:
                self.known[known.node.name] = known
        for known in self.known.values():
            self._name_attributes(known)

    def _looked_at(self, node: ast.ClassDef) -> Known | None:
        script = self._script
        bases = {script.dotted(base) or (base.id if isinstance(base, ast.Name) and base.id == "object" else "")
                 for base in node.bases}
        decorators = [script.dotted(entry.func if isinstance(entry, ast.Call) else entry) for entry in node.decorator_list]
        if node.keywords or not bases <= {*_BASES, "object"} or not set(decorators) <= set(_DATACLASSES):
            return None
        known = Known(node, bases)
        known.is_dataclass = bool(decorators)
        uses = [load for load in script.nodes(ast.Name) if load.id == node.name]
        for use in uses:
            above = script.above(use)
            if isinstance(above, ast.Call) and above.func is use:
                known.calls.append(above)
                if not known.is_lightning:  # Lightning changes a data module's attributes where it tunes them alone
                    above.instance_of = plain_name(node.name)  # type: ignore[attr-defined]
            elif not (isinstance(above, ast.Attribute) and isinstance(above.ctx, ast.Load)):
                return None
        if len(script.module_bindings(node.name)) != 1 or not self._is_plain(known):
            return None
        return known

    def _is_plain(self, known: Known) -> bool:
        """Whether the methods use their object for its attributes alone."""
        if any(name.startswith("__") and name not in _SPECIAL for name in known.methods):
            return False
        if any(name is None or name in known.methods for name in self._script.set_elsewhere(known.methods.values())):
            return False
        if len(known.calls) > 1 and (known.methods or known.is_dataclass):
            return False
        if known.is_lightning and any(getattr(node, "attr", getattr(node, "arg", None)) in _TUNERS
                                      for node in self._script.nodes(ast.Attribute, ast.keyword)):
            return False
        for method in known.methods.values():
            own = _object_of(method)
            if own is None:
                continue
            for load in self._script.nodes(ast.Name):
                if load.id == own:
                    above = self._script.above(load)
                    if not isinstance(above, ast.Attribute) or above.attr.startswith("__") or \
                            (above.attr in known.methods and not isinstance(above.ctx, ast.Load)):
                        return False
        return True

    def _name_attributes(self, known: Known) -> None:
        owners = {own for method in known.methods.values() for own in [_object_of(method)] if own is not None}
        attributes = self._script.nodes(ast.Attribute)
        own = [node for node in attributes if isinstance(node.value, ast.Name) and node.value.id in owners]
        elsewhere = {node.attr for node in attributes if not isinstance(node.ctx, ast.Load) and node not in own}
        stored = {node.attr for node in own if isinstance(node.ctx, ast.Store)}
        fields = {target.id for stmt in known.node.body for target in _targets(stmt)}
        self._add_hyperparameters(known, own)
        known.attributes = (stored | fields) - elsewhere - set(known.methods)
        for node in own:
            node.value.owner = known.node.name
            if node.attr in known.attributes:
                self._script.replace(node, ast.Name(id=known.name(node.attr), ctx=node.ctx))
        for node in self._script.nodes(ast.Name):
            if node.id in known.attributes and self._script.stands_in(node, known.node):
                node.id = known.name(node.id)
        if known.is_dataclass and len(known.calls) == 1:
            self._set_fields(known)
        self.methods.update({(known.node.name, name): method for name, method in known.methods.items()
                             if _object_of(method) is not None})

    def _add_hyperparameters(self, known: Known, own: list[ast.Attribute]) -> None:
        """Lightning's self.save_hyperparameters() keeps the arguments of __init__ as self.hparams."""
        made = known.methods.get("__init__")
        for stmt in list(made.body) if made is not None and known.is_lightning else []:
            call = stmt.value if isinstance(stmt, ast.Expr) else None
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args or call.keywords or \
                    call.func.attr != "save_hyperparameters":
                continue
            assert made is not None
            names = [entry.arg for entry in (*made.args.args[1:], *made.args.kwonlyargs)]
            inner = {plain_name(name): name for name in names}
            uses = [node for node in self._script.nodes(ast.Attribute) if node.value in own and node.value.attr == "hparams"]
            if any(not isinstance(node.ctx, ast.Load) for node in uses):
                return
            for node in uses:
                if node.attr in inner:
                    self._script.replace(node, ast.Name(id=known.name(f"hparams.{node.attr}"), ctx=ast.Load()))
            place = made.body.index(stmt)
            made.body[place + 1:place + 1] = [
                _assign(known.name(f"hparams.{plain}"), ast.Name(id=name, ctx=ast.Load()), stmt) for plain, name in inner.items()]

    def _set_fields(self, known: Known) -> None:
        """The arguments of the one call of a dataclass replace the defaults of the fields."""
        call = known.calls[0]
        order = [target.id for stmt in known.node.body if isinstance(stmt, ast.AnnAssign) for target in _targets(stmt, True)]
        names = {plain_name(name.partition(".")[2]): name for name in order if "." in name}
        given: dict[str, ast.expr] = dict(zip(names, call.args))
        if any(isinstance(entry, ast.Starred) for entry in call.args) or any(word.arg is None for word in call.keywords):
            given = {name: ast.copy_location(ast.Name(id=UNKNOWN, ctx=ast.Load()), call) for name in names}
        given.update({word.arg: word.value for word in call.keywords if word.arg is not None})
        for stmt in known.node.body:
            if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
                plain = plain_name(stmt.target.id.partition(".")[2])
                if plain in given:
                    stmt.value = None
                elif stmt.value is not None and not is_literal(stmt.value):
                    stmt.value = ast.copy_location(ast.Name(id=UNKNOWN, ctx=ast.Load()), stmt)
        call.args, call.keywords = [], []
        self._script.insert_before(call, [_assign(names[name], value, call) for name, value in given.items() if name in names])

    def name_more(self) -> bool:
        """Attributes of a name that stands for an object of a known class: `data.size`, `Settings.size`."""
        changed = False
        for node in self._script.nodes(ast.Attribute):
            if not isinstance(node.value, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            known = self._class_of(node.value)
            if known is not None and (known.node.name, node.attr) in self.methods and not hasattr(node.value, "owner"):
                node.value.owner = known.node.name  # type: ignore[attr-defined]
                changed = True
            if known is not None and node.attr in known.attributes:
                self._script.replace(node, ast.Name(id=known.name(node.attr), ctx=ast.Load()))
                changed = True
        return changed

    def _class_of(self, name: ast.Name) -> Known | None:
        if name.id in self.known:
            return self.known[name.id] if not self.known[name.id].methods else None
        made = self._script.followed_or_none(name, even_changed=True)
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id in self.known:
            return self.known[made.func.id]
        return None


def _object_of(method: ast.FunctionDef) -> str | None:
    """The name of the object in a method; none in a static method, and where a decorator may do anything."""
    if any(not isinstance(entry, ast.Name) or entry.id != "property" for entry in method.decorator_list):
        return None
    spec = [*method.args.posonlyargs, *method.args.args]
    return spec[0].arg if spec else None


def _targets(stmt: ast.stmt, even_empty: bool = False) -> list[ast.Name]:
    """The names that a line of a class sets."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else \
        [stmt.target] if isinstance(stmt, ast.AnnAssign) and (stmt.value is not None or even_empty) else []
    return [target for target in targets if isinstance(target, ast.Name)]


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return placed(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value), at)


class Namespaces:
    """The arguments that argparse parsed: each attribute becomes a name that is bound to the option's value."""

    def __init__(self, script: Any, reader: Any):
        self._script, self._reader = script, reader
        self._count = 0
        self._options: dict[int, Any] = {}

    def run(self) -> bool:
        changed = False
        for call in self._script.nodes_in_order(ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("parse_args", "parse_known_args") and \
                    not hasattr(call, "namespace"):
                changed = self._read(call) or changed
        return self._name_attributes() or changed

    def _read(self, call: ast.Call) -> bool:
        assert isinstance(call.func, ast.Attribute)
        parser = self._reader.parser_of(call.func.value)
        if parser is None:
            return False
        self._count += 1
        call.namespace = self._count  # type: ignore[attr-defined]
        is_known_alone = call.func.attr == "parse_known_args"
        if is_known_alone:
            self._take_first(call)
        try:
            if self._script.changes_command_line():
                raise Refused("has a command line that the script changes")
            if call.args or call.keywords or not self._script.is_unchanged_expression(call.func.value):
                raise Refused("is given a list of its own")
            options = self._reader.options(parser, is_known_alone, self._script.is_certain)
        except Refused:
            return is_known_alone
        self._options[_number(call)] = options
        made = []
        for name, option in options.items():
            value: ast.expr = ast.Name(id=UNKNOWN, ctx=ast.Load())
            if option.why:
                value.why = option.why  # type: ignore[attr-defined]
            else:
                value = _literal(option.value)
                value.option = option.shown  # type: ignore[attr-defined]
            ast.copy_location(value, call)
            stmt = _assign(self._name(call, name), value, call)
            for part in ast.walk(stmt):
                part.lineno = option.line
            made.append(stmt)
        self._script.insert_before(call, made)
        return True

    def _name(self, call: ast.Call, attribute: str) -> str:
        return f"args.{attribute}@n{_number(call)}"

    def _take_first(self, call: ast.Call) -> None:
        """`args, rest = parser.parse_known_args()` and `parser.parse_known_args()[0]` are the arguments."""
        above = self._script.above(call)
        if isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant) and above.slice.value == 0:
            self._script.replace(above, call)
        elif isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Tuple) and \
                len(above.targets[0].elts) == 2:
            first, rest = above.targets[0].elts
            above.targets = [first]
            other = placed(ast.Assign(targets=[rest], value=ast.Name(id=UNKNOWN, ctx=ast.Load())), above)
            self._script.insert_before(call, [other])

    def _name_attributes(self) -> bool:
        changed = False
        stored = {node.attr for node in self._script.nodes(ast.Attribute) if not isinstance(node.ctx, ast.Load)}
        stored |= self._script.set_beside()
        stored |= {plain_name(node.id).partition(".")[2] for node in self._script.nodes(ast.Name) if "." in node.id}
        for node in self._script.nodes(ast.Attribute):
            made = self._namespace(node.value) if not node.attr.startswith("_") else None
            if made is not None and _number(made) in self._options:
                self._script.replace(node, ast.Name(id=self._name(made, node.attr), ctx=node.ctx))
                changed = True
        for call in self._script.nodes_in_order(ast.Call):
            changed = self._look_up(call, stored) or changed
        return changed

    def _look_up(self, call: ast.Call, stored: set[str]) -> bool:
        """getattr(args, "size", 224) and hasattr(args, "size")."""
        function = call.func.id if isinstance(call.func, ast.Name) and self._script.is_builtin(call.func.id) else ""
        if function not in ("getattr", "hasattr") or len(call.args) < 2 or not isinstance(call.args[1], ast.Constant):
            return False
        made, name = self._namespace(call.args[0]), str(call.args[1].value)
        options = None if made is None else self._options.get(_number(made))
        if made is None or options is None:
            return False
        if name in options:
            self._script.replace(call, ast.Name(id=self._name(made, name), ctx=ast.Load())
                                 if function == "getattr" else ast.Constant(value=True))
        elif name in stored or not self._script.is_unchanged_expression(call.args[0]):
            return False
        elif function == "hasattr":
            self._script.replace(call, ast.Constant(value=False))
        elif len(call.args) == 3:
            self._script.replace(call, call.args[2])
        else:
            return False
        return True

    def _namespace(self, node: ast.expr) -> ast.Call | None:
        if not isinstance(node, (ast.Name, ast.Call)):
            return None
        made = self._script.followed_or_none(node, even_changed=True)
        return made if isinstance(made, ast.Call) and _number(made) else None


def _number(call: ast.Call) -> int:
    """Of a call that parses arguments, also in a copy of its function; 0 for other calls."""
    return int(getattr(call, "namespace", 0))


def _literal(value: Any) -> ast.expr:
    try:
        return ast.parse(repr(value), mode="eval").body
    except SyntaxError:
        return ast.Name(id=UNKNOWN, ctx=ast.Load())
