"""A worker of a crew: a process that calls the user's functions on one sample after another (the loop is native code)."""
import contextlib
import ctypes
import functools
import importlib
import inspect
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import getitem
from typing import Any, NamedTuple, NoReturn

from spdld import _spdld
from spdld._crew.calls import is_async
from spdld._crew.plugins import BoundPlugins, is_plugin, types_needed
from spdld._crew.records import form_of
from spdld._crew.results import fitter, splitter, text_of
from spdld._errors import InvalidError

_PR_SET_PDEATHSIG = 1
_IN_FLIGHT = 16  # calls of an async function, where the pipeline does not say how many


class Job(NamedTuple):
    """The things that all workers of a crew have in common."""

    errands: Sequence[Mapping[str, Any]]  # as CREW_JOINED tells them
    functions: Mapping[str, Callable[..., Any]]  # by call
    plugins: BoundPlugins
    data_sets: Mapping[str, Any]  # by call
    scratch: int  # a descriptor
    scratch_bytes: int
    memory_max: int  # 0: no limit


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def end_with(parent: int) -> None:
    """This process is killed when its parent ends."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def be_worker(job: Job, ring: int, bell: int, nursery: int) -> NoReturn:
    """In a process that was just forked from the nursery."""
    try:
        _settle(job.memory_max, nursery)
        worker, flights = make(job)
        worker.sit_down(ring, bell, job.scratch, job.scratch_bytes)
        fault = worker.run() if flights is None else flights.run()
        if fault:
            print(f"spdld: a worker ends, because the daemon broke the protocol: {fault}", file=sys.stderr, flush=True)
    except BaseException as error:
        print(f"spdld: a worker ends: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def make(job: Job) -> tuple["_spdld.Worker", Any]:
    """A worker, and what runs it in its place where some of its functions are async."""
    from spdld._crew.randomness import keyed

    numpy: Any = sys.modules.get("numpy")
    calls = [[operation["call"] for operation in errand["ops"]] for errand in job.errands]
    randomness = keyed()
    errands = [_item_errand(errand, job.data_sets, numpy) if "source" in errand else _errand(job, number, numpy, randomness)
               for number, errand in enumerate(job.errands)]

    def told(error: BaseException, traceback: Any, errand: int, operation: int, index: int) -> str:
        call = calls[errand][operation]
        return text_of(f"{call}[{index}]" if "source" in job.errands[errand] else call, error, traceback)

    worker = _spdld.Worker(errands, told, getattr(numpy, "ndarray", None), randomness)
    if not any(in_flight for *_, in_flight in errands):
        return worker, None
    from spdld._crew.flights import Flights

    return worker, Flights(worker, job.errands, errands, randomness)


def check(errands: Sequence[Mapping[str, Any]]) -> None:
    """Raises a sentence where an errand takes or gives what this Python has no type for. Imports numpy where it is installed: its
    generators are to stand at the sample's state also in a function that imports numpy when it is called."""
    with contextlib.suppress(InvalidError):
        _numpy()
    for errand in errands:
        for value in (errand["takes"], errand["gives"], *errand["gives"].get("fields", ())):
            if value["kind"] == "tensor":
                _numpy()
        if errand["takes"]["kind"] == "tensor":
            _dtype(errand["takes"]["dtype"])
        for name in types_needed(errand["ops"]):
            _dtype(name)


def _errand(job: Job, number: int, numpy: Any, randomness: Any) -> tuple[Any, ...]:
    errand = job.errands[number]
    steps = [job.plugins.step(errand, number, at, randomness, _dtype) if is_plugin(operation) else
             job.functions[operation["call"]] for at, operation in enumerate(errand["ops"])]
    return errand_of(errand, steps, numpy)


