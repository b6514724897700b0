#!/usr/bin/python3
"""spdlctl beside a daemon that lies: it reads no file for such a daemon, and steers no terminal and no browser."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import cases

OPTIONS = cases.options("made-up", "ctl")
WAIT_S = 20


class Hostile(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="spdld-hostile-")))
        self.secret = self.folder / "secret"
        self.secret.write_text("0123456789abcdef-secret\n")
        self.secret.chmod(0o600)

    def run_ctl(self, answer, *words, **options):
        socket = self.folder / "socket"
        text = answer if isinstance(answer, str) else json.dumps(answer)
        with subprocess.Popen([OPTIONS.made_up, socket, text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as daemon:
            self.assertEqual(daemon.stdout.readline(), "listening\n")
            done = subprocess.run([OPTIONS.ctl, "--socket", socket, *words], capture_output=True, timeout=WAIT_S, **options)
            daemon.stdin.close()
        socket.unlink(missing_ok=True)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def page(self, *words, **options):
        return self.run_ctl({"page": True, "address": "127.0.0.1:9464", "token_file": str(self.secret), "token": "", **options},
                            "page", *words)

    def test_no_file_is_read_because_a_daemon_names_it(self):
        for words in ((), ("-o", "json"), ("--config", str(self.folder / "none.toml")), ("--config", str(self.secret))):
            with self.subTest(words):
                code, said, errors = self.page(*words)
                self.assertEqual((code, errors), (0, ""))
                self.assertNotIn("secret", said.replace(str(self.secret), ""))
        settings = self.folder / "spdld.toml"
        settings.write_text(f'[http]\nlisten = "127.0.0.1:9464"\ntoken_file = "{self.secret}"\npage = true\n')
        settings.chmod(0o600)
        self.assertEqual(self.page("--config", settings)[1], "http://127.0.0.1:9464/#token=0123456789abcdef-secret\n")
        self.assertNotIn("#token", self.page("--config", settings, address="127.0.0.1:9465")[1])
        self.assertNotIn("#token", self.page("--config", settings, address="unix:/run/x")[1])

    def test_links_and_other_users_files_are_no_tokens(self):
        settings, token = self.folder / "spdld.toml", self.folder / "token"
        settings.write_text(f'[http]\nlisten = "127.0.0.1:9464"\ntoken_file = "{token}"\npage = true\n')
        settings.chmod(0o600)
        token.symlink_to(self.secret)
        self.assertNotIn("#token", self.page("--config", settings)[1])
        token.unlink()
        os.mkfifo(token)
        self.assertIn("is no file", self.page("--config", settings)[1])
        token.unlink()
        token.write_text(self.secret.read_text())
        token.chmod(0o600)
        self.assertIn("#token", self.page("--config", settings)[1])
        if os.geteuid() == 0:
            os.chown(token, 12345, 12345)
            self.assertIn("belongs to another user", self.page("--config", settings)[1])
            os.chown(token, 0, 0)
            os.chown(settings, 12345, 12345)
            self.assertIn("belongs to another user", self.page("--config", settings)[1])

    def test_an_address_that_is_none_reaches_no_browser(self):
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700)
        opener = self.folder / "xdg-open"
        opener.write_text("#!/bin/sh\n")
        opener.chmod(0o755)
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "DISPLAY": ":0", "XDG_RUNTIME_DIR": str(runtime)}
        for changes in ({"address": '127.0.0.1:9464"><script>alert(1)</script>'}, {"address": "evil.example:80"},
                        {"address": "10.0.0.1:80"},
                        {"address": "127.0.0.1:9464/#\x1b[31m"}, {"address": ""}, {"address": "unix:relative"},
                        {"token": '"><script>' + "x" * 20},
                        {"token": "x" * 300}, {"token": "short"}):
            with self.subTest(changes):
                code, said, errors = self.run_ctl({"page": True, "address": "127.0.0.1:9464", "token_file": "", "token": "",
                                                   **changes}, "page", env=environment)
                self.assertEqual((code, said), (1, ""))
                self.assertIn("has no address of a page", errors)
                self.assertEqual(list(runtime.iterdir()), [])
        code, said, _ = self.run_ctl({"page": True, "address": "[::1]:9464", "token_file": "", "token": "a" * 32}, "page",
                                     env=environment)
        self.assertEqual((code, said.splitlines()[0]), (0, f"http://[::1]:9464/#token={'a' * 32}"))
        self.assertIn(f'content="0; url=http://[::1]:9464/#token={"a" * 32}"', (runtime / "spdld-page.html").read_text())

    def test_no_character_of_a_daemon_steers_the_terminal(self):
        steering = "".join(map(chr, [*range(0x7f, 0xa0), 0x61c, 0x200e, 0x200f, *range(0x2028, 0x202f), *range(0x2066, 0x206a)]))
        name = "a" + steering + "\x1b[31m" + "b"
        error = {"name": name, "reason": name, "pipeline": name, "sample": 3, "count": 1, "kind": name,
                 "first": name, "last": name, "first_epoch": 0, "last_epoch": 0}
        answers = {"errors": {"daemon_id": name, "errors": [error], "missing": [], "total": 1},
                   "status": {"name": name, "version": name, "pid": 1, "cpu": {"text": name}},
                   "ls": {"pipelines": [{"name": name, "rings": 0}]}, "ping": {"version": name, "pid": 1, "name": name}}
        for command, answer in answers.items():
            for raw in (json.dumps(answer, ensure_ascii=False), json.dumps(answer)):
                for words in ((command,), (command, "-o", "json")):
                    with self.subTest(words):
                        _, said, errors = self.run_ctl(raw, *words)
                        self.assertEqual([c for c in said + errors if c in steering or (ord(c) < 32 and c != "\n")],
                                         [], said + errors)
                        if words[1:] and said:
                            self.assertEqual(json.loads(said), answer)
        _, said, _ = self.run_ctl(json.dumps(answers["ls"], ensure_ascii=False), "ls", "-o", "json")
        self.assertIn("\\u009b", said)


if __name__ == "__main__":
    cases.main()
