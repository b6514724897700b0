"""Writes the pipeline file that does what a training script's torchvision transforms and DataLoader do.

    python -m spdld.migrate train.py -o train.toml

The script's text is read, and nothing of it is run.
"""
import argparse
import ast
import re
import sys
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence

from spdld._operations import Refused
from spdld._script import Script, shown
from spdld._toml import operations_text, value_text
from spdld._transforms import Operations, Problem, converted, on_batches

_FOLDER = "torchvision.datasets.ImageFolder"
_LOADER = "torch.utils.data.DataLoader"
_EXTENSIONS = "jpg,jpeg,png,bmp,tif,tiff,webp"
_SCRIPT_BYTES_MAX = 16 * 2**20
_UNLIKE = {
    "sampler": "the order is the pipeline's; give a sampler to spdld.torch.Loader(sampler=...) where it is not a DistributedSampler",
    "batch_sampler": "give it to spdld.torch.Loader(batch_sampler=...)",
    "collate_fn": "an output may be padded or ragged, and [batch] has operations on batches",
    "target_transform": "the output `label` is the number of the class",
    "loader": "the daemon decodes the pictures", "is_valid_file": "`extensions` says which files are pictures",
}


class Found(NamedTuple):
    """A data set in the script: its arguments, and the arguments of its DataLoader."""

    name: str
    bound: Optional[str]  # the name in the script
    line: int
    root: Optional[ast.expr]
    transform: Optional[ast.expr]
    loader: Dict[str, ast.expr]
    other: Dict[str, ast.expr]


def datasets_of(script: Script) -> List[Found]:
    """The script's data sets. Without any, each composition of transforms counts as one."""
    loaders = {}
    for call in script.calls(_LOADER):
        given = script.loader(call).given
        if "dataset" in given:
            try:
                loaders[script.followed(given["dataset"])] = given
            except Refused:
                continue
    found = []
    for call in script.calls(_FOLDER):
        given = script.dataset(call).given
        found.append(Found(_name(script, call), script.name_of(call), call.lineno, given.get("root"), given.get("transform"),
                           dict(loaders.get(call, {})), given))
    return found or [Found(_name(script, call), script.name_of(call), call.lineno, None, call, {}, {})
                     for call in _compositions(script)]


def _compositions(script: Script) -> List[ast.Call]:
    calls = script.calls("torchvision.transforms.Compose", "torchvision.transforms.v2.Compose", "torch.nn.Sequential")
    inner = {part for call in calls for part in ast.walk(call) if part is not call}
    below = [call for call in calls if call not in inner]
    return [call for call in below if any(part in script.calls_below("torchvision.transforms") for part in ast.walk(call))]


def _name(script: Script, call: ast.expr) -> str:
    bound = script.name_of(call) or "train"
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"_?(dataset|transforms?|data|ds)$", "", bound.lower())).strip("-") or "train"


