#!/usr/bin/python3
"""Every fenced block of every page is run or checked: pipelines, settings, commands, and programs in Python, C and C++.

The word behind a fence says how:
    toml        a whole pipeline or settings of the daemon, for `spdlctl check`; a part of a pipeline takes the rest from README's
    sh          each program and its options are looked up; `sh run`: the block is run
    python      runs in a folder with README's train.toml and its pictures; `python gpu`: its names are looked up alone
    c, cpp      is compiled and run, there
    ini         settings of systemd; mermaid, text: for readers alone
"""
import configparser
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import cases
import pages
from commands import Commands, lines_of
from daemon import make_pictures

OPTIONS = cases.options("daemon", "ctl", "library", "python", "python-path")
CLASSES, OF_EACH, BATCH, EPOCHS = 3, 7, 8, 2
BATCHES = -(-CLASSES * OF_EACH // BATCH)
KINDS = {("toml",), ("sh",), ("sh", "run"), ("python",), ("python", "gpu"), ("c",), ("cpp",), ("ini",), ("mermaid",), ("text",)}
DAEMON_TABLES = {"socket", "limits", "cache", "state", "tuning", "gpu", "data", "pipelines", "http", "log"}
PAGES = pages.all_pages()
COMMANDS = Commands(ROOT, {"spdlctl": OPTIONS.ctl, "spdld": OPTIONS.daemon})


def blocks(language):
    return [block for page in PAGES.values() for block in page.blocks if block.words[:1] == (language,)]


def base_pipeline():
    """README's whole pipeline, as text."""
    whole = [block.text for block in PAGES["README.md"].blocks if block.words == ("toml",
             ) and "name" in tomllib.loads(block.text)]
    if len(whole) != 1:
        raise RuntimeError(f"README.md has {len(whole)} whole pipelines, not one")
    return whole[0]


def completed(part):
    """A whole pipeline that has `part`, and whatever else README's has."""
    whole = tomllib.loads(base_pipeline())
    if "sources" in part:
        del whole["source"]
    for key, value in part.items():
        whole[key] = {**whole.get(key, {}), **value} if isinstance(value, dict) else value
    if "global_size" in whole["batch"] or "cost_max" in whole["batch"]:
        del whole["batch"]["size"]
    return whole


class InAFolder(unittest.TestCase):
    """Each case has a folder with README's pipeline and pictures, and what a user's shell has."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        make_pictures(self.folder / "pictures", CLASSES, OF_EACH)
        (self.folder / "train.toml").write_text(base_pipeline())
        (self.folder / "run").mkdir(mode=0o700)
        programs = [str(Path(program).parent) for program in (OPTIONS.ctl, OPTIONS.daemon)]
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "run"), "SPDLD_DAEMON": OPTIONS.daemon,
                            "LD_LIBRARY_PATH": str(Path(OPTIONS.library).parent), "PYTHONPATH": OPTIONS.python_path,
                            "PATH": ":".join([*programs, os.environ["PATH"]])}
        self.environment.pop("SPDLD_SOCKET", None)
        self.addCleanup(self.end_daemon)

    def end_daemon(self):
        for socket in self.folder.rglob("*.sock"):
            ping = self.run_here(OPTIONS.ctl, "--socket", socket, "ping", "-o", "json")
            if ping.returncode == 0:
                os.kill(int(re.search(r'"pid": (\d+)', ping.stdout)[1]), signal.SIGTERM)

    def run_here(self, *command, timeout=60):
        return subprocess.run([str(word) for word in command], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=timeout)

    def assert_fine(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def built(self, compiler, block):
        source = self.folder / ("example." + block.words[0])
        source.write_text(block.text)
        self.assert_fine(self.run_here(*compiler, "-Wall", "-Wextra", "-Werror", "-o", "example", source,
                                       f"-I{ROOT / 'client/include'}", f"-L{Path(OPTIONS.library).parent}", "-lspdld"))
        done = self.run_here("./example")
        self.assert_fine(done)
        return done.stdout.splitlines()


class Programs(InAFolder):
    def test_c(self):
        found = blocks("c")
        self.assertEqual(len(found), 1)
        lines = self.built(["cc"], found[0])
        self.assertEqual(len(lines), BATCHES * EPOCHS)
        sizes = [int(re.fullmatch(r"(\d+) pictures at 0x[0-9a-f]+", line)[1]) for line in lines]
        self.assertEqual(sum(sizes), CLASSES * OF_EACH * EPOCHS)

    def test_cpp(self):
        found = blocks("cpp")
        self.assertEqual(len(found), 1)
        lines = self.built(["c++", "-std=c++17"], found[0])
        self.assertEqual(sum(int(line.split()[0]) for line in lines), CLASSES * OF_EACH * EPOCHS)

    def test_the_first_trainer(self):
        first = next(block for block in PAGES["README.md"].blocks if block.words == ("python",))
        (self.folder / "example.py").write_text(first.text)
        done = self.run_here(OPTIONS.python, "example.py")
        self.assert_fine(done)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], [f"epoch {epoch}" for epoch in range(EPOCHS)])
        self.assertIn(f"{BATCHES} batches", lines[0])

    def test_every_program_in_python(self):
        for path, page in PAGES.items():
            found = [{"place": block.place, "text": block.text, "runs": block.words == ("python",)}
                     for block in page.blocks if block.words[:1] == ("python",)]
            if not found:
                continue
            with self.subTest(page=path):
                (self.folder / "blocks.json").write_text(json.dumps(found))
                prelude = ROOT / "tests/readme/preludes" / (Path(path).stem + ".py")
                self.assert_fine(self.run_here(OPTIONS.python, ROOT / "tests/readme/run_blocks.py", prelude, "blocks.json",
                                               timeout=180))

    def test_commands_that_run(self):
        found = [block for block in blocks("sh") if block.words == ("sh", "run")]
        self.assertGreater(len(found), 0)
        for block in found:
            with self.subTest(place=block.place):
                self.assert_fine(self.run_here("bash", "-eu", "-c", block.text))


class Settings(InAFolder):
    def check(self, name, text):
        (self.folder / name).write_text(text)
        done = self.run_here(OPTIONS.ctl, "check", name, "-o", "json")
        verdict = json.loads(done.stdout)
        return verdict[0] if isinstance(verdict, list) else verdict["files"][0]

    def test_toml(self):
        found = blocks("toml")
        self.assertGreater(len(found), 10)
        for block in found:
            with self.subTest(place=block.place):
                keys = tomllib.loads(block.text)
                of_daemon = set(keys) <= DAEMON_TABLES and all(isinstance(value, dict) for value in keys.values())
                if of_daemon or "name" in keys:
                    verdict = self.check("block.toml", block.text)
                else:
                    verdict = self.check("block.json", json.dumps(completed(keys)))
                self.assertEqual(verdict["complaints"], [])
                self.assertEqual(verdict["kind"], "daemon" if of_daemon else "pipeline")

    def test_a_wrong_key_is_found(self):
        verdict = self.check("block.json", json.dumps(completed({"batch": {"held": 3}})))
        self.assertEqual([complaint["key"] for complaint in verdict["complaints"]], ["batch.held"])

    def test_ini(self):
        for block in blocks("ini"):
            settings = configparser.ConfigParser(strict=False)
            settings.optionxform = str
            settings.read_string(block.text)
            self.assertTrue(set(settings.sections()) <= {"Unit", "Service", "Socket", "Install"}, block.place)


class ThePages(unittest.TestCase):
    def test_every_block_is_of_a_kind_that_is_tested(self):
        faults = [f"{block.place}: {block.words}" for page in PAGES.values() for block in page.blocks if block.words not in KINDS]
        faults += [f"{path}:{line}: an indented block; fence it" for path, page in PAGES.items() for line in page.indented()]
        self.assertEqual(faults, [])

    def test_commands(self):
        found = blocks("sh")
        self.assertGreater(len(found), 10)
        faults = [f"{block.place}: {fault}" for block in found for words in lines_of(block.text)
                  for fault in COMMANDS.faults(words)]
        self.assertEqual(faults, [])

    def test_wrong_commands_are_found(self):
        for line in ("spdlctl describbe x", "spdlctl describe x --watch-it", "deploy/quickstart --no-such",
                     "bench/none.py FOLDER",
                     "bench/demand.py FOLDER --sharee 1", "spdld --no-such", "nosuchprogram", "meson setup b -Dnone=1",
                     "pip install ./client/none", "systemctl start spdld.none", "BUILD/bench/none 1"):
            with self.subTest(line=line):
                faults = [fault for words in lines_of(line) for fault in COMMANDS.faults(words)]
                self.assertEqual(len(faults), 1, faults)

    def test_the_table_of_spdlctl_has_every_command(self):
        text = (ROOT / "docs/service.md").read_text()
        listed = set(re.findall(r"^\| `spdlctl (\w+)", text, re.MULTILINE))
        self.assertGreater(len(listed), 5)
        self.assertEqual(listed, COMMANDS.subcommands())

    def test_the_table_of_operations_has_every_operation(self):
        done = subprocess.run([OPTIONS.ctl, "ops", "-o", "json"], capture_output=True, text=True, timeout=60, check=True)
        known = {operation["name"] for operation in json.loads(done.stdout)["operations"]}
        listed = set(re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs/pipelines.md").read_text(), re.MULTILINE))
        self.assertEqual(known - listed, set())

    def test_mermaid_is_balanced(self):
        for block in blocks("mermaid"):
            words = [line.split()[0] for line in block.text.splitlines() if line.strip()]
            self.assertEqual(words[0], "flowchart")
            self.assertEqual(words.count("subgraph"), words.count("end"))


if __name__ == "__main__":
    cases.main()
