"""The kinds of arguments that torchvision's transforms take: each kind knows its values, and refuses all others.

A kind gets a value of an object's attribute, or what a script's text tells, and gives a plain number, text or list. Nothing
is guessed: what a kind does not know is Refused.
"""
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Kind = Callable[[Any], Any]
SIDE_MAX = 16384
_SHOWN_MAX = 60


class Refused(Exception):
    """The transform has no equal. The text says why, as the end of a sentence that begins with the transform's name."""


class Member(NamedTuple):
    """A member of a module, as a script names it: "torchvision.transforms.InterpolationMode.BICUBIC"."""

    full: str


class ByType(NamedTuple):
    """An argument that is a dict: one value for each type of input, under "Image", "Tensor", "PIL" and "others"."""

    values: dict[str, Any]


class _Unknown(Exception):
    """The value is not of this kind. The text says what the kind takes."""


def shown(value: Any) -> str:
    """A value in a message, on one line."""
    text = value.full if isinstance(value, Member) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


def checked(name: str, kind: Kind, value: Any) -> Any:
    """The value as its kind gives it. Raises Refused, with the argument's name, for all others."""
    try:
        return kind(plain(value))
    except _Unknown as unknown:
        raise Refused(f"has {name} = {shown(value)}, and spdld knows {unknown}") from None


def plain(value: Any) -> Any:
    """The values of tensors and of numpy's arrays and numbers, and lists in place of tuples."""
    if not isinstance(value, type) and callable(getattr(value, "tolist", None)):
        value = value.tolist()
    is_list = isinstance(value, (list, tuple)) and not hasattr(value, "_fields")  # a Member or a Transform is a value
    return [plain(entry) for entry in value] if is_list else value


def number(least: float = -1e9, most: float = 1e9, above: float | None = None) -> Kind:
    def read(value: Any) -> Any:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            value = value.real  # an enumerator that is a number is a plain number
            if least <= value <= most and (above is None or value > above):
                return value
        raise _Unknown(f"numbers {f'above {above:g}' if above is not None else f'from {least:g}'} to {most:g}")
    return read


