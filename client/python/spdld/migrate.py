"""Writes the pipeline file that does what a training script's torchvision transforms and DataLoader do.

    python -m spdld.migrate train.py -o train.toml

The script's text is read, and nothing of it is run. The file has what the text tells for certain. Each other part is
named in `gaps` of the file, and spdlctl and the daemon refuse the file until somebody has written this part.
"""
import argparse
import ast
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from spdld._arguments import CommandLineError
from spdld._hints import hints_in, splits_of
from spdld._mixing import DEFAULT_COLLATE, mixing_of, parts_of
from spdld._reading import LIST
from spdld._renaming import plain_name
from spdld._script import Script
from spdld._toml import operations_text, value_text
from spdld._transforms import Operations, Problem, converted, on_batches
from spdld._tree import shown
from spdld._values import Refused

_FOLDERS = ("torchvision.datasets.ImageFolder", "torchvision.datasets.folder.ImageFolder")
_LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_COMPOSITIONS = ("torchvision.transforms.Compose", "torchvision.transforms.transforms.Compose",
                 "torchvision.transforms.v2.Compose", "torch.nn.Sequential")
_SHUFFLING = ("torch.utils.data.RandomSampler", "torch.utils.data.sampler.RandomSampler")
_IN_ORDER = ("torch.utils.data.SequentialSampler", "torch.utils.data.sampler.SequentialSampler")
_OF_RANKS = ("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
_GAPS_MAX = 90  # the check names a hundred mistakes of a file
_GAP_LENGTH_MAX = 600
_OPTIONS_MAX = 40  # of a command line, that a comment names
_EXTENSIONS = "jpg,jpeg,png,bmp,tif,tiff,webp"
_SCRIPT_BYTES_MAX = 16 * 2**20
_UNLIKE = {
    "sampler": "the order is the pipeline's; give a sampler to spdld.torch.Loader(sampler=...) where it is not a "
               "DistributedSampler",
    "worker_init_fn": "the daemon has no workers that would run it",
    "batch_sampler": "give it to spdld.torch.Loader(batch_sampler=...)",
    "collate_fn": "an output may be padded or ragged, and [batch] has operations on batches",
    "target_transform": "the output `label` is the number of the class",
    "loader": "the daemon decodes the pictures", "is_valid_file": "`extensions` says which files are pictures",
}


class Found(NamedTuple):
    """A data set in the script: its arguments, its DataLoader and the DataLoader's arguments, and why they are not known."""

    name: str
    call: ast.Call
    bound: ast.Name | None  # the name in the script
    line: int
    root: ast.expr | None
    transform: ast.expr | None
    loader: dict[str, ast.expr]
    other: dict[str, ast.expr]
    loader_call: ast.Call | None = None
    troubles: Sequence[Problem] = ()


def datasets_of(script: Script) -> list[Found]:
    """The script's data sets. Without any, each composition of transforms counts as one."""
    found = [_dataset(script, call) for call in script.calls(*_FOLDERS)]
    found = found or [Found(_name(script, call, None), call, script.name_of(call), call.lineno, None, call, {}, {})
                      for call in _compositions(script)]
    counts: dict[str, int] = {}
    for number, entry in enumerate(found):
        counts[entry.name] = counts.get(entry.name, 0) + 1
        if counts[entry.name] > 1:
            found[number] = entry._replace(name=f"{entry.name}-{counts[entry.name]}")
    return found


def _dataset(script: Script, call: ast.Call) -> Found:
    troubles: list[Problem] = []
    given: dict[str, ast.expr] = {}
    try:
        given = script.dataset(call).given
    except Refused as refused:
        troubles.append(Problem("the data set", "ImageFolder", str(refused), call.lineno))
    loaders = [loader for loader in script.calls(*_LOADERS) if _loads(script, loader, call)]
    arguments: dict[str, ast.expr] = {}
    if len(loaders) > 1:
        lines = ", ".join(str(loader.lineno) for loader in loaders)
        troubles.append(Problem("the data set", "DataLoader", f"is made in several lines, {lines}", loaders[0].lineno))
        loaders = []
    for loader in loaders:
        try:
            arguments = script.loader(loader).given
        except Refused as refused:
            troubles.append(Problem("the data set", "DataLoader", str(refused), loader.lineno))
    name = _name(script, call, loaders[0] if loaders else None)
    return Found(name, call, script.name_of(call), call.lineno, given.get("root"), given.get("transform"), arguments,
                 given, loaders[0] if loaders else None, troubles)


def _loads(script: Script, loader: ast.Call, call: ast.Call) -> bool:
    """Whether a DataLoader is given this data set itself, wherever its arguments are unpacked from."""
    first = next((word.value for word in loader.keywords if word.arg == "dataset"), loader.args[0] if loader.args else None)
    return first is not None and script.followed_or_none(first, even_changed=True) is call


def _compositions(script: Script) -> list[ast.Call]:
    calls = script.calls(*_COMPOSITIONS)
    inner = {part for call in calls for part in ast.walk(call) if part is not call}
    below = [call for call in calls if call not in inner]
    known = set(script.calls_below("torchvision.transforms"))
    return [call for call in below if any(part in known for part in ast.walk(call))]


def _name(script: Script, call: ast.expr, loader: ast.Call | None) -> str:
    """A short name: what the script calls the data set, its loader, or the function that makes it."""
    function = script.function_of(call)
    for given in (script.called(call), script.called(loader), getattr(function, "name", None)):
        text = plain_name(given or "").rpartition(".")[2].lower()
        text = re.sub(r"^(image_?)?(datasets?|transforms?|data|loader)_", "", text)
        text = re.sub(r"_?(dataset|transforms?|data_?loader|loader|data|set|ds|dl)$", "", text)
        name = re.sub(r"[^a-z0-9]+", "-", text).strip("-")
        if name not in ("", "main", "get", "make", "build", "create", "load", "setup", "compose"):
            return name
    return "train"


class Page:
    """The pipeline file, with an entry in `gaps` for each part of the script that it could not take over."""

    def __init__(self, script: Script, path: str, found: Found):
        self._script, self._path, self._found = script, _printable(path), found
        self.faults: list[str] = []
        self._notes: list[str] = []

    def text(self) -> str:
        for trouble in self._found.troubles:
            self._gap(trouble.line, f"{trouble.place}, {trouble.name}: it {trouble.why}.")
        self._look_for_changes()
        shuffled = self._shuffled()
        batches, classes = self._mixing(shuffled)
        source, image = self._source(), self._image()
        label = ["", "[[output]]", 'name = "label"', 'from = "class"']
        if classes is not None:
            label.append(f'ops = [ {{ op = "one-hot", classes = {classes} }} ]')
        body = [*source, *self._order(shuffled), *image, *label, *self._batch(batches)]
        if self._script.options:
            self._notes.append(f"The script was read as it runs {self._command_line()}: {self.options_text()}.")
        return "\n".join([f"# From line {self._found.line} of {self._path}, by python -m spdld.migrate.",
                          *(f"# {' '.join(note.split())}" for note in self._notes), *self._gaps(), "",
                          f"name = {value_text(self._found.name)}", *body, ""])

    def _command_line(self) -> str:
        given = self._script.command_line
        return "without arguments, so with the defaults of its options" if given is None else \
            f"with the arguments {shlex.join(given)!r}"

    def options_text(self) -> str:
        """The options of the script's command line that were read, with their values."""
        told = [f"{name} = {value!r}" for name, value in sorted(self._script.options.items())]
        return _printable(", ".join(told[:_OPTIONS_MAX]) + (", ..." if len(told) > _OPTIONS_MAX else ""))

    def _gap(self, line: int | None, what: str) -> None:
        text = _printable(f"line {line or self._found.line} of {self._path}: {what}")
        text = text if len(text) <= _GAP_LENGTH_MAX else text[:_GAP_LENGTH_MAX] + "..."
        if text not in self.faults:
            self.faults.append(text)

    def _gaps(self) -> list[str]:
        """spdlctl and the daemon refuse a file while it has an entry here."""
        if not self.faults:
            return []
        more = len(self.faults) - _GAPS_MAX
        entries = self.faults[:_GAPS_MAX] + ([f"{more} more parts."] if more > 0 else [])
        return ["", "# These parts of the script are missing below. Write each of them, and take its line out: until then,",
                "# spdlctl and the daemon refuse this file.", "gaps = [", *(f"  {value_text(entry)}," for entry in entries), "]"]

    def _value(self, name: str, node: ast.expr | None, default: Any, fits: Any) -> Any:
        """An argument of the data set or the DataLoader; None, with a gap, where the text does not tell it."""
        if node is None:
            return default
        try:
            value = self._script.value(node)
            if fits(value):
                return value
            self._gap(node.lineno, f"{name} = {shown(node)}, which is of another type or too large: write it.")
        except Refused as refused:
            start = f"needs {shown(node)}, "
            why = str(refused).removeprefix(start) if str(refused).startswith(start) else f"which {refused}"
            self._gap(node.lineno, f"{name} = {shown(node)}, {why}: write it.")
        return None

    def _is_none(self, node: ast.expr | None) -> bool:
        try:
            node = None if node is None else self._script.followed(node)
        except Refused:
            return False
        return node is None or (isinstance(node, ast.Constant) and node.value is None)

    def _look_for_changes(self) -> None:
        """A script may set the transform later, as in `dataset.transform = ...`, or give a name another meaning."""
        for place, sentence in self._script.doubts():
            self._gap(place, f"{sentence}: compare this file with what the script does.")
        loader = None if self._found.loader_call is None else self._script.name_of(self._found.loader_call)
        for name in (self._found.bound, loader):
            line = None if name is None else self._script.line_of_change(name)
            if name is not None and line is not None:
                self._gap(line, f"it may change a part of {shown(name)} after it was made: do the same here.")
        for kept in self._script.nodes(ast.Attribute, ast.Subscript):
            if isinstance(kept.ctx, ast.Store) and self._script.holds(kept, self._found.call):
                self._gap(kept.lineno, f"{shown(kept)} keeps the data set, and the text does not tell who changes it.")

    def _source(self) -> list[str]:
        lines = ["", "[source]"]
        if self._found.root is None:
            self._gap(None, "the data set: write its type and its uri here (`spdlctl ops` lists the types).")
            for line, sentence in hints_in(self._script, "data"):
                self._gap(line, sentence)
            return lines
        uri = self._value("root", self._found.root, None, _is_folder)
        for name in ("target_transform", "loader", "is_valid_file"):
            node = self._found.other.get(name)
            if node is not None and not self._is_none(node):
                self._gap(node.lineno, f"{name} = {shown(node)}: {_UNLIKE[name]}.")
        if uri is not None and not os.path.isabs(uri):
            self._notes.append("A relative uri starts at this file's folder; the script's starts at the folder in which it is "
                               "run.")
        self._notes.append("Pictures in .ppm and .pgm, which ImageFolder takes as well, are not read.")
        return [*lines, 'type = "image-folder"', *([] if uri is None else [f"uri = {value_text(uri)}"]),
                f'extensions = "{_EXTENSIONS}"']

    def _shuffled(self) -> bool | None:
        """Whether the order is shuffled; None where the text does not tell. With a sampler, the sampler shuffles."""
        loader = self._found.loader
        sampler = loader.get("sampler")
        for name in ("batch_sampler", "collate_fn", "worker_init_fn"):
            node = loader.get(name)
            if node is not None and not self._is_none(node) and not (name == "collate_fn" and self._mixes(node)):
                self._gap(node.lineno, f"{name} = {shown(node)}: {_UNLIKE[name]}.")
        if "num_workers" in loader:
            self._notes.append("num_workers has no equal: the daemon's threads serve all trainers of the node.")
        if self._found.loader_call is None:
            return None
        if "batch_sampler" in loader and not self._is_none(loader["batch_sampler"]):
            return None
        if sampler is None or self._is_none(sampler):
            value = self._value("shuffle", loader.get("shuffle"), False, lambda value: value is None or isinstance(value, bool))
            return None if value is None and not self._is_none(loader.get("shuffle", ast.Constant(False))) else bool(value)
        shuffled = self._shuffled_by_all(sampler, loader.get("shuffle"))
        if shuffled is None:
            self._gap(sampler.lineno, f"sampler = {shown(sampler)}: {_UNLIKE['sampler']}.")
        return shuffled

    def _shuffled_by_all(self, sampler: ast.expr, shuffle: ast.expr | None) -> bool | None:
        """Where runs have several samplers, as with and without ranks: what all of them do."""
        found = set()
        for each in self._script.alternatives(sampler):
            if not self._is_none(each):
                found.add(self._shuffles(each))
            elif isinstance(shuffle, ast.Compare) and isinstance(shuffle.ops[0], ast.Is) and \
                    self._is_none(shuffle.comparators[0]) and len(shuffle.ops) == 1 and shown(shuffle.left) == shown(sampler):
                found.add(True)  # shuffle=(sampler is None)
            else:
                try:
                    value = False if shuffle is None else self._script.value(shuffle)
                    found.add(value if isinstance(value, bool) else None)
                except Refused:
                    found.add(None)
        return found.pop() if len(found) == 1 else None

    def _shuffles(self, sampler: ast.expr) -> bool | None:
        try:
            call = self._script.followed(sampler)
            if not isinstance(call, ast.Call):
                return None
            full = self._script.dotted(call.func)
            if full in (*_SHUFFLING, *_IN_ORDER):
                self._script.arguments(call, (("data_source",), ("generator",))[:1 + (full in _SHUFFLING and not call.args[1:])])
                return full in _SHUFFLING
            if full in _OF_RANKS:
                given = self._script.arguments(call, (("dataset",), ("num_replicas",), ("rank",), ("shuffle",), ("seed",))).given
                value = self._script.value(given["shuffle"]) if "shuffle" in given else True
                return value if isinstance(value, bool) else None
        except Refused:
            pass
        return None

    def _order(self, shuffled: bool | None) -> list[str]:
        if shuffled is None:
            return ["", "[order]"]
        if shuffled:
            return ["", "[order]", "shuffle = true", "epochs = 0  # the training loop counts the epochs"]
        return ["", "[order]", "shuffle = false", "epochs = 1"]

    def _image(self) -> list[str]:
        faults: list[Problem] = []
        operations = Operations([{"op": "decode-image", "exif": False}])
        transform = self._found.transform
        if transform is not None and self._script.transform(transform).name == LIST:
            self._gap(transform.lineno, f"transform = {shown(transform)}, which ImageFolder cannot call.")
        elif transform is not None and not self._is_none(transform):
            operations = converted(transform, self._script.transform, faults, "transforms")
            if operations.on_batches:
                self._gap(transform.lineno, "transforms: they mix the pictures of a batch, and ImageFolder gives one picture.")
                operations = Operations([{"op": "decode-image", "exif": False}])
        for fault in faults:
            self._gap(fault.line or getattr(transform, "lineno", None), f"{fault}.")
        self._notes += operations.notes
        return ["", "[[output]]", 'name = "image"', 'from = "image"', f"ops = {operations_text(operations)}"]

    def _mixes(self, collate: ast.expr) -> bool:
        return self._script.names_of(collate) <= {*DEFAULT_COLLATE} or \
            mixing_of(self._script, self._found.loader_call, collate).call is not None

    def _mixing(self, shuffled: bool | None) -> Any:
        """The operations on batches for CutMix and MixUp, and the number of classes."""
        mixing = mixing_of(self._script, self._found.loader_call, self._found.loader.get("collate_fn"))
        for call in mixing.unplaced:
            sentence = f"{shown(call)}: the text does not tell which batches it mixes"
            if shuffled is False and len(mixing.unplaced) == 1:
                self._notes.append(f"Line {call.lineno} has {sentence}. These are not mixed.")
            else:
                self._gap(call.lineno, f"{sentence}: write `ops` of [batch], or nothing where they are others.")
        if mixing.call is None:
            return None, None
        try:
            operations = on_batches(mixing.call, self._script.transform)
            classes = {self._classes(part) for part in parts_of(self._script, mixing.call) if isinstance(part, ast.Call)} - {0}
            if operations is None or len(classes) != 1:
                raise Refused("lacks num_classes, the number of classes, or holds other transforms")
        except Refused as refused:
            self._gap(mixing.call.lineno, f"CutMix or MixUp: it {refused}.")
            return None, None
        self._notes.append("CutMix and MixUp draw for each sample here, and for a batch in torchvision.")
        return operations, classes.pop()

    def _classes(self, call: ast.Call) -> int:
        """num_classes of a CutMix or a MixUp; 0 for other calls."""
        step = self._script.transform(call)
        if step.name not in ("CutMix", "MixUp") or not step.is_torchvisions:
            return 0
        count = step.checked().read("num_classes")
        if count is None:
            raise Refused("lacks num_classes, the number of classes")
        return int(count)

    def _batch(self, operations: Any) -> list[str]:
        loader = self._found.loader
        lines = ["", "[batch]"]
        if self._found.loader_call is None:
            parts = splits_of(self._script, self._found.call)
            self._gap(None, "the DataLoader: the script's text has none that is given this data set itself alone"
                      f"{'' if parts else ' (it may have a Subset of it)'}: write the order and the size of a batch.")
            for line, sentence in parts or hints_in(self._script, "loader"):
                self._gap(line, sentence)
            return lines
        size = self._value("batch_size", loader.get("batch_size"), 1,
                           lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 65536)
        drop = self._value("drop_last", loader.get("drop_last"), False, lambda value: isinstance(value, bool))
        return [*lines, *([] if size is None else [f"size = {size}  # of each rank"]),
                *([] if drop is None else [f'last = "{"drop" if drop else "short"}"']),
                *([] if operations is None else [f"ops = {operations_text(operations)}"])]


def _is_folder(value: Any) -> bool:
    """A path of this machine, which torchvision and the daemon take alike."""
    return isinstance(value, str) and value != "" and value.isprintable() and len(value) < 4096 and \
        not value.startswith("~") and ":" not in value


def _printable(text: str) -> str:
    """For comments and messages: control characters, and what steers the direction of text, by their numbers."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in " ".join(text.split()))


def _fail(sentence: str) -> NoReturn:
    print(_printable(f"spdld.migrate: {sentence}"), file=sys.stderr)
    sys.exit(2)


def _read(path: str, arguments: list[str] | None) -> Script:
    try:
        with open(path, "rb") as file:
            text = file.read(_SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        _fail(f"cannot read the script {path}: {error}")
    if len(text) > _SCRIPT_BYTES_MAX:
        _fail(f"the script {path} is larger than {_SCRIPT_BYTES_MAX // 2**20} MiB")
    try:
        return Script(text, path, arguments)
    except CommandLineError as error:
        _fail(f"the script {path} would not run with these arguments: {error}")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _fail(f"the script {path} is not Python that this interpreter reads: {error}")


def _refuse_local_modules(path: str) -> None:
    """Python takes a module from the script's folder before an installed one."""
    for name in ("torchvision", "torch"):
        for file in (Path(path).parent / f"{name}.py", Path(path).parent / name / "__init__.py"):
            if file.exists():
                _fail(f"{file} lies beside the script, and Python takes it for {name}: there is nothing of torchvision to "
                      "translate")


def _chosen(script: Script, found: list[Found], name: str | None, path: str) -> Found:
    if not found:
        hints = "".join(f"; line {line}: {sentence}" for line, sentence in hints_in(script, "data", "loader", "transform"))
        _fail(f"{path} has no torchvision.datasets.ImageFolder and no Compose of transforms, by names that stand for these "
              f"alone: there is nothing to translate{hints}")
    fitting = [entry for entry in found if name is None or entry.name == name]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(f"{entry.name} (line {entry.line})" for entry in found)
    if name is not None:
        _fail(f"{path} has no data set {name}; it has {names}")
    _fail(f"{path} has several data sets: choose one by --dataset NAME. They are {names}")


def _write(text: str, output: str | None) -> None:
    try:
        if output is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            with open(output, "w", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        if output is None:
            sys.stdout = open(os.devnull, "w")  # the interpreter flushes it once more
        _fail(f"cannot write {output or 'the standard output'}: {error.strerror}")


_EXIT_CODES = """\
exit codes:
  0  the file does what the script's text says
  1  the file has gaps: parts of the script that its text does not tell for certain, or that have no equal. Each is named on
     standard error and in `gaps` of the file, and `spdlctl check` and the daemon refuse the file until they are written
  2  no file was written: the script cannot be read, or has nothing to translate
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m spdld.migrate", description="Writes the pipeline file that does what a training script's torchvision "
        "transforms, ImageFolder and DataLoader do. The script's text is read, and nothing of it is run.", epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", help="the training script")
    parser.add_argument("-o", "--output", metavar="FILE", help="the pipeline file to write; by default standard output")
    parser.add_argument("--dataset", metavar="NAME", help="the data set, where the script has several: the name that it is "
                        "bound to")
    parser.add_argument("--args", metavar="TEXT", help="the arguments with which the script is run, in one text; by default it "
                        "is run without any, so that its options have their defaults")
    given = parser.parse_args(arguments)
    _refuse_local_modules(given.script)
    try:
        script = _read(given.script, None if given.args is None else shlex.split(given.args))
    except ValueError as error:
        _fail(f"--args is no command line: {error}")
    try:
        page = Page(script, given.script, _chosen(script, datasets_of(script), given.dataset, given.script))
        text = page.text()
    except Refused as refused:
        _fail(f"{given.script} {refused}")
    except RecursionError:
        _fail(f"{given.script} has expressions that stand too deep in one another")
    _write(text, given.output)
    if script.options:
        print(_printable(f"spdld.migrate: the values of the script's options: {page.options_text()}"
                         f"{'; --args gives others' if given.args is None else ''}"), file=sys.stderr)
    for fault in page.faults:
        print(f"spdld.migrate: not translated: {fault}", file=sys.stderr)
    return 1 if page.faults else 0


if __name__ == "__main__":
    sys.exit(main())
