#!/usr/bin/python3
"""A command with a fake driver of its own: its status, and 99 when it breaks a rule."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import cases

OPTIONS = cases.options("run")
PROGRAM = """
import ctypes, os, sys
driver = ctypes.CDLL("libcuda.so.1")
started = driver.cuInit(0)
if started != 0:
    sys.exit(started)
context, address, total = ctypes.c_void_p(), ctypes.c_ulonglong(), ctypes.c_size_t()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxPushCurrent_v2(context)
made = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 21))
if made != 0:
    sys.exit(made)
for _ in range(int(sys.argv[1])):
    driver.cuMemFree_v2(address)
"""


def run(*options, frees=1):
    done = subprocess.run([OPTIONS.run, *options, "--", sys.executable, "-c", PROGRAM, str(frees)], capture_output=True,
                          text=True, timeout=60)
    return done.returncode, done.stderr


class Running(unittest.TestCase):
    def test_a_command_in_order(self):
        self.assertEqual(run(), (0, ""))

    def test_a_breach(self):
        code, text = run(frees=2)
        self.assertEqual(code, 99)
        self.assertIn("cuMemFree: device memory freed twice", text)

    def test_options(self):
        self.assertEqual(run("--devices=0")[0], 100)
        self.assertEqual(run("--device-bytes=1000000")[0], 201)  # not even a context
        self.assertEqual(run("--inject=cuMemAlloc:46:1:ever")[0], 46)
        self.assertEqual(run("--inject=cuMemAlloc:46:2")[0], 0)
        self.assertEqual(run("--inject=cuFly:1")[0], 2)
        self.assertEqual(run("--fly")[0], 2)

    def test_a_command_that_is_not_there(self):
        self.assertEqual(subprocess.run([OPTIONS.run, "/no/such"], capture_output=True, timeout=60).returncode, 127)


if __name__ == "__main__":
    cases.main()