def whole(least: int, most: int) -> Kind:
    def read(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return int(value)
        raise _Unknown(f"whole numbers from {least} to {most}")
    return read


def listed(kind: Kind, *lengths: int) -> Kind:
    def read(value: Any) -> list[Any]:
        if isinstance(value, list) and len(value) in lengths:
            return [kind(entry) for entry in value]
        few = " or ".join(str(length) for length in lengths)
        raise _Unknown(f"lists of {few if len(lengths) < 4 else f'{lengths[0]} to {lengths[-1]}'}")
    return read


def ascending(kind: Kind) -> Kind:
    """[least, greatest]."""
    def read(value: Any) -> list[Any]:
        both: list[Any] = listed(kind, 2)(value)
        if both[0] <= both[1]:
            return both
        raise _Unknown("[least, greatest]")
    return read


def either(*kinds: Kind) -> Kind:
    def read(value: Any) -> Any:
        taken = []
        for kind in kinds:
            try:
                return kind(value)
            except _Unknown as unknown:
                taken.append(str(unknown))
        raise _Unknown(", or ".join(taken))
    return read


def optional(kind: Kind) -> Kind:
    return lambda value: None if value is None else kind(value)


def exactly(*values: Any) -> Kind:
    """These values alone. True is not 1."""
    def read(value: Any) -> Any:
        for entry in values:
            if type(entry) is type(value) and entry == value:
                return value
        raise _Unknown(", ".join(repr(entry) for entry in values) + (" alone" if len(values) == 1 else ""))
    return read


def flag(value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise _Unknown("True and False")


def members(value: Any) -> list[Any]:
    """A list of what are transforms of their own."""
    if isinstance(value, list) or _is_of(value, "ModuleList", "torch"):
        return list(value)
    raise _Unknown("lists of transforms")


_FILTERS = ("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
_FILTER_OWNERS = ("torchvision.transforms.InterpolationMode", "torchvision.transforms.v2.InterpolationMode",
                  "torchvision.transforms.functional.InterpolationMode", "torchvision.transforms.v2.functional.InterpolationMode",
                  "torchvision.transforms.transforms.InterpolationMode", "PIL.Image", "PIL.Image.Resampling")
_BY_NUMBER = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def _is_of(value: Any, kind: str, module: str) -> bool:
    return type(value).__name__ == kind and (getattr(type(value), "__module__", None) or "").partition(".")[0] == module


def interpolation(value: Any) -> str:
    """The name of a filter. Text is none: torchvision takes enumerators, and Pillow's numbers."""
    name = ""
    if isinstance(value, Member):
        owner, _, last = value.full.rpartition(".")
        name = last.lower().replace("_", "-") if owner in _FILTER_OWNERS and last.isupper() else ""
    elif _is_of(value, "InterpolationMode", "torchvision"):
        name = str(value.value)
    elif isinstance(value, int) and not isinstance(value, bool):
        name = _BY_NUMBER.get(value, "")
    if name in _FILTERS:
        return name
    raise _Unknown("members of InterpolationMode")


_POLICY_OWNERS = ("torchvision.transforms.AutoAugmentPolicy", "torchvision.transforms.v2.AutoAugmentPolicy",
                  "torchvision.transforms.autoaugment.AutoAugmentPolicy")


def policy(value: Any) -> str:
    name = ""
    if isinstance(value, Member):
        owner, _, last = value.full.rpartition(".")
        name = last.lower() if owner in _POLICY_OWNERS else ""
    elif _is_of(value, "AutoAugmentPolicy", "torchvision"):
        name = str(value.value)
    if name in ("imagenet", "cifar10", "svhn"):
        return name
    raise _Unknown("members of AutoAugmentPolicy")


_DTYPE_ALIASES = {"float": "float32", "half": "float16", "double": "float64"}


def dtype(value: Any) -> str:
    """The name of one of torch's dtypes."""
    full = value.full if isinstance(value, Member) else str(value) if _is_of(value, "dtype", "torch") else ""
    module, _, name = full.rpartition(".")
    if module == "torch" and name.islower():
        return _DTYPE_ALIASES.get(name, name)
    raise _Unknown("dtypes of torch, such as torch.float32")


_TYPES = {"torchvision.tv_tensors.Image": "Image", "torchvision.datapoints.Image": "Image", "torch.Tensor": "Tensor",
          "PIL.Image.Image": "PIL"}


def _type_named(key: Any) -> str | None:
    """The name of a type of pictures; "" for another type of these libraries, None for what may be any type."""
    if key == "others":
        return "others"
    if isinstance(key, Member):
        full = key.full
    elif isinstance(key, type):
        full = f"{key.__module__}.{key.__qualname__}"
        full = "torchvision.tv_tensors.Image" if full == "torchvision.tv_tensors._image.Image" else full
    else:
        return None
    return _TYPES.get(full, "" if full.partition(".")[0] in ("torch", "torchvision", "PIL") else None)


def by_type(kind: Kind) -> Kind:
    """One value for all inputs, or a dict with a value for each type of input."""
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return kind(value)
        given: dict[str, Any] = {}
        for key, entry in value.items():
            name = _type_named(plain(key))
            if name is None:
                raise _Unknown("dicts whose keys are types of torchvision, torch and Pillow, or \"others\"")
            if name:
                given[name] = kind(plain(entry))
        return ByType(given)
    return read


def of_type(value: Any, type_name: str, argument: str) -> Any:
    """The value for this type of input."""
    if not isinstance(value, ByType):
        return value
    for name in (type_name, "others"):
        if name in value.values:
            return value.values[name]
    words = {"PIL": "a picture of Pillow", "Image": "tv_tensors.Image", "Tensor": "torch.Tensor"}[type_name]
    raise Refused(f"has a dict as `{argument}` without an entry for {words}, which it is given here")


def one_or_two(kind: Kind) -> Kind:
    """One for both directions, or one for each. A list of one is that one."""
    def read(value: Any) -> Any:
        taken = either(kind, listed(kind, 1, 2))(value)
        return taken[0] if isinstance(taken, list) and len(taken) == 1 else taken
    return read


CHANCE = number(0, 1)
SIZE = one_or_two(whole(1, SIDE_MAX))
BOTH_SIDES = listed(whole(1, SIDE_MAX), 2)
COLOUR = optional(either(number(), listed(number(), 1, 3)))
FILL = by_type(COLOUR)
PADDING = either(whole(0, SIDE_MAX), listed(whole(0, SIDE_MAX), 1, 2, 4))
PADDING_MODE = exactly("constant", "edge", "reflect", "symmetric")
POSITIVE = number(0, above=0)
CENTER: Kind = optional(listed(number(), 2))
ANTIALIAS = exactly(True, False, None, "warn")
BY_VERSION = "by version"  # in place of a default that is another one in other versions of torchvision


def _dtypes(value: Any) -> Any:
    """A dtype, or a dict in which None leaves a type as it is."""
    return by_type(optional(dtype))(value) if isinstance(value, Mapping) else dtype(value)


DTYPES = _dtypes
Arguments = tuple[tuple[str, Kind, Any], ...]
