#!/usr/bin/python3
"""The status page in a real browser, at the width of a desktop and of a phone; and `spdlctl page`, which leads to it."""
import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/http"))
sys.path.insert(0, str(ROOT / "tests/support"))
import browser
import cases
from daemon import Daemon
from served import TOKEN, WAIT_S, ServedCase, wait_for

OPTIONS = cases.options("daemon", "ctl")


def spdlctl(*words, env=None):
    return subprocess.run([OPTIONS.ctl, *map(str, words)], capture_output=True, text=True, timeout=WAIT_S * 2,
                          env={name: value for name, value in (env or os.environ).items()
                               if name not in ("DISPLAY", "WAYLAND_DISPLAY")})


class Page(ServedCase):
    options = OPTIONS

    def open(self, width, height, token=TOKEN):
        chromium = browser.Browser()
        self.addCleanup(chromium.close)
        chromium.size(width, height)
        chromium.open(f"http://127.0.0.1:{self.port}/" + (f"#token={token}" if token else ""))
        return chromium

    def wait_until_live(self, chromium):
        chromium.wait_for(lambda: chromium.value("(document.getElementById('link') || {}).className") == "live")

    def assert_shows_all(self, chromium):
        self.wait_until_live(chromium)
        chromium.wait_for(lambda: chromium.value("document.querySelectorAll('.sheet canvas').length") == 4)
        # Whatever limits, the sentence says how the trainer fares.
        chromium.wait_for(lambda: re.search(r"trainer.*\.$", chromium.value(
            "(document.querySelector('.verdict p') || {}).innerText") or ""))
        chromium.wait_for(lambda: chromium.value("document.querySelectorAll('.chart .stroke').length") == 3)
        text = chromium.text()
        for words in ("small", "running", "samples a second", "Source", "Fetch", "Decode", "Ring", "Trainer",
                      "batches/s", "Sessions", "class-1/3.jpg", "could not be used", "Output image, 32 × 32 × 3 uint8"):
            self.assertIn(words, text)
        self.assertRegex(text, r"[1-9][\d.,]*( k)?/s")
        self.assertEqual(chromium.value("document.documentElement.scrollWidth"), chromium.value("window.innerWidth"),
                         "it is too wide")
        own = f"http://127.0.0.1:{self.port}/"
        self.assertTrue(chromium.requests)
        self.assertEqual([url for url in chromium.requests if not url.startswith((own, "data:"))], [])
        self.assertEqual(chromium.logged, [])
        self.assertNotIn(TOKEN, chromium.value("location.href"))

    def test_on_a_desktop(self):
        chromium = self.open(1200, 900)
        self.assert_shows_all(chromium)
        self.assertTrue(chromium.value("[...document.querySelectorAll('.flow text')].every((one) => one.getBBox().width < 200)"))
        self.assertEqual(chromium.value("document.querySelectorAll('.flow rect.box').length"), 5)

    def test_on_a_phone(self):
        self.assert_shows_all(self.open(390, 844))

    def test_a_reader_without_the_token_is_asked_for_it(self):
        chromium = self.open(900, 700, token=None)
        chromium.wait_for(lambda: chromium.value("(document.getElementById('door') || {hidden: true}).hidden === false"))
        self.assertNotIn("samples a second", chromium.text())
        chromium.value(f"document.getElementById('token').value = '{TOKEN}'; document.querySelector('#door button').click()")
        chromium.wait_for(lambda: "samples a second" in chromium.text())

    def test_a_token_that_comes_later_is_taken(self):
        """spdlctl page leads a tab that has the page already to another address behind the #."""
        chromium = self.open(900, 700, token="of-an-earlier-daemon")
        chromium.wait_for(lambda: chromium.value("(document.getElementById('door') || {hidden: true}).hidden === false"))
        chromium.value(f"location.hash = 'token={TOKEN}'")
        self.wait_until_live(chromium)
        self.assertEqual(chromium.value("location.hash"), "")

    def test_texts_of_the_daemon_are_no_markup(self):
        """The policy lets no other script run, and the page makes text of whatever it gets."""
        chromium = self.open(900, 700)
        self.wait_until_live(chromium)
        chromium.value("document.body.append(html('p', {id: 'marked'}, '<img src=x onerror=\"window.taken = 1\">'))")
        self.assertEqual(chromium.value("document.querySelectorAll('#marked img').length"), 0)
        chromium.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.taken = 1\">')")
        chromium.value("new Promise((done) => setTimeout(done, 300))")
        self.assertIsNone(chromium.value("window.taken || null"))

    def test_the_picture_is_what_the_trainer_gets(self):
        wait_for(lambda: self.document("/api/batch?pipeline=small")["pictures"], "there is no sheet")
        sheet = self.document("/api/batch?pipeline=small")
        self.assertEqual((sheet["output"], sheet["dtype"], sheet["shape"]), ("image", "uint8", [32, 32, 3]))
        self.assertEqual((sheet["width"], sheet["height"], len(sheet["pictures"])), (32, 32, 4))
        raw = base64.b64decode(sheet["rgb"], validate=True)
        self.assertEqual(len(raw), 4 * 32 * 32 * 3)
        self.assertGreater(len(set(raw)), 50)
        for picture in sheet["pictures"]:
            self.assertIn(picture["label"], {"class-0", "class-1", "class-2"})
            if not picture["note"]:
                self.assertEqual(picture["label"], f"class-{picture['sample'] // 8}")
        self.assertEqual(self.ask("/api/batch?pipeline=none")[0], 404)

    def test_the_documents_need_the_token(self):
        for target in ("/api/metrics", "/api/status", "/api/errors", "/api/batch?pipeline=small", "/metrics"):
            self.assertEqual(self.ask(target, token=None)[0], 401, target)
            self.assertEqual(self.ask(target, token="x" * 32)[0], 401, target)
        status, kind, text = self.ask("/", token=None)
        self.assertEqual((status, kind), (200, "text/html; charset=utf-8"))
        self.assertNotIn("small", re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL))
        self.assertEqual(re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text), [])

    def test_errors_of_one_pipeline(self):
        wait_for(lambda: self.document("/api/errors?pipeline=small")["errors"], "there is no error")
        self.assertEqual({one["name"] for one in self.document("/api/errors?pipeline=small")["errors"]}, {"class-1/3.jpg"})
        self.assertEqual(self.ask("/api/errors?pipeline=none")[0], 404)

    def test_the_page_reads_what_an_error_has(self):
        wait_for(lambda: self.document("/api/errors")["errors"], "there is no error")
        text = self.ask("/")[2]
        rows = text.partition("function errorsOf(")[2].partition("\n}\n")[0]
        read = set(re.findall(r"\bone\.(\w+)", rows))
        self.assertIn("reason", read)
        self.assertEqual(read - set(self.document("/api/errors")["errors"][0]), set())

    def test_spdlctl_knows_the_address(self):
        settings = self.daemon.folder / "spdld.toml"
        done = spdlctl("page", "--config", settings, env=self.daemon.environment())
        self.assertEqual((done.returncode, done.stdout), (0, f"http://127.0.0.1:{self.port}/#token={TOKEN}\n"), done.stderr)
        found = json.loads(spdlctl("page", "--config", settings, "-o", "json", env=self.daemon.environment()).stdout)
        self.assertEqual(found, {"url": f"http://127.0.0.1:{self.port}/#token={TOKEN}", "address": f"127.0.0.1:{self.port}"})

    def test_a_token_comes_from_files_that_nobody_else_can_change(self):
        """A daemon that names a file to read is not believed, nor a file of others."""
        own = self.daemon.folder / "spdld.toml"
        said = "which spdlctl does not know: "
        address = f"http://127.0.0.1:{self.port}/\n"
        settings = Path(self.enterContext(tempfile.TemporaryDirectory())) / "other.toml"
        text = own.read_text()
        for change, why in ((lambda: settings.write_text(text.replace("127.0.0.1:0", "127.0.0.1:1")),
                             "is not the file of the daemon"),
                            (lambda: settings.write_text("listen = "), "is no valid file"),
                            (lambda: settings.write_text(text), "is open to others"),
                            (lambda: settings.unlink(), "No such file")):
            change()
            if settings.exists():
                settings.chmod(0o666 if why == "is open to others" else 0o644)
            done = spdlctl("page", "--config", settings, env=self.daemon.environment())
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith(address), done.stdout)
            self.assertIn(said, done.stdout)
            self.assertIn(why, done.stdout)
        for mode, why in ((0o604, "is open to others"), (0o660, "is open to others")):
            self.token.chmod(mode)
            self.addCleanup(self.token.chmod, 0o600)
            done = spdlctl("page", "--config", own, env=self.daemon.environment())
            self.assertNotIn(TOKEN, done.stdout)
            self.assertIn(why, done.stdout)
        self.assertNotIn(TOKEN, spdlctl("page", env=self.daemon.environment()).stdout)


