#!/usr/bin/python3
"""A stage that no room of the daemon knows is in everything that is told of a pipeline: graded_daemon has one."""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/http"))
sys.path.insert(0, str(ROOT / "tests/support"))
import browser
import cases
from served import TOKEN, ServedCase, wait_for

OPTIONS = cases.options("daemon", "ctl")


class ThirdStage(ServedCase):
    """Two graders take two milliseconds a sample, and no more than two may be there: grading limits."""
    options = OPTIONS

    def test_describe_and_the_tuning_have_it(self):
        text = self.ctl("describe", "small")
        self.assertRegex(text, r"(?m)^fetch .*\n^decode .*\n^grade +[\d,]+")
        described = json.loads(self.ctl("-o", "json", "describe", "small"))
        self.assertEqual([stage["name"] for stage in described["stages"]], ["fetch", "decode", "grade"])
        self.assertGreater(described["stages"][2]["samples"], 0)
        self.assertEqual(described["tuning"]["grade"]["max"], 2)
        self.assertRegex(text, r"(?m)^grade +\d+ +2 +graders")

    def test_why_names_it_and_what_would_help(self):
        def verdict():
            text = self.ctl("why", "small")
            return text if "Grading is busy" in text else None

        text = wait_for(verdict, "grading is not named")
        self.assertRegex(text, r"Grading is busy \d+ % of\s+the\s+time\s+by\s+2\s+graders")
        self.assertRegex(text, r"With \d+ graders in\s+place\s+of\s+2")
        self.assertEqual(json.loads(self.ctl("-o", "json", "why", "small"))["limiter"], "grade")

    def test_top_has_a_column_and_a_bar(self):
        text = self.ctl("top", "--iterations", 2)
        self.assertRegex(text, r"PIPELINE .* FETCH +DECODE +GRADE +READY")

    def test_the_metrics_have_it(self):
        _, _, text = self.ask("/metrics")
        self.assertRegex(text, r'(?m)^spdld_stage_samples_total\{pipeline="small",stage="grade"\} [1-9]')

    def test_the_page_has_a_box(self):
        chromium = browser.Browser()
        self.addCleanup(chromium.close)
        chromium.size(1200, 900)
        chromium.open(f"http://127.0.0.1:{self.port}/#token={TOKEN}")
        chromium.wait_for(lambda: chromium.value("document.querySelectorAll('.flow rect.box').length") == 6)
        chromium.wait_for(lambda: "Grade" in chromium.text() and "graders" in chromium.text())
        self.assertEqual(chromium.value("document.documentElement.scrollWidth"), chromium.value("window.innerWidth"))
        chromium.wait_for(lambda: chromium.value("document.querySelectorAll('.flow rect.limits').length") == 1)
        self.assertEqual(chromium.logged, [])

    def test_a_trace_has_its_work_and_its_queue(self):
        file = self.folder / "trace.json"
        told = self.ctl("trace", "small", file, "--seconds", 1)
        self.assertRegex(told, r"[1-9][\d,]* samples through grade and ")
        events = json.loads(file.read_text())["traceEvents"]
        graded = [event for event in events if event["ph"] == "X" and event["name"] == "grade"]
        self.assertTrue(graded)
        self.assertIn("samples at grade", {event["name"] for event in events if event["ph"] == "C"})
        flows = {event["name"] for event in events if event["ph"] == "s"}
        self.assertIn("sample", flows)


if __name__ == "__main__":
    cases.main()
