"""The crew: runs the Python operations of a pipeline in processes of the trainer's user, beside the daemon. The client library
starts it where the daemon asks for one. This process imports none of the user's code: it speaks with the daemon, brings what
the user's code prints to the trainer's stderr, and sees to it that nothing is left when the daemon is gone.
"""
import collections
import contextlib
import json
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from spdld import _spdld
from spdld._crew.nursery import be_nursery, how_it_ended
from spdld._crew.output import Relay
from spdld._crew.worker import prctl
from spdld._errors import Error

_JOIN_MS = 10_000
_LAST_WORDS = 0.2  # seconds for what was printed last
_QUEUE_MAX = 400  # lines that wait for the trainer's stderr
_READ_MAX = 65536
_PR_SET_CHILD_SUBREAPER = 36
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> NoReturn:
    # A function that goes through a set of texts does so in the same order in every crew. Python reads this at its start.
    if "PYTHONHASHSEED" not in os.environ:
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, sys.orig_argv)
    for number in (signal.SIGINT, signal.SIGHUP):  # they are for the trainer, which ends the daemon's wish for a crew
        signal.signal(number, signal.SIG_IGN)
    token, path, head, blobs = _read_input()
    if os.getsid(0) != os.getpid():
        os.setsid()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for name in _ONE_THREAD:  # there is a worker for each processor
        os.environ.setdefault(name, "1")
    sys.path[:] = head["path"]
    sys.argv[:] = head["argv"]
    try:
        link = _spdld.join_crew(path, token, _JOIN_MS)
        joined = _await_answer(link)
    except Error as error:
        _end_with_words(f"spdld: the processes of Python operations cannot join the daemon: {error}")
    if joined is None:
        os._exit(0)
    crew = _Crew(link)
    try:
        crew.start_nursery(joined, head["functions"], head["libraries"], blobs)
        blobs.clear()  # a data set may be large
        crew.run()
    except BaseException as error:
        crew.say(f"spdld: the processes of Python operations end: {type(error).__name__}: {error}")
    finally:
        crew.end()
    os._exit(0)


def _read_input() -> tuple[str, str, Mapping[str, Any], dict[str, bytes]]:
    with os.fdopen(0, "rb") as file:
        token, path, head_line = (file.readline().decode().rstrip("\n") for _ in range(3))
        head = json.loads(head_line)
        blobs = {digest: file.read(length) for digest, length in head["blobs"]}
    nothing = os.open(os.devnull, os.O_RDONLY)
    if nothing != 0:
        os.dup2(nothing, 0)
        os.close(nothing)
    os.set_inheritable(0, True)
    return token, path, head, blobs


def _end_with_words(sentence: str) -> NoReturn:
    with contextlib.suppress(OSError):  # the trainer is gone
        os.write(2, sentence.encode() + b"\n")
    os._exit(1)


def _await_answer(link: "_spdld.CrewLink") -> tuple[Any, ...] | None:
    """The event "joined"; None where another crew came first."""
    poll = select.poll()
    poll.register(link.fileno(), select.POLLIN)
    while True:
        event = link.take()
        if event is None:
            poll.poll()
        elif event[0] == "joined":
            return event
        elif event[0] == "not wanted":
            return None
        else:
            raise Error(event[-1])


