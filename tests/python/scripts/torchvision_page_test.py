"""docs/torchvision.md says of each class of torchvision's second interface which operation does the same, and which test compared
it."""
import ast
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

import torchvision_v2
from spdld._operations import ARGUMENTS, NONE, PICTURES

ROOT = Path(__file__).resolve().parents[3]
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \|(?: (.*?) \|)?$", re.MULTILINE)


def classes():
    """What torchvision.transforms.v2 imports from its own files, but the base class."""
    tree = ast.parse((torchvision_v2.FOLDER / "torchvision/transforms/v2/__init__.py").read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
             for alias in node.names}
    return names - {"Transform"}


class TheTable(unittest.TestCase):
    def setUp(self):
        self.rows = ROW.findall((ROOT / "docs" / "torchvision.md").read_text().split("\n## All classes\n")[1])

    @unittest.skipUnless(torchvision_v2.is_there(), "tests/install installs the newer torchvision")
    def test_it_has_every_class_once(self):
        self.assertEqual(sorted(name for name, *_ in self.rows), sorted(classes()))

    def test_the_page_names_every_class_that_is_converted_or_refused(self):
        page = (ROOT / "docs" / "torchvision.md").read_text()
        self.assertEqual([name for name in sorted({*ARGUMENTS, *NONE} - {"Sequential"}) if f"`{name}`" not in page], [])

    def test_its_operations_exist(self):
        done = subprocess.run([os.environ["SPDLD_CTL"], "ops", "-o", "json"], capture_output=True, text=True,
                              timeout=60, check=True)
        known = {entry["name"] for entries in json.loads(done.stdout).values() if isinstance(entries, list) for entry in entries}
        for name, operations, *_ in self.rows:
            named = set(re.findall(r"`([a-z-]+)`", operations)) - {"ops", "gives", "p", "scale", "min_size", "frames"}
            with self.subTest(name):
                self.assertEqual(named - known, set())
                self.assertTrue(named or operations in ("none", "none is needed", "the list `ops`"), operations)

    def test_it_agrees_with_what_is_converted(self):
        for name, operations, *_ in self.rows:
            with self.subTest(name):
                self.assertEqual(operations == "none", name in NONE and "`" not in NONE[name])
                if name in PICTURES:
                    self.assertIn("`", operations)
                self.assertTrue(name in ARGUMENTS or name in NONE)

    def test_the_tests_that_it_names_know_the_class_or_its_operation(self):
        for name, operations, _, compared in self.rows:
            with self.subTest(name):
                self.assertEqual(bool(compared), operations != "none")
                if not compared:
                    continue
                words = {name, *re.findall(r"`([a-z-]+)`", operations)}
                for file in compared.split(", "):
                    text = (ROOT / "tests" / file.strip("`")).read_text()
                    self.assertTrue(any(word in text or word.replace("-", "_") in text for word in words), (file, words))


if __name__ == "__main__":
    unittest.main()
