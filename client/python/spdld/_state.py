"""Converts a loader's place between the dict that checkpoints hold and the JSON of the library."""
import json
from collections.abc import Mapping
from typing import Any

from spdld._errors import InvalidError


def text_of(state: Any) -> str:
    if not isinstance(state, Mapping):
        raise InvalidError(f"a state must be a dict that a loader's state_dict() gave, and not a value of the type "
                           f"{type(state).__name__}")
    try:
        return json.dumps(dict(state), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"a loader's state_dict() did not give this state: {error}") from error


def dict_of(text: bytes) -> dict[str, Any]:
    state = json.loads(text.decode(errors="replace"))
    assert isinstance(state, dict)
    return state
