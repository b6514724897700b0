"""What `pip install ./client/python` installs: client, daemon and spdlctl, which need nothing else of the machine. Built from
a fresh copy of this tree, without the network: what builds must be there (see the two pyproject.toml).

--build: where the copy lies, and is kept for the next time; --setup: Meson's options beside those of the package, a word each:
with the options of the tests' own build, a compiler cache has all objects.
"""
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import cases
from claimed_folder import claim
from daemon import make_pictures

OPTIONS = cases.options("build", "setup")
WHEELS = ROOT / "build" / "wheels"  # tests/install puts them there
WAIT_S = 60
# What every machine has that manylinux wheels are for.
FROM_SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1",
               "libresolv.so.2", "libz.so.1", "libexpat.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
PACKAGE = ROOT / "client" / "python" / "spdld"
# The main program of the package lies beside the command that it calls.
PLACES = {"_trial/package_main.py": "__main__.py"}
PYTHON_FILES = {PLACES.get(name, name) for name in (str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*")
                                                    if path.suffix in (".py", ".pyi", ".typed"))}
# Calls a hook as a front end does: in the project's folder, with its build backend.
HOOK = """
import importlib, json, sys
from pathlib import Path
import tomllib
hook, folder, settings = sys.argv[1:]
system = tomllib.loads(Path("pyproject.toml").read_text())["build-system"]
sys.path[:0] = [str(Path(path).resolve()) for path in system["backend-path"]]
name = getattr(importlib.import_module(system["build-backend"]), hook)(folder, json.loads(settings))
print("made", name)
"""
ATTACH = """
import os, sys, spdld
loader = spdld.attach({"name": "pictures", "source": {"type": "image-folder", "uri": sys.argv[1]},
                       "output": [{"name": "image", "from": "image", "ops": [{"op": "decode-image"},
                                                                             {"op": "resize", "size": [32, 32]}]}],
                       "order": {"epochs": 1}, "batch": {"size": 4}}, framework="raw", timeout=30)
print(sum(batch.valid for batch in loader), spdld.__version__)
sys.stdout.flush()
sys.stdin.read()
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def call_hook(hook, project, folder, settings, python=sys.executable):
    path = os.pathsep.join([os.path.dirname(python), os.environ["PATH"]])
    output = run(python, "-c", HOOK, hook, folder, json.dumps(settings), cwd=project,
                 env={**os.environ, "PATH": path, "CCACHE_BASEDIR": str(Path(project).parents[1])})
    return Path(folder) / output.splitlines()[-1].removeprefix("made ")


def fresh_copy(tree):
    """The files of this tree that git knows, and nothing else but the folder `build`. Files that are as before stay untouched."""
    claim(tree, "tests/python/wheel.py")
    if (ROOT / ".git").exists():
        names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    else:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    names = {name for name in names if name and not name.startswith("build/") and (ROOT / name).is_file()}
    for path in list(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.is_file() and not name.startswith("build/") and name not in names:
            path.unlink()
    for name in names:
        source, target = ROOT / name, tree / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def blocks(language):
    """README's fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.tree = Path(OPTIONS.build)
        fresh_copy(cls.tree)
        # The environment that builds lies in the copy as it lies in this tree: the compiler cache takes both for one.
        (cls.tree / "build").mkdir(exist_ok=True)
        cls.builder = cls.tree / "build" / "venv"
        cls.builder.unlink(missing_ok=True)
        cls.builder.symlink_to(Path(sys.prefix).resolve())
        cls.settings = {"build-dir": str(cls.tree / "build" / "wheel"), "setup-args": OPTIONS.setup.split()}
        cls.wheel = call_hook("build_wheel", cls.tree / "client" / "python", cls.folder, cls.settings,
                              str(cls.builder / "bin" / "python"))
        cls.environment = cls.folder / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", cls.environment)
        run(sys.executable, "-m", "pip", "--python", cls.environment / "bin" / "python", "install", "--no-index", "--no-deps",
            "--disable-pip-version-check", cls.wheel)
        cls.package, = cls.environment.glob("lib/python*/site-packages/spdld")
        cls.pictures = cls.folder / "pictures"
        make_pictures(cls.pictures)

    def setUp(self):
        # Neither a daemon nor a socket but what the wheel brings and the test makes.
        self.runtime = tempfile.TemporaryDirectory(prefix="spdld-run-")
        self.addCleanup(self.runtime.cleanup)
        self.variables = {"PATH": "/nowhere", "HOME": self.runtime.name, "XDG_RUNTIME_DIR": self.runtime.name,
                          "XDG_CACHE_HOME": self.runtime.name}

    def test_it_has_client_daemon_and_tool(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [name for name in wheel.namelist()
                     if not name.endswith("/") and not re.match(r"spdld-[^/]*\.dist-info/", name)]
        inside = {name.removeprefix("spdld/") for name in names if name.startswith("spdld/")}
        extension, = [name for name in inside if name.endswith(".so")]
        self.assertTrue(extension.startswith("_spdld."))
        self.assertEqual(inside - {extension}, PYTHON_FILES | {"bin/spdld", "bin/spdlctl"})
        self.assertEqual({name.split("/")[0] for name in names}, {"spdld", "spdld.libs"})
        version = re.search(r"^  version: '([0-9.]+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]
        self.assertRegex(self.wheel.name, rf"^spdld-{re.escape(version)}-cp\d+-cp\d+t?-manylinux")

    def test_it_needs_nothing_else_of_the_machine(self):
        programs = [self.package / "bin" / "spdld", self.package / "bin" / "spdlctl", *self.package.glob("*.so"),
                    *self.package.parent.glob("spdld.libs/*")]
        self.assertGreaterEqual(len(programs), 3)
        for program in programs:
            found = {}
            for line in run("ldd", program).splitlines():
                name, _, place = line.strip().partition(" => ")
                found[os.path.basename(name.split(" (")[0])] = place.split(" (")[0]
            foreign = {name: place for name, place in found.items()
                       if name not in FROM_SYSTEM | {"linux-vdso.so.1"} and not place.startswith(str(self.environment))}
            self.assertEqual(foreign, {}, program)
            self.assertIn("libc.so.6", found, program)

    def attached(self, *command):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.variables)
        self.addCleanup(process.wait, WAIT_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(stream.close)
        line = process.stdout.readline()
        self.assertTrue(line, process.stderr.read() if process.poll() is not None else "it said nothing")
        return line

    def daemon_of_this_test(self):
        """The private daemon's process id: its command line names the test's own folder. Ended with the test."""
        for status in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = status.read_bytes().split(b"\0")
            except OSError:  # it has ended meanwhile
                continue
            if b"--private" in words and any(word.startswith(self.runtime.name.encode()) for word in words):
                pid = int(status.parent.name)
                self.addCleanup(os.kill, pid, signal.SIGTERM)
                return pid
        raise AssertionError("there is no private daemon")

    @unittest.skipIf(os.path.exists("/run/spdld/spdld.sock"), "this machine's own daemon is preferred")
    def test_attach_works_at_once_and_spdlctl_sees_it(self):
        line = self.attached(self.environment / "bin" / "python", "-c", ATTACH, self.pictures)
        self.assertEqual(line.split()[0], "24")
        daemon = self.daemon_of_this_test()
        self.assertEqual(os.readlink(f"/proc/{daemon}/exe"), str(self.package.resolve() / "bin" / "spdld"))
        listed = run(self.environment / "bin" / "spdlctl", "ls", env=self.variables)
        self.assertIn("pictures", listed)

    @unittest.skipIf(os.path.exists("/run/spdld/spdld.sock"), "this machine's own daemon is preferred")
    def test_spdlctl_starts_the_wheels_daemon(self):
        pipeline = Path(self.runtime.name) / "p.toml"
        pipeline.write_text(f'name = "p"\nsource = {{ type = "image-folder", uri = "{self.pictures}" }}\nbatch = {{ size = 4 }}\n'
                            'output = [{ name = "image", from = "image", ops = [{ op = "decode-image" }, '
                            '{ op = "resize", size = [32, 32] }] }]\n')
        # By a link too, from a folder of anybody's.
        link = Path(self.runtime.name) / "ctl"
        link.symlink_to(self.package / "bin" / "spdlctl")
        run(link, "bench", pipeline, "--epochs", "1", env=self.variables, cwd=self.runtime.name)
        daemon = self.daemon_of_this_test()
        self.assertEqual(os.readlink(f"/proc/{daemon}/exe"), str(self.package.resolve() / "bin" / "spdld"))

    def test_programs_are_in_the_environments_bin(self):
        for program in ("spdld", "spdlctl"):
            self.assertRegex(run(self.environment / "bin" / program, "--version", env=self.variables), rf"^{program} [0-9.]+$")
        done = subprocess.run([self.environment / "bin" / "spdlctl", "no-such-command"], capture_output=True, text=True,
                              env=self.variables)
        self.assertNotEqual(done.returncode, 0)
        # Python ignores SIGPIPE, and what it starts would inherit that.
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([self.environment / "bin" / "spdlctl", "ops"], stdout=writer, stderr=subprocess.PIPE, text=True,
                              env=self.variables)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ""))

    def test_without_a_daemon_all_places_are_named(self):
        site = self.folder / "bare"
        with zipfile.ZipFile(self.wheel) as wheel:
            wheel.extractall(site)
        (site / "spdld" / "bin" / "spdld").unlink()
        code = "import spdld\ntry: spdld.attach('x')\nexcept spdld.NoDaemonError as error: print(error)"
        text = run(sys.executable, "-c", code, env={**self.variables, "PYTHONPATH": site})
        if os.path.exists("/run/spdld/spdld.sock"):
            self.skipTest("this machine's own daemon is preferred")
        for place in (site / "spdld" / "spdld", site / "spdld" / "bin" / "spdld", "PATH (/nowhere)", "SPDLD_DAEMON"):
            self.assertIn(str(place), text)

    def test_the_stub_has_the_docstrings(self):
        code = ("import json, spdld._spdld as m\n"
                "doc = lambda o: ' '.join(t for _, t, _ in o.__nb_signature__ if t) if hasattr(o, '__nb_signature__') else "
                "o.__doc__\n"
                "get = lambda o: doc(o.fget if isinstance(o, property) else o)\n"
                "out = {n: get(o) for n, o in vars(m).items() if not n.startswith('__')}\n"
                "for c in [c for c in vars(m).values() if isinstance(c, type)]:\n"
                "    out.update({c.__name__ + '.' + n: get(o) for n, o in vars(c).items()\n"
                "                if isinstance(o, property) or hasattr(o, '__nb_signature__')})\n"
                "print(json.dumps({n: d for n, d in out.items() if d}))")
        documented = json.loads(run(self.environment / "bin" / "python", "-c", code, env=self.variables))
        self.assertGreater(len(documented), 40)
        stubbed = {}

        def visit(body, before):
            for entry in body:
                if isinstance(entry, (ast.ClassDef, ast.FunctionDef)):
                    stubbed[before + entry.name] = ast.get_docstring(entry)
                    visit(entry.body, before + entry.name + ".")

        visit(ast.parse((self.package / "_spdld.pyi").read_text()).body, "")
        for name, text in documented.items():
            if name.endswith("__repr__"):
                continue
            self.assertEqual((stubbed[name] or "").split(), text.split(), name)

    @unittest.skipUnless(list(WHEELS.glob("numpy-*.whl")), "tests/install fetches numpy's wheel")
    @unittest.skipIf(os.path.exists("/run/spdld/spdld.sock"), "this machine's own daemon is preferred")
    def test_readme_by_the_letter(self):
        """Its lines for an empty virtual environment, in the copy of the tree, and its first pipeline and program. What pip would
        fetch from its index is here: numpy in a folder of wheels, and what builds in the environment that builds the tests."""
        empty, install = self.folder / "empty", next(text for text in blocks("sh") if "pip install" in text)
        run(sys.executable, "-m", "venv", empty)
        packages, = self.builder.glob("lib/python*/site-packages")
        run("bash", "-euo", "pipefail", "-c", install, cwd=self.tree, env={
            **os.environ, "PATH": f"{empty}/bin:{self.builder}/bin:{os.environ['PATH']}", "PYTHONPATH": str(packages),
            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip takes it for the value of what --no-build-isolation turns off
            "SPDLD_BUILD_SETTINGS": json.dumps(self.settings), "CCACHE_BASEDIR": str(self.tree)})
        here, variables = Path(self.runtime.name), {**self.variables, "PATH": f"{empty}/bin"}
        (here / "train.toml").write_text(next(text for text in blocks("toml") if text.startswith("name =")))
        (here / "pictures").symlink_to(self.pictures)
        (here / "program.py").write_text(blocks("python")[0])
        run(empty / "bin" / "spdlctl", "check", "train.toml", cwd=here, env=variables)
        told = run(empty / "bin" / "python", "program.py", cwd=here, env=variables).splitlines()
        daemon = self.daemon_of_this_test()
        run(empty / "bin" / "spdlctl", "show", "train.toml", "sheet.png", cwd=here, env=variables)
        program, = empty.resolve().glob("lib/python*/site-packages/spdld/bin/spdld")
        self.assertEqual(os.readlink(f"/proc/{daemon}/exe"), str(program))
        self.assertEqual([re.sub(r"\[.*", "", line) for line in told],
                         [f"epoch {epoch}: 3 batches, mean colour " for epoch in (0, 1)])
        self.assertEqual((here / "sheet.png").read_bytes()[1:4], b"PNG")

    def test_a_machine_that_cannot_build_is_told_so_at_once(self):
        of_requirements = HOOK.replace("(folder, json", "(json")
        for hook, code in (("get_requires_for_build_wheel", of_requirements), ("build_wheel", HOOK)):
            done = subprocess.run([sys.executable, "-c", code, hook, str(self.folder), "{}"], capture_output=True, text=True,
                                  cwd=self.tree / "client" / "python", env={**os.environ, "CXX": "/nowhere/g++"}, timeout=WAIT_S)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^spdld: this machine cannot build spdld, because it lacks a C\+\+ compiler "
                                          r"\(g\+\+\)\. .*\n$")

    def test_both_projects_need_the_same(self):
        system = [tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["build-system"]
                  for folder in (".", "client/python")]
        self.assertEqual(system[0]["requires"], system[1]["requires"])
        self.assertEqual(system[0]["build-backend"], system[1]["build-backend"])

    @unittest.skipUnless((ROOT / ".git").exists(), "a source distribution is made of a git checkout")
    def test_the_source_distribution_can_be_configured(self):
        """Of the last commit. Meson misses any source that is not there; what is compiled is the same as in the wheel."""
        made = call_hook("build_sdist", ROOT / "client" / "python", self.folder, {})
        with tarfile.open(made) as archive:
            archive.extractall(self.folder / "unpacked")
        tree, = (self.folder / "unpacked").iterdir()
        self.assertTrue((tree / "client" / "python" / "pyproject.toml").is_file())
        path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
        setup = tomllib.loads((tree / "pyproject.toml").read_text())["tool"]["meson-python"]["args"]["setup"]
        run("meson", "setup", tree / "build", tree, *setup, env={**os.environ, "PATH": path})


if __name__ == "__main__":
    cases.main()
