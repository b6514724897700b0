"""The process of a crew that loads the user's functions, once, and then forks a worker whenever one is asked for."""
import contextlib
import gc
import json
import os
import pickle
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from spdld._crew.calls import OPERATION, SOURCE, checked, imported, split
from spdld._crew.datasets import is_data_set, made
from spdld._crew.learning import described
from spdld._crew.plugins import BoundPlugins, bound, is_plugin
from spdld._crew.single import of_one
from spdld._crew.worker import Job, be_worker, check, check_calls, end_with
from spdld._errors import InvalidError, UnsupportedError

_MESSAGE_MAX = 65536
_SENTENCE_MAX = 16000  # characters


def be_nursery(channel: socket.socket, crew: int, errands: Sequence[Mapping[str, Any]], known: Mapping[str, Mapping[str, str]],
               libraries: Mapping[str, str], blobs: dict[str, bytes], scratch: int, scratch_bytes: int,
               memory_max: int) -> NoReturn:
    """In a process that was just forked from the crew's. `known`: how to get the functions that have no path as their call.
    `libraries`: the paths of plug-ins."""
    try:
        end_with(crew)
        os.setpgid(0, 0)
        streams: Sequence[Any] = (sys.stdout, sys.stderr)
        for stream in streams:
            stream.reconfigure(line_buffering=True)
        nursery = _Nursery(channel)
        loaded = nursery.load(errands, known, libraries, blobs)
        blobs.clear()  # a data set may be large
        if loaded is not None:
            nursery.serve(Job(errands, *loaded, scratch, scratch_bytes, memory_max))
    except BaseException as error:
        print(f"spdld: the process that starts workers ends: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def how_it_ended(status: int) -> str:
    """The end of a sentence on a process, of its status as waitpid gives it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was ended by signal {number} ({(signal.strsignal(number) or 'unknown').lower()})"
    return f"ended by itself with the exit code {os.WEXITSTATUS(status)}"


class _Nursery:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._workers: dict[int, tuple[int, int]] = {}  # by pidfd: the worker's number, and its pid

    def load(self, errands: Sequence[Mapping[str, Any]], known: Mapping[str, Mapping[str, str]], libraries: Mapping[str, str],
             blobs: Mapping[str, bytes]) -> tuple[dict[str, Callable[..., Any]], BoundPlugins, dict[str, Any]] | None:
        """The functions and the data sets by their calls, and the plug-ins; None where the crew was told that one is missing."""
        wanted = dict.fromkeys((SOURCE if "source" in errand else OPERATION, operation["call"]) for errand in errands
                               for operation in errand["ops"] if not is_plugin(operation))
        functions: dict[str, Callable[..., Any]] = {}
        data_sets: dict[str, Any] = {}
        try:
            check(errands)
            for done, (caller, call) in enumerate(wanted):
                way = known.get(call, {"path": call})
                self._tell(progress=[f"importing {split(way['path'])[0]}" if "path" in way else f"loading {call}", done,
                                     len(wanted)])
                value = _loaded(way.get("described", call), caller, way, blobs)
                if caller == OPERATION:
                    functions[call] = checked(value, way.get("described", call))
                    if "described" in way:
                        functions[call] = _described(functions[call], call, way, errands)
                else:
                    data_sets[call] = value if is_data_set(value) else made(call, value)
            check_calls((operation for errand in errands if "source" not in errand for operation in errand["ops"]), functions)
            _check_lengths(errands, data_sets)
            plugins = bound(errands, libraries, lambda what: self._tell(progress=[what, len(wanted), len(wanted)]))
        except (InvalidError, UnsupportedError) as error:
            self._tell(failed=str(error)[:_SENTENCE_MAX])
            self._channel.recv(1)  # the crew ends this process
            return None
        self._tell(ready=True)
        return functions, plugins, data_sets

    def serve(self, job: Job) -> None:
        gc.collect()
        gc.freeze()  # so that workers do not copy these objects by looking for garbage
        while True:
            for fd, _ in self._poll.poll():
                if fd == self._channel.fileno():
                    self._obey(job)
                else:
                    self._bury(fd)

    def _obey(self, job: Job) -> None:
        text, fds, _, _ = socket.recv_fds(self._channel, _MESSAGE_MAX, 2, socket.MSG_CMSG_CLOEXEC)
        if not text:
            os._exit(0)
        order = json.loads(text)
        if "end" in order:
            for worker, pid in self._workers.values():
                if worker == order["end"]:
                    _kill_group(pid)
        else:
            self._start(job, order["start"], fds)

    def _start(self, job: Job, worker: int, fds: Sequence[int]) -> None:
        nursery = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12 on, where a module has started threads
            try:
                pid = os.fork()
            except OSError as error:
                for fd in fds:
                    os.close(fd)
                self._tell(ended=[worker, f"could not be started ({error.strerror})"])
                return
        if pid == 0:
            self._channel.close()
            for other in self._workers:
                os.close(other)
            be_worker(job, fds[0], fds[1], nursery)
        for fd in fds:
            os.close(fd)
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(pid, pid)
        pidfd = os.pidfd_open(pid)
        self._workers[pidfd] = worker, pid
        self._poll.register(pidfd, select.POLLIN)

    def _bury(self, pidfd: int) -> None:
        worker, pid = self._workers.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _kill_group(pid)  # what it has started, before its number may be another's
        _, status = os.waitpid(pid, 0)
        self._tell(ended=[worker, how_it_ended(status)])

    def _tell(self, **message: Any) -> None:
        self._channel.send(json.dumps(message).encode())


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def _described(function: Callable[..., Any], call: str, way: Mapping[str, Any], errands: Sequence[Mapping[str, Any]]) -> Any:
    operation = next(operation for errand in errands for operation in errand["ops"] if operation["call"] == call)
    own = {**operation, "call": way["described"], "batch": way["batch"]}
    check_calls([own], {way["described"]: function})
    return described(of_one(function, own), way["described"])


def _loaded(call: str, caller: str, way: Mapping[str, str], blobs: Mapping[str, bytes]) -> Any:
    what = "function" if caller == OPERATION else "data set"
    if "path" in way:
        if not split(way["path"])[1]:
            raise InvalidError(f'{caller} calls "{call}", and the program that started the crew has no {what} of this '
                               'name: give ops={"' + call + f'": {what.replace(" ", "")}}}, or write call = "module:'
                               f'{"function" if caller == OPERATION else "name"}"')
        return imported(way["path"], caller)
    try:
        return pickle.loads(blobs[way["blob"]])
    except BaseException as error:  # of the user's own code as well
        raise InvalidError(f'the {what} "{call}" of ops cannot be loaded in another process: {type(error).__name__}: {error}. '
                           "Move it to the top of a module that can be imported") from error


def _check_lengths(errands: Sequence[Mapping[str, Any]], data_sets: Mapping[str, Any]) -> None:
    for errand in errands:
        if "source" in errand:
            call, samples = errand["ops"][0]["call"], errand["samples"]
            count = len(data_sets[call])
            if count < samples:
                raise InvalidError(f'the data set "{call}" has {count} items in the processes that call it, and the pipeline '
                                   f"counts {samples}: give every process of the job the same data set, or correct "
                                   "source.samples")
