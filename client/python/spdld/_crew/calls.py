"""Finds the function that the `call` of a Python operation names ("module:function"), and words the faults, for the trainer
and for a crew."""
import functools
import importlib
from collections.abc import Callable
from typing import Any

from spdld._errors import InvalidError


def split(call: str) -> tuple[str, str]:
    """The module's name and the function's name in it; the latter is empty where the call is no path."""
    module, _, function = call.partition(":")
    return module, function


def no_module(call: str, module: str, why: str = "") -> InvalidError:
    return InvalidError(f'the operation calls "{call}", and Python finds no module {module}{why}: write call = "module:function" '
                        "with a module that the program can import, and add the module's folder to PYTHONPATH where it needs "
                        "one")


def attribute_of(module: Any, call: str) -> Callable[..., Any]:
    """The function of a call in a module that was imported."""
    _, name = split(call)
    try:
        found = functools.reduce(getattr, name.split("."), module)
    except AttributeError:
        raise InvalidError(f'the operation calls "{call}", and the module {module.__name__} has no {name}: write the name of a '
                           "function that the module has at its top") from None
    return checked(found, call)


def checked(function: Any, call: str) -> Callable[..., Any]:
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise InvalidError(f'the operation calls "{call}", which is a value of the type {type(function).__name__}: write the name of '
                       "a function")


def imported(call: str) -> Callable[..., Any]:
    """Imports the module of a call."""
    name, _ = split(call)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise no_module(call, name) from error
        raise failed_import(call, name, error) from error
    except BaseException as error:  # of the module's own code
        raise failed_import(call, name, error) from error
    return attribute_of(module, call)


def failed_import(call: str, module: str, error: BaseException) -> InvalidError:
    return InvalidError(f'the operation calls "{call}", and the module {module} cannot be imported: '
                        f"{type(error).__name__}: {error}")
