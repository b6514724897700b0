"""The user's own functions that a pipeline calls (operations with op = "python"): which ones there are, how a crew gets them,
and the digest of each, which goes to the daemon with the pipeline."""
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spdld._crew import Crew
from spdld._crew.calls import attribute_of, checked, no_module, split
from spdld._crew.digests import code_of, code_of_file
from spdld._errors import InvalidError
from spdld._spec import Pipeline, may_call_functions, spec_text, toml_of

_INPUT_BYTES_MAX = 15 * 2**20
_START = "import sys; sys.path.insert(0, sys.argv[1]); from spdld._crew.process import main; main()"


def with_functions(given: Pipeline, ops: Mapping[str, Callable[..., Any]] | None) -> tuple[Pipeline, Crew]:
    """The pipeline with the digests of the functions that it calls, and the crew that runs them. A pipeline that calls none
    stays as it is, and needs no crew."""
    if ops is not None and not isinstance(ops, Mapping):
        raise InvalidError('ops is a dict of functions, by the names that operations call them by, such as {"blur": blur}, and '
                           f"not a value of the type {type(ops).__name__}")
    spec = _spec_with_python(given)
    operations = [] if spec is None else list(_operations_in(spec))
    called = {operation["call"] for operation in operations if isinstance(operation.get("call"), str)}
    for name, function in (ops or {}).items():
        if name not in called:
            raise InvalidError(f'ops has "{name}", and no operation of the pipeline calls it: write {{ op = "python", call = '
                               f'"{name}", gives = ... }} into the ops of an output' if given.text is None or
                               given.text.endswith(".toml") else
                               f"ops has functions for the named pipeline {given.text}, which is the operator's: give a "
                               "pipeline in a dict or a file")
        checked(function, name)
    if spec is None or not operations:
        return given, Crew()
    functions: dict[str, dict[str, str]] = {}
    blobs: dict[str, bytes] = {}
    codes = {call: _resolved(call, ops or {}, functions, blobs) for call in sorted(called)}
    for operation in operations:
        if operation.get("call") in codes:
            operation["code"] = codes[operation["call"]]
    folder = given.folder if given.text is None else os.path.dirname(given.text) or "."
    return Pipeline(spec=spec_text(spec), folder=folder), Crew(_command(), _input(functions, blobs))


def _spec_with_python(given: Pipeline) -> Any:
    """The spec as dicts and lists, or None where it has no operation of the user's."""
    if not may_call_functions(given):
        return None
    if given.spec is not None:
        return json.loads(given.spec)
    return toml_of(str(given.text))


def _operations_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("op") == "python":
            yield value
        for entry in value.values():
            yield from _operations_in(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _operations_in(entry)


def _resolved(call: str, ops: Mapping[str, Callable[..., Any]], functions: dict[str, dict[str, str]],
              blobs: dict[str, bytes]) -> str:
    """The digest of a function; how a crew gets it is added to `functions` and `blobs`."""
    if call not in ops:
        return _code_of_path(call)
    function = ops[call]
    path = _import_path(function)
    if path is not None:
        functions[call] = {"path": path}
    else:
        blob = _pickled(call, function)
        digest = hashlib.sha256(blob).hexdigest()
        blobs[digest] = blob
        functions[call] = {"blob": digest}
    return code_of(function)


def _code_of_path(call: str) -> str:
    """The digest of a function that is not imported for this: its module's whole file counts."""
    name, function = split(call)
    if not function:
        raise InvalidError(f'an operation calls "{call}", which is not in ops: give ops={{"{call}": function}}, or write call = '
                           '"module:function"')
    if name in sys.modules:
        attribute_of(sys.modules[name], call)
    origin = _origin_of(call, name)
    return "" if origin is None else code_of_file(origin)


def _origin_of(call: str, name: str) -> str | None:
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
                raise no_module(call, name)
            return getattr(loaded, "__file__", None)
        folders = spec.submodule_search_locations
        if folders is None and count < len(parts):
            raise no_module(call, name, f" ({inner} is no package)")
    return spec.origin if spec is not None and spec.has_location else None


def _import_path(function: Any) -> str | None:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    loaded = sys.modules.get(module) if isinstance(module, str) and module != "__main__" else None
    if loaded is None or getattr(loaded, "__spec__", None) is None or not isinstance(name, str) or "<" in name:
        return None
    found: Any = loaded
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is function else None


def _pickled(call: str, function: Any) -> bytes:
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
    except ImportError:
        raise InvalidError(f'the function "{call}" of ops cannot be imported from a module, so it is to be pickled: install '
                           "cloudpickle, or move the function to the top of a module") from None
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:
        where = _unpicklable(cloudpickle, function)
        raise InvalidError(f'the function "{call}" of ops cannot be pickled{where}: {type(error).__name__}: {error}. Make such a '
                           "value within the function when it is first called, or move the function to the top of a "
                           "module") from error


def _unpicklable(cloudpickle: Any, function: Any) -> str:
    """Which variable of the function is in the way, as a part of a sentence."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    variables = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, cell in cells.items():
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    for name, value in variables.items():
        try:
            cloudpickle.dumps(value)
        except Exception:
            return f" because of its variable {name}, a {type(value).__name__}"
    return ""


def _command() -> list[str]:
    if not sys.executable:
        raise InvalidError("the pipeline has Python operations, and this program does not tell its interpreter: set "
                           "sys.executable to the path of a Python with the same packages")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-c", _START, folder]


def _input(functions: dict[str, dict[str, str]], blobs: dict[str, bytes]) -> bytes:
    """One line of JSON, and the blobs behind it."""
    head = {"path": [os.path.abspath(folder) for folder in sys.path], "argv": sys.argv,
            "functions": functions, "blobs": [[digest, len(blob)] for digest, blob in blobs.items()]}
    whole = json.dumps(head).encode() + b"\n" + b"".join(blobs.values())
    if len(whole) > _INPUT_BYTES_MAX:
        raise InvalidError(f"the functions of ops take {len(whole) >> 20} MiB when they are pickled, and "
                           f"{_INPUT_BYTES_MAX >> 20} MiB are the most: load large values from a file when the function is first "
                           "called")
    return whole
