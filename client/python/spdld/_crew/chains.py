"""The chains of operations in a pipeline that a program gives, as far as they make sense: the daemon names what does not."""
from collections.abc import Mapping
from typing import Any

NEEDS_NO_MODULE = "0" * 32  # stands for the digest of a function that comes along with a crew


def outputs_in(spec: Mapping[str, Any]) -> list[Any]:
    """The tables of the outputs, and not copies of them."""
    outputs = spec.get("output", [])
    return [output for output in outputs if isinstance(output, Mapping)] if isinstance(outputs, list) else []


def operations_in(output: Mapping[str, Any]) -> list[Any]:
    """The tables of its operations, and not copies of them."""
    ops = output.get("ops", [])
    return [op for op in ops if isinstance(op, Mapping)] if isinstance(ops, list) else []


def is_python(op: Mapping[str, Any]) -> bool:
    return op.get("op") == "python"
