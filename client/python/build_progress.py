"""Shows on the terminal how far the build is. pip hides what a build writes until it fails, and the build takes some minutes."""
import contextlib
import os
import re
import sys
import threading
import time

EVERY_S = 5
STEP = re.compile(rb"^\[(\d+)/(\d+)\]")


@contextlib.contextmanager
def on_terminal():
    """Runs a block whose programs write the steps of the build, as ninja does. Each line goes to the standard output, too. Where
    there is no terminal, where the standard output is one, and with SPDLD_PROGRESS=0, nothing is shown."""
    terminal = None if os.environ.get("SPDLD_PROGRESS") == "0" or os.isatty(1) else _terminal()
    if terminal is None:
        yield
        return
    sys.stdout.flush()
    before = os.dup(1)
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(writer)
    thread = threading.Thread(target=_pass_on, args=(reader, before, terminal), daemon=True)
    thread.start()
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(before, 1)  # the last writer of the pipe is gone
        thread.join()
        os.close(before)
        os.close(terminal)


def _terminal():
    try:
        return os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:  # there is none
        return None


def _pass_on(reader, output, terminal):
    """pip draws at the end of its own line meanwhile: each report is a line of its own, with a blank for what pip draws."""
    shown_at = -float("inf")
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            _write(output, line)
            step = STEP.match(line)
            if step and time.monotonic() - shown_at >= EVERY_S:
                shown_at = time.monotonic()
                _write(terminal, f"\n  building spdld: step {int(step[1])} of {int(step[2])} ".encode())


def _write(file, text):
    """A terminal that is gone, or an output that nobody reads, does not end the build."""
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(file, text):]