class _Crew:
    def __init__(self, link: "_spdld.CrewLink") -> None:
        self._link = link
        self._printed, self._prints = os.pipe()
        os.set_blocking(self._printed, False)
        self._lines: queue.Queue[bytes | None] = queue.Queue(_QUEUE_MAX)
        self._relay = Relay(self._enqueue, time.monotonic())
        self._writer = threading.Thread(target=self._write_lines, daemon=True)
        self._nursery = 0  # its pid, as long as it lives
        self._orders: collections.deque[tuple[bytes, Sequence[int]]] = collections.deque()  # for the nursery, not sent yet
        self._ended = False
        self._child_ends, self._told_child_ends = socket.socketpair()
        for end in (self._child_ends, self._told_child_ends):
            end.setblocking(False)

    def start_nursery(self, joined: tuple[Any, ...], known: Mapping[str, Any], libraries: Mapping[str, str],
                      blobs: dict[str, bytes]) -> None:
        _, errands, scratch, scratch_bytes, memory_max = joined
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        errand_list: Sequence[Mapping[str, Any]] = json.loads(errands)["errands"]
        crew = os.getpid()
        self._nursery = os.fork()  # before there is a thread
        if self._nursery == 0:
            ours.close()
            os.close(self._link.fileno())  # the daemon sees the crew's end by it
            os.close(self._printed)
            for fd in (1, 2):
                os.dup2(self._prints, fd)
            os.close(self._prints)
            be_nursery(theirs, crew, errand_list, known, libraries, blobs, scratch, scratch_bytes, memory_max)
        signal.set_wakeup_fd(self._told_child_ends.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        theirs.close()
        os.close(scratch)
        os.close(self._prints)
        ours.setblocking(False)
        self._channel = ours
        self._writer.start()

    def run(self) -> None:
        """Until the daemon is gone."""
        poll = select.poll()
        for fd in (self._printed, self._child_ends.fileno()):
            poll.register(fd, select.POLLIN)
        hears_nursery = True
        with _pidfd(self._nursery) as pidfd:
            poll.register(pidfd, select.POLLIN)
            while not self._ended:
                unsent = 0 if self._link.flush() else select.POLLOUT
                poll.register(self._link.fileno(), select.POLLIN | unsent)
                if hears_nursery:
                    poll.register(self._channel, select.POLLIN | (select.POLLOUT if self._orders else 0))
                due = self._relay.due(time.monotonic())
                ready = {fd for fd, _ in poll.poll(None if due is None else due * 1000)}
                self._relay.look_at(time.monotonic())
                if self._link.fileno() in ready:
                    self._hear_daemon()
                if self._channel.fileno() in ready:
                    self._send_orders()
                    hears_nursery = self._hear_nursery()
                    if not hears_nursery:
                        poll.unregister(self._channel)
                if self._printed in ready and self._read_printed() == 0:
                    poll.unregister(self._printed)
                if pidfd in ready:
                    poll.unregister(pidfd)
                    self._mourn_nursery()
                if self._child_ends.fileno() in ready:
                    self._child_ends.recv(_READ_MAX)
                    _reap_orphans(self._nursery)

    def say(self, sentence: str) -> None:
        self._enqueue(sentence.encode() + b"\n")

    def end(self) -> None:
        """Kills all that this process has started, also what has left its group or its session."""
        self._nursery = 0
        while True:
            for pid in list(_descendants(os.getpid())):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        while (self._read_printed() or 0) > 0:
            pass
        self._relay.end(time.monotonic())
        if self._writer.is_alive():
            self._enqueue(None)
            self._writer.join(_LAST_WORDS)

    def _hear_daemon(self) -> None:
        while not self._ended:
            event = self._link.take()
            if event is None:
                return
            if event[0] == "start":
                self._order({"start": event[1]}, event[2:])
            elif event[0] == "end worker":
                self._order({"end": event[1]})
            else:
                self._ended = True

    def _order(self, order: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
        self._orders.append((json.dumps(order).encode(), fds))
        self._send_orders()

    def _send_orders(self) -> None:
        while self._orders:
            text, fds = self._orders[0]
            try:
                socket.send_fds(self._channel, [text], fds)
            except BlockingIOError:  # it is busy
                return
            except OSError:  # it is gone, which its pidfd tells
                pass
            for fd in fds:
                os.close(fd)
            self._orders.popleft()

    def _hear_nursery(self) -> bool:
        """False: it says nothing any more."""
        while True:
            try:
                text = self._channel.recv(_READ_MAX)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not text:
                return False
            message = json.loads(text)
            if "progress" in message:
                self._link.tell_progress(*message["progress"])
            elif "ready" in message:
                self._link.tell_ready()
            elif "failed" in message:
                self._link.tell_failed(message["failed"])
            else:
                self._link.tell_worker_ended(*message["ended"])

    def _mourn_nursery(self) -> None:
        self._hear_nursery()  # its last words come before its end is told
        _, status = os.waitpid(self._nursery, 0)
        self._nursery = 0
        self._link.tell_failed("the process that loads the functions of Python operations and starts workers "
                               f"{how_it_ended(status)}")

    def _read_printed(self) -> int | None:
        """Returns how many bytes were read. 0: nobody can print any more; None: there is nothing now."""
        try:
            data = os.read(self._printed, _READ_MAX)
        except BlockingIOError:
            return None
        self._relay.take(data, time.monotonic())
        return len(data)

    def _enqueue(self, line: bytes | None) -> bool:
        try:
            self._lines.put_nowait(line)
        except queue.Full:  # nobody reads the trainer's stderr
            return False
        return True

    def _write_lines(self) -> None:
        """A thread of its own: a write waits where the trainer's stderr is a pipe that nobody reads."""
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):  # the trainer's stderr is gone
                os.write(2, line)


class _pidfd:
    def __init__(self, pid: int) -> None:
        self._fd = os.pidfd_open(pid)

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _reap_orphans(nursery: int) -> None:
    """Processes whose parents have ended, and which end as this process's children."""
    try:
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == nursery:  # its end is told first
                return
            os.waitpid(ended.si_pid, 0)
    except ChildProcessError:
        pass


def _parents() -> Iterator[tuple[int, int]]:
    """Every process, and its parent."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    yield int(name), int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):  # it has just ended
                pass


def _descendants(root: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = [root]
    while found:
        for child in children.get(found.pop(), ()):
            yield child
            found.append(child)

