#!/usr/bin/python3
"""An installation, moved elsewhere, starts its own daemon: with a library folder as Debian has it, and with a plain lib."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import cases
from daemon import pipeline_text

OPTIONS = cases.options("build", "libdir", "other", "other-libdir")
PROGRAM = '#!/bin/sh\necho "this is $0"\nexit 3\n'


@unittest.skipIf(os.path.exists("/run/spdld/spdld.sock"), "this machine's own daemon is preferred")
class Prefix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-prefix-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        done = subprocess.run(["meson", "install", "-C", OPTIONS.build, "--no-rebuild", "--tags", "runtime",
                               "--destdir", cls.folder / "installed"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        tool, = (cls.folder / "installed").rglob("bin/spdlctl")
        cls.prefix = tool.parents[1]
        daemon = cls.prefix / "bin" / "spdld"
        if not daemon.is_file():
            raise RuntimeError(f"the daemon is not installed beside {tool}")
        daemon.write_text(PROGRAM)  # its place is what matters
        (cls.folder / "small.toml").write_text(pipeline_text(cls.folder / "pictures"))

    def started(self, libraries, prefix):
        """The daemon that spdlctl with these libraries starts, or the error."""
        runtime = self.folder / "runtime"
        shutil.rmtree(runtime, ignore_errors=True)
        runtime.mkdir(mode=0o700)
        done = subprocess.run([prefix / "bin" / "spdlctl", "bench", self.folder / "small.toml"], capture_output=True, text=True,
                              timeout=60, env={"PATH": "/nowhere", "HOME": str(runtime), "XDG_RUNTIME_DIR": str(runtime),
                                               "LD_LIBRARY_PATH": str(libraries)})
        self.assertNotEqual(done.returncode, 0)
        found = re.search(r"this is (\S+)", done.stderr)
        return found[1] if found else done.stderr

    def test_as_it_is_installed(self):
        self.assertEqual(self.started(self.prefix / OPTIONS.libdir, self.prefix), str(self.prefix / "bin" / "spdld"))

    def test_with_the_other_library_folder(self):
        other = self.folder / "other"
        libraries = other / OPTIONS.other_libdir
        libraries.mkdir(parents=True)
        shutil.copytree(self.prefix / "bin", other / "bin")
        shutil.copy(OPTIONS.other, libraries / "libspdld.so.0")
        self.assertEqual(self.started(libraries, other), str(other / "bin" / "spdld"))

    def test_a_library_elsewhere_knows_no_prefix(self):
        elsewhere = self.folder / "elsewhere" / "deep" / "er"
        elsewhere.mkdir(parents=True)
        (self.folder / "elsewhere" / "bin").mkdir()
        shutil.copy(self.prefix / "bin" / "spdld", self.folder / "elsewhere" / "bin")
        shutil.copy(OPTIONS.other, elsewhere / "libspdld.so.0")
        error = self.started(elsewhere, self.prefix)
        self.assertIn(f"there is no program spdld here: {elsewhere}/spdld, {elsewhere}/bin/spdld, and in the folders of PATH "
                      "(/nowhere); install it, or set SPDLD_DAEMON to its path", error)


if __name__ == "__main__":
    cases.main()
