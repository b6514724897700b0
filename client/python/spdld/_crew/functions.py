"""The user's own code that a pipeline calls: the functions of operations with op = "python", the plug-ins of operations with
op = "plugin", and the data sets of sources with type = "python". Here it is found out which there are, how a crew gets them, and
the digest of each, which goes to the daemon with the pipeline."""
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from spdld._crew import Crew
from spdld._crew.calls import OPERATION, SOURCE, attribute_of, checked, imported, no_module, split
from spdld._crew.connection import Connection
from spdld._crew.datasets import DataSet, learned_gives
from spdld._crew.digests import code_of, code_of_file
from spdld._crew.learning import lacks_gives, learn_gives
from spdld._crew.pickles import import_path, pickled_function
from spdld._crew.plugins import resolved
from spdld._errors import InvalidError
from spdld._spec import Pipeline, may_call_functions, spec_text, toml_of

# A crew reads its input from memory. The trainer keeps it for as long as the loader lives, because a daemon that was restarted
# asks for a crew again.
_INPUT_BYTES_MAX = 2**30
_START = "import sys; sys.path.insert(0, sys.argv[1]); from spdld._crew.process import main; main()"


def with_functions(given: Pipeline, ops: Mapping[str, Any] | None, connection: Connection | None = None) -> tuple[Pipeline, Crew]:
    """The pipeline with the digests of what it calls, and the crew that runs that. A pipeline that calls nothing stays as it is,
    and needs no crew. connection: the daemon that what functions give is learned with, where an operation leaves `gives` out."""
    if ops is not None and not isinstance(ops, Mapping):
        raise InvalidError('ops is a dict of functions, by the names that operations call them by, such as {"blur": blur}, and '
                           f"not a value of the type {type(ops).__name__}")
    spec = _spec_with_python(given)
    operations, plugins = list(_operations_in(spec, "python")), list(_operations_in(spec, "plugin"))
    sources = [] if spec is None else list(_sources_in(spec))
    called, sourced = _calls_of(operations), _calls_of(sources)
    for name, value in (ops or {}).items():
        if name not in called and name not in sourced:
            raise _not_called(given, name)
        if name in called:
            checked(value, name)
    if spec is None or not (operations or plugins or sources):
        return given, Crew()
    brought = _Brought(ops or {})
    codes = {call: brought.code_of_function(call) for call in sorted(called)}
    for operation in operations:
        if operation.get("call") in codes:
            operation["code"] = codes[operation["call"]]
    for source in sources:
        if source.get("call") in sourced:
            brought.fill(source)
    folder = given.folder if given.text is None else os.path.dirname(given.text) or "."
    libraries = resolved(plugins, folder or ".")

    def crew_of(ways: Mapping[str, Any]) -> Crew:
        return Crew(_command(), _input(ways, brought.blobs, libraries))

    if connection is not None and lacks_gives(spec):
        learn_gives(spec, folder, brought.ways, crew_of, connection)
    return Pipeline(spec=spec_text(spec), folder=folder), crew_of(brought.ways)


def _not_called(given: Pipeline, name: str) -> InvalidError:
    if given.text is not None and not given.text.endswith(".toml"):
        return InvalidError(f"ops has functions for the named pipeline {given.text}, which is the operator's: give a pipeline in "
                            "a dict or a file")
    return InvalidError(f'ops has "{name}", and no operation of the pipeline calls it: write {{ op = "python", call = "{name}", '
                        "gives = ... } into the ops of an output")


def _spec_with_python(given: Pipeline) -> Any:
    """The spec as dicts and lists, or None where it calls nothing of the user's."""
    if not may_call_functions(given):
        return None
    if given.spec is not None:
        return json.loads(given.spec)
    return toml_of(str(given.text))


def _operations_in(value: Any, op: str) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("op") == op:
            yield value
        for entry in value.values():
            yield from _operations_in(entry, op)
    elif isinstance(value, list):
        for entry in value:
            yield from _operations_in(entry, op)


def _sources_in(spec: Any) -> Iterator[dict[str, Any]]:
    several = spec.get("sources") if isinstance(spec, dict) else None
    for source in [spec.get("source"), *several] if isinstance(several, list) else [spec.get("source")]:
        if isinstance(source, dict) and source.get("type") == "python":
            yield source


