"""The structure of a data set's items: what their values are called as fields, the types and shapes that a pipeline says of
them, and how a batch is put together again as torch's default_collate puts one together."""
import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from spdld._crew.results import Unfit, array_of, kind_of
from spdld._errors import InvalidError

_DTYPES = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
           "bool", "complex64", "complex128")
_DIMENSIONS_MAX = 5  # that the operation raw takes
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,63}")
_ANOTHER_WAY = "give collate_fn=, which gets the items as they are"


class Leaf(NamedTuple):
    field: str
    kind: str  # "array", "str" or "bytes"
    is_in_sequence: bool
    gives: Any  # as a pipeline says it
    size: int  # of a text, in bytes; of an array, along its first dimension


class Node(NamedTuple):
    container: Any  # the first item's, without values
    parts: list[tuple[Any, Any]]  # keys, and nodes or leaves


def structure_of(call: str, index: int, item: Any, told: Mapping[str, Any] | None = None) -> Any:
    """Of an item: a node or a leaf. Raises a sentence where a batch of such items can't be made. told: what the program says
    of fields by itself."""
    return _structure(_Item(f"{call}[{index}]", told or {}, set()), "", item, False)


def leaves_of(structure: Any) -> list[Leaf]:
    if isinstance(structure, Leaf):
        return [structure]
    return [leaf for _, part in structure.parts for leaf in leaves_of(part)]


def collated(structure: Any, values: Callable[[Leaf], Any]) -> Any:
    """A batch in this structure; `values`: gives what the batch has for a leaf."""
    if isinstance(structure, Leaf):
        return values(structure)
    parts = [(key, collated(part, values)) for key, part in structure.parts]
    container = structure.container
    if isinstance(container, Mapping):
        if type(container) is dict:
            return dict(parts)
        made: Any = copy.copy(container)
        made.update(parts)
        return made
    if isinstance(container, tuple):
        kind: Any = type(container)
        return kind(*[part for _, part in parts]) if hasattr(container, "_fields") else [part for _, part in parts]
    return [part for _, part in parts]


class _Item(NamedTuple):
    shown: str  # for sentences
    told: Mapping[str, Any]
    seen: set[str]  # names of fields

    def __str__(self) -> str:
        return self.shown


def _structure(item: _Item, name: str, value: Any, is_in_sequence: bool) -> Any:
    place = f' as "{name}"' if name else ""
    if (name or "value") in item.told and (name or not isinstance(value, (Mapping, tuple, list))):
        return _told_leaf(item.told[name or "value"], name or "value", value, is_in_sequence)
    if isinstance(value, Mapping):
        entries = list(value.items())
    elif isinstance(value, (tuple, list)):
        entries = list(enumerate(value))
    else:
        return _leaf(item, name or "value", value, is_in_sequence, place)
    if not entries:
        raise InvalidError(f"{item} gave{place} an empty {kind_of(value)}, and no batch can be made of it: leave it out, or "
                           f"{_ANOTHER_WAY}")
    inner_in_sequence = not isinstance(value, Mapping)
    return Node(_emptied(value), [(key, _structure(item, f"{name}.{key}" if name else str(key), entry, inner_in_sequence))
                                  for key, entry in entries])


def _emptied(value: Any) -> Any:
    if isinstance(value, Sequence):
        return tuple.__new__(type(value), (None,) * len(value)) if isinstance(value, tuple) else []
    if type(value) is dict or not isinstance(value, MutableMapping):
        return {}
    try:
        container = copy.copy(value)
        for key in container:
            container[key] = None
    except Exception:  # of the type's own code
        return {}
    return container


def _told_leaf(gives: Any, name: str, value: Any, is_in_sequence: bool) -> Leaf:
    kind = "array" if gives != "bytes" else "str" if isinstance(value, str) else "bytes"
    size = len(value) if hasattr(type(value), "__len__") and getattr(value, "shape", (1,)) != () else 1
    return Leaf(name, kind, is_in_sequence, gives, size)


def _leaf(item: _Item, name: str, value: Any, is_in_sequence: bool, place: str) -> Leaf:
    if not _NAME.fullmatch(name):
        raise InvalidError(f'{item} has the key "{name}", and the name of a field has up to 63 letters, digits, "_", "-" and '
                           f'".": rename it, or {_ANOTHER_WAY}')
    if name in item.seen:
        raise InvalidError(f'{item} has two values that are called "{name}" as fields, because keys are joined with dots: rename '
                           f"a key, or {_ANOTHER_WAY}")
    item.seen.add(name)
    if isinstance(value, str):
        return Leaf(name, "str", is_in_sequence, "bytes", len(value.encode()))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Leaf(name, "bytes", is_in_sequence, "bytes", memoryview(value).nbytes)
    dtype, shape = _type_of(f"{item} gave{place}", value)
    if dtype not in _DTYPES:
        raise InvalidError(f'{item} gave{place} an array of the type {dtype}, which a batch does not have: convert it, or '
                           f"{_ANOTHER_WAY}")
    if len(shape) > _DIMENSIONS_MAX:
        raise InvalidError(f'{item} gave{place} an array of {len(shape)} dimensions, and {_DIMENSIONS_MAX} are the most: '
                           f"reshape it, or {_ANOTHER_WAY}")
    if 0 in shape:
        raise InvalidError(f'{item} gave{place} an array without elements, of the shape {list(shape)}: say under source.gives '
                           f"which items there are, or {_ANOTHER_WAY}")
    return Leaf(name, "array", is_in_sequence, {"dtype": dtype, "shape": list(shape)}, shape[0] if shape else 1)


def _type_of(gave: str, value: Any) -> tuple[str, tuple[int, ...]]:
    import numpy

    if not isinstance(value, numpy.generic):  # a float64 of numpy's is a float
        for kind, dtype in ((bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")):
            if isinstance(value, kind):
                return dtype, ()
    try:
        array, dtype = array_of(gave, value, "", numpy)
    except Unfit as error:
        if hasattr(value, "device") or hasattr(value, "layout"):
            raise InvalidError(str(error)) from None
        raise InvalidError(f"{gave} a value of the type {kind_of(value)}, and no batch can be made of it: return "
                           f"arrays, tensors, numbers and texts, or {_ANOTHER_WAY}") from None
    return dtype, array.shape
