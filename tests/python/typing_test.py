"""The stub says what the extension has, and the package passes mypy."""
import ast
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import spdld
from spdld import _spdld

FOLDER = Path(os.path.abspath(spdld.__file__)).parent
INHERITED = set(dir(object)) - {"__repr__"}


def names_of(body):
    return {entry.name for entry in body if isinstance(entry, (ast.FunctionDef, ast.ClassDef))}


class Stub(unittest.TestCase):
    def setUp(self):
        self.stub = ast.parse((FOLDER / "_spdld.pyi").read_text()).body

    def test_the_module(self):
        self.assertEqual(names_of(self.stub), {name for name in dir(_spdld) if not name.startswith("__")})

    def test_the_classes(self):
        for entry in self.stub:
            if isinstance(entry, ast.ClassDef):
                has = {name for name, value in vars(getattr(_spdld, entry.name)).items()} - INHERITED
                has -= {"__module__", "__doc__", "__new__", "__nb_signature__", "__repr__"}
                self.assertEqual(names_of(entry.body) - INHERITED, has, entry.name)

    def test_mypy(self):
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(["mypy", "--strict", "--cache-dir", cache, FOLDER], capture_output=True, text=True,
                                  cwd=cache)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_everything_has_a_name_in_spdld(self):
        for name in spdld.__all__:
            self.assertIn(getattr(spdld, name).__module__, ("spdld", "spdld._errors", "spdld._ragged"))
            self.assertTrue(getattr(spdld, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
