"""From spdld.Tensor to the arrays of a framework, which is imported only when it is asked for."""
import importlib
import sys
from typing import Any, Callable, Dict, Optional, Tuple

from spdld._errors import InvalidError
from spdld._spdld import Tensor

Converter = Optional[Callable[[Tensor], Any]]


def _module(framework: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f'framework="{framework}" needs {name}, which cannot be imported: {error}') from error


def _torch() -> Converter:
    from_dlpack: Callable[[Tensor], Any] = _module("torch", "torch").from_dlpack
    return from_dlpack


def _numpy() -> Converter:
    # By its array interface: of DLPack numpy 1 makes read-only arrays.
    asarray: Callable[[Tensor], Any] = _module("numpy", "numpy").asarray
    return asarray


def _jax() -> Converter:
    from_dlpack: Callable[[Tensor], Any] = _module("jax", "jax.dlpack").from_dlpack
    return from_dlpack


def _cupy() -> Converter:
    asarray: Callable[[Any], Any] = _module("cupy", "cupy").asarray
    as_host = _module("cupy", "numpy").asarray
    return lambda tensor: asarray(as_host(tensor))


_CONVERTERS: Dict[str, Callable[[], Converter]] = {
    "torch": _torch, "numpy": _numpy, "jax": _jax, "cupy": _cupy, "raw": lambda: None}


def converter(framework: Optional[str]) -> Tuple[str, Converter]:
    """The framework's name, and what makes its array of a Tensor. None: torch where it is imported, else numpy."""
    if framework is None:
        framework = "torch" if "torch" in sys.modules else "numpy"
    make = _CONVERTERS.get(framework)
    if make is None:
        raise InvalidError(f"framework={framework!r} is not known; it is one of {', '.join(_CONVERTERS)}")
    return framework, make()
