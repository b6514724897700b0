"""Trials of mutants in a copy of a tree, which has a build folder of its own."""
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import compile_apart

SUPPORT = Path(__file__).resolve().parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
from claimed_folder import claim

# As in tests/run, so that the compiler cache has all that the tests' own builds compiled.
SETUP = ("-Dwerror=true", "--buildtype=debugoptimized", "-Dcpp_args=-g1", "-Dc_args=-g1")
THREADED_SETUP = ("-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1")
# Of a project that has such options.
OWN_SETUP, OWN_THREADED_SETUP = ("-Dparquet=enabled",), ("-Dparquet=enabled", "-Dpython=disabled", "-Dbench=disabled")
FAILED_CASE = re.compile(r"^(?:FAILED |FAIL: |ERROR: )(.+)$", re.MULTILINE)  # of one_test.py, and of unittest
THREADED_TIMES_AS_LONG = 6  # with the thread sanitizer, as in tests/run
TIMES_AS_LONG, LEAST_S = 5, 30  # the time limit: so many times what the unchanged program took, and by default at least so long
BUILD_LIMIT_S = 3600
MEMORY_MAX = 12 << 30  # of a test's process


class Trouble(Exception):
    """Why there can be no trial, as a sentence."""


class FailsAlready(Trouble):
    """The unchanged tree fails."""


def tree_files(root):
    """The files of a git work tree, with those that are new and not ignored; as paths from its root."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=True)
    return sorted({name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()})


def bound_memory():
    """A wrong change must not take the machine's memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))