def errand_of(errand: Mapping[str, Any], steps: Sequence[Callable[..., Any]], numpy: Any) -> tuple[Any, ...]:
    """An errand of operations as its worker is told of it. steps: the functions that are called for the operations."""
    takes, gives, operations = errand["takes"], errand["gives"], errand["ops"]
    last = operations[-1]["call"]
    told = [(step, operation["place"], not is_plugin(operation) and _takes_rng(step))
            for step, operation in zip(steps, operations, strict=True)]
    taken = given = None
    if takes["kind"] == "tensor":
        taken = (_dtype(takes["dtype"]), _dtype(takes["dtype"]).itemsize, _sizes(takes))
    if gives["kind"] == "tensor":
        given = _tensor_kind(gives, numpy)
    # A plug-in gives what `gives` says, and as the array or the bytes that are wanted.
    fit = (lambda value: value) if is_plugin(operations[-1]) else fitter(last, gives)
    bunch = operations[0].get("batch", 0)  # where it is given, the operation is the errand's only one
    return taken, given, told, errand["output"], fit, None, bunch, splitter(last), in_flight_of(operations, steps)


def in_flight_of(operations: Sequence[Mapping[str, Any]], steps: Sequence[Callable[..., Any]]) -> int:
    """How many calls of an errand are under way at once; 0: none of its functions is async."""
    return min((operation.get("in_flight", _IN_FLIGHT) for operation, step in zip(operations, steps, strict=True)
                if is_async(step)), default=0)


def check_calls(operations: Iterable[Mapping[str, Any]], functions: Mapping[str, Callable[..., Any]]) -> None:
    """Raises a sentence where an operation asks for calls that its function is not written for."""
    for operation in operations:
        if is_plugin(operation):
            continue
        call = operation["call"]
        if operation.get("in_flight", 0) > 0 and not is_async(functions[call]):
            raise InvalidError(f'the operation calls "{call}" with in_flight, which is for async functions, and it is none: '
                               "leave in_flight out, or define the function by async def")
        if operation.get("batch", 0) > 0 and is_async(functions[call]):
            raise InvalidError(f'the operation calls "{call}" with batch, and it is an async function, which is called for one '
                               "sample at a time: write in_flight in place of batch")


def _item_errand(errand: Mapping[str, Any], data_sets: Mapping[str, Any], numpy: Any) -> tuple[Any, ...]:
    """Of a source: its item is made of an index."""
    operation, gives = errand["ops"][0], errand["gives"]

    def kind_of_field(field: Mapping[str, Any]) -> Any:
        return _tensor_kind(field, numpy) if field["kind"] == "tensor" else None

    item_of = functools.partial(getitem, data_sets[operation["call"]])
    form = form_of(operation["call"], gives, kind_of_field)
    return None, None, [(item_of, operation["place"], False)], errand["source"], None, form, 0, None, 0


def _tensor_kind(gives: Mapping[str, Any], numpy: Any) -> tuple[Any, int, list[int]]:
    # Numpy itself has no bfloat16: no array is one before it was looked at.
    dtype = None if gives["dtype"] == "bfloat16" else numpy.dtype(gives["dtype"])
    return dtype, 2 if dtype is None else dtype.itemsize, _sizes(gives)


def _sizes(tensor: Mapping[str, Any]) -> list[int]:
    return [-1 if size is None else size for size in tensor["shape"]]


def _numpy() -> Any:
    try:
        import numpy
        import numpy.random
    except ImportError as error:
        raise InvalidError(f"a Python operation takes or gives an array, and numpy cannot be imported: {error}") from None
    return numpy


def _dtype(name: str) -> Any:
    numpy = _numpy()
    if name != "bfloat16":
        return numpy.dtype(name)
    try:
        ml_dtypes: Any = importlib.import_module("ml_dtypes")
    except ImportError:
        raise InvalidError("a Python operation takes values of bfloat16, for which numpy has no type: install ml_dtypes, or "
                           "convert behind the operation") from None
    return numpy.dtype(ml_dtypes.bfloat16)


def _takes_rng(function: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function of an extension
        return False


def _settle(memory_max: int, nursery: int) -> None:
    end_with(nursery)
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)) and number != signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if memory_max > 0:
        most = memory_max + _data_bytes()
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "set_num_threads"):
        torch.set_num_threads(1)


def _data_bytes() -> int:
    """The memory that this process has already, as RLIMIT_DATA counts it."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0
