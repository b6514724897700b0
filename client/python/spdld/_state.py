"""A loader's place between a dict, as checkpoints hold it, and the library's JSON."""
import json
from typing import Any, Dict, Mapping

from spdld._errors import InvalidError


def text_of(state: Any) -> str:
    if not isinstance(state, Mapping):
        raise InvalidError(f"a state is a dict that a loader's state_dict() gave, and no {type(state).__name__}")
    try:
        return json.dumps(dict(state), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"the state is not one that a loader's state_dict() gave: {error}") from error


def dict_of(text: bytes) -> Dict[str, Any]:
    state = json.loads(text.decode(errors="replace"))
    assert isinstance(state, dict)
    return state
