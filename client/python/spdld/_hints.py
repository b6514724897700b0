"""Sentences for scripts without an ImageFolder: which page says how spdld does the work of a library's function."""
import ast
from typing import Any, NamedTuple


class _Hint(NamedTuple):
    """kind: "data", "loader" or "transform". why: the end of a sentence that begins with the function's name."""

    kind: str
    why: str


_LINES_MAX = 8
_OPENERS = ("PIL.Image.open", "cv2.imread", "torchvision.io.read_image", "torchvision.io.decode_image")  # of pictures
_CLASSES = "docs/torchvision.md says which operation stands for a transform"
_FOLDER = "a folder of classes is a source of the type image-folder; docs/pipelines.md"
_TABLE: dict[str, _Hint] = {
    "timm.data.create_transform": _Hint("transform", "makes transforms of timm: spdld.torch.from_transforms takes its result, "
                                        "and docs/torchvision.md says how near it is"),
    "timm.data.create_dataset": _Hint("data", f"makes a data set of timm: {_FOLDER}"),
    "timm.data.create_loader": _Hint("loader", "makes transforms and a loader of timm, by a configuration of the model: "
                                     f"{_CLASSES}"),
    "timm.data.ImageDataset": _Hint("data", f"is a data set of timm: {_FOLDER}"),
    "albumentations": _Hint("transform", "is a transform of albumentations: docs/torchvision.md has a pipeline in its place"),
    "datasets.load_dataset": _Hint("data", "is a data set of Hugging Face: its Parquet files are a source of the type parquet; "
                                   "docs/pipelines.md"),
    "webdataset.WebDataset": _Hint("data", "reads archives: the source webdataset does; docs/pipelines.md"),
    "torch.utils.data.random_split": _Hint("part", "gives a part of the samples: docs/order.md says how a pipeline takes a part"),
    "torch.utils.data.Subset": _Hint("part", "gives a part of the samples: docs/order.md says how a pipeline takes a part"),
    "torch.utils.data.ConcatDataset": _Hint("part", "joins data sets: a pipeline has several [[sources]]; docs/pipelines.md"),
    "keras.utils.image_dataset_from_directory": _Hint("data", f"makes batches of pictures: {_FOLDER}"),
    "tensorflow.keras.utils.image_dataset_from_directory": _Hint("data", f"makes batches of pictures: {_FOLDER}"),
    "torchvision.datasets": _Hint("data", "is a data set of torchvision with a layout of its own: "
                                  "spdld.torch.Loader(dataset=...) takes it as it is; or write its pictures into a folder for "
                                  "each class, or a table, and the daemon reads them; docs/pipelines.md lists the sources"),
}


def _entry(full: str | None) -> _Hint | None:
    """Of a function, or of the module that it lies in."""
    name = full or ""
    while name:
        if name in _TABLE:
            return _TABLE[name]
        name = name.rpartition(".")[0]
    return None


def hint_of(full: str | None) -> str:
    """Why a transform of another library has no equal; empty: there is nothing to say."""
    entry = _entry(full)
    return "" if entry is None else entry.why


def hints_in(script: Any, *kinds: str) -> list[tuple[int, str]]:
    """The lines of a script that make data in another way, each with what helps."""
    found: dict[str, tuple[int, str]] = {}
    for call in script.nodes_in_order(ast.Call):
        full = script.dotted(call.func)
        entry = _entry(full)
        if entry is not None and entry.kind in kinds:
            found.setdefault(entry.why, (call.lineno, f"{full} {entry.why}."))
    lines = list(found.values())
    for node in script.nodes(ast.ClassDef) if "data" in kinds else []:
        bases = {script.dotted(base) for base in node.bases}
        if bases & {"torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset"}:
            lines.append((node.lineno, f"the class {node.name} is iterable, which no process beside the daemon calls yet: give "
                          "it __len__ and __getitem__, or take a source of docs/pipelines.md."))
        elif bases & {"torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset"}:
            lines.append((node.lineno, f"the class {node.name} runs beside the daemon as it is, with "
                          f"spdld.torch.Loader(dataset=...) in place of DataLoader(...); docs/trainers.md."
                          f"{_pictures_hint(script, node)}"))
    return lines[:_LINES_MAX]


def _pictures_hint(script: Any, data_set: ast.ClassDef) -> str:
    """Where a data set opens pictures itself: what the daemon may do in its place, and what that saves."""
    opened = next((call.lineno for call in ast.walk(data_set) if isinstance(call, ast.Call) and
                   script.dotted(call.func) in _OPENERS), None)
    if opened is None:
        return ""
    return f" It opens pictures itself (line {opened}): with a source of docs/pipelines.md that has their paths, the daemon " \
        "reads, decodes and crops them in about a fifth of the CPU time (docs/figures.md), and a function of the class's may " \
        "do the rest, as an operation with op = \"python\"."


def splits_of(script: Any, dataset: ast.Call) -> list[tuple[int, str]]:
    """The lines that take a part of a data set, or join it to another one."""
    found = []
    for call in script.nodes_in_order(ast.Call):
        full = script.dotted(call.func)
        entry = _entry(full)
        if entry is None or entry.kind != "part":
            continue
        parts = [part for argument in call.args for part in ast.walk(argument) if isinstance(part, ast.expr)]
        if any(script.followed_or_none(part, even_changed=True) is dataset for part in parts):
            found.append((call.lineno, f"{full} {entry.why}."))
    return found
