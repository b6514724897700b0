"""The fake driver (tests/support/fake_cuda) for daemons and trainers of a test."""
import json
import os
import subprocess

PROGRAM = os.environ.get("SPDLD_FAKE_GPU", "")


class FakeGpu:
    """Until close(). environment: what a process's environment needs so that it finds the driver."""

    def __init__(self, devices=1, copy_us=200):
        if not PROGRAM:
            raise RuntimeError("SPDLD_FAKE_GPU is not set: the path of the program fake_gpu")
        self._process = subprocess.Popen([PROGRAM, str(devices), str(copy_us)], text=True, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        self.environment = self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the program fake_gpu has ended")
        return json.loads(line)

    def _ask(self, *words):
        print(*words, file=self._process.stdin, flush=True)
        return self._answer()

    def calls(self, symbol):
        return self._ask("calls", symbol)

    def live(self, pid=0):
        """What one process, or all that live, have of the driver's things."""
        return self._ask("live", pid)

    def violations(self):
        return self._ask("violations")

    def inject(self, symbol, code, nth=1, pid=0):
        self._ask("inject", symbol, code, nth, pid)

    def clear(self):
        self._ask("clear")

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
