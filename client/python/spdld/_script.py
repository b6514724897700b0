"""Reads a training script's transforms, data sets and DataLoaders from its text. Nothing of the script is run."""
import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spdld._computing import FUNCTIONS, METHODS, arithmetic, bounded, compared, joined, no_member, part_of
from spdld._hints import hint_of
from spdld._inlining import UNKNOWN
from spdld._known_code import compiled
from spdld._operations import ARGUMENTS, DEFAULT, REQUIRED, Transform, why_none
from spdld._reading import LIST, of_function, of_pieces
from spdld._renaming import plain_name
from spdld._tree import ENUMS, FIRST, SECOND, Tree, shown
from spdld._unfolding import unfold
from spdld._values import Member, Refused

_STEPS_MAX = 100_000  # of one look at a value: names that double a list may not take for ever
_LIST_MAX = 4096
_DATASET = (("root", REQUIRED), ("transform", None), ("target_transform", None), ("loader", None), ("is_valid_file", None))
_LOADER = tuple((name, None) for name in (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last",
    "timeout", "worker_init_fn", "multiprocessing_context", "generator", "prefetch_factor", "persistent_workers",
    "pin_memory_device", "in_order"))


class Call(NamedTuple):
    """A call in the script: the arguments that it gives, by name."""

    line: int
    given: dict[str, ast.expr]


