"""Finds all that this machine lacks to build spdld. It is looked for before anything is built, because Meson and the compiler
stop at the first part that is missing.
"""
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Library(NamedTuple):
    """A library: its name for Meson and pkg-config, a header of it, and the package of Debian that has both."""

    name: str
    header: str
    package: str


LIBRARIES = (
    Library("boost", "boost/asio.hpp", "libboost-dev"),
    Library("CLI11", "CLI/CLI.hpp", "libcli11-dev"),
    Library("expat", "expat.h", "libexpat1-dev"),
    Library("flatbuffers", "flatbuffers/flatbuffers.h", "libflatbuffers-dev"),
    Library("libcrypto", "openssl/evp.h", "libssl-dev"),
    Library("libcurl", "curl/curl.h", "libcurl4-openssl-dev"),
    Library("libhwy", "hwy/highway.h", "libhwy-dev"),
    Library("libisal", "isa-l/igzip_lib.h", "libisal-dev"),
    Library("libjpeg", "jpeglib.h", "libjpeg62-turbo-dev"),
    Library("libxxhash", "xxhash.h", "libxxhash-dev"),
    Library("libzstd", "zstd.h", "libzstd-dev"),
    Library("nlohmann_json", "nlohmann/json.hpp", "nlohmann-json3-dev"),
    Library("simdjson", "simdjson.h", "libsimdjson-dev"),
    Library("spdlog", "spdlog/spdlog.h", "libspdlog-dev"),
    Library("spng", "spng.h", "libspng-dev"),
    Library("tomlplusplus", "toml++/toml.h", "libtomlplusplus-dev"),
    Library("zlib", "zlib.h", "zlib1g-dev"),
)
PROGRAMS = {"pkg-config": "pkg-config", "flatc": "flatbuffers-compiler"}  # and their packages


def missing():
    """Names for people of what is missing, each with its package of Debian. Empty: all is there."""
    compiler = _compiler()
    found = [] if compiler else ["a C++ compiler (g++)"]
    found += [f"{program} ({package})" for program, package in PROGRAMS.items() if shutil.which(program) is None]
    lacking = _lacking(compiler, {library.header for library in LIBRARIES} | {"Python.h"}) if compiler else set()
    found += [f"the headers of {library.name} ({library.package})" for library in LIBRARIES
              if library.header in lacking and not _is_known_to_pkg_config(library.name)]
    if "Python.h" in lacking:
        found.append(f"the headers of Python {sysconfig.get_python_version()} (python3-dev)")
    return found


def refuse_if_missing():
    """Ends the build with one sentence, where something is missing."""
    found = missing()
    if found:
        raise SystemExit(f"spdld: this machine cannot build spdld, because it lacks {', '.join(found)}. On Debian 12, "
                         f"{ROOT}/deploy/install-packages build installs all that the build needs; on other systems install "
                         "these, and run pip again.")


def _compiler():
    """The words of the command that Meson would compile C++ with; none: there is none."""
    words = os.environ.get("CXX", "").split()
    candidates = [words] if words else [["c++"], ["g++"], ["clang++"]]
    return next((entry for entry in candidates if shutil.which(entry[0])), [])


def _lacking(compiler, headers):
    """The headers that the compiler does not find. Where it cannot even be asked, Meson says why."""
    text = "".join(f'#if !__has_include(<{header}>)\nlacks "{header}"\n#endif\n' for header in sorted(headers))
    flags = os.environ.get("CPPFLAGS", "").split() + os.environ.get("CXXFLAGS", "").split()
    done = subprocess.run([*compiler, *flags, "-I", sysconfig.get_path("include"), "-E", "-P", "-x", "c++", "-"], input=text,
                          text=True, capture_output=True)
    return set(re.findall(r'^lacks "(.*)"$', done.stdout, re.MULTILINE)) if done.returncode == 0 else set()


def _is_known_to_pkg_config(name):
    """A library that lies elsewhere, where pkg-config says."""
    program = shutil.which("pkg-config")
    return program is not None and subprocess.run([program, "--exists", name], capture_output=True).returncode == 0
