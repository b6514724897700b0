#!/usr/bin/python3
"""The HTTP server of a real daemon: where it listens, whom it answers, and clients of HTTP that know no manners."""
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
from daemon import WAIT_S, Daemon

OPTIONS = cases.options("daemon", "ctl")
TOKEN = "0123456789abcdef" * 2
NOBODY = 65534
ENDS = (ConnectionResetError, BrokenPipeError)


def wait_for(what, said):
    until = time.monotonic() + WAIT_S
    while not (found := what()):
        if time.monotonic() > until:
            raise AssertionError(said)
        time.sleep(0.01)
    return found


def target_of(entry):
    """Returns what an entry of /proc/PID/fd refers to, or "" where it has just been closed, such as a connection that has
    ended."""
    try:
        return os.readlink(entry)
    except FileNotFoundError:
        return ""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Case(unittest.TestCase):
    """Each test has daemons of its own."""

    def daemon(self, http, more=""):
        daemon = Daemon(OPTIONS.daemon, f"[http]\n{http}\n{more}")
        self.addCleanup(daemon.close)
        return daemon

    def log(self, daemon):
        return (daemon.folder / "log").read_text()

    def logged(self, daemon, pattern):
        return wait_for(lambda: re.search(pattern, self.log(daemon)), f"the log lacks: {pattern}")

    def port(self, daemon):
        return int(self.logged(daemon, r"monitoring: HTTP at 127\.0\.0\.1:(\d+)")[1])

    def ask(self, connection, target, headers=None):
        """(status, text); the connection stays open."""
        connection.request("GET", target, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def tcp(self, daemon):
        connection = http.client.HTTPConnection("127.0.0.1", self.port(daemon), timeout=WAIT_S)
        self.addCleanup(connection.close)
        return connection


class Listening(Case):
    def test_tcp(self):
        daemon = self.daemon('listen = "127.0.0.1:0"')
        self.assertEqual(self.ask(self.tcp(daemon), "/livez"), (200, "spdld lives\n"))
        self.assertEqual(self.ask(self.tcp(daemon), "/readyz"), (200, "spdld takes trainers\n"))
        status, text = self.ask(self.tcp(daemon), "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("\nspdld_node_sessions ", text)
        for page in ("/", "/api/status", "/api/metrics", "/api/errors", "/api/batch"):
            self.assertEqual(self.ask(self.tcp(daemon), page)[0], 404, page)

    def test_ipv6(self):
        daemon = self.daemon('listen = "[::1]:0"')
        port = int(self.logged(daemon, r"monitoring: HTTP at \[::1\]:(\d+)")[1])
        connection = http.client.HTTPConnection("::1", port, timeout=WAIT_S)
        self.addCleanup(connection.close)
        self.assertEqual(self.ask(connection, "/livez")[0], 200)

    def test_nothing_listens_unless_it_is_asked_for(self):
        daemon = self.daemon("")
        self.assertNotIn("monitoring", self.log(daemon))
        lines = Path(f"/proc/{daemon.process.pid}/net/tcp").read_text().splitlines()[1:]
        sockets = self.sockets(daemon)
        self.assertEqual({line.split()[3] for line in lines if int(line.split()[9]) in sockets}, set())

    def sockets(self, daemon):
        links = [target_of(entry) for entry in Path(f"/proc/{daemon.process.pid}/fd").iterdir()]
        return {int(link[8:-1]) for link in links if link.startswith("socket:[")}

    def test_a_unix_socket_replaces_one_that_is_stale(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "http.sock")
            with socket.socket(socket.AF_UNIX) as gone:
                gone.bind(str(path))
            daemon = self.daemon(f'listen = "unix:{path}"\nsocket_mode = "0660"')
            self.logged(daemon, "monitoring: HTTP at unix:")
            self.assertEqual(path.stat().st_mode & 0o777, 0o660)
            connection = UnixConnection(path)
            self.addCleanup(connection.close)
            self.assertEqual(self.ask(connection, "/livez")[0], 200)

            # A second daemon works without its server, and serves as soon as the first one has gone.
            second = self.daemon(f'listen = "unix:{path}"')
            self.logged(second, r"another program listens there; spdld works without its HTTP server")
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.wait(WAIT_S)
            self.assertFalse(path.exists())
            self.logged(second, "monitoring: HTTP at unix:")
            self.assertEqual(len(re.findall("another program", self.log(second))), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_the_mode_of_the_socket_keeps_others_out(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            for mode, word in (("0600", "PermissionError"), ("0666", "connected")):
                path = Path(folder, mode)
                daemon = self.daemon(f'listen = "unix:{path}"\nsocket_mode = "{mode}"')
                self.logged(daemon, "monitoring: HTTP at unix:")
                script = ("import socket, sys\ntry:\n    socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
                          "    print('connected')\n"
                          "except OSError as error:\n    print(type(error).__name__)\n")
                done = subprocess.run([sys.executable, "-c", script, path], user=NOBODY, group=NOBODY, extra_groups=[],
                                      capture_output=True, text=True, timeout=WAIT_S)
                self.assertEqual(done.stdout.strip(), word, done.stderr)

    def test_a_wrong_file_is_told_by_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "spdld.toml")
            file.write_text('[http]\nlisten = "0.0.0.0:9464"\npage = true\n')
            checked = subprocess.run([OPTIONS.ctl, "check", file], capture_output=True, text=True, timeout=WAIT_S)
            started = subprocess.run([OPTIONS.daemon, "--config", file], capture_output=True, text=True, timeout=WAIT_S)
            for said in (checked.stdout + checked.stderr, started.stderr):
                self.assertIn("spdld.toml:2: http.listen: must be an address of this machine alone", said)
            self.assertEqual((checked.returncode, started.returncode), (1, 2))

    def test_what_changes_waits_for_a_restart(self):
        daemon = self.daemon('listen = "127.0.0.1:0"')
        connection = self.tcp(daemon)
        (daemon.folder / "spdld.toml").write_text("[http]\npage = true\n")
        daemon.process.send_signal(signal.SIGHUP)
        self.logged(daemon, r"what it says of .*http\.listen, http\.page.* takes effect when spdld is restarted")
        self.assertEqual(self.ask(connection, "/livez")[0], 200)


class Activation(Case):
    """What the service manager passes: the control socket, and one for HTTP, in either order."""

    def start(self, listeners, http):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "spdld.toml").write_text(f'[state]\nfolder = "off"\n[http]\n{http}\n')
        command = "".join(f"exec {3 + place}<&{one.fileno()}; " for place, one in enumerate(listeners))
        log = self.enterContext(open(folder / "log", "w"))
        process = subprocess.Popen(
            ["bash", "-c", command + f'export LISTEN_PID=$$ LISTEN_FDS={len(listeners)}; exec "$@"', "bash", OPTIONS.daemon,
             "--config", folder / "spdld.toml"], pass_fds=[one.fileno() for one in listeners], stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process, folder / "log"

    def listeners(self, folder):
        """With numbers that stand in the way of none that the daemon takes."""
        control, web = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), socket.socket()
        for one, place in ((control, str(Path(folder, "s"))), (web, ("127.0.0.1", 0))):
            one.bind(place)
            one.listen()
            self.addCleanup(one.close)
            high = socket.socket(fileno=os.dup2(one.fileno(), 100 + one.fileno()))
            self.addCleanup(high.close)
            yield high

    def test_both_sockets_are_taken(self):
        for order in (1, -1):
            with tempfile.TemporaryDirectory() as folder:
                control, web = self.listeners(folder)
                process, log = self.start([control, web][::order], 'listen = "127.0.0.1:9"')  # systemd's address counts
                connection = http.client.HTTPConnection(*web.getsockname(), timeout=WAIT_S)
                self.addCleanup(connection.close)
                self.assertEqual(self.ask(connection, "/readyz")[0], 200)
                pinged = subprocess.run([OPTIONS.ctl, "ping", "--socket", Path(folder, "s")], capture_output=True,
                                        text=True, timeout=WAIT_S)
                self.assertIn(f"pid {process.pid}", pinged.stdout)

    def test_a_socket_that_nobody_listens_at_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            _, log = self.start(list(self.listeners(folder)), "")
            wait_for(lambda: "[http] listen is not set" in log.read_text(), "it is not told")

    def test_a_page_needs_a_token_where_every_user_can_connect(self):
        """The settings name a Unix socket, and systemd brings another one."""
        with tempfile.TemporaryDirectory() as folder:
            control, web = self.listeners(folder)
            _, log = self.start([control, web], f'listen = "unix:{folder}/http.sock"\npage = true')
            wait_for(lambda: "the page is not served at 127.0.0.1:" in log.read_text(), "it is not told")
            connection = http.client.HTTPConnection(*web.getsockname(), timeout=WAIT_S)
            self.addCleanup(connection.close)
            self.assertEqual([self.ask(connection, target)[0] for target in ("/metrics", "/", "/api/status")], [200, 404, 404])

    def test_anything_else_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            _, web = self.listeners(folder)
            process, log = self.start([web, web], "")
            self.assertEqual(process.wait(WAIT_S), 1)
            self.assertIn("spdld-http.socket one ListenStream=", log.read_text())


class Access(Case):
    def test_a_token_is_asked_for_where_there_is_one(self):
        with tempfile.TemporaryDirectory() as folder:
            token = Path(folder, "token")
            token.write_text(TOKEN + "\n")
            token.chmod(0o644)
            daemon = self.daemon(f'listen = "127.0.0.1:0"\ntoken_file = "{token}"')
            self.logged(daemon, "chmod 600 or 640 it; spdld works without its HTTP server")
            token.chmod(0o600)  # the next try finds it in order
            connection = self.tcp(daemon)
            self.assertEqual(self.ask(connection, "/livez")[0], 200)
            self.assertEqual(self.ask(connection, "/readyz")[0], 200)
            self.assertEqual(self.ask(connection, "/livez", {"Host": "evil.example.org"})[0], 403)
            self.assertNotIn(TOKEN, self.log(daemon))

    def test_a_daemon_that_stops_is_not_ready(self):
        """A stopping daemon waits for its decoding; without any it has ended before somebody could ask."""
        daemon = self.daemon('listen = "127.0.0.1:0"')
        connection = self.tcp(daemon)
        self.assertEqual(self.ask(connection, "/readyz")[0], 200)
        daemon.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, text = self.ask(connection, "/readyz")
            self.assertIn((status, text), [(200, "spdld takes trainers\n"), (503, "spdld stops (SIGTERM)\n")])
        self.assertEqual(daemon.process.wait(WAIT_S), 0)



class Hostile(Case):
    """After each of these, an honest client is answered at once, and trainers' questions too."""

    def setUp(self):
        self.served = self.daemon('listen = "127.0.0.1:0"')
        self.place = ("127.0.0.1", self.port(self.served))
        self.held = []
        self.addCleanup(lambda: [one.close() for one in self.held])

    def raw(self):
        one = socket.create_connection(self.place, WAIT_S)
        self.held.append(one)
        return one

    def read_all(self, one):
        some = b""
        with contextlib.suppress(*ENDS):
            while more := one.recv(65536):
                some += more
        return some

    def assert_works(self):
        begin = time.monotonic()
        self.assertEqual(self.ask(self.tcp(self.served), "/livez")[0], 200)
        pinged = subprocess.run([OPTIONS.ctl, "ping"], env=self.served.environment(), capture_output=True, timeout=WAIT_S)
        self.assertEqual(pinged.returncode, 0)
        self.assertLess(time.monotonic() - begin, 4)  # less than any client is waited for

    def test_slow_headers(self):
        one = self.raw()
        begin = time.monotonic()
        with contextlib.suppress(*ENDS):
            for byte in b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1000:
                one.send(bytes([byte]))
                if time.monotonic() - begin > WAIT_S:
                    break
                time.sleep(0.1)
        self.assertLess(time.monotonic() - begin, WAIT_S)
        self.assert_works()

    def test_a_header_of_a_mebibyte(self):
        one = self.raw()
        with contextlib.suppress(*ENDS):
            one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n")
        self.assertIn(self.read_all(one)[:12], (b"HTTP/1.1 431", b""))  # the kernel may drop an answer that is not yet read
        self.assert_works()

    def test_pipelined_garbage(self):
        one = self.raw()
        with contextlib.suppress(*ENDS):
            one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + bytes(range(256)) * 100)
        self.assertTrue(self.read_all(one).startswith(b"HTTP/1.1 200 OK\r\n"))
        self.assert_works()

    def test_endless_requests_whose_answers_are_not_read(self):
        one = self.raw()
        one.settimeout(1)
        with contextlib.suppress(socket.timeout, *ENDS):
            for _ in range(100_000):
                one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        self.assert_works()

    def test_a_hundred_connections(self):
        for _ in range(100):
            self.raw().send(b"GET /live")
        self.assert_works()
        open_fds = len(list(Path(f"/proc/{self.served.process.pid}/fd").iterdir()))
        self.assertLess(open_fds, 80)

    def test_connections_that_end_at_once(self):
        for number in range(500):
            one = socket.create_connection(self.place, WAIT_S)
            if number % 2:
                one.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            one.close()
        self.assert_works()

    def test_half_closed(self):
        one = self.raw()
        one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.shutdown(socket.SHUT_WR)
        self.assertTrue(self.read_all(one).endswith(b"spdld lives\n"))
        self.assert_works()

    def test_a_body(self):
        one = self.raw()
        one.sendall(b"POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        self.assertTrue(self.read_all(one).startswith(b"HTTP/1.1 413 "))
        self.assert_works()


if __name__ == "__main__":
    cases.main()
