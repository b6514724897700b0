#!/usr/bin/python3
"""spdlctl on terminals and on pages of many widths: what it draws in its place, and that nothing is lost on the way."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import time
from pathlib import Path

from ctl_case import FINE, OPTIONS, USAGE, Case, DaemonCase, cases, spdlctl
from daemon import WAIT_S, Daemon, make_pictures, pipeline_text


def read_all(terminal):
    """What was written to a terminal that nobody writes to any more; it comes in pieces."""
    pieces = []
    try:
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    except OSError:  # how a terminal ends
        pass
    return b"".join(pieces)


class OnTerminal:
    """spdlctl on a terminal of so many columns and rows, until the block ends; `drawn`: all that it wrote so far."""

    def __init__(self, *words, environment, columns=80, rows=24):
        self.terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([OPTIONS.ctl, *map(str, words)], stdin=side, stdout=side, stderr=side,
                                        env={**environment, "TERM": "xterm"})
        os.close(side)
        self.drawn, self.told = "", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def await_text(self, pattern):
        """Reads on until it was written, behind what the last call awaited."""
        until = time.monotonic() + WAIT_S
        while not (found := re.compile(pattern).search(self.drawn, self.told)):
            if time.monotonic() > until:
                raise AssertionError(f"{pattern} was not written: {self.drawn[self.told:][-2000:]!r}")
            self.drawn += os.read(self.terminal, 65536).decode()
        self.told = found.end()

    def end(self, number=signal.SIGINT):
        """Its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(WAIT_S)
        self.drawn += read_all(self.terminal).decode()
        return code


class WithDaemon(DaemonCase):
    def test_bench_draws_its_progress_on_a_terminal(self):
        with OnTerminal("bench", self.endless("drawn"), "--epochs", "1000000", environment=self.daemon.environment()) as bench:
            bench.await_text(r"\repoch [\d,]+ of 1,000,000:( [\d,]+ batches)?  \d+ %  [\d,.]+ images/s  \d+ \w+( \d+ \w+)? left")
            self.assertNotIn("\n", bench.drawn)
            for line in re.split("[\r\b]+", bench.drawn):
                self.assertLess(len(line), 80)

    def test_nothing_of_the_progress_is_left_before_the_report(self):
        with OnTerminal("bench", "small", "--batches", 2, environment=self.daemon.environment()) as bench:
            bench.await_text("peak memory.*\n")
            self.assertEqual(bench.process.wait(WAIT_S), FINE)
        self.assertRegex(bench.drawn, r"(^|\r +\r)\x1b\[1mpipeline")  # a quick bench draws nothing at all

    def test_describe_and_status_fit_the_page(self):
        name = "a-pipeline-with-a-name-that-is-as-long-as-people-make-them"
        with self.trained(name):
            for columns in (40, 80, 120):
                for words in (("describe", name), ("status",), ("ls",)):
                    done = spdlctl(*words, env={**self.daemon.environment(), "COLUMNS": str(columns)})
                    self.assert_code(done, FINE)
                    self.assertIn(name, done.stdout)
                    for line in done.stdout.splitlines():
                        # A word that is longer than its place, such as a path, is never cut.
                        self.assertTrue(len(line) <= columns or len(line.split()[-1]) > columns // 3, line)
            self.assertIn(str(self.daemon.socket), self.ctl("status").stdout)
            wide = spdlctl("describe", name, env={**self.daemon.environment(), "COLUMNS": "250"}).stdout
            self.assertRegex(wide, r"(?m)^GROUP +RANK +PIDS +EPOCH.*MEMORY$")
            for columns in ("", "0", "-1", "wide", "99999999999999999999"):  # 80 in their place
                done = spdlctl("describe", name, env={**self.daemon.environment(), "COLUMNS": columns})
                self.assertNotRegex(done.stdout, r"(?m)^GROUP +RANK +PIDS +EPOCH.*MEMORY$")
                self.assertRegex(done.stdout, r"(?m)^STAGE +SAMPLES.*P99$")

    def test_watch_draws_in_place_until_ctrl_c(self):
        with self.trained("watched"):
            with OnTerminal("describe", "watched", "--watch", "--interval", 0.1, environment=self.daemon.environment(),
                            columns=100, rows=20) as watch:
                watch.await_text(r"every 0\.1 s; Ctrl-C ends.*\r\n")
                watch.await_text(r"\x1b\[\d+A")  # the second look goes back to the first one's place
                watch.await_text(r"job\S* +.*: epoch \d+, [\d,]+ of 6 steps  \d+ %  [\d,.]+ samples/s")
                watch.await_text(r"cached\S* +image: 24 of 24 samples  100 %")
                watch.await_text(r"\.\.\. [\d,]+ lines more")
                self.assertEqual(watch.end(), FINE)
            last = watch.drawn[watch.drawn.rindex("\x1b[J"):]
            self.assertRegex(last, r"fingerprint")  # all of it stays
            self.assertNotIn("Ctrl-C", last)

    def test_watch_without_a_terminal(self):
        with self.trained("piped"):
            for words in ((), ("-o", "json")):
                with subprocess.Popen([OPTIONS.ctl, "describe", "piped", "--watch", "--interval", "0.1", *words],
                                      stdout=subprocess.PIPE, text=True, env=self.daemon.environment()) as watch:
                    lines = [watch.stdout.readline() for _ in range(3 if words else 120)]
                    watch.send_signal(signal.SIGTERM)
                    watch.stdout.read()
                    self.assertEqual(watch.wait(WAIT_S), FINE)
                if words:
                    batches = [json.loads(line)["rings"][0]["batches"] for line in lines]
                    self.assertLess(batches[0], batches[2])
                else:
                    self.assertNotIn("\033", "".join(lines))
                    self.assertGreater("".join(lines).count("pipeline  "), 1)

    def test_interval_belongs_to_watch(self):
        self.assert_sentence(self.ctl("describe", "small", "--interval", 1), USAGE)
        self.assert_sentence(self.ctl("describe", "small", "--watch", "--interval", 0), USAGE)


class RestartedDaemon(Case):
    def test_watch_goes_on_when_the_daemon_comes_back(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_pictures(folder / "pictures", of_each=4)
            (folder / "x.toml").write_text(pipeline_text(folder / "pictures", name="x"))
            first = Daemon(OPTIONS.daemon)
            self.addCleanup(first.close)
            link = folder / "link.sock"  # two daemons take turns at one path
            link.symlink_to(first.socket)
            environment = {**os.environ, "SPDLD_SOCKET": str(link)}
            self.assert_code(spdlctl("bench", folder / "x.toml", env=environment), FINE)
            with OnTerminal("describe", "x", "--watch", "--interval", 0.1, environment=environment) as watch:
                watch.await_text("bottleneck")
                link.unlink()
                watch.await_text(r"not seen\S* +\S*for \d+ s: ")
                watch.await_text("bottleneck")  # what was seen before
                second = Daemon(OPTIONS.daemon)
                self.addCleanup(second.close)
                link.symlink_to(second.socket)
                watch.await_text("no pipeline 'x' is open here")
                self.assert_code(spdlctl("bench", folder / "x.toml", env=environment), FINE)
                watch.await_text(r"Ctrl-C ends[^\n]*\r\n[^\n]*pipeline")  # nothing of it is left
                self.assertEqual(watch.end(), FINE)


if __name__ == "__main__":
    cases.main()
