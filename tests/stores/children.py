"""Processes of a test's own that never outlive it: each has a port on loopback, and ends when its parent ends.

A server here may also be a helper program that another process starts, such as a test in C++. The helper prints one line of JSON
with its addresses, and ends when its standard input closes or when its parent dies: see serve().
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("SPDLD_STORES_VENV", ROOT / "build/stores-venv"))  # tests/install makes it
WAIT_S = 30
PORTS = (12000, 32000)  # below the ports that the kernel gives to connecting sockets
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def free_ports(count):
    """Returns `count` different ports on loopback that nothing listens on now."""
    draw, held = random.Random(os.urandom(8)), {}
    try:
        while len(held) < count:
            port = draw.randrange(*PORTS)
            if port in held:
                continue
            probe = socket.socket()
            try:
                probe.bind(("127.0.0.1", port))
                held[port] = probe
            except OSError:
                probe.close()
        return list(held)
    finally:
        for probe in held.values():
            probe.close()


def _die_with(parent, word):
    """Runs in the child before exec. The kernel forgets the wish if the parent died before this call."""
    LIBC.prctl(PR_SET_PDEATHSIG, word, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), word)


class Child:
    """A program that runs until close(). The kernel sends `end` to the program when the thread that started it ends, so a
    Child is started from the main thread. Attributes: process, log (the path of what the program wrote)."""

    def __init__(self, command, log, end=signal.SIGKILL, environment=None):
        self.name, self.log, self.end = Path(str(command[0])).name, Path(log), end
        parent = os.getpid()
        with open(log, "ab") as output:
            self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                            env=environment, preexec_fn=lambda: _die_with(parent, end), cwd=self.log.parent)

    def check(self):
        """Raises RuntimeError with the last lines of the log if the program has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with code {self.process.returncode}: {self.log.read_text()[-2000:]}")

    def close(self, wait_s=5):
        """Ends the program by the signal `end`, and by SIGKILL if that does not help."""
        if self.process.poll() is None:
            self.process.send_signal(self.end)
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def wait_for(ready, children, what, wait_s=WAIT_S):
    """Calls ready() until it returns a true value. Raises RuntimeError when one of `children` ends or the time is over.
    A call that fails by OSError counts as not ready."""
    until, pause = time.monotonic() + wait_s, 0.005
    while True:
        try:
            found = ready()
        except (OSError, ValueError) as error:
            found, why = None, error
        else:
            why = "not ready"
        if found:
            return found
        for child in children:
            child.check()
        if time.monotonic() > until:
            raise RuntimeError(f"{what} is not ready after {wait_s} s: {why}")
        time.sleep(pause)
        pause = min(0.1, pause * 1.5)


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def temporary_folder(name):
    """Returns a TemporaryDirectory. Folders of the same name that a killed process left behind are removed."""
    prefix = f"spdld-{name}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        owner = left.name[len(prefix):].partition("-")[0]
        if owner.isdigit() and not _lives(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=f"{prefix}{os.getpid()}-", ignore_cleanup_errors=True)


def program(name):
    """Returns the path of a program in the virtual environment of the stores."""
    path = VENV / "bin" / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run tests/run once without --no-install, or set SPDLD_STORES_VENV")
    return path


def end_with_parent():
    """Makes this process end when its parent dies: by SIGTERM, and at the latest by the end of its standard input."""
    parent = os.getppid()
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def _ended(*_):
    raise SystemExit(0)


def serve(start, parser=None, obey=None):
    """The main function of a helper program. It calls start(arguments), which returns a server with addresses() and close(),
    and prints the addresses as one line of JSON. It then waits for the end of standard input, and closes the server.

    Every line of standard input is a command in JSON: obey(server, command) returns the answer, which is printed as a line."""
    for word in (signal.SIGTERM, signal.SIGINT):
        signal.signal(word, _ended)
    end_with_parent()
    server = start((parser or argparse.ArgumentParser()).parse_args())
    try:
        print(json.dumps(server.addresses()), flush=True)
        for line in sys.stdin:
            if obey is None:
                continue
            try:
                answer = obey(server, json.loads(line))
            except Exception as error:  # a wrong command must not end the server
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)
    finally:
        # The end of standard input and the signal come together when the parent dies: neither breaks off the cleaning up.
        try:
            for word in (signal.SIGTERM, signal.SIGINT):
                signal.signal(word, signal.SIG_IGN)
        finally:
            server.close()


class HelperProgram:
    """A helper program as a child of this process: for servers that need a process of their own. Attributes:
    process, addresses (what the helper printed)."""

    def __init__(self, script, *arguments, python=sys.executable):
        self.process = subprocess.Popen([python, script, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self._lock = threading.Lock()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{script} printed no addresses; its exit code is {self.process.wait()}")
        self.addresses = json.loads(line)

    def tell(self, command):
        """Sends a command, and returns the answer. Raises RuntimeError if the answer is an error."""
        with self._lock:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the helper has ended with code {self.process.wait(WAIT_S)}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self):
        """Ends the helper through its standard input; returns its exit code."""
        self.process.stdin.close()
        try:
            code = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process.stdout.close()
        return code