class Script(Tree):
    """A script as it runs: its functions' lines stand where they are called, and what is not run is left out.

    arguments: the script's command line; none: the script runs without arguments.
    """

    def __init__(self, text: "str | bytes", path: str, arguments: Sequence[str] | None = None):
        super().__init__(ast.parse(text, path), Path(path).parent)
        self.command_line = None if arguments is None else list(arguments)
        self.options: dict[str, Any] = {}  # of the command line, whose defaults were read
        self._steps = 0
        self._asked: set[ast.AST] = set()
        unfold(self, self._tree, arguments)

    def alternatives(self, node: ast.expr, depth: int = 20) -> list[ast.expr]:
        """The expressions that a name may stand for, where the script gives it several values; else the expression itself."""
        if isinstance(node, ast.Subscript) and depth > 0:
            try:
                part = self._part(node, False)
            except Refused:
                part = None
            return [node] if part is None else self.alternatives(part, depth - 1)
        if isinstance(node, ast.IfExp) and depth > 0:
            return self.alternatives(node.body, depth - 1) + self.alternatives(node.orelse, depth - 1)
        bindings = self._names.bindings(node) if isinstance(node, ast.Name) and self.dotted(node) is None else []
        values = [binding.value for binding in bindings if binding.value is not None]
        if not values or len(values) != len(bindings) or depth == 0:
            return [node]
        return [entry for value in values for entry in self.alternatives(value, depth - 1)]

    def names_of(self, node: ast.expr) -> set[str | None]:
        """The full names that an expression may stand for."""
        return {self.dotted(entry) for entry in self.alternatives(node)}

    def made(self, node: ast.expr) -> ast.AST | None:
        """The definition of the function that a name stands for alone, or a lambda."""
        if isinstance(node, ast.Name):
            bindings = self._names.bindings(node)
            if len(bindings) == 1 and bindings[0].made is not None:
                return bindings[0].made
        return self.followed_or_none(node)

    def followed_or_none(self, node: ast.expr, even_changed: bool = False) -> ast.expr | None:
        """As followed(); None where the text does not tell."""
        try:
            return self.followed(node, even_changed)
        except Refused:
            return None

    def followed(self, node: ast.expr, even_changed: bool = False) -> ast.expr:
        """The expression that a name stands for, where the script binds it once and does not change the value.

        even_changed: the expression that made the value is wanted, whatever became of the value.
        """
        for _ in range(40):
            if isinstance(node, ast.Subscript):
                part = self._part(node, even_changed)
                if part is None:
                    return node
                node = part
                continue
            if not isinstance(node, ast.Name) or self.dotted(node) is not None:
                return node
            bindings = self._names.bindings(node)
            if len(bindings) > 1:
                lines = sorted({binding.line for binding in bindings})
                where = f" ({', '.join(map(str, lines[:4]))})" if len(lines) > 1 else ""
                raise Refused(f"needs {shown(node)}, which the script sets in {len(bindings)} places{where}")
            if not bindings or bindings[0].value is None:
                raise Refused(f"needs {shown(node)}, whose value the script's text does not tell")
            line = self._line_of_change(node)
            if line is not None and not even_changed:
                raise Refused(f"needs {shown(node)}, which line {line} of the script may change"
                              f"{self._default_of(bindings[0].value)}")
            last, node = node, bindings[0].value
            if isinstance(node, ast.Name) and node.id == UNKNOWN:
                raise Refused(getattr(node, "why", f"needs {shown(last)}, whose value the script's text does not tell"))
        raise Refused(f"needs {shown(node)}, whose value the script's text does not tell")

    @staticmethod
    def _default_of(value: ast.expr | None) -> str:
        option = getattr(value, "option", None)
        return f" ({option} gives {shown(value)})" if value is not None and option is not None else ""

    def _line_of_change(self, name: ast.Name) -> int | None:
        """Of an attribute that has become a name, also the lines that may change its object."""
        line = self._changes.line_of(name)
        if line is None and "." in name.id:
            mark = name.id.rpartition("@")[2]
            for call in self.nodes(ast.Call):
                if mark == f"n{getattr(call, 'namespace', 0)}" or mark == getattr(call, "instance_of", None):
                    above = self._names.above.get(call)
                    attribute = plain_name(name.id).partition(".")[2]
                    targets = above.targets if isinstance(above, ast.Assign) else []
                    lines = [entry for target in targets if isinstance(target, ast.Name)
                             for entry in (self._changes.line_of(target), self._changes.line_of_part(target, attribute))]
                    line = next((entry for entry in lines if entry is not None), line)
        return line

    def _part(self, node: ast.Subscript, even_changed: bool) -> ast.expr | None:
        """The expression that a list or a dict, written out in the script, has at a place; None where it is no such."""
        if node in self._asked:
            return None
        self._asked.add(node)
        try:
            base = self.followed(node.value, even_changed)
            if not isinstance(base, (ast.Dict, ast.List, ast.Tuple)):
                return None
            index = self._value(node.slice)
            if isinstance(base, ast.Dict):
                keys = [None if key is None else self._value(key) for key in base.keys]
                return base.values[keys.index(index)] if keys.count(index) == 1 and None not in keys else None
            plain = not any(isinstance(entry, ast.Starred) for entry in base.elts)
            fits = isinstance(index, int) and not isinstance(index, bool) and -len(base.elts) <= index < len(base.elts)
            return base.elts[index] if plain and fits else None
        finally:
            self._asked.discard(node)

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
        if isinstance(node, ast.Name) and node.id == "__name__" and not self._names.bindings(node):
            return "__main__"
        node = self.followed(node)
        if isinstance(node, ast.Constant):
            return self._noted(node, node.value)
        if isinstance(node, (ast.List, ast.Tuple)):
            values = [self._value(entry) for entry in node.elts]
            return self._noted(node, values if isinstance(node, ast.List) else tuple(values))
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            return self._dict(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._noted(node, -self._number(node.operand))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not no_member_or_refused(self._value(node.operand), node)
        if isinstance(node, ast.BinOp):
            return self._computed(node)
        if isinstance(node, (ast.Compare, ast.JoinedStr, ast.Subscript, ast.BoolOp)):
            return self._decided(node)
        if isinstance(node, ast.Call):
            return self._called(node)
        name = self.dotted(node)
        if name is not None:
            return Member(name)
        raise Refused(self.why_unknown(node) or f"needs {shown(node)}, whose value the script's text does not tell")

    def _noted(self, node: ast.expr, value: Any) -> Any:
        """The value of an option of the command line is told to the user."""
        option = getattr(node, "option", None)
        if option is not None:
            self.options[option] = value
        return value

    def _decided(self, node: ast.expr) -> Any:
        try:
            if isinstance(node, ast.Compare):
                return self._compared(node)
            if isinstance(node, ast.JoinedStr):
                return joined([self._formatted(part) for part in node.values])
            if isinstance(node, ast.Subscript):
                return part_of(self._value(node.value), self._value(node.slice))
            assert isinstance(node, ast.BoolOp)
            for part in node.values:
                value = no_member(self._value(part))
                if bool(value) == isinstance(node.op, ast.Or):
                    break
            return value
        except (TypeError, ValueError, KeyError, IndexError):
            raise Refused(f"needs {shown(node)}, whose value the script's text does not tell") from None

    def _formatted(self, part: ast.expr) -> Any:
        if isinstance(part, ast.FormattedValue):
            if part.conversion != -1 or part.format_spec is not None:
                raise TypeError
            return no_member(self._value(part.value))
        return self._value(part)

    def _compared(self, node: ast.Compare) -> bool:
        left = node.left
        for operator, right in zip(node.ops, node.comparators):
            if isinstance(operator, (ast.Is, ast.IsNot)) and (self._is_object(left) or self._is_object(right)):
                if not any(isinstance(side, ast.Constant) and side.value is None for side in (left, right)):
                    raise TypeError
                holds = isinstance(operator, ast.IsNot)  # an object is not None
            else:
                holds = compared(operator, self._value(left), self._value(right))
            if not holds:
                return False
            left = right
        return True

    def _is_object(self, node: ast.expr) -> bool:
        """Whether an expression makes an object, which is not None: of a class of torch or torchvision, or a list."""
        made = self.followed(node, even_changed=True)
        name = (self.dotted(made.func) or "") if isinstance(made, ast.Call) else ""
        return isinstance(made, (ast.List, ast.Dict, ast.Lambda)) or \
            (name.partition(".")[0] in ("torch", "torchvision") and name.rpartition(".")[2][:1].isupper())

    def _dict(self, node: ast.Dict) -> Any:
        made: dict[Any, Any] = {}
        for key, entry in zip(node.keys, node.values):
            assert key is not None
            try:
                made[self._value(key)] = self._value(entry)
            except TypeError:
                raise Refused(f"needs {shown(node)}, which is no dict") from None
        return made

    def arguments(self, call: ast.Call, names: Sequence[tuple[Any, ...]]) -> Call:
        """The arguments that a call gives, by their names in the order of `names`. Raises Refused for all others."""
        given: dict[str, ast.expr] = {}
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(word.arg is None for word in call.keywords):
            raise Refused(f"has arguments in a list or a dict at line {call.lineno}: write them out")
        known = [entry[0] for entry in names]
        if len(call.args) > len(known):
            raise Refused(f"has {len(call.args)} arguments at line {call.lineno}, and {len(known)} are known")
        given.update(zip(known, call.args))
        for word in call.keywords:
            if word.arg is None or word.arg not in known:
                raise Refused(f"has an argument {word.arg} at line {call.lineno}, which is not known: use torchvision's "
                              "newer names")
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
        known = self._known_function(node)
        if known is not None:
            return known._replace(line=line)
        if isinstance(node, ast.Lambda):
            return unknown(ast.Name("Lambda"), why_none("Lambda"))
        if not isinstance(node, ast.Call):
            return unknown(node, "is no call of a class: the script's text does not tell what it does")
        full = self.dotted(node.func) or ""
        module, _, name = full.rpartition(".")
        if full in ("torch.nn.Sequential", "torch.nn.modules.container.Sequential"):
            return Transform("Compose", lambda attribute: self._positional(node), is_v2=True, line=line)
        if module not in (*FIRST, SECOND) or name == "Sequential":
            return unknown(node.func, self.why_unknown(node.func) or hint_of(full) or why_none(shown(node.func)))
        return Transform(name, lambda attribute: self._argument(node, name, attribute), is_v2=module == SECOND, line=line)

    def _known_function(self, node: ast.expr) -> Transform | None:
        """The meaning of a function, or of torchvision's Lambda of one, where its text is known. It is compiled and not run."""
        full = self.dotted(node.func) or "" if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and full.rpartition(".")[0] in (*FIRST, SECOND) and full.endswith(".Lambda"):
            node = node.args[0] if len(node.args) == 1 and not node.keywords else node
        made = self.made(node) if isinstance(node, (ast.Name, ast.Lambda)) else None
        piece = None if made is None else self._done_to_pieces(made)
        return of_pieces(piece) if piece is not None else None if made is None else of_function(compiled(made))

    def _done_to_pieces(self, made: ast.AST) -> ast.expr | None:
        """The transform in `lambda crops: torch.stack([transform(crop) for crop in crops])`."""
        if not isinstance(made, ast.Lambda):
            return None
        stack = made.body
        if not isinstance(stack, ast.Call) or self.dotted(stack.func) != "torch.stack" or len(stack.args) != 1 or stack.keywords:
            return None
        pieces = stack.args[0]
        if not isinstance(pieces, ast.ListComp) or len(pieces.generators) != 1 or not isinstance(pieces.elt, ast.Call):
            return None
        part, call = pieces.generators[0], pieces.elt
        given = [ast.unparse(entry) for entry in (*made.args.args, part.iter, part.target, *call.args)]
        if part.ifs or call.keywords or len(given) != 4 or given[0] != given[1] or given[2] != given[3] or given[0] == given[2]:
            return None
        return call.func

    def _positional(self, call: ast.Call) -> list[ast.expr]:
        if call.keywords:
            raise Refused(f"has named arguments at line {call.lineno}, which it does not take")
        return call.args

    def loader(self, call: ast.Call) -> Call:
        return self.arguments(call, _LOADER)

    def dataset(self, call: ast.Call) -> Call:
        return self.arguments(call, _DATASET)

    def _members(self, node: ast.expr) -> list[ast.expr]:
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
            return bounded(arithmetic(node.op, left, right))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            raise Refused(f"needs {shown(node)}, which cannot be computed from the script's text") from None

    def _called(self, call: ast.Call) -> Any:
        """A few functions without effects: paths are joined, and numbers rounded."""
        name = call.func.id if isinstance(call.func, ast.Name) and self._names.is_builtin(call.func.id) else ""
        full = self.dotted(call.func)
        known = FUNCTIONS.get(full or name)
        try:
            if known is not None and call.args and not call.keywords:
                return bounded(known(*[no_member(self._value(argument)) for argument in call.args]))
            if name == "dict" and not call.args and all(word.arg is not None for word in call.keywords):
                return {word.arg: self._value(word.value) for word in call.keywords}
            if full is not None and full.rpartition(".")[2] in ENUMS and len(call.args) == 1 and not call.keywords:
                return Member(f"{full}.{_enumerator(self._value(call.args[0]))}")
            if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS and not call.keywords:
                owner = self._value(call.func.value)
                if type(owner) is str:
                    return bounded(METHODS[call.func.attr](owner, *[self._value(argument) for argument in call.args]))
        except (TypeError, ValueError, OverflowError):
            pass
        raise Refused(f"needs {shown(call)}, whose value the script's text does not tell")


def no_member_or_refused(value: Any, node: ast.expr) -> Any:
    if isinstance(value, Member):
        raise Refused(f"needs {shown(node)}, whose value the script's text does not tell")
    return value


def _enumerator(value: Any) -> str:
    """The name of an enumerator that is found by its value, as in InterpolationMode("bicubic")."""
    if isinstance(value, str) and value.islower():
        return value.upper().replace("-", "_")
    raise TypeError
