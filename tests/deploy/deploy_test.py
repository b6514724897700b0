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
import cases

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
        """Writes the units into `folder`. The service runs the daemon that was built. Returns the service, then its sockets."""
        service = self.one("spdld.service").read_text()
        program = re.search(r"^ExecStart=(\S+)", service, re.MULTILINE)[1]
        self.assertTrue(program.endswith("/bin/spdld"), program)
        shutil.copy(self.one("spdld.socket"), folder)
        shutil.copy(self.one("spdld-gpu-devices.service"), folder)
        shutil.copy(self.one("spdld-http.socket"), folder)
        (folder / "spdld.service").write_text(service.replace(program, OPTIONS.daemon))
        return folder / "spdld.service", folder / "spdld.socket", folder / "spdld-http.socket"

    def test_systemd_takes_the_units(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("systemd-analyze", "verify", "--man=no", *self.units(Path(folder)))
        # The user need not exist where the test runs. Other units of the machine are not ours to judge.
        ours = [line for line in done.stderr.splitlines() if "spdld" in line and "Failed to resolve" not in line]
        self.assertEqual(ours, [])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_systemd_finds_fault_with_a_wrong_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            service, *_ = self.units(Path(folder))
            service.write_text(service.read_text().replace("Type=notify", "Type=nonsense"))
            done = run("systemd-analyze", "verify", "--man=no", service)
        self.assertIn("nonsense", done.stderr)

    def test_the_service_is_tight(self):
        with tempfile.TemporaryDirectory() as folder:
            service, *_ = self.units(Path(folder))
            done = run("systemd-analyze", "security", "--offline=true", f"--threshold={int(EXPOSURE_MAX * 10)}", service)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        exposure = float(re.search(r"exposure level for spdld.service: ([0-9.]+)", done.stdout)[1])
        self.assertLessEqual(exposure, EXPOSURE_MAX)

    def settings(self, name):
        """A unit's or drop-in's settings: a list of values for each name, in the file's order."""
        found = {}
        for line in self.one(name).read_text().splitlines():
            if "=" in line and not line.startswith(("#", "[")):
                key, value = line.split("=", 1)
                found.setdefault(key, []).append(value)
        return found

    def test_every_setting_of_the_service_stands_under_a_reason(self):
        """Each paragraph that confines the service begins with a comment, and so does each of the GPUs' units."""
        for name, first in (("spdld.service", "# ---- Limits"), ("spdld-gpu-devices.service", "[Service]"),
                            ("spdld-gpu.conf", "[Service]"), ("spdld-stores.conf", "[Service]")):
            lines = self.one(name).read_text().partition(first + "\n")[2].partition("\n[Install]")[0].splitlines()
            self.assertGreater(len(lines), 5, name)
            reasoned = False
            for line in lines:
                if line.startswith("# ----") or not line:
                    reasoned = False
                elif line.startswith("# "):
                    reasoned = True
                elif not line.startswith("#"):
                    self.assertTrue(reasoned, f"{name}: {line}")

    def test_the_limits_fit_the_daemons_own(self):
        """Memory and threads, against the defaults and the greatest numbers that the example of the daemon's file shows."""
        example = (ROOT / "config/examples/spdld.toml").read_text()

        def gib(text):
            return int(re.search(r"^(\d+) ?Gi?B?$", text)[1])

        def default(table, key):
            return gib(re.search(rf'(?ms)^\[{table}\]$.*?^{key} = "([^"]+)"', example)[1])

        def greatest(key):
            return int(re.search(rf"(?m)^{key} = .*, 1 to (\d+)", example)[1])

        held = default("limits", "slot_bytes_max") + default("limits", "spare_slot_bytes_max")
        self.assertIn('ram_bytes_max = "auto"       # "auto": a quarter of the memory', example)
        self.assertIn('inflight_bytes_max = "auto"               # of all pipelines; "auto": a sixteenth of the memory', example)
        self.assertIn('decode_bytes_max = "auto"               # of all pipelines; "auto": an eighth of the memory', example)
        self.assertIn('listing_bytes_max = "auto"         # memory of all listings; "auto": an eighth of the usable memory',
                      example)
        for name, staged in (("spdld.service", 0), ("spdld-gpu.conf", 8 * default("gpu", "staging_bytes_max"))):
            limits = self.settings(name)
            high, most = (gib(limits[key][0]) for key in ("MemoryHigh", "MemoryMax"))
            self.assertLess(high, most)
            # A quarter for the cache, a sixteenth for samples in flight, an eighth each for decoding and for listings, and a
            # sixteenth for all else.
            shares = high / 4 + high / 16 + high / 8 + high / 8
            self.assertLessEqual(held + staged + shares, high - high / 16, name)
        threads = greatest("decode") + greatest("fetch")
        self.assertGreater(int(self.settings("spdld.service")["TasksMax"][0]), threads + 256)

    def test_the_service_always_returns_and_leaves_no_core(self):
        service = self.settings("spdld.service")
        for key, value in {"StartLimitIntervalSec": "0", "Restart": "on-failure", "OOMPolicy": "continue", "LimitCORE": "0",
                           "PrivateMounts": "yes", "NoExecPaths": "/"}.items():
            self.assertEqual(service[key], [value], key)
        # systemd takes the start limit in [Unit] alone.
        unit = self.one("spdld.service").read_text().partition("[Service]")[0]
        self.assertIn("\nStartLimitIntervalSec=0\n", unit)

    def test_nothing_but_the_daemon_and_libraries_runs(self):
        """A mount namespace as NoExecPaths= and ExecPaths= make it: what is named there runs, and a copy elsewhere does not."""
        paths = [path.lstrip("-") for path in self.settings("spdld.service")["ExecPaths"][0].split()]
        self.assertTrue(paths[0].endswith("/bin/spdld"), paths)
        copy = self.destination / "copy"
        shutil.copy(OPTIONS.daemon, copy)
        self.assertEqual(run(copy, "--version").returncode, 0)
        script = """
            for path in "$@"; do [ ! -e "$path" ] || mount --bind "$path" "$path" || exit 40; done
            for place in /tmp /dev/shm /run "$TMPDIR"; do
              [ ! -d "$place" ] || mountpoint --quiet "$place" && mount -o remount,bind,noexec "$place"
            done
            mount -o remount,bind,noexec / || exit 41
            "$DAEMON" --version || exit 42
            /bin/kill -0 $$ || exit 43
            ! "$COPY" --version || exit 44
        """
        done = run("unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "sh", "-c", script, "sh",
                   OPTIONS.daemon, *paths[1:], env={**os.environ, "DAEMON": OPTIONS.daemon, "COPY": str(copy)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^spdld \d")
        self.assertIn("Permission denied", done.stderr)

    def test_the_devices_of_gpus_are_made_before_the_daemon_starts(self):
        devices, drop_in = self.settings("spdld-gpu-devices.service"), self.settings("spdld-gpu.conf")
        self.assertEqual(devices["Type"], ["oneshot"])
        self.assertEqual(devices["Before"], ["spdld.service"])
        for key in ("Wants", "After"):
            self.assertIn("spdld-gpu-devices.service", drop_in[key])
        self.assertNotIn("Requires", drop_in)  # the daemon starts without a driver too
        self.assertNotIn("RemainAfterExit", devices)  # before each start of the daemon: the driver may be another one by then
        commands = devices["ExecStart"]
        self.assertEqual([command.split()[0] for command in commands],
                         ["-/sbin/modprobe", "-/usr/bin/nvidia-modprobe", "-/usr/bin/nvidia-smi"])  # "-": each may be missing
        self.assertEqual(commands[0].split()[1:], ["nvidia-uvm"])
        self.assertEqual(commands[1].split()[1:], ["-u", "-c", "0"])
        # It runs with the rights and devices of the node, which making devices takes.
        for key in ("User", "PrivateDevices", "DevicePolicy", "CapabilityBoundingSet", "ProtectKernelModules"):
            self.assertNotIn(key, devices)
        # The daemon's own commands come after its devices were settled: too late.
        self.assertNotIn("ExecStartPre", drop_in)
        for device in ("char-nvidia", "char-nvidiactl", "char-nvidia-uvm"):
            self.assertIn(device + " rw", drop_in["DeviceAllow"])

    def test_commands_that_are_missing_do_no_harm(self):
        """systemd itself says that "-" covers a program that is not there."""
        with tempfile.TemporaryDirectory() as folder:
            self.units(Path(folder))
            unit = Path(folder) / "spdld-gpu-devices.service"
            done = run("systemd-analyze", "verify", "--man=no", unit)
            self.assertEqual([line for line in done.stderr.splitlines() if "spdld" in line], [])
            self.assertEqual(done.returncode, 0, done.stderr)
            unit.write_text(unit.read_text().replace("ExecStart=-/sbin/modprobe", "ExecStart=/sbin/modprobe-none"))
            done = run("systemd-analyze", "verify", "--man=no", unit)
        self.assertIn("modprobe-none", done.stderr)

    def gpu_service(self, folder, drop_in="gpu"):
        """The service with the drop-in for GPUs, or with another one."""
        service, *_ = self.units(folder)
        (folder / "spdld.service.d").mkdir()
        shutil.copy(self.one(f"spdld-{drop_in}.conf"), folder / f"spdld.service.d/{drop_in}.conf")
        return service

    def test_systemd_takes_the_drop_in_for_stores(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("systemd-analyze", "verify", "--man=no", self.gpu_service(Path(folder), "stores"))
        self.assertEqual([line for line in done.stderr.splitlines() if "stores.conf" in line], [])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_service_with_stores_has_a_network_and_nothing_else_more(self):
        def opened(folder, service):
            done = run("systemd-analyze", "security", "--offline=true", "--no-pager", service)
            return {line.split()[1] for line in done.stdout.splitlines() if line.startswith("\u2717")}
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            closed = opened(one, self.units(Path(one))[0])
            more = opened(other, self.gpu_service(Path(other), "stores")) - closed
        self.assertEqual(more, {"PrivateNetwork=", "RestrictAddressFamilies=~AF_(INET|INET6)",
                                "RestrictAddressFamilies=~AF_NETLINK", "IPAddressDeny="})

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
