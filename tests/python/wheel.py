"""What `pip install ./client/python` installs: the client alone, built from this tree. Without the network: what builds it
must be there (meson-python, nanobind, Meson, ninja)."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import cases  # noqa: E402


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
                   "--disable-pip-version-check", f"--config-settings=build-dir={cls.folder}/build",
                   "--wheel-dir", cls.folder, ROOT / "client" / "python"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.wheel, = cls.folder.glob("*.whl")

    def test_it_has_the_client_alone(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [name for name in wheel.namelist() if not re.match(r"spdld-[^/]*\.dist-info/", name)]
        extension, = [name for name in names if name.endswith(".so")]
        self.assertTrue(extension.startswith("spdld/_spdld."))
        self.assertEqual(set(names) - {extension}, {f"spdld/{name}" for name in (
            "__init__.py", "_accumulation.py", "_devices.py", "_errors.py", "_frameworks.py", "_pushing.py", "_spdld.pyi",
            "_state.py", "py.typed", "torch.py")})

    def test_it_runs(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            wheel.extractall(self.folder / "site")
        version = re.search(r"^  version: '([0-9.]+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]
        self.assertIn(f"spdld-{version}-", self.wheel.name)
        code = ("import spdld\nprint(spdld.__version__, spdld.__file__)\n"
                "try: spdld.query('ping', socket='/no/such/socket')\nexcept spdld.NoDaemonError as error: print(error)")
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                env={**os.environ, "PYTHONPATH": str(self.folder / "site")}).stdout
        self.assertEqual(output.splitlines()[0], f"{version} {self.folder}/site/spdld/__init__.py")
        self.assertIn("/no/such/socket", output.splitlines()[1])


if __name__ == "__main__":
    cases.main()
