#!/usr/bin/python3
"""spdlctl top as a user has it: in tmux, with keys, sizes, signals and daemons that go; and its text for logs."""
import json
import os
import pty
import re
import signal
import subprocess
import tempfile
import termios
import time
from pathlib import Path

from ctl_case import FINE, NO_DAEMON, OPTIONS, USAGE, WRONG, Case, DaemonCase, cases, spdlctl
from daemon import WAIT_S, Daemon, make_pictures, pipeline_text
from terminal_picture import COLOURS, picture
from tmux import PROMPT, Tmux


class Live(DaemonCase):
    def top(self, *words, **size):
        return Tmux(OPTIONS.ctl, "top", *words, environment=self.daemon.environment(), **size)

    def mark_first(self, terminal, name):
        """Marks the pipeline that runs; those of other tests stand still, and have no rate any more."""
        terminal.type("1")
        terminal.await_text(rf"(?m)^PIPELINE .*\n{name} +running")
        terminal.type("Home")

    def test_keys_lead_through_the_views(self):
        with self.trained("keys"), self.top() as terminal:
            self.mark_first(terminal, "keys")
            screen = terminal.await_text(r"(?m)^keys +running .*\n[\s\S]*fetch .*-> 1 trainer")
            self.assertRegex(screen, r"(?m)^PIPELINE +STATE +vSAMPLES/S")
            self.assertEqual(max(len(line) for line in screen.splitlines()), 80)
            terminal.type("Enter")
            terminal.await_text(r"STAGE +SAMPLES/S[\s\S]*decode ")
            terminal.type("Escape")
            terminal.await_text("PIPELINE")
            terminal.type("v")
            terminal.await_text(r"RANK +PID[\s\S]*spdlctl bench")
            terminal.type("v", "3")
            terminal.await_text(r"last (60|[\d.]+) s")
            terminal.type(">")
            terminal.await_text("vSAMPLES/S", is_there=False)
            terminal.type("<", "r")
            terminal.await_text(r"\^SAMPLES/S")
            terminal.type("p")
            terminal.await_text("paused")
            terminal.type("h")
            terminal.await_text("leave|go back")
            terminal.type("h", "p")
            terminal.await_text("paused", is_there=False)
            terminal.type("q")
            terminal.await_text(PROMPT)

    def test_it_follows_the_size_of_the_terminal(self):
        with self.trained("sizes"), self.top() as terminal:
            terminal.await_text("sizes +running")
            for columns, rows in ((132, 40), (40, 10), (20, 5), (3, 2), (200, 60), (1, 1), (80, 24)):
                terminal.resize(columns, rows)
                if columns >= 40:  # until the view is drawn anew, the terminal shows what fits of the one before
                    wide = "(?=" if columns >= 132 else "(?!"
                    terminal.await_text(rf"(?m)\A(?=[\s\S]*^sizes ){wide}[\s\S]*BATCHES/S)"
                                        rf"(.*\n){{{rows - 1}}}q quit.{{0,{columns - 6}}}\Z")

    def assert_restored(self, terminal):
        """The shell has the terminal back, with echo and lines, the cursor is there, and the view is gone."""
        terminal.await_text(PROMPT)
        self.assertNotIn("q quit", terminal.screen())
        terminal.type("stty -a", "Enter")
        terminal.await_text(r"(?s)\bicanon\b.* echo\b")
        self.assertEqual(terminal.tmux("display-message", "-p", "-t", "t", "#{cursor_flag} #{alternate_on}").split(), ["1", "0"])

    def test_the_terminal_is_as_before_after_each_way_out(self):
        with self.trained("ways"):
            for way in ("q", signal.SIGTERM, signal.SIGINT, "C-c"):
                with self.subTest(way=way), self.top() as terminal:
                    terminal.await_text("ways +running")
                    if isinstance(way, str):
                        terminal.type(way)
                    else:
                        os.kill(terminal.pid_of("spdlctl"), way)
                    self.assert_restored(terminal)

    def test_it_is_stopped_and_goes_on(self):
        with self.trained("stops"), self.top() as terminal:
            terminal.await_text("stops +running")
            terminal.type("C-z")
            self.assert_restored(terminal)
            terminal.type("clear; fg", "Enter")
            terminal.await_text("(?s)stops +running.*q quit")
            os.kill(terminal.pid_of("spdlctl"), signal.SIGSTOP)
            terminal.await_text(PROMPT)
            terminal.type("fg", "C-j")  # the terminal is as the view wants it: Enter is no end of a line
            terminal.await_text(r"(?s)\Aspdld .*stops +running.*q quit")
            terminal.type("q")
            self.assert_restored(terminal)

    def test_colours_have_a_meaning_and_can_be_refused(self):
        with self.trained("colours"):
            with self.top() as terminal:
                self.mark_first(terminal, "colours")
                terminal.await_text("decode .*-> 1 trainer")
                coloured = terminal.coloured()
                self.assertRegex(coloured, "\x1b\\[[0-9;]*3[23]m")
                drawn = picture(coloured, 80).convert("RGB")
                seen = {colour for _, colour in drawn.getcolors(1 << 20)}
                near = [colour for colour in COLOURS.values() if any(sum(abs(a - b) for a, b in zip(colour, other)) < 40
                                                                     for other in seen)]
                self.assertTrue(near, seen)
                self.assertGreater(drawn.width, 600)
            environment = {**self.daemon.environment(), "NO_COLOR": "1"}
            with Tmux(OPTIONS.ctl, "top", environment=environment) as terminal:
                terminal.await_text("colours +running")
                self.assertNotRegex(terminal.coloured(), "\x1b\\[[0-9;]*3[0-7]m")

    def test_a_stopped_daemon_leaves_keys_and_the_end(self):
        daemon = Daemon(OPTIONS.daemon)
        self.addCleanup(daemon.close)
        with Tmux(OPTIONS.ctl, "top", environment=daemon.environment()) as terminal:
            terminal.await_text("no pipeline is open")
            daemon.process.send_signal(signal.SIGSTOP)
            try:
                terminal.type("h")
                terminal.await_text("go back")
                terminal.await_text("no answer for")
                began = time.monotonic()
                terminal.type("q")
                terminal.await_text(PROMPT)
                self.assertLess(time.monotonic() - began, 4)  # a look waits for 5 s
            finally:
                daemon.process.send_signal(signal.SIGCONT)

    def test_terminals_that_cannot_show_it(self):
        for name, said in (("no-such-terminal", "is not known here"), ("dumb", "cannot move its cursor")):
            with self.subTest(name=name):
                terminal, side = pty.openpty()
                before = termios.tcgetattr(side)
                done = subprocess.run([OPTIONS.ctl, "top"], stdin=side, stdout=side, stderr=subprocess.PIPE,
                                      text=True, timeout=WAIT_S, env={**self.daemon.environment(), "TERM": name})
                self.assertEqual(done.returncode, WRONG)
                self.assertIn(said, done.stderr)
                self.assertIn("--batch", done.stderr)
                self.assertEqual(termios.tcgetattr(side), before)
                os.close(side)
                os.close(terminal)

    def test_it_ends_when_the_terminal_goes(self):
        terminal, side = pty.openpty()
        with subprocess.Popen([OPTIONS.ctl, "top"], stdin=side, stdout=side, stderr=side, start_new_session=True,
                              env={**self.daemon.environment(), "TERM": "xterm"}) as process:
            os.close(side)
            try:
                drawn = b""
                while b"PIPELINE" not in drawn:
                    drawn += os.read(terminal, 65536)
            finally:
                os.close(terminal)
            try:
                self.assertEqual(process.wait(WAIT_S), FINE)
            finally:
                process.kill()


