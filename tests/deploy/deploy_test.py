#!/usr/bin/python3
"""The service files as they are installed: systemd takes them, they are tight, and socket activation starts the daemon."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases  # noqa: E402

OPTIONS = cases.options("build", "daemon", "ctl")
EXPOSURE_MAX = 2.0
WAIT_S = 30


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=WAIT_S * 2, **options)


class Scripts(unittest.TestCase):
    def test_no_text_runs_a_command(self):
        """Backticks in a text that a shell script prints would run the words between them."""
        scripts = [path for folder in (".ci", "deploy", "tests", "bench") for path in (ROOT / folder).rglob("*")
                   if path.is_file() and path.read_bytes().startswith(b"#!/bin/bash")]
        self.assertGreater(len(scripts), 3)
        for path in scripts:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if not line.lstrip().startswith("#"):
                    self.assertNotIn("`", line, f"{path}:{number}")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.destination = Path(cls.folder.name)
        cls.install()

    @classmethod
    def install(cls):
        done = run("meson", "install", "-C", OPTIONS.build, "--no-rebuild", "--tags", "service",
                   "--destdir", cls.destination)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)

    def one(self, pattern):
        found = list(self.destination.rglob(pattern))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def units(self, folder):
        """The two units in `folder`, the service's program being the one that was built."""
        service = self.one("spdld.service").read_text()
        program = re.search(r"^ExecStart=(\S+)", service, re.MULTILINE)[1]
        self.assertTrue(program.endswith("/bin/spdld"), program)
        shutil.copy(self.one("spdld.socket"), folder)
        (folder / "spdld.service").write_text(service.replace(program, OPTIONS.daemon))
        return folder / "spdld.service", folder / "spdld.socket"

    def test_systemd_takes_the_units(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("systemd-analyze", "verify", "--man=no", *self.units(Path(folder)))
        # The user need not exist where the test runs. Other units of the machine are not ours to judge.
        ours = [line for line in done.stderr.splitlines() if "spdld" in line and "Failed to resolve" not in line]
        self.assertEqual(ours, [])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_systemd_finds_fault_with_a_wrong_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            service, _ = self.units(Path(folder))
            service.write_text(service.read_text().replace("Type=notify", "Type=nonsense"))
            done = run("systemd-analyze", "verify", "--man=no", service)
        self.assertIn("nonsense", done.stderr)

    def test_the_service_is_tight(self):
        with tempfile.TemporaryDirectory() as folder:
            service, _ = self.units(Path(folder))
            done = run("systemd-analyze", "security", "--offline=true", f"--threshold={int(EXPOSURE_MAX * 10)}", service)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        exposure = float(re.search(r"exposure level for spdld.service: ([0-9.]+)", done.stdout)[1])
        self.assertLessEqual(exposure, EXPOSURE_MAX)

    def gpu_service(self, folder):
        """The service with the drop-in for GPUs."""
        service, _ = self.units(folder)
        (folder / "spdld.service.d").mkdir()
        shutil.copy(self.one("spdld-gpu.conf"), folder / "spdld.service.d/gpu.conf")
        return service

    def test_systemd_takes_the_drop_in_for_gpus(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("systemd-analyze", "verify", "--man=no", self.gpu_service(Path(folder)))
        self.assertEqual([line for line in done.stderr.splitlines() if "gpu.conf" in line], [])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_service_with_gpus_opens_what_the_driver_needs_and_stays_tight(self):
        with tempfile.TemporaryDirectory() as folder:
            service = self.gpu_service(Path(folder))
            done = run("systemd-analyze", "security", "--offline=true", "--no-pager", service)
        exposure = float(re.search(r"exposure level for spdld.service: ([0-9.]+)", done.stdout)[1])
        self.assertLessEqual(exposure, EXPOSURE_MAX)
        opened = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("\u2717")}
        for option in ("PrivateDevices=", "MemoryDenyWriteExecute=", "ProcSubset=", "PrivateNetwork=",
                       "SystemCallFilter=~@resources", "DeviceAllow="):
            self.assertIn(option, opened)
        # Neither more rights nor a network come with a GPU.
        for option in ("NoNewPrivileges=", "IPAddressDeny=", "RestrictAddressFamilies=~AF_(INET|INET6)", "ProtectSystem="):
            self.assertNotIn(option, opened)
        for device in ("char-nvidia:rw", "char-nvidiactl:rw", "char-nvidia-uvm:rw"):
            self.assertIn(device, done.stdout)

    def test_the_service_keeps_what_the_daemon_needs(self):
        service = self.one("spdld.service").read_text()
        # Behind a user namespace of its own, every client's uid would read as 65534.
        self.assertNotRegex(service, r"(?m)^PrivateUsers=(yes|true)")
        self.assertRegex(service, r"(?m)^RestrictAddressFamilies=.*AF_UNIX")
        self.assertRegex(service, r"(?m)^ExecReload=.*-HUP \$MAINPID")
        # The one place it may write to, and nobody else may read: systemd makes it and names it in $CACHE_DIRECTORY.
        self.assertRegex(service, r"(?m)^CacheDirectory=spdld$")
        self.assertRegex(service, r"(?m)^CacheDirectoryMode=0700$")
        self.assertRegex(service, r"(?m)^ProtectSystem=strict$")
        self.assertNotRegex(service, r"(?m)^(ReadWritePaths|StateDirectory|LogsDirectory)=")

    def test_user_and_folder_are_taken(self):
        for program, file in (("systemd-sysusers", "sysusers.d/spdld.conf"), ("systemd-tmpfiles", "tmpfiles.d/spdld.conf")):
            path = self.one(file)
            with tempfile.TemporaryDirectory() as root:
                (Path(root) / "etc").mkdir()
                (Path(root) / "run").mkdir()
                create = ["--create"] if program == "systemd-tmpfiles" else []
                done = run(program, f"--root={root}", *create, path)
                self.assertEqual(done.returncode, 0, done.stderr)
                if create:
                    self.assertTrue((Path(root) / "run/spdld").is_dir())
                else:
                    self.assertIn("spdld:", (Path(root) / "etc/passwd").read_text())

    def test_the_daemons_file_is_in_order_and_is_kept(self):
        file = self.one("spdld.toml")
        done = run(OPTIONS.ctl, "check", file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(str(file).replace(str(self.destination), ""), self.one("spdld.service").read_text())
        file.write_text("# changed\n")
        self.install()
        self.assertEqual(file.read_text(), "# changed\n")


class SocketActivation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.folder_path = Path(self.folder.name)
        self.socket = self.folder_path / "spdld.sock"
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.notify.close)
        self.notify.bind(str(self.folder_path / "notify.sock"))
        self.notify.settimeout(WAIT_S)

    def start(self):
        """systemd-socket-activate on our socket: it execs the daemon at the first connection."""
        (self.folder_path / "spdld.toml").write_text('[log]\nlevel = "debug"\n')
        log = open(self.folder_path / "log", "w")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            ["systemd-socket-activate", "--seqpacket", "--listen", str(self.socket),
             "-E", f"NOTIFY_SOCKET={self.folder_path / 'notify.sock'}",
             OPTIONS.daemon, "--config", str(self.folder_path / "spdld.toml")],
            stdout=log, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stderr:  # "Listening on ... as 3."
            if "Listening" in line:
                return process
        self.fail("systemd-socket-activate ended: " + (self.folder_path / "log").read_text())

    def ping(self):
        return run(OPTIONS.ctl, "ping", "--socket", self.socket, "--timeout-ms", WAIT_S * 1000)

    def told(self, wanted):
        """Reads what the daemon tells systemd until `wanted` comes."""
        while True:
            lines = self.notify.recv(4096).decode().split("\n")
            if wanted in lines:
                return

    def test_a_connection_starts_the_daemon_and_sigterm_ends_it(self):
        process = self.start()
        done = self.ping()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"pid {process.pid}", done.stdout)
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        self.assertEqual(process.wait(WAIT_S), 0)
        self.assertTrue(self.socket.exists(), "the socket is systemd's, not the daemon's to remove")

    def test_systemd_is_told(self):
        process = self.start()
        self.assertEqual(self.ping().returncode, 0)
        self.told("READY=1")
        process.send_signal(signal.SIGTERM)
        self.told("STOPPING=1")
        process.stderr.read()
        self.assertEqual(process.wait(WAIT_S), 0)

    def test_a_wrong_file_keeps_the_old_one_at_sighup(self):
        process = self.start()
        self.assertEqual(self.ping().returncode, 0)
        (self.folder_path / "spdld.toml").write_text("nonsense = 1\n")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.ping().returncode, 0)
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read() + (self.folder_path / "log").read_text()
        self.assertEqual(process.wait(WAIT_S), 0)
        self.assertIn("nonsense", said)


if __name__ == "__main__":
    os.environ.pop("SPDLD_SOCKET", None)
    cases.main()
