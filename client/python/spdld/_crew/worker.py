"""A worker of a crew: a process that calls the user's functions on one sample after another (the loop is native code)."""
import contextlib
import ctypes
import importlib
import inspect
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from spdld import _spdld
from spdld._crew.results import fitter, text_of
from spdld._errors import InvalidError

_PR_SET_PDEATHSIG = 1


class Job(NamedTuple):
    """The things that all workers of a crew have in common."""

    errands: Sequence[Mapping[str, Any]]  # as CREW_JOINED tells them
    functions: Mapping[str, Callable[..., Any]]  # by call
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
        worker = make(job)
        worker.sit_down(ring, bell, job.scratch, job.scratch_bytes)
        fault = worker.run()
        if fault:
            print(f"spdld: a worker ends, because the daemon broke the protocol: {fault}", file=sys.stderr, flush=True)
    except BaseException as error:
        print(f"spdld: a worker ends: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def make(job: Job) -> "_spdld.Worker":
    from spdld._crew.randomness import keyed

    numpy: Any = sys.modules.get("numpy")
    calls = [[operation["call"] for operation in errand["ops"]] for errand in job.errands]
    errands = [_errand(errand, job.functions, numpy) for errand in job.errands]

    def told(error: BaseException, traceback: Any, errand: int, operation: int) -> str:
        return text_of(calls[errand][operation], error, traceback)

    return _spdld.Worker(errands, told, getattr(numpy, "ndarray", None), keyed())


def check(errands: Sequence[Mapping[str, Any]]) -> None:
    """Raises a sentence where an errand takes or gives what this Python has no type for. Imports numpy where it is installed: its
    generators are to stand at the sample's state also in a function that imports numpy when it is called."""
    with contextlib.suppress(InvalidError):
        _numpy()
    for errand in errands:
        for value in (errand["takes"], errand["gives"]):
            if value["kind"] == "tensor":
                _numpy()
        if errand["takes"]["kind"] == "tensor":
            _dtype(errand["takes"]["dtype"])


def _errand(errand: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]], numpy: Any) -> tuple[Any, ...]:
    takes, gives = errand["takes"], errand["gives"]
    operations = [(functions[operation["call"]], operation["place"], _takes_rng(functions[operation["call"]]))
                  for operation in errand["ops"]]
    taken = given = None
    if takes["kind"] == "tensor":
        taken = (_dtype(takes["dtype"]), _dtype(takes["dtype"]).itemsize, [])
    if gives["kind"] == "tensor":
        shape = [-1 if size is None else size for size in gives["shape"]]
        # Numpy itself has no bfloat16: no array is one before it was looked at.
        dtype = None if gives["dtype"] == "bfloat16" else numpy.dtype(gives["dtype"])
        given = (dtype, 2 if dtype is None else dtype.itemsize, shape)
    return taken, given, operations, errand["output"], fitter(errand["ops"][-1]["call"], gives)


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
