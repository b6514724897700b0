"""Writes operations and tables as TOML, as pipeline files have them."""
import json
from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH = 110


def value_text(value: Any) -> str:
    """One value on one line."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {value_text(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(entry) for entry in value) + "]"
    return repr(value)


def operations_text(operations: Sequence[Mapping[str, Any]], indent: str = "") -> str:
    """A list of operations, each on a line of its own, and the list of one that holds others on lines of their own."""
    lines = ["["]
    for operation in operations:
        text = value_text(operation)
        held = operation.get("ops")
        if held and len(text) > _WIDTH:
            rest = ", ".join(f"{key} = {value_text(entry)}" for key, entry in operation.items() if key != "ops")
            text = f"{{ {rest}, ops = {operations_text(held, indent + '  ')} }}"
        lines.append(f"{indent}  {text},")
    return "\n".join([*lines, indent + "]"])
