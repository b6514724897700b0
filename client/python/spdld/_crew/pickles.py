"""Takes functions and data sets of a program to other processes: by the path by which they can be imported, else pickled."""
import importlib
import io
import mmap
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

from spdld._errors import InvalidError


def import_path(value: Any) -> str | None:
    """Of a function or a class that is found in its module."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    loaded = sys.modules.get(module) if isinstance(module, str) and module != "__main__" else None
    if loaded is None or getattr(loaded, "__spec__", None) is None or not isinstance(name, str) or "<" in name:
        return None
    found: Any = loaded
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is value else None


def pickled_function(call: str, function: Any) -> bytes:
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
    except ImportError:
        raise InvalidError(f'the function "{call}" of ops cannot be imported from a module, so it is to be pickled: install '
                           "cloudpickle, or move the function to the top of a module") from None
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:
        where = _unpicklable(cloudpickle.dumps, _variables_of(function))
        raise InvalidError(f'the function "{call}" of ops cannot be pickled{where}: {type(error).__name__}: {error}. Make such a '
                           "value within the function when it is first called, or move the function to the top of a "
                           "module") from error


def pickled_data_set(call: str, dataset: Any, own: Any) -> bytes:
    """By cloudpickle where it is installed, because classes of the program itself need it. own: the program's part of it."""
    dumps = _dumps_of_data_sets()
    try:
        return bytes(dumps(dataset))
    except Exception as error:
        held = vars(own) if hasattr(own, "__dict__") else {}
        where = _unpicklable(dumps, held.items(), "attribute")
        raise InvalidError(f'the data set "{call}" cannot be pickled{where}, and other processes are to call it: '
                           f"{type(error).__name__}: {error}. Open files and make such values in __getitem__ when it is first "
                           "called, or give a function that makes the data set in its place") from error


def _dumps_of_data_sets() -> Callable[[Any], bytes]:
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
        base: Any = cloudpickle.Pickler
    except ImportError:
        base = _OfModules

    class OfFiles(base):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            mapping = _mapping_of(value)
            return super().reducer_override(value) if mapping is None else (_mapped, mapping)

    def dumps(value: Any) -> bytes:
        file = io.BytesIO()
        OfFiles(file, pickle.HIGHEST_PROTOCOL).dump(value)
        return file.getvalue()
    return dumps


def _mapping_of(value: Any) -> tuple[Any, ...] | None:
    """Of an array that is mapped from a file, or of a part of it: the other processes map the file too. None: it is no such
    array."""
    memmap = getattr(sys.modules.get("numpy"), "memmap", ())
    if not isinstance(value, memmap) or not value.flags.c_contiguous or value.size == 0:
        return None
    root: Any = value
    while isinstance(root.base, memmap):
        root = root.base
    if not isinstance(root.base, mmap.mmap) or root.filename is None:
        return None
    offset = root.offset + value.ctypes.data - root.ctypes.data
    return str(root.filename), value.dtype, "r" if root.mode == "r" else "c" if root.mode == "c" else "r+", offset, value.shape


def _mapped(filename: str, dtype: Any, mode: Any, offset: int, shape: tuple[int, ...]) -> Any:
    import numpy

    return numpy.memmap(filename, dtype, mode, offset, shape)


class _OfModules(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if getattr(value, "__module__", None) == "__main__" and hasattr(value, "__qualname__"):
            raise pickle.PicklingError(f"{value.__qualname__} is of the program itself, so that cloudpickle is needed: install "
                                       "it, or move that to a module")
        return NotImplemented


def _variables_of(function: Any) -> Iterator[tuple[str, Any]]:
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue


def _unpicklable(dumps: Any, held: Any, what: str = "variable") -> str:
    """Which value is in the way, as a part of a sentence."""
    for name, value in held:
        try:
            dumps(value)
        except Exception:
            return f" because of its {what} {name}, a {type(value).__name__}"
    return ""
