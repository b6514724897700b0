"""Where batches shall lie, as the user says it and as a framework can take it."""
import operator
from typing import Any, Optional

from spdld._errors import InvalidError, UnsupportedError
from spdld._frameworks import Framework

_GPUS = ("gpu", "cuda")  # what jax calls the platform


def device_text(device: Any) -> Optional[str]:
    """"cuda:1" of 1, of torch.device("cuda", 1) and of a device of jax; a text as it is."""
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, bool):
        raise InvalidError(f'device is "cpu", "pinned", "cuda", "cuda:N" or "auto", and not {device}')
    if getattr(device, "platform", None) in _GPUS:
        # Its text numbers the devices of all processes; this is the number in this one.
        return f"cuda:{operator.index(device.local_hardware_id)}"
    try:
        return f"cuda:{operator.index(device)}"
    except TypeError:
        return str(device)


def device_for(device: Any, framework: Framework) -> Optional[str]:
    """What to ask the daemon for: "cpu" where it is left open and the framework has no use for a GPU's memory."""
    text = device_text(device)
    if text is not None and text != "auto" and not text.startswith("cuda"):
        return text
    refusal = framework.refuses_gpus()
    if refusal is None:
        return text
    if text is None or text == "auto":
        return "cpu"
    raise UnsupportedError(f'device="{text}" hands batches over in GPU memory, and {refusal}')