class ForLogs(DaemonCase):
    def test_blocks_of_plain_text(self):
        with self.trained("logged"):
            text = self.ctl("top", "--iterations", 3, "--interval", 0.1).stdout
            self.assertEqual(text.count("daemon "), 3)
            self.assertEqual(len(re.findall(r"(?m)^logged +running +[\d,]+ ", text)), 3)
            self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f]")
            one = self.ctl("top", "logged", "-b", "-n", 1).stdout
            self.assertRegex(one, r"(?m)^STAGE .*\n(?s:.*)^CACHE (?s:.*)^RANK .*TRAINER$")

    def test_a_terminal_gets_plain_text_too_where_batch_is_asked_for(self):
        terminal, side = pty.openpty()
        self.addCleanup(os.close, terminal)
        with subprocess.Popen([OPTIONS.ctl, "top", "--batch", "-n", "1"], stdin=side, stdout=side, stderr=side,
                              env={**self.daemon.environment(), "TERM": "xterm"}) as process:
            os.close(side)
            self.assertEqual(process.wait(WAIT_S), FINE)
        drawn = os.read(terminal, 65536).decode()
        self.assertIn("daemon ", drawn)
        self.assertNotIn("\x1b", drawn)

    def test_json_is_a_document_a_line(self):
        lines = self.ctl("top", "-o", "json", "-n", 2, "--interval", 0.1).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            document = json.loads(line)
            self.assertLessEqual({"daemon", "now", "last_1_s", "last_10_s", "last_60_s", "verdicts"}, set(document))

    def test_failures_are_a_sentence(self):
        self.assert_sentence(self.ctl("top", "nothing-of-this-name", "-n", 1), WRONG)
        self.assert_sentence(spdlctl("top", "--socket", self.folder / "nowhere.sock", "-n", 1), NO_DAEMON)
        for words in (("--interval", 0), ("-n", 0), ("--window", 7)):
            self.assert_sentence(self.ctl("top", *words), USAGE)

    def test_all_ways_to_look_agree(self):
        """A pipeline that has delivered all of its batches and stands still: every total is the same wherever it is told."""
        self.assert_code(self.ctl("bench", "small"), FINE)
        described = self.document("describe", "small")
        until = time.monotonic() + WAIT_S
        while described["rings"] and time.monotonic() < until:
            described = self.document("describe", "small")
        now = json.loads(self.ctl("top", "-o", "json", "-n", 1).stdout)["now"]
        totals = next(pipeline for pipeline in now["pipelines"] if pipeline["name"] == "small")
        listed = next(pipeline for pipeline in self.document("ls")["pipelines"] if pipeline["name"] == "small")
        self.assertGreater(totals["batches"], 0)
        self.assertEqual(totals["batches"], listed["batches"])
        self.assertEqual(totals["samples"], listed["samples_delivered"])
        self.assertEqual(totals["stages"], described["stages"])
        for key in ("substituted", "masked", "absent", "damaged", "unsupported", "too_long", "dropped"):
            self.assertEqual(totals[key], described["bad"][key], key)
        cached = [{key: field[key] for key in cache} for field, cache in zip(described["cache"]["fields"], totals["caches"])]
        self.assertEqual(cached, totals["caches"])
        row = re.search(r"(?m)^PIPELINE.*\n(?:.*\n)*?small (.*)$", self.ctl("top", "-n", 1).stdout)[1].split()
        self.assertIn(f"{totals['batches']:,}", row)
        self.assertIn(f"{totals['samples']:,}", row)
        text = self.ctl("top", "small", "-n", 1).stdout
        self.assertIn(f"{totals['samples']:,} samples in {totals['batches']:,} batches", text)

    def test_rates_agree_while_it_runs(self):
        """The same document says the same in text: levels and rates of the window are shown as they are told."""
        with self.trained("rates"):
            document = json.loads(self.ctl("top", "-o", "json", "-n", 1).stdout)
            window = document["last_10_s"]["pipelines"][0]
            verdict = next(one for one in document["verdicts"] if one["pipeline"] == window["name"])
            self.assertEqual(window["waiting"], verdict["waiting"])
            self.assertEqual(window["samples_per_s"], verdict["samples_per_s"])
            self.assertTrue(0 <= window["full"] <= 1)


class Restarted(Case):
    def test_the_view_goes_on_when_a_daemon_comes_back(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_pictures(folder / "pictures", of_each=4)
            (folder / "x.toml").write_text(pipeline_text(folder / "pictures", name="before"))
            first = Daemon(OPTIONS.daemon)
            link = folder / "link.sock"  # two daemons take turns at one path
            link.symlink_to(first.socket)
            environment = {**os.environ, "SPDLD_SOCKET": str(link)}
            self.assert_code(spdlctl("bench", folder / "x.toml", env=environment), FINE)
            with Tmux(OPTIONS.ctl, "top", "--interval", 0.2, environment=environment) as terminal:
                terminal.await_text("before +ready")
                first.process.kill()
                first.close()
                terminal.await_text(r"(?s)no answer for \d+ s.*before +ready")
                second = Daemon(OPTIONS.daemon)
                self.addCleanup(second.close)
                link.unlink()
                link.symlink_to(second.socket)
                terminal.await_text("no pipeline is open")
                self.assertNotIn("no answer", terminal.screen())
                terminal.type("q")
                terminal.await_text(PROMPT)


if __name__ == "__main__":
    cases.main()
