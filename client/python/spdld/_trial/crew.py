"""The crew of a trial: the calling thread of the calling process. A debugger in a function of the user's works there, and what
the function prints comes as usual. The daemon asks the client library to start a crew, which starts a program that hands the
daemon's word back to this process instead, and ends."""
import contextlib
import copy
import functools
import itertools
import json
import os
import random
import select
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from spdld import _spdld
from spdld._crew import worker as workers
from spdld._crew.calls import OPERATION, checked, imported, split
from spdld._crew.chains import is_python
from spdld._crew.randomness import keyed
from spdld._crew.results import Unfit, text_of
from spdld._crew.single import of_one, plain
from spdld._errors import Error, FailedError, InvalidError
from spdld._trial.pipeline import CALL_LIMIT_S, LOOK, Look, TrialPipeline
from spdld._trial.steps import Seen

# It waits for nobody: where the trial is over already, nobody reads.
_HAND_BACK = """import os, sys
word = sys.stdin.readline() + sys.stdin.readline()
try:
    os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK), word.encode())
except OSError:
    pass"""
_JOIN_S = 30.0
_WORD_BYTES_MAX = 8192
_LOOK_S = 0.05


class Fault(NamedTuple):
    """An exception of an operation in Python."""

    call: str
    output: str
    place: int
    error: BaseException
    traceback: TracebackType | None
    function: Callable[..., Any] | None

    def is_of_sample(self) -> bool:
        """False: the user has left the debugger, or pressed Ctrl-C."""
        return isinstance(self.error, Exception) and type(self.error).__name__ != "BdbQuit"

    def sentence(self, sample: str) -> str:
        where = ""
        code = getattr(self.function, "__code__", None)
        if isinstance(self.error, Unfit) and code is not None:
            where = f" ({code.co_filename}:{code.co_firstlineno}, {code.co_name})"
        return f"{sample}: operation {self.place} of output {self.output}: " \
               f"{text_of(self.call, self.error, self.traceback)}{where}"


