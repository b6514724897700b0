"""A user from whom the system's daemon takes no specs. The script that plays him sees a /run of its own, in a mount namespace,
so that no daemon of this machine's is concerned; only root can make one."""
import os
import tempfile
import unittest
from pathlib import Path

from case import PROGRAM, DaemonCase, RestartedDaemon, make_pictures

STRANGER = 12345

SCRIPT = """
    import ctypes, json, shutil, warnings
    import spdld.torch
    from case import spec_of
    libc = ctypes.CDLL(None, use_errno=True)
    NEW_MOUNTS, RECURSIVE, PRIVATE = 0x20000, 0x4000, 0x40000
    if libc.unshare(NEW_MOUNTS) != 0 or libc.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None) != 0:
        print("no namespace")
        sys.exit()
    if libc.mount(b"none", b"/run", b"tmpfs", 0, b"mode=0755") != 0:
        print("no namespace")
        sys.exit()
    os.mkdir("/run/spdld")
    os.symlink(sys.argv[1], "/run/spdld/spdld.sock")
    os.mkdir("/run/user")
    os.chown("/run/user", int(sys.argv[4]), int(sys.argv[4]))
    shutil.copy(sys.argv[2], "/run/private-spdld")
    os.environ.update(XDG_RUNTIME_DIR="/run/user", XDG_CACHE_HOME="/run/user", SPDLD_DAEMON="/run/private-spdld")
    os.setgroups([])
    os.setgid(int(sys.argv[4]))
    os.setuid(int(sys.argv[4]))
    spec = spec_of(sys.argv[3])
    end = lambda: os.kill(spdld.query("ping", socket=f"/run/user/spdld-{sys.argv[4]}/private.sock")["pid"], signal.SIGTERM)
"""


class Fallback(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        folder = tempfile.TemporaryDirectory(prefix="spdld-python-")
        self.addCleanup(folder.cleanup)
        self.pictures = Path(folder.name) / "pictures"
        make_pictures(self.pictures)
        self.daemon = RestartedDaemon(PROGRAM, '[socket]\nmode = "0666"\n')
        self.addCleanup(self.daemon.close)
        for opened in (folder.name, self.daemon.folder):
            os.chmod(opened, 0o755)

    run_script, script = DaemonCase.run_script, DaemonCase.script

    def as_stranger(self, text):
        output = self.run_script(SCRIPT + text, self.daemon.socket, PROGRAM, self.pictures, STRANGER)
        if output == "no namespace\n":
            self.skipTest("this place lets nobody make a mount namespace")
        return output

    def test_one_warning_at_the_line_of_the_program(self):
        output = self.as_stranger("""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loader = spdld.torch.Loader(spec, group="first"); line = sys._getframe().f_lineno
            print(sum(len(batch["label"]) for batch in loader))
            other = spdld.attach(spec, group="second", framework="numpy")
        finally:
            end()
    caught = [one for one in caught if issubclass(one.category, spdld.SpdldWarning)]
    print(len(caught), caught[0].category is spdld.SpdldWarning, caught[0].lineno == line, caught[0].filename)
    print(caught[0].message)
    """)
        lines = output.splitlines()
        self.assertEqual(lines[:2], ["24", "1 True True <string>"])
        self.assertIn(f"private daemon at /run/user/spdld-{STRANGER}/private.sock serves this job", lines[2])
        self.assertIn(f"user {STRANGER} may not send specs", lines[2])

    def test_a_warning_may_be_an_error(self):
        output = self.as_stranger("""
    warnings.simplefilter("error", spdld.SpdldWarning)
    try:
        spdld.attach(spec, group="first", framework="numpy")
    except spdld.SpdldWarning as warning:
        print("raised")
    loader = spdld.attach(spec, group="first", framework="numpy")  # its seat is free
    loader.close()
    end()
    """)
        self.assertEqual(output, "raised\n")

    def test_private_false_forbids_it(self):
        output = self.as_stranger("""
    for options in ({"private": False}, {"socket": "/run/spdld/spdld.sock"}):
        try:
            spdld.attach(spec, framework="numpy", **options)
        except spdld.DeniedError as error:
            print("may not send specs" in str(error))
    print(os.path.exists("/run/user/spdld-12345"))
    """)
        self.assertEqual(output, "True\nTrue\nFalse\n")


if __name__ == "__main__":
    unittest.main()
