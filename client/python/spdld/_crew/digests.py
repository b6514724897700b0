"""The digest of a user's function or data set: of its source, of what it refers to or holds, and of the versions of the packages
that it uses. It is the same in every process that runs the same program, and another one where the function would give something
else. Of a data set that holds much, a bounded part counts: see code_of_data_set."""
import contextlib
import functools
import hashlib
import inspect
import itertools
import marshal
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from spdld._crew.results import LIBRARIES

_DEPTH_MAX = 8  # of values within values
_DIGITS = 32
_LONG = 1000  # entries: a longer container counts as a whole, or by so many of its entries
_SLICE = 10_000  # entries of a long container that are looked at together
_ARRAY_BYTES_MAX = 64 * 2**20  # of an array or bytes that count whole
_BLOCK_BYTES = 64 * 1024
_BLOCKS = 256  # of a larger one, evenly spread
_VALUES_MAX = 100_000  # of a data set
_BYTES_MAX = 256 * 2**20  # of a data set's arrays and bytes; those behind count by their blocks
_PLAIN = frozenset((type(None), bool, int, float, complex, str, tuple, list, dict))
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


def code_of(function: Callable[..., Any]) -> str:
    digest = _Digest()
    digest.add(function, "", 0)
    return digest.text()


def code_of_data_set(dataset: Any) -> str:
    """The time that this takes is bounded: a list or dict of more than 1,000 plain values counts as a whole, by native code; of
    other long ones, 1,000 evenly spread entries count. Of an array of more than 64 MiB, 256 blocks of 64 KiB count. The length of
    each counts in any case."""
    digest = _Digest(of_data_set=True)
    digest.add(dataset, "", 0)
    return digest.text()


def code_of_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:_DIGITS]


class _Digest:
    def __init__(self, of_data_set: bool = False) -> None:
        self._of_data_set = of_data_set
        self._values_left, self._bytes_left = _VALUES_MAX, _BYTES_MAX
        self._hash = hashlib.sha256()
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # so that nothing else gets their ids
        self._versions: dict[str, str] = {}
        self._home: str | None = None  # the module of the function: what it has there counts by its source

    def text(self) -> str:
        for name, version in sorted(self._versions.items()):
            self._note("version", name, version)
        return self._hash.hexdigest()[:_DIGITS]

    def add(self, value: Any, name: str, depth: int) -> None:
        if self._of_data_set:
            self._values_left -= 1
            if self._values_left < 0 or self._add_much(value, name, depth):
                return
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

    def _add_much(self, value: Any, name: str, depth: int) -> bool:
        """Adds a value of a data set that may be large. False: it is not."""
        if isinstance(value, (bytes, bytearray)):
            self._note("bytes", name)
            self._add_memory(memoryview(value))
            return True
        if not isinstance(value, (list, tuple, Mapping, Set)) or len(value) <= _LONG or id(value) in self._seen:
            return False
        self._seen.add(id(value))
        self._note("long", name, type(value).__qualname__, str(len(value)))
        entries = sorted(value, key=repr) if isinstance(value, Set) else value.items() if isinstance(value, Mapping) else value
        if not self._add_plain(entries):
            for number, entry in enumerate(itertools.islice(entries, 0, None, -(-len(value) // _LONG))):
                self._kept.append(entry)  # of a dict: a tuple that is made here
                self.add(entry, f"{name}[{number}]", depth + 1)
        return True

    def _add_plain(self, entries: Iterable[Any]) -> bool:
        """False, and nothing is added: there are other values than plain ones, or too many bytes."""
        before, bytes_before = self._hash.copy(), self._bytes_left
        walked = iter(entries)
        with contextlib.suppress(ValueError):  # of values that are not plain
            while part := list(itertools.islice(walked, _SLICE)):
                if not _is_plain(part) or self._bytes_left < 0:
                    break
                data = marshal.dumps(part, 2)  # format 2 tells the values, and not which of them are one object
                self._hash.update(data)
                self._bytes_left -= len(data)
            else:
                return True
        self._hash, self._bytes_left = before, bytes_before
        return False

    def _add_memory(self, memory: memoryview) -> None:
        count = memory.nbytes
        self._note("length", str(count))
        if count <= min(_ARRAY_BYTES_MAX, self._bytes_left):
            self._bytes_left -= count
            self._hash.update(memory)
            return
        for block in range(_BLOCKS):
            at = block * max(0, count - _BLOCK_BYTES) // (_BLOCKS - 1)
            self._hash.update(memory[at:at + _BLOCK_BYTES])

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
        if self._is_home(module) and isinstance(value, type):
            self._note("source", name, _source_of(value) or "")

    def _is_home(self, module: Any) -> bool:
        """Whether the source of what is in this module counts. Of a data set, the program's own modules all count: the classes of
        a library hold transforms of the program's."""
        if module == self._home or not self._of_data_set:
            return bool(module == self._home)
        file = getattr(sys.modules.get(str(module)), "__file__", None)
        return module == "__main__" or (file is not None and not any(part in file for part in LIBRARIES))

    def _add_function(self, function: types.FunctionType, name: str, depth: int) -> None:
        if self._home is None:
            self._home = function.__module__
        if depth > 0 and not self._is_home(function.__module__):
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
        for base in kind.__mro__[:-1] if self._of_data_set else (kind,):
            if self._is_home(base.__module__):
                self._note("source", name, _source_of(base) or "")
        array = _array_of(value)
        if array is not None:
            self._note("array", name, str(array.dtype), str(array.shape))
            self._add_array(array)
        elif self._of_data_set and kind.__name__ == "ndarray" and kind.__module__ == "numpy":  # of objects
            self._kept.append(value.tolist())
            self.add(self._kept[-1], name, depth + 1)
        for key, entry in sorted(getattr(value, "__dict__", {}).items()):
            self.add(entry, f"{name}.{key}", depth + 1)


    def _add_array(self, array: Any) -> None:
        if not self._of_data_set:
            self._hash.update(array.tobytes())
        elif array.flags.c_contiguous and array.size > 0:
            self._add_memory(memoryview(array.reshape(-1).view("uint8")))
        else:
            self._add_memory(memoryview(array.tobytes() if array.nbytes <= _ARRAY_BYTES_MAX else _spread(array)))


def _is_plain(entries: list[Any]) -> bool:
    """Of entries in containers, the first one is looked at."""
    first = entries[0].values() if isinstance(entries[0], dict) else entries[0] if isinstance(entries[0], (tuple, list)) else ()
    return _PLAIN.issuperset(map(type, entries)) and _PLAIN.issuperset(map(type, first))


def _spread(array: Any) -> bytes:
    """Elements of an array, evenly spread, without a copy of the whole."""
    import numpy

    places = numpy.linspace(0, array.size - 1, _BLOCK_BYTES, dtype=numpy.int64)
    return bytes(array[numpy.unravel_index(places, array.shape)].tobytes())


def _array_of(value: Any) -> Any:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype != object:
        return value
    if torch is not None and isinstance(value, torch.Tensor):
        with contextlib.suppress(TypeError, RuntimeError):  # numpy has no such type or layout, or it has no data
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
