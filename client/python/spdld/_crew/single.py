"""Functions that are written for several samples, or by async def, as functions that are called with one sample and return."""
import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from spdld._crew.calls import is_async
from spdld._crew.drop import DROP
from spdld._crew.results import splitter


def of_one(function: Callable[..., Any], operation: Mapping[str, Any]) -> Callable[..., Any]:
    """operation: that calls it, as CREW_JOINED tells it."""
    if operation.get("batch", 0) > 0:
        return _of_bunch(function, operation)
    return _of_async(function) if is_async(function) else function


def plain(errand: Mapping[str, Any]) -> Mapping[str, Any]:
    """The errand of such functions."""
    operations = [{key: value for key, value in operation.items() if key not in ("batch", "in_flight")}
                  for operation in errand["ops"]]
    return {**errand, "ops": operations}


def _of_bunch(function: Callable[..., Any], operation: Mapping[str, Any]) -> Callable[..., Any]:
    split, takes = splitter(operation["call"]), operation["takes"]
    is_stacked = takes["kind"] == "tensor" and None not in takes["shape"]

    @functools.wraps(function)
    def called(value: Any, **rng: Any) -> Any:
        values = value[None] if is_stacked else [value]
        given = function(values, **{name: [generator] for name, generator in rng.items()})
        return DROP if given is DROP else split(given, 1)[0]

    return called


def _of_async(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(value: Any, **rng: Any) -> Any:
        return _awaited(function(value, **rng))

    functools.update_wrapper(called, function)
    return called


def _awaited(call: "Coroutine[Any, Any, Any]") -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    ended: list[Any] = []  # this thread has a loop, as in a notebook, and two can't run in one thread

    def run() -> None:
        try:
            ended.append((asyncio.run(call), None))
        except BaseException as error:
            ended.append((None, error))

    thread = threading.Thread(target=run, name="spdld-trial-call")
    thread.start()
    thread.join()
    value, error = ended[0]
    if error is not None:
        raise error
    return value
