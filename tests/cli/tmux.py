"""A program on a terminal that tmux keeps, as a user has it over ssh: its screen, its keys, its size."""
import os
import re
import subprocess
import time

from daemon import WAIT_S


PROMPT = r"[#$] ?$"


class Tmux:
    """Runs a program in a tmux server of its own, until the block ends. The shell below the program stays when the program ends,
    so that the terminal can be looked at then."""

    servers = 0

    def __init__(self, *words, environment, columns=80, rows=24):
        Tmux.servers += 1
        self.name = f"spdld-test-{os.getpid()}-{Tmux.servers}"
        self.environment = {**environment, "LC_ALL": "C.UTF-8"}
        self.environment.pop("TMUX", None)
        self.words, self.columns, self.rows = [str(word) for word in words], columns, rows

    def __enter__(self):
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", self.columns, "-y", self.rows, "/bin/sh")
        try:
            self.await_text(PROMPT)
        except BaseException:
            self.tmux("kill-server")  # the block does not begin, and does not end
            raise
        self.type(" ".join(f"'{word}'" for word in self.words), "Enter")
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-L", self.name, *map(str, words)], env=self.environment, capture_output=True,
                              text=True, timeout=60)
        if done.returncode:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def type(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "t", "-x", columns, "-y", rows)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "t")

    def coloured(self):
        """The screen with its colours, as escape sequences."""
        return self.tmux("capture-pane", "-e", "-N", "-p", "-t", "t")

    def await_text(self, pattern, is_there=True):
        """Until the screen has the pattern, or has it no more; returns the screen."""
        until = time.monotonic() + WAIT_S
        while bool(re.search(pattern, screen := self.screen().rstrip("\n"))) != is_there:
            if time.monotonic() > until:
                raise AssertionError(f"{pattern} is {'not ' if is_there else ''}on the screen:\n{screen}")
            time.sleep(0.02)
        return screen

    def pid_of(self, name):
        """The process of this name that runs in the terminal."""
        shell = self.tmux("display-message", "-p", "-t", "t", "#{pane_pid}").strip()
        for line in subprocess.run(["ps", "--ppid", shell, "-o", "pid=,comm="], capture_output=True,
                                   text=True).stdout.splitlines():
            pid, command = line.split()
            if command == name:
                return int(pid)
        raise AssertionError(f"{name} does not run there")
