"""The digest of a user's function: of its source, of what it refers to, and of the versions of the packages that it uses. It is
the same in every process that runs the same program, and another one where the function would give something else."""
import functools
import hashlib
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Mapping, Set
from typing import Any

_DEPTH_MAX = 8  # of values within values
_DIGITS = 32
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


def code_of(function: Callable[..., Any]) -> str:
    digest = _Digest()
    digest.add(function, "", 0)
    return digest.text()


def code_of_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:_DIGITS]


class _Digest:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: set[int] = set()
        self._versions: dict[str, str] = {}
        self._home: str | None = None  # the module of the function: what it has there counts by its source

    def text(self) -> str:
        for name, version in sorted(self._versions.items()):
            self._note("version", name, version)
        return self._hash.hexdigest()[:_DIGITS]

    def add(self, value: Any, name: str, depth: int) -> None:
        if isinstance(value, _CONSTANTS):
            self._note("value", name, repr(value))
            return
        if depth > _DEPTH_MAX or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, types.ModuleType):
            self._add_version(value.__name__)
        elif isinstance(value, types.FunctionType):
            self._add_function(value, name, depth)
        elif isinstance(value, type) or inspect.isbuiltin(value):
            self._add_named(value, name)
        elif isinstance(value, types.MethodType):
            self.add(value.__func__, name, depth)
            self.add(value.__self__, name + ".self", depth + 1)
        elif isinstance(value, functools.partial):
            for part in ("func", "args", "keywords"):
                self.add(getattr(value, part), f"{name}.{part}", depth + 1)
        elif isinstance(value, Mapping):
            for key in sorted(value, key=repr):
                self.add(value[key], f"{name}[{key!r}]", depth + 1)
        elif isinstance(value, (list, tuple)):
            self._note("length", name, str(len(value)))
            for number, entry in enumerate(value):
                self.add(entry, f"{name}[{number}]", depth + 1)
        elif isinstance(value, Set):
            self._note("set", name, repr(sorted(map(repr, value))))
        else:
            self._add_object(value, name, depth)

    def _note(self, *texts: str) -> None:
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def _add_version(self, module: Any) -> None:
        root = str(module).partition(".")[0]
        version = getattr(sys.modules.get(root), "__version__", None)
        if isinstance(version, str):
            self._versions[root] = version

    def _add_named(self, value: Any, name: str) -> None:
        module = getattr(value, "__module__", None)
        self._note("name", name, f"{module}:{getattr(value, '__qualname__', '')}")
        self._add_version(module)
        if module == self._home and isinstance(value, type):
            self._note("source", name, _source_of(value) or "")

    def _add_function(self, function: types.FunctionType, name: str, depth: int) -> None:
        if self._home is None:
            self._home = function.__module__
        if function.__module__ != self._home and depth > 0:
            self._add_named(function, name)
            return
        source = _source_of(function)
        if source is None:
            self._add_code(function.__code__, name)
        else:
            self._note("source", name, source)
        self.add(function.__defaults__, name + ".defaults", depth + 1)
        self.add(function.__kwdefaults__, name + ".kwdefaults", depth + 1)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.add(cell.cell_contents, f"{name}.{variable}", depth + 1)
            except ValueError:  # it has no value yet
                self._note("empty", name, variable)
        for variable in sorted(_names_in(function.__code__)):
            if variable in function.__globals__:
                self.add(function.__globals__[variable], variable, depth + 1)

    def _add_code(self, code: types.CodeType, name: str) -> None:
        self._hash.update(code.co_code)
        self._note("code", name, repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, name)
            elif isinstance(constant, frozenset):
                self._note("set", name, repr(sorted(map(repr, constant))))
            else:
                self._note("value", name, repr(constant))

    def _add_object(self, value: Any, name: str, depth: int) -> None:
        kind = type(value)
        self._note("object", name, f"{kind.__module__}:{kind.__qualname__}")
        self._add_version(kind.__module__)
        if depth == 0:
            self._home = kind.__module__
        if kind.__module__ == self._home:
            self._note("source", name, _source_of(kind) or "")
        array = _array_of(value)
        if array is not None:
            self._note("array", name, str(array.dtype), str(array.shape))
            self._hash.update(array.tobytes())
        for key, entry in sorted(getattr(value, "__dict__", {}).items()):
            self.add(entry, f"{name}.{key}", depth + 1)


def _array_of(value: Any) -> Any:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype != object:
        return value
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return None


def _source_of(value: Any) -> str | None:
    try:
        return textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError, IndentationError, SyntaxError):
        return None


def _names_in(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names