class OtherDaemons(unittest.TestCase):
    def daemon(self, http):
        daemon = Daemon(OPTIONS.daemon, http)
        self.addCleanup(daemon.close)
        return daemon

    def test_a_daemon_without_a_page_says_how_to_get_one(self):
        for settings, words in (("", "this daemon has no page: set listen and page = true"),
                                ('[http]\nlisten = "127.0.0.1:0"\n', "serves no page at 127.0.0.1:")):
            daemon = self.daemon(settings)
            done = wait_for(lambda: (lambda one: one if words in one.stderr
                                     else None)(spdlctl("page", env=daemon.environment())), words)
            self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_a_unix_socket_is_reached_by_ssh(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/http.sock"
            daemon = self.daemon(f'[http]\nlisten = "unix:{path}"\npage = true\n')
            done = wait_for(lambda: (lambda one: one if one.returncode == 0
                                     else None)(spdlctl("page", env=daemon.environment())), "no page")
            self.assertIn("http://localhost:9464/\n", done.stdout)
            self.assertRegex(done.stdout, rf"ssh -N -L 9464:{re.escape(path)} \S*NODE")

    def test_a_private_daemon_serves_the_page_when_it_is_asked_to(self):
        with tempfile.TemporaryDirectory() as folder:
            socket, log = Path(folder, "s"), Path(folder, "log")
            with open(log, "w") as out:
                process = subprocess.Popen([OPTIONS.daemon, "--private", "--socket", socket, "--linger-ms", "60000"], stderr=out,
                                           env={**os.environ, "XDG_CACHE_HOME": folder})
            self.addCleanup(process.wait)
            self.addCleanup(process.send_signal, signal.SIGTERM)
            wait_for(socket.exists, "it does not listen")
            self.assertNotIn("monitoring", log.read_text())
            first = spdlctl("--socket", socket, "page")
            self.assertRegex(first.stdout, r"^http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}\n$", first.stderr)
            self.assertEqual(spdlctl("--socket", socket, "page").stdout, first.stdout)
            port, token = re.match(r"http://127\.0\.0\.1:(\d+)/#token=(\w+)", first.stdout).groups()
            self.assertNotIn(token, log.read_text())
            for given, status in ((token, 200), ("0" * 64, 401)):
                connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=WAIT_S)
                connection.request("GET", "/api/metrics", headers={"Authorization": "Bearer " + given})
                self.assertEqual(connection.getresponse().status, status)
                connection.close()


if __name__ == "__main__":
    cases.main()
