"""The values that argparse gives a script: the defaults of its options, or the values of its command line."""
import argparse
import ast
import contextlib
import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from spdld._values import Member, Refused

_PARSER = "argparse.ArgumentParser"
_GROUPS = ("add_argument_group", "add_mutually_exclusive_group")
_TYPES: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool, "pathlib.Path": str}
_ACTIONS = ("store", "store_true", "store_false", "store_const", "append", "count", "argparse.BooleanOptionalAction")
_OPTIONS_MAX = 1000


class Option(NamedTuple):
    """The value of an attribute of the parsed arguments. why: the reason why the text does not tell it; else empty."""

    value: Any
    why: str
    shown: str  # "--batch-size"
    line: int


class CommandLineError(Exception):
    """The script's parser would refuse the command line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandLineError(message)


class Reader:
    """script: a _script.Script."""

    def __init__(self, script: Any, given: Sequence[str] | None):
        self._script, self._given = script, given

    def parser_of(self, node: ast.expr) -> ast.Call | None:
        """The call that made a parser, also of one of its groups."""
        for _ in range(10):
            made = self._script.followed_or_none(node, even_changed=True)
            if not isinstance(made, ast.Call):
                return None
            if self._script.dotted(made.func) == _PARSER:
                return made
            if not isinstance(made.func, ast.Attribute) or made.func.attr not in _GROUPS:
                return None
            node = made.func.value
        return None

    def options(self, parser: ast.Call, known_alone: bool, is_certain: Callable[[ast.AST], bool]) -> dict[str, Option]:
        """All options of a parser. Raises Refused where the text does not tell what the script adds to the parser."""
        made = _Parser(add_help=False, allow_abbrev=True)
        options: dict[str, Option] = {}
        defaults: dict[str, Option] = {}
        for call in self._calls_on(parser):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name == "add_subparsers":
                raise Refused(f"has a parser with commands at line {call.lineno}")
            if name == "set_defaults":
                defaults.update(self._set_defaults(call, is_certain(call)))
            if name == "add_argument" and len(options) < _OPTIONS_MAX:
                options.update(self._add(made, call, is_certain(call)))
        self._parse(made, options, known_alone)
        return {**options, **{name: entry for name, entry in defaults.items() if self._given is None or name not in options}}

    def _calls_on(self, parser: ast.Call) -> list[ast.Call]:
        return [node for node in self._script.nodes_in_order(ast.Call) if isinstance(node.func, ast.Attribute) and
                node.func.attr in ("add_argument", "set_defaults", "add_subparsers") and
                self.parser_of(node.func.value) is parser]

    def _set_defaults(self, call: ast.Call, is_certain: bool) -> dict[str, Option]:
        done: dict[str, Option] = {}
        for word in call.keywords:
            if word.arg is None:
                raise Refused(f"has defaults that line {call.lineno} of the script computes")
            done[word.arg] = self._default(word.value, f"--{word.arg}", call.lineno, is_certain)
        return done

    def _default(self, node: ast.expr, shown: str, line: int, is_certain: bool) -> Option:
        if not is_certain:
            return Option(None, f"needs {shown}, which line {line} adds in some runs alone", shown, line)
        try:
            value = self._script.value(node)
            if isinstance(value, Member):
                raise Refused(f"needs {shown}, whose default the script's text does not tell")
            return Option(value, "", shown, line)
        except Refused:
            return Option(None, f"needs {shown}, whose default the script's text does not tell", shown, line)

    def _add(self, made: _Parser, call: ast.Call, is_certain: bool) -> dict[str, Option]:
        """The option is put into a parser of argparse's own, so that texts become numbers as in the script."""
        words = {word.arg: word.value for word in call.keywords}
        try:
            flags = [self._script.value(argument) for argument in call.args]
            dest = self._script.value(words["dest"]) if "dest" in words else None
        except Refused as refused:
            raise Refused(f"has an option at line {call.lineno} whose name the text does not tell") from refused
        if None in words or not flags or not all(isinstance(flag, str) for flag in flags):
            raise Refused(f"has an option at line {call.lineno} whose name the text does not tell")
        shown = next((flag for flag in flags if flag.startswith("--")), flags[0])
        options = {"dest": dest} if dest is not None else {}
        why = "" if is_certain else f"needs {shown}, which line {call.lineno} adds in some runs alone"
        for name in ("nargs", "const", "action", "type"):
            if name in words and not why:
                why = self._take(options, name, words[name], shown)
        default = self._default(words["default"], shown, call.lineno, is_certain) if "default" in words else None
        why = why or (default.why if default is not None and self._given is None else "")
        if default is not None:
            options["default"] = default.value
        is_option = flags[0].startswith("-")
        needed = not is_option and options.get("nargs") not in ("?", "*")
        if is_option and "required" in words:
            needed = self._is_true(words["required"])
        if self._given is None and needed:
            how = f'--args "{shown} ..."' if is_option else "--args"
            why = why or f"needs {shown}, without which the script does not run: give it by {how}"
        elif is_option and needed:
            options["required"] = True
        if not is_option and self._given is None and needed:
            options["nargs"] = "?"
        if why and self._given is not None and not is_option:
            raise Refused(why)
        try:
            entry = made.add_argument(*flags, **options)
        except (TypeError, ValueError, argparse.ArgumentError):
            raise Refused(f"has an option {shown} at line {call.lineno} that argparse does not take") from None
        return {entry.dest: Option(None, why, shown, call.lineno)}

    def _take(self, options: dict[str, Any], name: str, node: ast.expr, shown: str) -> str:
        """An argument of add_argument; returns why the option's value is not known, or nothing."""
        if name == "type":
            full = self._script.dotted(node) or (node.id if isinstance(node, ast.Name) else "")
            if full not in _TYPES or ("." not in full and not self._script.is_builtin(full)):
                return f"needs {shown}, whose type the daemon's tools do not run"
            options["type"] = _TYPES[full]
            return ""
        try:
            value = self._script.value(node)
        except Refused:
            return f"needs {shown}, whose {name} the script's text does not tell"
        if isinstance(value, Member):
            value = value.full
        if name == "action" and value not in _ACTIONS:
            return f"needs {shown}, whose action is the script's own"
        if value == "argparse.BooleanOptionalAction":
            value = argparse.BooleanOptionalAction
        options[name] = value
        return ""

    def _is_true(self, node: ast.expr) -> bool:
        try:
            return bool(self._script.value(node))
        except Refused:
            return True

    def _parse(self, made: _Parser, options: dict[str, Option], known_alone: bool) -> None:
        given = list(self._given or [])
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                parsed = made.parse_known_args(given)[0] if known_alone else made.parse_args(given)
        except (argparse.ArgumentError, ValueError, TypeError, AttributeError) as error:
            raise Refused(f"has options that argparse does not take: {error}") from None
        for name, entry in options.items():
            options[name] = entry._replace(value=getattr(parsed, name, None))