class Page:
    """The pipeline file, with a comment for each part of the script that it could not take over."""

    def __init__(self, script: Script, path: str, found: Found):
        self._script, self._path, self._found = script, path, found
        self.faults: List[str] = []
        self._notes: List[str] = []

    def text(self) -> str:
        batches, classes = self._mixing() if self._shuffled() else (None, None)
        self._look_for_changes()
        source, image = self._source(), self._image()
        label = ["", "[[output]]", 'name = "label"', 'from = "class"']
        if classes is not None:
            label.append(f'ops = [ {{ op = "one-hot", classes = {classes} }} ]')
        body = [*source, *self._order(), *image, *label, *self._batch(batches)]
        comments = [*(f"# NOT TRANSLATED: {fault}" for fault in self.faults), *(f"# {note}" for note in self._notes)]
        return "\n".join([f"# From line {self._found.line} of {' '.join(self._path.split())}, by python -m spdld.migrate.",
                          *(" ".join(comment.split()) for comment in comments), "", f"name = {value_text(self._found.name)}", *body, ""])

    def _value(self, name: str, node: Optional[ast.expr], default: Any, kind: Any) -> Any:
        """An argument of the data set or the DataLoader; the default, with a comment, where it is no literal."""
        if node is None:
            return default
        try:
            value = self._script.value(node)
            if isinstance(value, kind) and (kind is not int or not isinstance(value, bool)):
                return value
            self.faults.append(f"{name} = {shown(node)}, which is of another type: write it here.")
        except Refused:
            self.faults.append(f"{name} = {shown(node)}, whose value the script's text does not tell: write it here.")
        return default

    def _look_for_changes(self) -> None:
        """A script may set the transform later, as in `dataset.transform = ...`."""
        line = None if self._found.bound is None else self._script.line_of_change(self._found.bound)
        if line is not None:
            self.faults.append(f"line {line} changes a part of {self._found.bound} after it was made: do the same here.")

    def _source(self) -> List[str]:
        if self._found.root is None:
            self.faults.append("the data set: write its type and its uri here (`spdlctl ops` lists the types).")
        uri = self._value("root", self._found.root, "pictures", str)
        for name in ("target_transform", "loader", "is_valid_file"):
            if name in self._found.other:
                self.faults.append(f"{name} = {shown(self._found.other[name])}: {_UNLIKE[name]}.")
        return ["", "[source]", 'type = "image-folder"', f"uri = {value_text(uri)}", f'extensions = "{_EXTENSIONS}"']

    def _shuffled(self) -> bool:
        """A DataLoader with a sampler has no shuffle, and then the sampler shuffles."""
        loader = self._found.loader
        node = loader.get("shuffle")
        try:
            return ("sampler" in loader or not loader) if node is None else self._script.value(node) is True
        except Refused:
            return True

    def _order(self) -> List[str]:
        loader = self._found.loader
        self._value("shuffle", loader.get("shuffle"), False, (bool, type(None)))
        for name in ("sampler", "batch_sampler", "collate_fn"):
            if name in loader and not (isinstance(loader[name], ast.Constant) or self._is_usual(name, loader[name])):
                self.faults.append(f"{name} = {shown(loader[name])}: {_UNLIKE[name]}.")
        if "num_workers" in loader:
            self._notes.append("num_workers has no equal: the daemon's threads serve all trainers of the node.")
        if self._shuffled():
            return ["", "[order]", "shuffle = true", "epochs = 0  # the training loop counts the epochs"]
        return ["", "[order]", "shuffle = false", "epochs = 1"]

    def _is_usual(self, name: str, node: ast.expr) -> bool:
        try:
            node = self._script.followed(node)
        except Refused:
            return False
        return name == "sampler" and isinstance(node, ast.Call) and \
            (self._script.dotted(node.func) or "").rpartition(".")[2] in ("DistributedSampler", "RandomSampler")

    def _image(self) -> List[str]:
        faults: List[Problem] = []
        operations = Operations([{"op": "decode-image", "exif": False}])
        if self._found.transform is not None:
            operations = converted(self._found.transform, self._script.transform, faults, "transforms")
        self.faults += [f"{fault}." for fault in faults]
        self._notes += operations.notes
        return ["", "[[output]]", 'name = "image"', 'from = "image"', f"ops = {operations_text(operations)}"]

    def _mixing(self) -> Any:
        """The operations on batches for CutMix and MixUp, and the number of classes."""
        names = [f"torchvision.transforms.v2.{name}" for name in ("RandomChoice", "CutMix", "MixUp")]
        chosen = [call for call in self._script.calls(names[0]) if self._mixes(call)]
        calls = self._script.calls(*names[1:])
        if not calls:
            return None, None
        if len(chosen) != 1 and len(calls) != 1:
            self.faults.append("CutMix and MixUp: the script has several, so write `ops` of [batch].")
            return None, None
        try:
            self._notes.append("CutMix and MixUp draw for each sample here, and for a batch in torchvision.")
            classes = self._script.transform(calls[0]).read("num_classes")
            if not isinstance(classes, int):
                raise Refused("lacks num_classes, the number of classes")
            return on_batches(chosen[0] if chosen else calls[0], self._script.transform), classes
        except Refused as refused:
            self.faults.append(f"CutMix or MixUp: it {refused}.")
            return None, None

    def _mixes(self, call: ast.Call) -> bool:
        try:
            return on_batches(call, self._script.transform) is not None
        except Refused:
            return False

    def _batch(self, operations: Any) -> List[str]:
        loader = self._found.loader
        size = self._value("batch_size", loader.get("batch_size"), 1 if loader else 32, int)
        drop = self._value("drop_last", loader.get("drop_last"), False, bool)
        if not loader:
            self.faults.append("the DataLoader: the script's text has none that is given this data set itself (it may have a "
                               "Subset of it): write the size of a batch.")
        return ["", "[batch]", f"size = {size}  # of each rank", f'last = "{"drop" if drop else "short"}"',
                *([] if operations is None else [f"ops = {operations_text(operations)}"])]


def _fail(sentence: str) -> NoReturn:
    print(f"spdld.migrate: {sentence}", file=sys.stderr)
    sys.exit(2)


def _read(path: str) -> Script:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_SCRIPT_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        _fail(f"cannot read the script {path}: {error}")
    if len(text) > _SCRIPT_BYTES_MAX:
        _fail(f"the script {path} is larger than {_SCRIPT_BYTES_MAX // 2**20} MiB")
    try:
        return Script(text, path)
    except (SyntaxError, ValueError, RecursionError) as error:
        _fail(f"the script {path} is not Python that this interpreter reads: {error}")


def _chosen(found: List[Found], name: Optional[str], path: str) -> Found:
    if not found:
        _fail(f"{path} has no torchvision.datasets.ImageFolder and no Compose of transforms: there is nothing to translate")
    fitting = [entry for entry in found if name is None or entry.name == name]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(f"{entry.name} (line {entry.line})" for entry in found)
    if name is not None and not fitting:
        _fail(f"{path} has no data set {name}; it has {names}")
    if name is None:
        _fail(f"{path} has several data sets: choose one by --dataset NAME. They are {names}")
    return fitting[0]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m spdld.migrate", description="Writes the pipeline file that does what a training script's torchvision "
        "transforms, ImageFolder and DataLoader do. The script's text is read, and nothing of it is run. The exit code is 1 "
        "where a part of the script was not translated; the file has a comment for each such part.")
    parser.add_argument("script", help="the training script")
    parser.add_argument("-o", "--output", metavar="FILE", help="the pipeline file to write; by default standard output")
    parser.add_argument("--dataset", metavar="NAME", help="the data set, where the script has several: the name that it is bound to")
    given = parser.parse_args(arguments)
    script = _read(given.script)
    try:
        page = Page(script, given.script, _chosen(datasets_of(script), given.dataset, given.script))
        text = page.text()
    except Refused as refused:
        _fail(f"{given.script} {refused}")
    if given.output is None:
        sys.stdout.write(text)
    else:
        try:
            with open(given.output, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            _fail(f"cannot write {given.output}: {error.strerror}")
    for fault in page.faults:
        print(f"spdld.migrate: not translated: {fault}", file=sys.stderr)
    return 1 if page.faults else 0


if __name__ == "__main__":
    sys.exit(main())
