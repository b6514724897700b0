#!/usr/bin/python3
"""Nothing that fails is counted as passed: the runner of one program, and the sum over all of them."""
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import one_test

REPORT = """<?xml version="1.0"?><Catch name="a"><Group name="a">
<TestCase name="fine"><Section name="s"><OverallResults successes="1" failures="0"/></Section>
<OverallResult success="true"/></TestCase>
<TestCase name="wrong"><Info>i is 3</Info><Expression success="false" type="CHECK" filename="a.cpp" line="4">
<Original>a == b</Original><Expanded>1 == 2</Expanded></Expression><OverallResult success="false"/></TestCase>
<TestCase name="thrown"><Section name="s"><Exception filename="a.cpp" line="5">oops</Exception></Section>
<OverallResult success="false"/></TestCase>
<TestCase name="left out"><OverallResult success="true" skips="1"/></TestCase>
</Group></Catch>"""


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_counts(self, script, line, code):
        done = subprocess.run([ROOT / "tests/support/one_test.py", self.folder, "sh", "-c", script],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout.splitlines()[-1], done.returncode), ("cases: " + line, code), done.stderr)

    def test_one_program(self):
        self.assert_counts("true", "1 passed, 0 failed, 0 skipped", 0)
        self.assert_counts("exit 3", "0 passed, 1 failed, 0 skipped", 3)
        self.assert_counts("exit 77", "0 passed, 0 failed, 1 skipped", 77)
        self.assert_counts("kill -SEGV $$", "0 passed, 1 failed, 0 skipped", 128 + 11)

    def test_a_program_that_counts_itself(self):
        self.assert_counts("echo cases: 3 passed, 0 failed, 2 skipped", "3 passed, 0 failed, 2 skipped", 0)
        self.assert_counts("echo cases: 3 passed, 1 failed, 0 skipped", "3 passed, 1 failed, 0 skipped", 1)
        self.assert_counts("echo cases: 3 passed, 0 failed, 0 skipped; kill -ABRT $$", "3 passed, 1 failed, 0 skipped",
                           128 + 6)

    def test_a_report(self):
        report = self.folder / "report.xml"
        report.write_text(REPORT)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(one_test.count_report(report), (1, 2, 1))
        self.assertEqual(said.getvalue(), "FAILED wrong\na.cpp:4: CHECK\n  original: a == b\n  expanded: 1 == 2\n"
                                          "  info: i is 3\nFAILED thrown\na.cpp:5: Exception\n  exception: oops\n")
        report.write_text(REPORT[:-30])  # cut: the program ended within it
        self.assertIsNone(one_test.count_report(report))
        self.assertIsNone(one_test.count_report(self.folder / "none.xml"))

    def assert_sum(self, tests, line, code):
        log = self.folder / "log.json"
        log.write_text("".join(json.dumps({"name": "t", "result": result, "stdout": text}) + "\n"
                               for result, text in tests))
        done = subprocess.run([ROOT / "tests/support/count_cases.py", log], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout.splitlines()[-1], done.returncode), (line, code))

    def test_the_sum(self):
        told = "cases: 3 passed, 0 failed, 1 skipped\n"
        self.assert_sum([("OK", told), ("OK", ""), ("SKIP", "")], "4 passed, 0 failed, 2 skipped", 0)
        self.assert_sum([("OK", told), ("TIMEOUT", "")], "3 passed, 1 failed, 1 skipped", 1)
        self.assert_sum([("FAIL", told)], "3 passed, 1 failed, 1 skipped", 1)
        self.assert_sum([], "0 passed, 0 failed, 0 skipped", 1)


if __name__ == "__main__":
    cases.main()
