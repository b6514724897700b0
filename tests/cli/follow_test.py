#!/usr/bin/python3
"""`spdlctl errors --follow`: each error once as it comes, over a restart of the daemon, until Ctrl-C."""
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from ctl_case import FINE, NO_DAEMON, OPTIONS, USAGE, WRONG, Case, cases, spdlctl
from daemon import WAIT_S, Daemon, make_pictures, pipeline_text

ODD_NAME = "a\033[31m\n2026-01-01T00:00:00Z  forged.jpg"


class Follow(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        make_pictures(self.folder / "pictures", classes=1, of_each=4)
        (self.folder / "pictures/class-0" / ODD_NAME).write_bytes(b"no picture")
        self.file = self.folder / "x.toml"
        self.file.write_text(pipeline_text(self.folder / "pictures", name="x"))
        self.link = self.folder / "link.sock"  # daemons take turns at one path
        self.environment = {**os.environ, "SPDLD_SOCKET": str(self.link)}
        self.daemons = []
        self.begin_daemon()

    def begin_daemon(self):
        daemon = Daemon(OPTIONS.daemon)
        self.daemons.append(daemon)
        self.addCleanup(daemon.close)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(daemon.socket)

    def train(self):
        self.assert_code(spdlctl("bench", self.file, "--epochs", 1, env=self.environment), FINE)

    def follow(self, *words):
        process = subprocess.Popen([OPTIONS.ctl, "errors", "--follow", "--interval", "0.1", *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process, number=signal.SIGINT):
        """What it wrote since, on both."""
        process.send_signal(number)
        out, err = process.stdout.read(), process.stderr.read()
        self.assertEqual(process.wait(WAIT_S), FINE)
        return out, err

    def test_each_error_is_a_line_as_it_comes(self):
        follow = self.follow()
        self.train()
        self.assertRegex(follow.stdout.readline(),
                         r"^2\d\d\d-\S+Z  x  sample 4 \(class-0/a.*forged.jpg\)  epoch [01]  damaged: no picture")
        self.train()
        self.assertRegex(follow.stdout.readline(), r"  sample 4 .*  \(\d+ times since 2\d\d\d-\S+Z\)\n$")
        out, err = self.end(follow)
        self.assertEqual(err, "")
        self.assertNotIn("\033", out)

    def test_json_and_a_restart(self):
        self.train()
        follow = self.follow("x", "-o", "json")
        before = json.loads(follow.stdout.readline())
        self.assertEqual((before["sample"], before["name"], before["pipeline"]), (4, "class-0/" + ODD_NAME, "x"))
        self.assertLessEqual((before["first"], before["first_epoch"]), (before["last"], before["last_epoch"]))
        self.link.unlink()
        self.assertIn("spdlctl: ", follow.stderr.readline())  # once, however long it lasts
        self.begin_daemon()
        self.train()
        after = json.loads(follow.stdout.readline())
        self.assertEqual((after["sample"], after["name"]), (4, "class-0/" + ODD_NAME))
        out, err = self.end(follow, signal.SIGTERM)
        self.assertLessEqual(err.count("\n"), 1, err)  # the pipeline may not have been open yet

    def test_a_burst_is_bounded_here_and_in_the_log(self):
        bad = 400
        for number in range(bad):
            (self.folder / f"pictures/class-0/bad-{number:03}.jpg").write_bytes(b"no picture")
        self.file.write_text('on_bad = "mask"\n' + pipeline_text(self.folder / "pictures", name="burst"))
        self.train()
        follow = self.follow("-o", "json")
        more = json.loads(follow.stdout.readline())
        shown = [json.loads(follow.stdout.readline()) for _ in range(50)]
        total = json.loads(spdlctl("errors", "-o", "json", env=self.environment).stdout)["total"]
        self.assertEqual(more, {"more": total - sum(error["count"] for error in shown)})
        self.assertGreaterEqual(total, bad)
        self.assertEqual(self.end(follow), ("", ""))
        lines = [line for line in (self.daemons[-1].folder / "log").read_text().splitlines() if "can't be used" in line]
        self.assertGreaterEqual(len(lines), 20)
        self.assertLessEqual(len(lines), 30)

    def test_a_first_look_that_fails_ends_it(self):
        self.assert_sentence(spdlctl("errors", "--follow", "other", env=self.environment), WRONG)
        gone = {**self.environment, "SPDLD_SOCKET": str(self.folder / "none.sock")}
        self.assert_sentence(spdlctl("errors", "--follow", env=gone), NO_DAEMON)

    def test_options_that_do_not_fit(self):
        self.assert_sentence(spdlctl("errors", "--interval", 1, env=self.environment), USAGE)
        self.assert_sentence(spdlctl("errors", "--last", "--follow", env=self.environment), USAGE)
        self.assert_sentence(spdlctl("errors", "--follow", "--interval", 0, env=self.environment), USAGE)


if __name__ == "__main__":
    cases.main()
