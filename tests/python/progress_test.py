"""The line that shows how far a listing is: when it is drawn, where, and that it goes away."""
import io
import os
import pty
import signal
import subprocess
import sys
import unittest
from unittest import mock

from case import WAIT_S, DaemonCase, spec_of

import spdld
from spdld import _progress

LAUNCHERS = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "SPDLD_PROGRESS")


class Terminal(io.StringIO):
    def isatty(self):
        return True


class WhenItIsDrawn(unittest.TestCase):
    def setUp(self):
        environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        self.enterContext(mock.patch.dict(os.environ, {**environment, "TERM": "xterm"}, clear=True))

    def drawn(self, stream, wanted=None, rank=None, local_rank=None, **environment):
        with mock.patch.dict(os.environ, environment), mock.patch.object(sys, "stderr", stream):
            return _progress.display_for(wanted, rank, local_rank) is not None

    def test_on_a_terminal_by_default(self):
        self.assertTrue(self.drawn(Terminal()))
        self.assertFalse(self.drawn(io.StringIO()))
        self.assertFalse(self.drawn(Terminal(), TERM="dumb"))
        self.assertFalse(self.drawn(None))
        closed = Terminal()
        closed.close()
        self.drawn(closed)  # whatever it says, it does not fail

    def test_in_a_notebook(self):
        class OutStream(io.StringIO):  # no terminal, by its own word
            __module__ = "ipykernel.iostream"
        self.assertTrue(self.drawn(OutStream()))

    def test_as_it_is_told(self):
        self.assertFalse(self.drawn(Terminal(), False))
        self.assertTrue(self.drawn(io.StringIO(), True))
        self.assertFalse(self.drawn(Terminal(), SPDLD_PROGRESS="0"))
        self.assertTrue(self.drawn(io.StringIO(), SPDLD_PROGRESS="1"))
        self.assertTrue(self.drawn(io.StringIO(), True, SPDLD_PROGRESS="0"))
        self.assertFalse(self.drawn(Terminal(), False, SPDLD_PROGRESS="1"))
        self.assertTrue(self.drawn(Terminal(), SPDLD_PROGRESS="perhaps"))

    def test_by_one_rank_of_a_node(self):
        self.assertFalse(self.drawn(Terminal(), LOCAL_RANK="3"))
        self.assertTrue(self.drawn(Terminal(), LOCAL_RANK="0"))
        self.assertFalse(self.drawn(Terminal(), SLURM_LOCALID="1"))
        self.assertFalse(self.drawn(Terminal(), rank=2))
        self.assertTrue(self.drawn(Terminal(), rank=8, local_rank=0))
        self.assertFalse(self.drawn(Terminal(), rank=0, local_rank=1))


class WhatIsDrawn(unittest.TestCase):
    def shown(self, *steps):
        """Each step: when, and what attach() was told."""
        stream = io.StringIO()
        display = _progress.Display(stream)
        for now, *told in steps:
            with mock.patch.object(_progress.time, "monotonic", return_value=now):
                display(*told)
        return display, stream

    def test_nothing_in_the_first_second(self):
        display, stream = self.shown((7.0, "listing pictures", 0, 0), (7.9, "listing pictures", 90, 0))
        display.close()
        self.assertEqual(stream.getvalue(), "")

    def test_a_line_that_goes_away(self):
        display, stream = self.shown((7.0, "listing pictures", 0, 4000), (9.0, "listing pictures", 1000, 4000))
        line = "spdld: listing 1,000 of 4,000 pictures  25 %  500/s  6 s left"
        self.assertEqual(stream.getvalue(), "\r" + line)
        display.close()
        self.assertEqual(stream.getvalue(), "\r" + line + "\r" + " " * len(line) + "\r")
        display.close()

    def test_a_stream_that_fails_is_left_alone(self):
        display, stream = self.shown((0.0, "waiting for the daemon", 0, 0))
        stream.close()
        with mock.patch.object(_progress.time, "monotonic", return_value=5.0):
            display("waiting for the daemon", 0, 0)
        display.close()


SCRIPT = """
import sys
import spdld
loader = spdld.attach({spec!r}, socket={socket!r}, group="progress", timeout=60)
print(loader.info.samples, flush=True)
"""


def rest_of(terminal):
    """What is still written to a terminal, until all of its writers have ended."""
    drawn = b""
    try:
        while piece := os.read(terminal, 4096):
            drawn += piece
    except OSError:  # how a terminal ends
        pass
    os.close(terminal)
    return drawn


class Attaching(DaemonCase):
    """A daemon that is stopped for a while stands for one that lists for long."""

    def start(self, stderr, **environment):
        script = SCRIPT.format(spec=spec_of(self.pictures), socket=str(self.daemon.socket))
        self.daemon.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.daemon.process.send_signal, signal.SIGCONT)
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=stderr, text=True,
                                   env={**os.environ, "TERM": "xterm", **environment})
        self.addCleanup(process.kill)
        return process

    def test_a_line_on_a_terminal_and_nothing_of_it_at_the_end(self):
        terminal, side = pty.openpty()
        process = self.start(side)
        os.close(side)
        drawn = b""
        while b"spdld: connecting to the daemon  " not in drawn:  # the time that it took so far follows
            drawn += os.read(terminal, 4096)
        self.daemon.process.send_signal(signal.SIGCONT)
        self.assertEqual(process.communicate(timeout=WAIT_S)[0], "24\n")
        drawn += rest_of(terminal)
        self.assertRegex(drawn, rb"\r +\r$")
        self.assertNotIn(b"\n", drawn)

    def test_ctrl_c_leaves_nothing_of_it(self):
        terminal, side = pty.openpty()
        process = self.start(side)
        os.close(side)
        drawn = b""
        while b"connecting" not in drawn:
            drawn += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_S)
        drawn += rest_of(terminal)
        self.assertRegex(drawn, rb"\r +\rTraceback")
        self.assertIn(b"KeyboardInterrupt", drawn)

    def test_nothing_where_there_is_no_terminal(self):
        process = self.start(subprocess.PIPE)
        with self.assertRaises(subprocess.TimeoutExpired):  # longer than the line would take to appear
            process.wait(2.5)
        self.daemon.process.send_signal(signal.SIGCONT)
        told, complained = process.communicate(timeout=WAIT_S)
        self.assertEqual((told, complained), ("24\n", ""))

    def test_a_display_that_raises_ends_the_attach_with_its_error(self):
        self.daemon.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.daemon.process.send_signal, signal.SIGCONT)
        display = mock.Mock(side_effect=KeyError("display"))
        with mock.patch.object(spdld, "display_for", return_value=display), self.assertRaises(KeyError):
            spdld.attach(spec_of(self.pictures), socket=self.daemon.socket, group="raises", timeout=20)
        display.close.assert_called_once_with()


if __name__ == "__main__":
    unittest.main()
