"""Finds the function that the `call` of a Python operation or the data set that the `call` of a source names
("module:function"), and words the faults, for the trainer and for a crew."""
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from spdld._errors import InvalidError

OPERATION = "the operation"
SOURCE = "the source"
_WANTED = {OPERATION: "function", SOURCE: "data set"}


def split(call: str) -> tuple[str, str]:
    """The module's name and the function's name in it; the latter is empty where the call is no path."""
    module, _, function = call.partition(":")
    return module, function


def no_module(call: str, caller: str, module: str, why: str = "") -> InvalidError:
    name = "function" if caller == OPERATION else "name"
    return InvalidError(f'{caller} calls "{call}", and Python finds no module {module}{why}: write call = "module:{name}" '
                        "with a module that the program can import, and add the module's folder to PYTHONPATH where it needs "
                        "one")


def attribute_of(module: Any, call: str, caller: str) -> Any:
    """The value that a call names in a module that was imported."""
    _, name = split(call)
    try:
        found = functools.reduce(getattr, name.split("."), module)
    except AttributeError:
        raise InvalidError(f'{caller} calls "{call}", and the module {module.__name__} has no {name}: write the name of a '
                           f"{_WANTED[caller]} that the module has at its top") from None
    return checked(found, call) if caller == OPERATION else found


def checked(function: Any, call: str) -> Callable[..., Any]:
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise InvalidError(f'the operation calls "{call}", which is a value of the type {type(function).__name__}: write the name of '
                       "a function")


def is_async(function: Any) -> bool:
    """Whether it is defined by async def, or is an object whose class has such a __call__."""
    call = inspect.getattr_static(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def imported(call: str, caller: str) -> Any:
    """Imports the module of a call."""
    name, _ = split(call)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise no_module(call, caller, name) from error
        raise failed_import(call, caller, name, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of the module's own code
        raise failed_import(call, caller, name, error) from error
    return attribute_of(module, call, caller)


def failed_import(call: str, caller: str, module: str, error: BaseException) -> InvalidError:
    return InvalidError(f'{caller} calls "{call}", and the module {module} cannot be imported: {type(error).__name__}: {error}')
