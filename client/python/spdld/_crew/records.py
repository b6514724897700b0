"""Tells the native code of a worker which fields the items of a data set have, and words what does not fit."""
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from spdld._crew.objects import Pieces
from spdld._crew.results import Unfit, field_fitter, kind_of

_SCALARS = {"int64": "i", "float64": "d", "bool": "?"}  # a number of Python's own fits without a look at it


def form_of(call: str, gives: Mapping[str, Any], kind_of_field: Callable[[Mapping[str, Any]], Any]) -> tuple[Any, ...]:
    """For _spdld.Worker. `kind_of_field`: tells a tensor's type and shape."""
    fields = [(field["name"], kind_of_field(field), field_fitter(call, field), _scalar(field)) for field in gives["fields"]]
    names = {field["name"] for field in gives["fields"]}

    def refuse(index: int, name: str, value: Any) -> NoReturn:
        if name in names and value is None:
            raise Unfit(f'{call}[{index}] gave no "{name}": return a value for each field of `gives`, or leave the field out '
                        "there")
        what = f"a value of the type {kind_of(value)}"
        inner = ", ".join(sorted(known for known in names if known.startswith(name + ".")))
        if inner:
            raise Unfit(f'{call}[{index}] gave {what} as "{name}", and `gives` has {inner}: return a dict, a tuple or a list '
                        "there")
        raise Unfit(f'{call}[{index}] gave {what} as "{name}", which is no field of `gives`: return the same fields for each '
                    "item, or correct `gives`")

    return fields, refuse, Pieces, Mapping


def _scalar(field: Mapping[str, Any]) -> str:
    return _SCALARS.get(field["dtype"], "") if field["kind"] == "tensor" and field["shape"] == [] else ""
