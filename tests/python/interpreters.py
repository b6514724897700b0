#!/usr/bin/python3
"""`pip install ./client/python` in a new environment of each interpreter, as a user runs it (pip asks the package index for what
builds), and two_threads.py in it: with the daemon that the wheel brings.

    interpreters.py [PYTHON...]      programs or their paths; by default python3.11 to python3.14, python3.13t and python3.14t

An interpreter that is not there is skipped. Ends with a line `N passed, N failed, N skipped`.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from daemon import make_pictures

DEFAULT = ["python3.11", "python3.12", "python3.13", "python3.14", "python3.13t", "python3.14t"]
FREE_THREADED = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
INSTALL_S, RUN_S = 1800, 120


def run(*command, timeout=60, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, **options)


def starts(python):
    """Whether there is such an interpreter: a shim may stand for one that is not installed."""
    return shutil.which(python) is not None and run(python, "--version").returncode == 0


def check(python, folder, pictures):
    """What is wrong; none: nothing."""
    environment = folder / "environment"
    for command in ([python, "-m", "venv", environment],
                    [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                     ROOT / "client" / "python"]):
        done = run(*command, timeout=INSTALL_S)
        if done.returncode != 0:
            return done.stdout + done.stderr
    variables = {"PATH": "/nowhere", "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "XDG_CACHE_HOME": str(folder)}
    done = run(environment / "bin" / "python", ROOT / "tests" / "python" / "two_threads.py", pictures, env=variables,
               timeout=RUN_S)
    expected = "threads: no GIL" if run(environment / "bin" / "python", "-c", FREE_THREADED).stdout == "1\n" else "threads: GIL"
    if done.returncode != 0 or done.stderr or done.stdout.splitlines()[-1:] != [expected]:
        return f"{expected} expected\n{done.stdout}{done.stderr}"
    return None


def end_daemons(folder):
    """Private daemons of this test: their command lines name its folder."""
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
            if b"--private" in words and any(word.startswith(bytes(folder)) for word in words):
                os.kill(int(status.parent.name), signal.SIGTERM)
        except OSError:  # it has ended meanwhile
            continue


def main():
    passed = failed = skipped = 0
    for python in sys.argv[1:] or DEFAULT:
        if not starts(python):
            print(f"{python}: is not there")
            skipped += 1
            continue
        with tempfile.TemporaryDirectory(prefix="spdld-python-", ignore_cleanup_errors=True) as made:
            folder, begin = Path(made), time.monotonic()
            make_pictures(folder / "pictures")
            try:
                fault = check(python, folder, folder / "pictures")
            finally:
                end_daemons(folder)
        print(f"{python}: {'well' if fault is None else 'FAILED'}, {time.monotonic() - begin:.0f} s", flush=True)
        if fault is None:
            passed += 1
        else:
            failed += 1
            print(fault)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if failed == 0 else 1)


if __name__ == "__main__":
    main()
