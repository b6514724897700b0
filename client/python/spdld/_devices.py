"""Chooses the device that batches lie on, from the user's choice and from what the framework can take."""
import operator
from typing import Any

from spdld._errors import InvalidError, UnsupportedError
from spdld._frameworks import Framework

_GPUS = ("gpu", "cuda")  # the names that jax has for the platform


def device_text(device: Any) -> str | None:
    """Returns "cuda:1" for 1, for torch.device("cuda", 1) and for the device 1 of jax. A text is returned as it is."""
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, bool):
        raise InvalidError(f'device must be "cpu", "pinned", "cuda", "cuda:N" or "auto", and not {device}')
    if getattr(device, "platform", None) in _GPUS:
        # The text of a jax device numbers the devices of all processes. local_hardware_id is the number in this process.
        return f"cuda:{operator.index(device.local_hardware_id)}"
    try:
        return f"cuda:{operator.index(device)}"
    except TypeError:
        return str(device)


def device_for(device: Any, framework: Framework) -> str | None:
    """Returns the device to ask the daemon for. It is "cpu" where the user leaves the choice open and the framework has
    no use for GPU memory."""
    text = device_text(device)
    if text is not None and text != "auto" and not text.startswith("cuda"):
        return text
    refusal = framework.refuses_gpus()
    if refusal is None:
        return text
    if text is None or text == "auto":
        return "cpu"
    raise UnsupportedError(f'device="{text}" hands batches over in GPU memory, and {refusal}')