def _calls_of(tables: list[dict[str, Any]]) -> set[str]:
    return {table["call"] for table in tables if isinstance(table.get("call"), str)}


class _Brought:
    """The parts of the program that a crew gets."""

    def __init__(self, ops: Mapping[str, Any]) -> None:
        self.ways: dict[str, dict[str, str]] = {}  # by call
        self.blobs: dict[str, bytes] = {}  # by digest
        self._ops = ops

    def code_of_function(self, call: str) -> str:
        if call not in self._ops:
            return _code_of_path(call, OPERATION)
        function = self._ops[call]
        path = import_path(function)
        self._bring(call, path, b"" if path is not None else pickled_function(call, function))
        return code_of(function)

    def fill(self, source: dict[str, Any]) -> None:
        """Says of a source what its data set tells."""
        call = source["call"]
        if call in self._ops:
            given = self._ops[call]
            dataset = given if isinstance(given, DataSet) else DataSet(call, given)
            source["code"] = dataset.code()
            self._bring(call, dataset.path, b"" if dataset.path is not None else dataset.pickled())
        else:
            source["code"] = _code_of_path(call, SOURCE)
            if "samples" in source and "gives" in source:
                return
            dataset = DataSet(call, imported(call, SOURCE), is_imported=True)
        if "samples" not in source:
            source["samples"] = len(dataset)
        if "gives" not in source:
            source["gives"] = learned_gives(dataset)
        dataset.forget()

    def _bring(self, call: str, path: str | None, blob: bytes) -> None:
        if path is not None:
            self.ways[call] = {"path": path}
            return
        digest = hashlib.sha256(blob).hexdigest()
        self.blobs[digest] = blob
        self.ways[call] = {"blob": digest}


def _code_of_path(call: str, caller: str) -> str:
    """The digest of what is not imported for this: its module's whole file counts."""
    name, function = split(call)
    if not function and caller == SOURCE:
        raise InvalidError(f'the source calls "{call}", which is not in ops: give ops={{"{call}": dataset}}, or write call = '
                           '"module:name"')
    if not function:
        raise InvalidError(f'an operation calls "{call}", which is not in ops: give ops={{"{call}": function}}, or write call = '
                           '"module:function"')
    if name in sys.modules:
        attribute_of(sys.modules[name], call, caller)
    origin = _origin_of(call, caller, name)
    return "" if origin is None else code_of_file(origin)


def _origin_of(call: str, caller: str, name: str) -> str | None:
    """The file of a module; packages around it are not imported either."""
    spec, folders = None, None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        inner = ".".join(parts[:count])
        try:
            spec = importlib.util.find_spec(inner) if count == 1 else importlib.machinery.PathFinder.find_spec(inner, folders)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None:
            loaded = sys.modules.get(name)
            if loaded is None:
                raise no_module(call, caller, name)
            return getattr(loaded, "__file__", None)
        folders = spec.submodule_search_locations
        if folders is None and count < len(parts):
            raise no_module(call, caller, name, f" ({inner} is no package)")
    return spec.origin if spec is not None and spec.has_location else None


def _command() -> list[str]:
    if not sys.executable:
        raise InvalidError("the pipeline has Python operations, and this program does not tell its interpreter: set "
                           "sys.executable to the path of a Python with the same packages")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-c", _START, folder]


def _input(functions: Mapping[str, Any], blobs: dict[str, bytes], libraries: dict[str, str]) -> bytes:
    """One line of JSON, and the blobs behind it."""
    head = {"path": [os.path.abspath(folder) for folder in sys.path], "argv": sys.argv,
            "functions": functions, "libraries": libraries, "blobs": [[digest, len(blob)] for digest, blob in blobs.items()]}
    whole = json.dumps(head).encode() + b"\n" + b"".join(blobs.values())
    if len(whole) > _INPUT_BYTES_MAX:
        raise InvalidError(f"what ops brings takes {len(whole) >> 20} MiB when it is pickled, and {_INPUT_BYTES_MAX >> 20} MiB "
                           "are the most: load large values from a file when a function is first called, and give a function "
                           "that makes the data set in its place")
    return whole
