"""Commands as the pages print them: whether each program is there, and knows the options that it is given."""
import re
import shlex
import subprocess

FOREIGN = {"pip", "meson", "systemctl", "systemd-sysusers", "cc", "c++", "install", "cd", "export", "torchrun", "apt", "sudo",
           "loginctl", "journalctl", "openssl"}
PLACEHOLDERS = {"FOLDER/run.py": "bench/gpu/run.py"}  # of a folder that a command before it made
LIBFUZZER = " -minimize_crash -runs -exact_artifact_path "  # options that every fuzzer has
ASSIGNMENT = re.compile(r"^[A-Z_]+=")


def lines_of(text):
    """Each command as its words; comments are left out, and lines that end in a backslash go on."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"\s(?:&&|\|\||\|)\s", line):
            words = shlex.split(part, comments=True)
            while words and ASSIGNMENT.match(words[0]):
                words = words[1:]
            if words:
                yield words


def options_of(words):
    for word in words:
        if word == "--":
            return
        if re.match(r"^--?[A-Za-z]", word):
            yield word.split("=")[0]


class Commands:
    """`root`: the tree. `programs`: {"spdlctl": path, "spdld": path} of the build."""

    def __init__(self, root, programs):
        self.root, self.programs, self.helps = root, programs, {}

    def help_of(self, *command):
        if command not in self.helps:
            done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60)
            self.helps[command] = done.stdout if done.returncode == 0 else ""
        return self.helps[command]

    def subcommands(self):
        """The commands of spdlctl."""
        section = re.search(r"^\w*[Cc]ommands:\n((?: .*\n)+)", self.help_of(self.programs["spdlctl"]), re.MULTILINE)
        return set(re.findall(r"^  ([a-z]+)\s", section[1], re.MULTILINE))

    def faults(self, words):
        """What is wrong with one command, as sentences."""
        name, rest = words[0], words[1:]
        if name in ("python", "python3") and rest:
            name, rest = rest[0], rest[1:]
            if name == "-m" and rest and rest[0].startswith("spdld."):  # a module of the Python package
                name, rest = "client/python/" + rest[0].replace(".", "/") + ".py", rest[1:]
        name = PLACEHOLDERS.get(name, name)
        if name == "spdlctl":
            yield from self._faults_of_spdlctl(rest)
        elif name == "spdld":
            yield from self._unknown(name, rest, self.help_of(self.programs["spdld"]))
        elif "/" in name:
            yield from self._faults_of_script(name, rest)
        elif name not in FOREIGN:
            yield f"no test knows the program {name}"
        if name == "meson":
            known = (self.root / "meson_options.txt").read_text()
            for option in re.findall(r"-D(\w+)=", " ".join(rest)):
                if f"option('{option}'" not in known and not option.startswith("b_"):
                    yield f"meson_options.txt has no {option}"
        for word in rest:
            if word.startswith("./") and not (self.root / word).exists():
                yield f"{word} is not there"
            if word.startswith("spdld.") and not list((self.root / "deploy/systemd").glob(word + "*")):
                yield f"there is no unit {word}"

    def _faults_of_spdlctl(self, rest):
        command = next((word for word in rest if word in self.subcommands()), None)
        if command is None:
            yield "spdlctl has no such command"
            return
        help_text = self.help_of(self.programs["spdlctl"]) + self.help_of(self.programs["spdlctl"], command)
        yield from self._unknown(f"spdlctl {command}", rest, help_text)

    def _faults_of_script(self, name, rest):
        """Scripts name their options in their own text; BUILD/x is a program that is built from x.cpp."""
        name = re.sub(r"^build/ci[a-z-]*/", "BUILD/", name)
        path = self.root / (name.removeprefix("BUILD/") + ".cpp" if name.startswith("BUILD/") else name)
        if not path.is_file():
            yield f"{name} is not there"
            return
        yield from self._unknown(name, rest, path.read_text() + (LIBFUZZER if name.endswith("_fuzz") else ""))

    @staticmethod
    def _unknown(name, rest, text):
        for option in options_of(rest):
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
                yield f"{name} has no option {option}"
