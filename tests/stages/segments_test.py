#!/usr/bin/python3
"""Operations of an executor that no room of the daemon knows: workshop_daemon has some. All that is told names their stages."""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/http"))
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
from served import ServedCase, wait_for

OPTIONS = cases.options("daemon", "ctl", "taker")
STAGES = ["fetch", "decode", "work", "transform"]


class Segments(ServedCase):
    """Pictures are negated by the workshop, which spdlctl does not know: the trainer is a program of the test's. It ends where a
    value is wrong."""
    options = OPTIONS

    @classmethod
    def trainer(cls, file):
        return [OPTIONS.taker, cls.daemon.socket, file]

    @classmethod
    def pipeline(cls):
        return f"""name = "small"
[source]
type = "image-folder"
uri = "{cls.folder / "pictures"}"
[order]
epochs = 0
[[output]]
name = "image"
from = "image"
ops = [{{ op = "decode-image" }}, {{ op = "resize", size = [8, 8] }}, {{ op = "negate" }}]
[[output]]
name = "plain"
from = "image"
ops = [{{ op = "decode-image" }}, {{ op = "resize", size = [8, 8] }}]
[[output]]
name = "erased"
from = "image"
ops = [{{ op = "decode-image" }}, {{ op = "cut" }}, {{ op = "random-erasing" }}]
[batch]
size = 4
"""

    def test_describe_has_each_stage_and_counts_its_samples(self):
        described = json.loads(self.ctl("-o", "json", "describe", "small"))
        self.assertEqual([stage["name"] for stage in described["stages"]], STAGES)
        for stage in described["stages"]:
            self.assertGreater(stage["samples"], 0)
        self.assertRegex(self.ctl("describe", "small"), r"(?m)^decode .*\n^work +[\d,]+.*\n^transform +[\d,]+")

    def test_why_and_top_look_at_all_of_them(self):
        wait_for(lambda: json.loads(self.ctl("-o", "json", "why", "small"))["limiter"] != "unknown", "nothing limits")
        text = self.ctl("top", "--iterations", 2)
        self.assertRegex(text, r"PIPELINE .* FETCH +DECODE +WORK\n")
        self.assertRegex(text, r"PIPELINE +TRANSFORM +READY")

    def test_the_metrics_have_them(self):
        _, _, text = self.ask("/metrics")
        for stage in STAGES:
            self.assertRegex(text, rf'(?m)^spdld_stage_samples_total\{{pipeline="small",stage="{stage}"\}} [1-9]')

    def test_a_trace_has_the_work_behind_the_workshop(self):
        file = self.folder / "trace.json"
        self.ctl("trace", "small", file, "--seconds", 1)
        names = {event["name"] for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"}
        self.assertLessEqual({"decode", "transform"}, names)


if __name__ == "__main__":
    cases.main()