class OwnCrew:
    """One thread, but for end_work()."""

    def __init__(self, trial: TrialPipeline, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._trial, self._functions = trial, functions
        self._folder = tempfile.mkdtemp(prefix="spdld-try-")
        self._path = os.path.join(self._folder, "word")
        os.mkfifo(self._path, 0o600)
        self._word: int | None = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        self._lock = threading.Lock()
        self._bell: socket.socket | None = None  # under the lock
        self._has_ended = False  # under the lock
        self._is_wanted = trial.calls_functions()
        self.seen: dict[tuple[str, int], Seen] = {}  # by output and place in its chain
        self.fault: Fault | None = None
        self.lateness = ""  # a sentence, where the daemon waits for the sample no more

    def command(self) -> list[str]:
        """The program that the client library starts for a crew; none where the pipeline needs none."""
        if not self._is_wanted:
            return []
        if not sys.executable:
            raise InvalidError("this program does not tell its interpreter: set sys.executable to the path of a Python")
        return [sys.executable, "-I", "-S", "-c", _HAND_BACK, self._path]

    def work(self, taker: threading.Thread) -> None:
        """Runs the functions, until the batch is there or can't come any more. taker: the thread that waits for the batch."""
        word = self._await_word(taker) if self._is_wanted else None
        if word is None:
            return
        link: _spdld.CrewLink | None = _spdld.join_crew(word[1], word[0], int(_JOIN_S * 1000))
        worker: _spdld.Worker | None = None
        scratch = -1
        try:
            assert link is not None
            joined = _await(link, "joined", taker)
            if joined is None:
                return
            _, errands, scratch, scratch_bytes, _ = joined
            worker = self._worker(json.loads(errands)["errands"])
            link.tell_ready()
            started = _await(link, "start", taker)
            if started is None:
                return
            _, _, ring, bell = started
            self._hear(bell)
            worker.sit_down(ring, bell, scratch, scratch_bytes)
            fault = worker.run()
            if fault:
                raise Error(f"the daemon broke the protocol: {fault}")
        finally:
            worker = link = None  # a traceback keeps this frame, and the daemon waits until the worker is gone
            if scratch >= 0:
                os.close(scratch)

    def end_work(self) -> None:
        """Any thread: the worker's loop ends as soon as no function runs."""
        with self._lock:
            self._has_ended = True
            if self._bell is not None:
                with contextlib.suppress(OSError):
                    self._bell.shutdown(socket.SHUT_RD)

    def raise_interrupt(self) -> None:
        """Where the user has left the debugger, or has pressed Ctrl-C."""
        if self.fault is not None and not self.fault.is_of_sample():
            raise self.fault.error.with_traceback(self.fault.traceback)

    def close(self) -> None:
        if self._word is not None:
            os.close(self._word)
            self._word = None
        with self._lock:
            if self._bell is not None:
                self._bell.close()
                self._bell = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _await_word(self, taker: threading.Thread) -> tuple[str, str] | None:
        """The token and the socket's path; None: there is or will be no batch."""
        assert self._word is not None
        poll = select.poll()
        poll.register(self._word, select.POLLIN)
        data, until = b"", time.monotonic() + _JOIN_S
        while data.count(b"\n") < 2:
            if not taker.is_alive():
                return None
            if time.monotonic() > until:
                raise FailedError(f"the daemon has asked for no process that runs functions within {_JOIN_S:.0f} s: look at what "
                                  "the program has printed above")
            if any(event & select.POLLIN for _, event in poll.poll(_LOOK_S * 1000)):
                data += os.read(self._word, _WORD_BYTES_MAX)
        token, path, *_ = data.decode().split("\n")
        return token, path

    def _hear(self, bell: int) -> None:
        with self._lock:
            self._bell = socket.socket(fileno=os.dup(bell))
            if self._has_ended:
                self._bell.shutdown(socket.SHUT_RD)

    def _worker(self, errands: Sequence[Mapping[str, Any]]) -> "_spdld.Worker":
        workers.check([])  # imports numpy
        workers.check_calls((op for errand in errands for op in errand["ops"] if op["call"] != LOOK), self._functions)
        numpy: Any = sys.modules["numpy"]
        places = {errand["output"]: iter(self._trial.calls_of(errand["output"])) for errand in errands}
        told_of: list[list[tuple[str, str, int]]] = []
        own = []
        for errand in errands:
            name, calls = errand["output"], [op["call"] for op in errand["ops"]]
            at = [(call, name, next(places[name])) for call in calls]
            told_of.append(at)
            look = self._trial.look_at(name)
            functions = {call: self._looking(look, errand["takes"], numpy) if call == LOOK else
                         self._replaying(look, [place for one, _, place in at if one == call]) if look else
                         self._calling(name, operation, [place for one, _, place in at if one == call], at[0][2])
                         for operation, call in zip(errand["ops"], calls, strict=True)}
            own.append(workers.errand_of(plain(_without_bfloat16(errand) if look else errand),
                                         [functions[call] for call in calls], numpy))

        def told(error: BaseException, traceback: TracebackType | None, errand: int, operation: int, _: int) -> str:
            call, output, place = told_of[errand][operation]
            look = self._trial.look_at(output)
            if self.fault is None:
                self.fault = Fault(call, look.output if look else output, place, error, traceback, self._functions.get(call))
                if not self.fault.is_of_sample():
                    self.end_work()
            return text_of(call, error, traceback)

        return _spdld.Worker(own, told, numpy.ndarray, keyed(one_thread=False))

    def _calling(self, output: str, operation: Mapping[str, Any], places: Sequence[int], first: int) -> Callable[..., Any]:
        """The function of an errand's operation, which is called with an array of its own: the daemon's memory is gone when the
        trial is over, and a debugger may still look at what the function was given."""
        call = operation["call"]
        function, in_turn = of_one(self._functions[call], operation), itertools.cycle(places)

        @functools.wraps(function)
        def called(value: Any, **rng: Any) -> Any:
            place = next(in_turn)
            if (output, place) in self.seen:  # the daemon asks once more, because it had no memory for the result
                return _kept(self.seen[output, place].value)
            if place == first:
                value = _kept(value)
                self.seen[output, place - 1] = Seen(_kept(value))
            began = time.perf_counter()
            try:
                gave = function(value, **rng)
            except BaseException as error:
                self.seen[output, place] = Seen(None, time.perf_counter() - began, error=error)
                raise
            took = time.perf_counter() - began
            if took > CALL_LIMIT_S:
                self.lateness = f"operation {place} of output {output}: {call} took {took:.0f} s, and the daemon waits for a " \
                    f"function for {CALL_LIMIT_S:.0f} s: try the sample anew"
                self.end_work()
            self.seen[output, place] = Seen(_kept(gave), took)
            return gave

        return called

    def _replaying(self, look: Look, places: Sequence[int]) -> Callable[..., Any]:
        in_turn = itertools.cycle(places)
        return lambda _: _kept(self.seen[look.output, next(in_turn)].value)

    def _looking(self, look: Look | None, takes: Mapping[str, Any], numpy: Any) -> Callable[..., Any]:
        if look is None:
            raise InvalidError(f'"{LOOK}" is a function of spdld.try_sample\'s own: call another one')

        at = look.output, look.place - 1

        def looked(value: Any) -> Any:
            seen = Seen(_kept(value))
            if takes.get("dtype") == "bfloat16":  # as its bits
                seen = Seen((value.astype(numpy.uint32) << 16).view(numpy.float32), dtype="bfloat16")
            self.seen[at] = seen
            return numpy.zeros((), numpy.uint8)

        return looked


def _await(link: "_spdld.CrewLink", kind: str, taker: threading.Thread) -> tuple[Any, ...] | None:
    """The event; None: there will be none, and what becomes of the batch says why. Raises FailedError where it does not come."""
    poll = select.poll()
    until = time.monotonic() + _JOIN_S
    while taker.is_alive() and time.monotonic() < until:
        poll.register(link.fileno(), select.POLLIN | (0 if link.flush() else select.POLLOUT))
        event = link.take()
        if event is not None:
            return event if event[0] == kind else None
        poll.poll(_LOOK_S * 1000)
    if taker.is_alive():
        raise FailedError(f"the daemon has not answered within {_JOIN_S:.0f} s")
    return None


def functions_of(trial: TrialPipeline, ops: Mapping[str, Callable[..., Any]] | None) -> dict[str, Callable[..., Any]]:
    """By the calls of the pipeline's operations."""
    calls = dict.fromkeys(str(op.get("call")) for chain in trial.chains.values() for op in chain if is_python(op))
    if ops is not None and not isinstance(ops, Mapping):
        raise InvalidError('ops is a dict of functions, by the names that operations call them by, such as {"blur": blur}, and '
                           f"not a value of the type {type(ops).__name__}")
    for name in ops or {}:
        if name not in calls:
            raise InvalidError(f'ops has "{name}", and no operation of the pipeline calls it: write {{ op = "python", call = '
                               f'"{name}", gives = ... }} into the ops of an output')
    functions = {}
    for call in calls:
        if ops is not None and call in ops:
            functions[call] = checked(ops[call], call)
        elif not split(call)[1]:
            raise InvalidError(f'an operation calls "{call}", which is not in ops: give ops={{"{call}": function}}, or write '
                               'call = "module:function"')
        else:
            functions[call] = imported(call, OPERATION)
    return functions


def _kept(value: Any) -> Any:
    """A copy that nobody else writes into."""
    if isinstance(value, (bytes, str, int, float, bool, type(None))):
        return value
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return value.copy()
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return value.detach().clone()
    try:
        return copy.deepcopy(value)
    except Exception:  # of the value's own code
        return value


def _without_bfloat16(errand: Mapping[str, Any]) -> Mapping[str, Any]:
    """Numpy has no such type, and the package that has one need not be there to show a value."""
    if errand["takes"].get("dtype") != "bfloat16":
        return errand
    return {**errand, "takes": {**errand["takes"], "dtype": "uint16"}}


@contextlib.contextmanager
def kept_randomness() -> Iterator[None]:
    """The random generators of the program stand behind it where they stood before."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    states = [(random.setstate, random.getstate())]
    if numpy is not None:
        states.append((numpy.random.set_state, numpy.random.get_state()))
    if hasattr(torch, "get_rng_state"):
        states.append((torch.set_rng_state, torch.get_rng_state()))  # type: ignore[union-attr]
    hooks = list(sys.meta_path)
    try:
        yield
    finally:
        for hook in [hook for hook in sys.meta_path if hook not in hooks and type(hook).__name__ == "_AwaitsTorch"]:
            sys.meta_path.remove(hook)
        for set_state, state in states:
            set_state(state)
