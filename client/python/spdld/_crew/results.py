"""Turns the result of a user's function into the array or the bytes that the pipeline's `gives` says, or says in a sentence
why it is not that. It also words an exception of a function."""
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

_MESSAGE_MAX = 1000  # characters of an exception's message
LIBRARIES = ("site-packages", "dist-packages", os.path.dirname(os.__file__))
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Unfit(Exception):
    """The whole text of a bad sample, for a result that is not what the pipeline says."""


def fitter(call: str, gives: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function that turns a result of `call` into an array of the type and shape of `gives`, or into bytes."""
    gave = f"{call} gave"
    if gives["kind"] == "bytes":
        return lambda value: _as_bytes(gave, value)
    shape, dtype = tuple(gives["shape"]), gives["dtype"]
    return lambda value: _as_array(gave, value, dtype, shape)


def splitter(call: str) -> Callable[[Any, int], Sequence[Any]]:
    """A function that makes a list of what a call of `call` gave for so many samples."""

    def split(value: Any, count: int) -> Sequence[Any]:
        if isinstance(value, (list, tuple)):
            values: Sequence[Any] = value
        elif len(getattr(value, "shape", ())) > 0:  # an array or a tensor
            values = list(value)
        else:
            raise Unfit(f"{call} gave a value of the type {kind_of(value)} for {count} samples, because batch is given: return "
                        "an array whose first dimension counts them, or a list of one value for each")
        if len(values) != count:
            raise Unfit(f"{call} gave {len(values)} values for {count} samples: return one for each, in their order")
        return values

    return split


def field_fitter(call: str, field: Mapping[str, Any]) -> Callable[[Any, int], Any]:
    """As fitter(), for a field of the items of a data set. The function is called with a value and the item's index."""
    name = field["name"]
    if field["kind"] == "bytes":
        return lambda value, index: _as_bytes(f'{call}[{index}] gave as "{name}"', value)
    shape, dtype = tuple(field["shape"]), field["dtype"]
    return lambda value, index: _as_array(f'{call}[{index}] gave as "{name}"', value, dtype, shape)


def _as_bytes(gave: str, value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return value
    if isinstance(value, memoryview):
        return value if value.c_contiguous else value.tobytes()
    raise Unfit(f"{gave} a value of the type {kind_of(value)}, and `gives` says bytes: return bytes, a bytearray, a "
                "memoryview or a str")


def _as_array(gave: str, value: Any, dtype: str, shape: tuple[int | None, ...]) -> Any:
    import numpy

    array, given = array_of(gave, value, dtype, numpy)
    if given != dtype or not _fits(array.shape, shape):
        if given == dtype and _fits((*array.shape, 1), shape) and _is_picture(value):
            array = array[..., None]  # a grey picture
        else:
            raise Unfit(f"{gave} {given} {_listed(array.shape)}, and `gives` says {dtype} {_listed(shape)}: return such an "
                        "array, or correct `gives`")
    return numpy.array(array, order="C", copy=not array.flags.c_contiguous)


def array_of(gave: str, value: Any, dtype: str, numpy: Any) -> tuple[Any, str]:
    """The value as an array, and the name of its type. An array of bfloat16 comes as its bits."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        if value.device.type != "cpu":
            raise Unfit(f"{gave} a tensor on {value.device}: write .cpu() behind what it returns")
        if value.layout != torch.strided:
            raise Unfit(f"{gave} a tensor of the layout {value.layout}: write .to_dense() behind what it returns")
        value = value.detach().resolve_conj().resolve_neg()
        if value.dtype == torch.bfloat16:
            return value.contiguous().view(torch.int16).numpy(), "bfloat16"
        array = value.numpy()
        return array, array.dtype.name
    if isinstance(value, (bool, int, float, complex, list, tuple)) and not isinstance(value, numpy.generic):
        return _converted(gave, value, dtype, numpy), dtype
    if not isinstance(value, (numpy.ndarray, numpy.generic)) and not _is_picture(value) and not hasattr(value, "__array__"):
        raise Unfit(f"{gave} a value of the type {kind_of(value)}: return an array of numpy, a tensor of torch, a picture of "
                    "PIL, a number or a list of numbers")
    array = numpy.asarray(value)
    if array.dtype.name == "bfloat16":
        return array.view(numpy.uint16), "bfloat16"
    return array, array.dtype.name if array.dtype.isnative else str(array.dtype)


def _converted(gave: str, value: Any, dtype: str, numpy: Any) -> Any:
    """Python's own numbers have no type that the pipeline could name: any type that holds the values will do."""
    try:
        array = numpy.asarray(value)
    except ValueError:
        raise Unfit(f"{gave} a list of lists that differ in length: return an array") from None
    if array.dtype.kind not in "biufc":
        if array.size > 0:
            raise Unfit(f"{gave} a {kind_of(value)} that holds other things than numbers: return an array of numbers")
        array = array.astype(float)
    if dtype == "bfloat16":
        raise Unfit(f"{gave} a {kind_of(value)}, and `gives` says bfloat16: return a tensor of torch of that type")
    whole = numpy.dtype(dtype).kind in "biu"
    with numpy.errstate(all="ignore"):
        converted = array.astype(dtype)
    if whole and not numpy.array_equal(converted, array):
        raise Unfit(f"{gave} a {kind_of(value)} with values that {dtype} does not hold: return an array of {dtype}, or "
                    "correct `gives`")
    return converted


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(want in (None, size) for size, want in zip(shape, wanted, strict=True))


def _listed(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("any" if size is None else str(size) for size in shape) + "]"


def _is_picture(value: Any) -> bool:
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def kind_of(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def text_of(call: str, error: BaseException, traceback: TracebackType | None) -> str:
    """Of an exception: which function raised what, and at which line of the user's own code."""
    if isinstance(error, Unfit):
        return str(error)
    try:
        message = " ".join(str(error).split())[:_MESSAGE_MAX]
    except Exception:  # of the exception's own code
        message = ""
    return f"{call} raised {kind_of(error)}{': ' if message else ''}{message}{_place(error, traceback)}"


def _place(error: BaseException, traceback: TracebackType | None) -> str:
    place = ""
    is_own = False
    entry = traceback or error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        is_users = not any(part in code.co_filename for part in LIBRARIES)
        if not code.co_filename.startswith(_OWN) and (is_users or not is_own):
            place, is_own = f" ({code.co_filename}:{entry.tb_lineno}, in {code.co_name})", is_own or is_users
        entry = entry.tb_next
    return place
