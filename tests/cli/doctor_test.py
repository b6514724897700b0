#!/usr/bin/python3
"""`spdlctl doctor` on this machine: with a daemon and without one, with servers of stores that are there, gone, or wrong in
time."""
import contextlib
import http.server
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from email.utils import formatdate
from pathlib import Path

from ctl_case import FINE, OPTIONS, WRONG, Case, cases, spdlctl
from daemon import WAIT_S, Daemon


@contextlib.contextmanager
def web_server(ahead_s):
    """Its port, while it runs; its clock is wrong."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def date_time_string(self, timestamp=None):
            return formatdate(time.time() + ahead_s, usegmt=True)

        def do_HEAD(self):
            self.send_response(403)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Doctor(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "data").mkdir()
        (self.folder / "state").mkdir()
        self.file = self.folder / "spdld.toml"
        self.environment = {**os.environ, "SPDLD_SOCKET": str(self.folder / "none.sock")}

    def settings(self, more=""):
        self.file.write_text(f'[data]\nroots = ["{self.folder / "data"}"]\n[state]\nfolder = "{self.folder / "state"}"\n{more}')

    def doctor(self, code=None):
        """The findings of a run, as {check: [finding]}."""
        done = spdlctl("doctor", "--config", self.file, "-o", "json", env=self.environment)
        document = json.loads(done.stdout)
        failed = [one for one in document["checks"] if one["level"] == "FAIL"]
        self.assertEqual(done.returncode, WRONG if failed else FINE)
        self.assertEqual(document["failed"], len(failed))
        self.assertEqual(done.stderr, "")
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout)
        by_check = {}
        for one in document["checks"]:
            self.assertEqual(set(one), {"level", "check", "found", "advice"})
            self.assertIn(one["level"], ("OK", "NOTE", "WARN", "FAIL"))
            by_check.setdefault(one["check"], []).append(one)
        return by_check

    def level(self, findings, check):
        self.assertEqual(len(findings.get(check, [])), 1, findings)
        return findings[check][0]["level"]

    def test_a_node_without_a_daemon(self):
        self.settings()
        findings = self.doctor()
        for check in ("kernel", "settings", "data root", "state folder"):
            self.assertEqual(self.level(findings, check), "OK")
        self.assertIn(os.uname().release, findings["kernel"][0]["found"])
        self.assertIn(self.level(findings, "daemon"), ("NOTE", "WARN"))
        self.assertEqual(findings["data root"][0]["found"], str(self.folder / "data"))
        self.assertRegex(findings["open files"][0]["found"], r"^this user's limit of open files is (none|[\d,]+)$")

    def test_text(self):
        self.settings()
        done = spdlctl("doctor", "--config", self.file, env=self.environment)
        self.assertRegex(done.stdout, r"(?m)^OK    kernel +Linux ")
        self.assertRegex(done.stdout, r"\n\n\d+ checks: \d+ failed, \d+ warnings?\n$")

    def test_with_a_daemon_its_own_limits_are_looked_at(self):
        daemon = Daemon(OPTIONS.daemon)
        self.addCleanup(daemon.close)
        self.environment["SPDLD_SOCKET"] = str(daemon.socket)
        self.settings()
        findings = self.doctor()
        self.assertEqual(self.level(findings, "daemon"), "OK")
        self.assertEqual(self.level(findings, "version"), "OK")
        self.assertEqual(self.level(findings, "socket"), "OK")
        self.assertIn(f"pid {daemon.process.pid}", findings["daemon"][0]["found"])
        self.assertRegex(findings["open files"][0]["found"], r"^the daemon's limit of open files is .*, and \d+ are open$")

    @unittest.skipIf(os.geteuid() != 0, "only root may run a program as somebody else")
    def test_another_user_is_told_what_they_may_do(self):
        daemon = Daemon(OPTIONS.daemon)
        self.addCleanup(daemon.close)
        for folder in (daemon.folder, self.folder):
            folder.chmod(0o755)
        self.environment["SPDLD_SOCKET"] = str(daemon.socket)
        self.settings()
        done = subprocess.run([OPTIONS.ctl, "doctor", "--config", self.file, "-o", "json"], user=65534, group=65534,
                              extra_groups=[], capture_output=True, text=True, timeout=60, env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (WRONG, ""))
        socket_line = [one for one in json.loads(done.stdout)["checks"] if one["check"] == "socket"]
        self.assertEqual(socket_line[0]["level"], "FAIL")
        self.assertRegex(socket_line[0]["found"], r"mode 0660, group \w+: \w+ may not connect$")
        self.assertRegex(socket_line[0]["advice"], r"^name the trainers' group in socket\.group ")

    def test_what_does_not_work_is_told_with_what_to_do(self):
        self.settings()
        self.file.write_text(self.file.read_text().replace("/data\"", "/none\""))
        self.folder.chmod(0o777)  # of the socket
        findings = self.doctor(WRONG)
        self.assertEqual(self.level(findings, "data root"), "FAIL")
        self.assertEqual(self.level(findings, "socket folder"), "FAIL")
        self.assertIn(f"chmod go-w {self.folder}", findings["socket folder"][0]["advice"])

    def test_a_settings_file_with_errors(self):
        self.file.write_text("[limits]\nno_such_key = 1\n")
        findings = self.doctor(WRONG)
        self.assertEqual(self.level(findings, "settings"), "FAIL")
        self.assertIn("spdld.toml:2: limits.no_such_key", findings["settings"][0]["found"])
        self.assertEqual(findings["settings"][0]["advice"], f"spdlctl check {self.file}")

    def test_a_file_that_is_not_there(self):
        self.assert_sentence(spdlctl("doctor", "--config", self.folder / "none.toml", env=self.environment), WRONG)

    def test_servers_of_stores(self):
        gone = free_port()
        with web_server(0) as right, web_server(-3600) as wrong:
            self.settings(f'[[data.stores]]\nuri = "s3://right"\nendpoint = "http://127.0.0.1:{right}"\n'
                          f'[[data.stores]]\nuri = "s3://wrong"\nendpoint = "http://127.0.0.1:{wrong}"\n'
                          f'[[data.stores]]\nuri = "http://127.0.0.1:{gone}"\n'
                          f'[[data.stores]]\nuri = "https://no-such-host.invalid"\n')
            # [[data.stores]] excludes roots written as a list
            self.file.write_text(self.file.read_text().replace(f'[data]\nroots = ["{self.folder / "data"}"]\n', ""))
            begin = time.monotonic()
            findings = self.doctor(WRONG)
            self.assertLess(time.monotonic() - begin, WAIT_S)
        by_server = {one["found"].split(": ")[0]: one for one in findings["store"]}
        self.assertEqual(by_server["s3://right"]["level"], "OK", by_server)
        self.assertEqual(by_server["s3://wrong"]["level"], "FAIL", by_server)
        self.assertRegex(by_server["s3://wrong"]["found"], r"is (1 h 0 min|59 min \d+ s) behind this node's, and S3 refuses")
        self.assertIn("Connection refused", by_server[f"http://127.0.0.1:{gone}"]["found"])
        self.assertEqual(by_server["https://no-such-host.invalid"]["level"], "FAIL")


class Journal(Case):
    """Where stderr is the journal's stream, as $JOURNAL_STREAM says, a line has its level in front."""

    def log_of_a_daemon(self, stream):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "spdld.toml").write_text('[state]\nfolder = "off"\n')
            with open(folder / "log", "w") as log:
                status = os.fstat(log.fileno())
                environment = {**os.environ, "JOURNAL_STREAM": stream.format(device=status.st_dev, inode=status.st_ino)}
                daemon = subprocess.Popen([OPTIONS.daemon, "--config", folder / "spdld.toml", "--socket", folder / "s"],
                                          stderr=log, env=environment)
                try:
                    until = time.monotonic() + WAIT_S
                    while not (folder / "s").exists() and time.monotonic() < until:
                        time.sleep(0.01)
                finally:
                    daemon.terminate()
                    daemon.wait(WAIT_S)
            return (folder / "log").read_text().splitlines()

    def test_lines_have_their_level(self):
        if Path("/run/systemd/journal/socket").exists():
            self.skipTest("a journal takes the entries here")
        lines = self.log_of_a_daemon("{device}:{inode}")
        self.assertGreaterEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^<[2-7]>\w")

    def test_a_variable_that_was_inherited_changes_nothing(self):
        for line in self.log_of_a_daemon("{inode}:{device}"):
            self.assertRegex(line, r"^2\d\d\d-\d\d-\d\dT[\d:.]+ (info|warning) \w")


if __name__ == "__main__":
    cases.main()
