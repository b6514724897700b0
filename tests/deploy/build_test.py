#!/usr/bin/python3
"""What `pip install ./client/python` says before and while it builds: client/python/build_needs.py and build_progress.py."""
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "client/python")]
sys.dont_write_bytecode = True
import build_needs
import cases

# Found by every C library, or not needed for the wheel; the Python interpreter's own is looked at as Python.h.
NOT_LOOKED_AT = {"threads", "dl", "parquet"}
REFUSE = "import build_needs; build_needs.refuse_if_missing()"
# As pip does it: the output goes elsewhere, and a terminal is there.
BUILD = """
import os, subprocess, sys
import build_progress
os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), 1)
build_progress.EVERY_S = 0
with build_progress.on_terminal():
    print("hello", flush=True)
    subprocess.run(["printf", "[1/3] one\\\\n[2/3] two\\\\nother\\\\n[3/3] three\\\\n"], check=True)
print("end", flush=True)
"""
WRITTEN = "hello\n[1/3] one\n[2/3] two\nother\n[3/3] three\nend\n"


class Needs(unittest.TestCase):
    def refusal(self, **environment):
        done = subprocess.run([sys.executable, "-B", "-c", REFUSE], capture_output=True, text=True, timeout=60,
                              cwd=ROOT / "client/python", env={**os.environ, **environment})
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.returncode, 1 if done.stderr else 0)
        return done.stderr

    def test_a_machine_that_builds_is_not_refused(self):
        self.assertEqual(self.refusal(), "")
        self.assertEqual(self.refusal(PKG_CONFIG_LIBDIR="/nowhere"), "")  # the headers are there

    def test_the_table_has_what_meson_asks_for(self):
        asked = set()
        for room in ("config", "daemon", "client", "proto", "meson.build"):
            for file in (ROOT / room).rglob("meson.build") if (ROOT / room).is_dir() else [ROOT / room]:
                for name, rest in re.findall(r"(?<!_)dependency\('([\w+-]+)'([^)]*)", file.read_text()):
                    if "get_option" not in rest:
                        asked.add(name)
        self.assertGreater(len(asked), 15)
        self.assertEqual(asked - NOT_LOOKED_AT, {library.name for library in build_needs.LIBRARIES})

    def test_its_packages_are_those_that_install_packages_installs(self):
        lines = [line.split() for line in (ROOT / "deploy/packages.txt").read_text().splitlines() if not line.startswith("#")]
        packages = {words[0] for words in lines if "build" in words[1:]}
        named = {library.package for library in build_needs.LIBRARIES} | set(build_needs.PROGRAMS.values())
        self.assertEqual((named | {"g++", "python3-dev"}) - packages, set())

    def test_all_that_is_missing_is_one_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            blind = Path(folder) / "blind"
            blind.write_text('#!/bin/sh\nexec g++ -nostdinc -nostdinc++ "$@"\n')
            blind.chmod(0o755)
            told = self.refusal(CXX=str(blind), PKG_CONFIG_LIBDIR="/nowhere")
            self.assertEqual(told.count("\n"), 1)
            for library in build_needs.LIBRARIES:
                self.assertIn(f"the headers of {library.name} ({library.package})", told)
            self.assertIn("deploy/install-packages build installs", told)
            told = self.refusal(CXX=str(blind))  # pkg-config finds them where the compiler does not look by itself
            self.assertIn("boost", told)  # which has nothing for pkg-config
            self.assertNotIn("libzstd", told)
        told = self.refusal(PATH="/nowhere")
        self.assertIn("it lacks a C++ compiler (g++), pkg-config (pkg-config), flatc (flatbuffers-compiler). On Debian", told)


class Progress(unittest.TestCase):
    def build(self, **environment):
        """What a build wrote on its terminal, and on its output."""
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "output"
            child, terminal = pty.fork()
            if child == 0:
                os.chdir(ROOT / "client/python")
                os.execve(sys.executable, [sys.executable, "-B", "-c", BUILD, str(output)], {**os.environ, **environment})
            shown = b""
            try:
                while part := os.read(terminal, 1000):
                    shown += part
            except OSError:  # the child has ended
                pass
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, shown)
            os.close(terminal)
            return shown.decode().replace("\r\n", "\n"), output.read_text()

    def test_steps_are_shown_on_the_terminal(self):
        shown, written = self.build(SPDLD_PROGRESS="")
        self.assertEqual(shown, "".join(f"\n  building spdld: step {step} of 3 " for step in (1, 2, 3)))
        self.assertEqual(written, WRITTEN)

    def test_it_can_be_turned_off(self):
        self.assertEqual(self.build(SPDLD_PROGRESS="0"), ("", WRITTEN))

    def test_without_a_terminal(self):
        with tempfile.NamedTemporaryFile() as output:
            done = subprocess.run([sys.executable, "-B", "-c", BUILD, output.name], capture_output=True, text=True, timeout=60,
                                  cwd=ROOT / "client/python", start_new_session=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(Path(output.name).read_text(), WRITTEN)


if __name__ == "__main__":
    cases.main()