class Copy:
    """The copy of a tree. What did not change since an earlier run is not written, and so not built again."""

    def __init__(self, root, folder, jobs, least_s, is_threaded=False):
        """is_threaded: it is built with the thread sanitizer."""
        self.root, self.folder, self.jobs, self.least_s, self.is_threaded = root, folder, jobs, least_s, is_threaded
        self.build = folder / ("build/thread" if is_threaded else "build/dev")
        self.environment = os.environ | {"CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1",
                                         "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=50"}
        if (root / "build/venv/bin").is_dir():
            self.environment["PATH"] = f"{root / 'build/venv/bin'}:{os.environ['PATH']}"
        if "CXX" not in os.environ and shutil.which("ccache"):
            compilers = ("clang++", "clang") if is_threaded else ("g++", "gcc")
            self.environment |= {"CXX": f"{compile_apart.__file__} ccache {compilers[0]}", "CC": f"ccache {compilers[1]}"}
        if shutil.which("ld.lld"):
            self.environment |= {"CXX_LD": "lld", "CC_LD": "lld"}
        self.tests = {}
        self.limits_s = {}  # by the test and its words
        self.tree = ""  # the digest of all files
        self.sibling = None

    def threaded(self):
        """The same copy, built with the thread sanitizer."""
        if self.sibling is None:
            self.sibling = Copy(self.root, self.folder, self.jobs, self.least_s, is_threaded=True)
            self.sibling.tree = self.tree
            self.sibling.read_limits()
            self.sibling.set_up()
        return self.sibling

    def refresh(self):
        try:
            claim(self.folder, "tests/mutation/run")
        except ValueError as error:
            raise Trouble(str(error)) from error
        self.link_installed()
        files = tree_files(self.root)
        whole = hashlib.sha256()
        for name in files:
            source, target = self.root / name, self.folder / name
            content = source.read_bytes()
            whole.update(f"{name}\0{len(content)}\0".encode() + content)
            if target.is_file() and target.read_bytes() == content:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target)
        for folder, folders, names in os.walk(self.folder):
            here = Path(folder).relative_to(self.folder)
            if here == Path("."):
                folders[:] = [name for name in folders if name != "build"]
            for name in set(names) - {Path(file).name for file in files if Path(file).parent == here}:
                (self.folder / here / name).unlink()
        self.tree = whole.hexdigest()
        self.read_limits()

    # What the unchanged tree has passed, and so how long its tests may take, holds as long as the tree stays as it is.
    def limits_file(self):
        return self.folder / f"build/limits{'-threaded' if self.is_threaded else ''}.json"

    def read_limits(self):
        kept = json.loads(self.limits_file().read_text()) if self.limits_file().is_file() else {}
        if kept.get("tree") == self.tree and kept.get("least_s") == self.least_s:
            self.limits_s = {(test, tuple(words)): limit_s for test, words, limit_s in kept["limits"]}

    def keep_limits(self):
        limits = [[test, words, limit_s] for (test, words), limit_s in self.limits_s.items()]
        self.limits_file().write_text(json.dumps({"tree": self.tree, "least_s": self.least_s, "limits": limits}))

    def link_installed(self):
        """What was installed below the tree's build folder, such as Arrow and Python's environments, the copy has as well."""
        for installed in (self.root / "build").glob("*"):
            link = self.folder / "build" / installed.name
            is_build = installed.resolve() in (self.folder, *self.folder.parents) or (installed / "build.ninja").is_file()
            if installed.is_dir() and not is_build and not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(installed.resolve())

    def set_up(self):
        if not (self.build / "build.ninja").is_file():
            file = self.folder / "meson_options.txt"
            known = set(re.findall(r"option\('(\w+)'", file.read_text())) if file.is_file() else set()
            own = [word for word in (OWN_THREADED_SETUP if self.is_threaded else OWN_SETUP)
                   if word.removeprefix("-D").partition("=")[0] in known]
            threaded = THREADED_SETUP if self.is_threaded else ()
            self.command(["meson", "setup", self.build, self.folder, *SETUP, *threaded, *own], "the copy can't be set up")
        else:
            self.command(["ninja", "-C", self.build, "build.ninja"], "the copy can't be set up anew")  # for tests that have come
        tests, self.targets = (json.loads(self.command(["meson", "introspect", what, self.build], "Meson tells nothing"))
                               for what in ("--tests", "--targets"))
        self.tests = {test["name"]: test for test in tests}

    def command(self, words, why, environment=None):
        done = subprocess.run(words, cwd=self.folder, env=self.environment | (environment or {}), capture_output=True, text=True,
                              timeout=BUILD_LIMIT_S)
        if done.returncode != 0:
            raise Trouble(f"{why}:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def make(self, tests, changed=None):
        """Builds what these tests run; where a file is changed, that file apart from others. Raises Trouble with the compiler's
        words where it can't be built."""
        if not tests:
            return  # without a target ninja builds everything
        known = json.dumps([self.tests[test] for test in tests]) + json.dumps(self.targets)
        chosen = subprocess.run([sys.executable, SUPPORT / "choose_tests.py", "targets", self.build], input=known,
                                capture_output=True, text=True, check=True).stdout.split()
        self.command(["ninja", "-C", self.build, f"-j{self.jobs}", *chosen], "it can't be built",
                     {compile_apart.CHANGED: str(changed)} if changed else None)

    def run(self, test, words):
        """Runs a test up to its first failure: (the case that failed or "", whether it took too long, seconds)."""
        known = self.tests[test]
        reports = self.build / "mutation"
        command = [sys.executable, SUPPORT / "one_test.py", reports, *known["cmd"]]
        if self.is_catch(known["cmd"][0]):
            command += ["--abort", "--warn", "NoTests", *words]
        elif words:  # run_tests.py: these in place of what Meson has it run
            at = next(i for i, word in enumerate(command) if str(word).endswith("run_tests.py"))
            command = [*command[:at + 1], *words]
        begin = time.monotonic()
        with subprocess.Popen(command, cwd=known["workdir"] or self.build, env=self.environment | known["env"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              preexec_fn=None if self.is_threaded else bound_memory,  # the sanitizer maps terabytes
                              start_new_session=True) as process:
            try:
                first_s = known["timeout"] * (THREADED_TIMES_AS_LONG if self.is_threaded else 1)
                output = process.communicate(timeout=self.limits_s.get((test, words), first_s))[0]
            except subprocess.TimeoutExpired:
                output = None
            finally:
                self.end_group(process)
        shutil.rmtree(reports, ignore_errors=True)
        lasted_s = time.monotonic() - begin
        if output is None:
            return "", True, lasted_s
        if process.returncode == 0:
            return "", False, lasted_s
        cases = FAILED_CASE.findall(output)
        return cases[0] if cases else f"exit code {process.returncode}", False, lasted_s

    @staticmethod
    def is_catch(program):
        content = Path(program).read_bytes()
        return content.startswith(b"\x7fELF") and b"Run with -? for options" in content

    @staticmethod
    def end_group(process):
        with contextlib.suppress(ProcessLookupError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def check_unchanged(self, runs):
        """The unchanged tree passes, and how long that takes tells how long a mutant may take."""
        runs = [run for run in runs if run not in self.limits_s]
        self.make(sorted({test for test, _ in runs}))
        for test, words in runs:
            case, is_late, lasted_s = self.run(test, words)
            if case or is_late:
                raise FailsAlready(f"the unchanged tree fails already: {test}: {case or 'it takes too long'}")
            self.limits_s[test, words] = max(self.least_s, TIMES_AS_LONG * lasted_s)
            self.keep_limits()

    def try_out(self, mutant):
        """(outcome, words): "killed" and by what; "timed out"; "survived"; or "not built" and the compiler's first error."""
        file = self.folder / mutant.file
        text = file.read_text()
        try:
            for test, words in mutant.tests:
                if self.is_threaded and test not in self.tests:
                    continue
                if (test, words) not in self.limits_s:  # whether the unchanged tree passes is asked when it is first needed
                    file.write_text(text)
                    self.check_unchanged([(test, words)])
                file.write_text(mutant.changed(text))
                self.make([test], file)  # one at a time: mostly the first notices, and the others need not be linked
                case, is_late, _ = self.run(test, words)
                if is_late:
                    return "timed out", test
                if case:
                    return "killed", f"{test}: {case}"
            return "survived", ""
        except FailsAlready:
            raise
        except Trouble as trouble:
            lines = str(trouble).splitlines()
            return "not built", next((line for line in lines if "error: " in line), lines[0])
        finally:
            file.write_text(text)
