"""Finds the programs and files of a run: in a packed folder (see `pack`), or in a build that the command line names.

- run.py, *.py        the script and its parts
- bin/                 spdld and spdlctl
- lib/                 the Debian libraries that these programs use
- lib/glibc/           the loader and the C library, for a machine that has older ones
- python/cp312/spdld/  the Python package, built for each version of Python
- tests/               programs that need a GPU, and libspdld
- corpus/              class folders of .jpg files
- bundle.json          the contents of the folder, and the commit that it comes from
"""
import json
import os
import subprocess
import sys
from pathlib import Path

START_S = 20


class Program:
    """The way to start a packed program: the first words of its command, and the library path that it needs."""

    def __init__(self, command, library_path=None, by="this system's loader"):
        self.command, self.library_path, self.by = [str(word) for word in command], library_path, by

    def environment(self):
        return {**os.environ, "LD_LIBRARY_PATH": self.library_path} if self.library_path else dict(os.environ)

    def works(self):
        try:
            return subprocess.run([*self.command, "--version"], env=self.environment(), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=START_S).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def to_json(self):
        return {"command": self.command, "library_path": self.library_path, "by": self.by}


def packed_program(folder, path):
    """Returns the program with this system's loader, because the driver was made for that loader. Where the system's C
    library is too old or is another one, it returns the program with the packed loader."""
    lib, inherited = folder / "lib", os.environ.get("LD_LIBRARY_PATH", "")
    def path_of(*folders):
        return ":".join([*map(str, folders), *filter(None, [inherited])])

    program = Program([folder / path], path_of(lib))
    if program.works():
        return program
    loader = lib / "glibc" / "ld-linux-x86-64.so.2"
    # It takes the path from its argument, and finds the driver by this machine's ld.so.cache.
    return Program([loader, "--library-path", path_of(lib / "glibc", lib), folder / path], by="the packed loader")


def python_folder(folder):
    """Returns the folder of the package for the Python that runs this script, or None where it was not packed."""
    found = folder / "python" / f"cp{sys.version_info.major}{sys.version_info.minor}"
    return found if (found / "spdld").is_dir() else None


class Bundle:
    """The programs and files of a run. Its attributes are folder, daemon and ctl (each a Program), corpus, python (the
    folder of the package, or None for the installed package), and packed (a dict)."""

    def __init__(self, folder, daemon=None, ctl=None, corpus=None):
        self.folder = Path(folder).resolve()
        about = self.folder / "bundle.json"
        self.packed = json.loads(about.read_text()) if about.is_file() else {}
        self.daemon = Program([Path(daemon).resolve()]) if daemon else packed_program(self.folder, "bin/spdld")
        self.ctl = Program([Path(ctl).resolve()]) if ctl else packed_program(self.folder, "bin/spdlctl")
        self.corpus = Path(corpus).resolve() if corpus else self.folder / "corpus"
        self.python = python_folder(self.folder)

    def fault(self):
        """Returns a sentence that says why nothing can be run, or None."""
        for name, program in (("spdld", self.daemon), ("spdlctl", self.ctl)):
            if not program.works():
                return f"{name} does not start ({' '.join(program.command)}); pack a bundle, or give --{program_option(name)}"
        if not any(self.corpus.glob("*/*.jpg")):
            return f"{self.corpus} has no pictures; give --corpus a folder of class folders with .jpg files"
        if self.packed and self.python is None:
            return (f"the bundle has no package for Python {sys.version_info.major}.{sys.version_info.minor}, but for "
                    f"{', '.join(self.packed.get('pythons', [])) or 'none'}; run it by one of these")
        return None


def program_option(name):
    return {"spdld": "daemon", "spdlctl": "ctl"}[name]
