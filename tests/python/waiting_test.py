"""Waiting: time-outs, Ctrl-C, other threads. The daemon is made to stand still by SIGSTOP."""
import signal
import threading
import time
import unittest

import spdld
from case import DaemonCase

INTERRUPT_S = 1.0

DRAIN = """
def drain(loader):
    while True:
        try:
            loader.next(timeout=0.2)
        except spdld.TimeoutError:
            return
"""


class Waiting(DaemonCase):
    def setUp(self):
        self.addCleanup(self.daemon.process.send_signal, signal.SIGCONT)

    def stand_still(self):
        self.daemon.process.send_signal(signal.SIGSTOP)

    def drained(self):
        loader = self.attach(self.spec(order={"epochs": 0}), reconnect=1)
        self.stand_still()
        with self.assertRaises(spdld.TimeoutError):
            for _ in range(1000):
                loader.next(timeout=0.2)
        return loader

    def test_timeouts(self):
        loader = self.drained()
        for timeout in (0, 0.05, 0.5):
            begin = time.monotonic()
            with self.assertRaises(TimeoutError) as caught:
                loader.next(timeout=timeout)
            self.assertIsInstance(caught.exception, spdld.Error)
            self.assertTrue(timeout <= time.monotonic() - begin < timeout + 0.5)
        begin = time.monotonic()
        with self.assertRaises(spdld.TimeoutError):
            spdld.query("ping", socket=self.daemon.socket, timeout=0.3)
        with self.assertRaises(spdld.TimeoutError):
            self.attach(group="late", timeout=0.3)
        self.assertLess(time.monotonic() - begin, 2)
        self.daemon.process.send_signal(signal.SIGCONT)
        self.assertIsNotNone(loader.next(timeout=20))

    def test_other_threads_run_while_one_waits(self):
        loader, outcome, turns = self.drained(), [], 0

        def wait():
            try:
                loader.next(timeout=1)
            except spdld.TimeoutError:
                outcome.append("timeout")

        thread = threading.Thread(target=wait)
        thread.start()
        while thread.is_alive():
            time.sleep(0.01)
            turns += 1
        self.assertEqual(outcome, ["timeout"])
        self.assertGreater(turns, 20)

    def test_closing_ends_another_threads_wait(self):
        loader, outcome = self.drained(), []

        def wait():
            try:
                loader.next()
            except spdld.InvalidError as error:
                outcome.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        loader.close()
        thread.join(5)
        self.assertIn("closed", outcome[0])

    def interrupted(self, text):
        """A script's output after SIGINT, once it has said that it waits; it must end within a second."""
        with self.script(DRAIN + text) as process:
            self.assertEqual(process.stdout.readline().strip(), "attached")
            self.stand_still()
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline().strip(), "waiting")
            time.sleep(0.3)  # it is inside the call, most likely; the test holds in either case
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            said = process.stdout.readline().strip()
            took_s = time.monotonic() - begin
            self.daemon.process.send_signal(signal.SIGCONT)
            _, errors = process.communicate(timeout=20)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertLess(took_s, INTERRUPT_S)
        return said

    def test_ctrl_c_ends_next(self):
        said = self.interrupted("""
loader = attach(changes={"order": {"epochs": 0}})
print("attached", flush=True)
input()
drain(loader)
print("waiting", flush=True)
try:
    loader.next()
except KeyboardInterrupt:
    print("interrupted", flush=True)
loader.next(timeout=20)
""")
        self.assertEqual(said, "interrupted")

    def test_ctrl_c_ends_attach(self):
        said = self.interrupted("""
print("attached", flush=True)
input()
print("waiting", flush=True)
try:
    attach()
except KeyboardInterrupt:
    print("interrupted", flush=True)
""")
        self.assertEqual(said, "interrupted")

    def test_a_signals_handler_that_raises_nothing_ends_no_wait(self):
        said = self.interrupted("""
loader = attach(changes={"order": {"epochs": 0}})
signal.signal(signal.SIGINT, lambda *_: print("handled", loader.position is not None, flush=True))
print("attached", flush=True)
input()
drain(loader)
print("waiting", flush=True)
assert loader.next(timeout=20) is not None
""")
        self.assertEqual(said, "handled True")

    def test_a_signals_handler_may_close_the_loader(self):
        said = self.interrupted("""
loader = attach(changes={"order": {"epochs": 0}})
signal.signal(signal.SIGINT, lambda *_: loader.close())
print("attached", flush=True)
input()
drain(loader)
print("waiting", flush=True)
try:
    loader.next()
except spdld.InvalidError as error:
    print(error, flush=True)
""")
        self.assertIn("closed", said)


if __name__ == "__main__":
    unittest.main()
