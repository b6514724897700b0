"""Turns a pipeline as a program gives it into a form that the library takes: a name, the path of a file, or JSON."""
import importlib
import json
import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from spdld._errors import DeniedError, Error, InvalidError, NotFoundError

_DEPTH_MAX = 32  # levels of nested dicts and lists
_LIST_MAX = 1024  # entries of a list of the pipeline
_SHOWN_MAX = 60  # characters of a value that a sentence shows
_FILE_BYTES_MAX = 16 * 2**20  # the same limit holds for a .toml file


class Pipeline(NamedTuple):
    """Either a text (a name, or the path of a .toml file), or a spec in JSON with the folder of its relative uris."""

    text: str | None = None
    spec: str | None = None
    folder: str | None = None


def pipeline_of(given: Any) -> Pipeline:
    if isinstance(given, Mapping):
        return Pipeline(spec=spec_text(plain(given)), folder=".")
    if not isinstance(given, (str, os.PathLike)):
        raise InvalidError(f"a pipeline is a dict, the path of a .toml or .json file, or the name of a pipeline of the daemon, "
                           f"and not a value of the type {_kind(given)}{_data_set_hint(given)}")
    text = os.fspath(given)
    if not isinstance(text, str):
        raise InvalidError(f"the path of a pipeline's file must be a text, and not {_shown(text)}")
    if text.endswith(".toml"):
        return Pipeline(text=text)
    if text.endswith(".json"):
        return Pipeline(spec=spec_text(plain(_read(text))), folder=os.path.dirname(text) or ".")
    if isinstance(given, str) and os.sep not in text:
        return Pipeline(text=text)
    raise InvalidError(f"a pipeline's file ends in .toml or .json, unlike {text}"
                       f"{_folder_hint(text if os.path.isdir(text) else None)}")


def plain(value: Any, place: str = "", depth: int = 0) -> Any:
    """Returns the same value, made of dicts, lists, texts, numbers and truth values alone.

    place: the value's place in the pipeline, for error texts, such as "output[0].ops".
    """
    if depth > _DEPTH_MAX:
        raise InvalidError(f"the pipeline has dicts or lists nested more than {_DEPTH_MAX} deep, or a value that holds itself: "
                           f"{_shown(place)}")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise InvalidError(f"{place} is {value}: write a finite number")
    if isinstance(value, Mapping):
        return {_key(key, place): plain(entry, f"{place}.{key}" if place else str(key), depth + 1)
                for key, entry in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    name = _dtype_name(value)
    if name is not None:
        return name
    if callable(getattr(value, "tolist", None)):  # numbers and arrays of numpy, torch and jax
        return plain(value.tolist(), place, depth + 1)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [plain(entry, f"{place}[{number}]", depth + 1) for number, entry in enumerate(value)]
    raise InvalidError(f"{place or 'the pipeline'} is a {_kind(value)}, {_shown(value)}: {_remedy(value)}")


def spec_text(spec: Any) -> str:
    """A spec, made of plain values, as JSON."""
    return json.dumps(_with_lists(spec))


def may_call_functions(given: Pipeline) -> bool:
    """False where no operation and no source of the pipeline can be code of the user's."""
    if given.spec is not None:
        return '"python"' in given.spec or '"plugin"' in given.spec
    if given.text is None or not given.text.endswith(".toml"):
        return False
    try:
        with open(given.text, "rb") as file:
            text = file.read(_FILE_BYTES_MAX)
    except OSError:
        return False  # the next reader of the file says what is wrong
    return any(quote + word + quote in text for quote in (b'"', b"'") for word in (b"python", b"plugin"))


def toml_reader(refusal: str) -> Any:
    """The module that reads TOML. `refusal`: the sentence where this Python has none."""
    try:
        return importlib.import_module("tomllib")  # from Python 3.11 on
    except ImportError:
        raise InvalidError(refusal) from None


def toml_of(path: str) -> Any:
    """The content of a .toml file as plain values; None where it is no TOML: the next reader says what is wrong."""
    toml = toml_reader(f"{path} has operations of your own, which this version of Python can only read from a dict or from a "
                       ".json file: write the pipeline there, or take Python 3.11")
    try:
        with open(path, "rb") as file:
            return plain(toml.load(file))
    except (OSError, ValueError):
        return None


def _with_lists(spec: Any) -> Any:
    """Writes the lists of samples (include and exclude) as texts, with a sample on each line: a list of the pipeline has a
    bound, and a text has room for all of them."""
    def joined(table: Any) -> None:
        for key in ("include", "exclude"):
            entry = table.get(key) if isinstance(table, dict) else None
            if isinstance(entry, list) and len(entry) > _LIST_MAX and all(_names_a_sample(one) for one in entry):
                table[key] = "\n".join(map(str, entry))

    if isinstance(spec, dict):
        joined(spec.get("order"))
        sources = spec.get("sources")
        for source in sources if isinstance(sources, list) else []:
            joined(source)
    return spec


def _names_a_sample(entry: Any) -> bool:
    if isinstance(entry, str):
        return entry != "" and "\n" not in entry and "\r" not in entry
    return isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0


def leaves_epochs_open(given: Any) -> bool:
    """True where a shuffled pipeline does not set order.epochs. It has a single epoch then, which a training loop gives
    again and again. The result is False for a named pipeline as well, because only the daemon can read that pipeline."""
    try:
        spec = given if isinstance(given, Mapping) else _parsed(os.fspath(given))
        order = spec.get("order", {})
        return "epochs" not in order and order.get("shuffle", True) is True
    except Exception:  # a fault in the file does not matter here, since the daemon has taken the file
        return False


def warn_of_repeating(name: str, level: int) -> None:
    """Says that a pipeline's only epoch begins again, where leaves_epochs_open. The warning shows the line that is so many
    calls above this function."""
    warnings.warn(f"pipeline {name} has a single epoch, because it does not set order.epochs: each pass over the data gives the "
                  "same order and the same random crops again. Write epochs = 0 under [order] for training, and epochs = 1 if a "
                  "single epoch is meant", UserWarning, stacklevel=level + 1)


def _parsed(path: str) -> Any:
    if path.endswith(".json"):
        return _read(path)
    toml: Any = importlib.import_module("tomllib")  # from Python 3.11 on
    with open(path, "rb") as file:
        return toml.load(file)


def _remedy(value: Any) -> str:
    if isinstance(value, Set):
        return "a set has no order, so write a list"
    if callable(value):
        return ('a pipeline holds no functions: write an operation as a dict, such as {"op": "resize", "size": 256} (`spdlctl '
                'ops` lists the operations), or call the function by a name, as in {"op": "python", "call": "name", "gives": '
                '...}, and give ops={"name": function}')
    return "a pipeline holds only dicts, lists, texts, numbers and truth values"


def _key(key: Any, place: str) -> str:
    if isinstance(key, str):
        return key
    raise InvalidError(f"{place or 'the pipeline'} has the key {_shown(key)}: keys are texts")


def _dtype_name(value: Any) -> str | None:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.dtype):
        return str(value).rpartition(".")[2]
    if numpy is None:
        return None
    if isinstance(value, numpy.dtype) or (isinstance(value, type) and issubclass(value, numpy.generic)):
        return str(numpy.dtype(value).name)
    return None


def cannot_open(path: str, error: OSError) -> Error:
    kind = DeniedError if isinstance(error, PermissionError) else NotFoundError
    return kind(f"cannot open the pipeline file {path}: {error.strerror}")


def _read(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise cannot_open(path, error) from error
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path} is not written in UTF-8: {error}") from error
    if len(text) > _FILE_BYTES_MAX:
        raise InvalidError(f"the pipeline file {path} is larger than {_FILE_BYTES_MAX // 2**20} MiB")
    try:
        spec = json.loads(text, object_pairs_hook=lambda pairs: _unrepeated(path, pairs))
    except json.JSONDecodeError as error:
        raise InvalidError(f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise InvalidError(f"{path} has lists or objects that are nested too deep") from error
    if not isinstance(spec, Mapping):
        raise InvalidError(f"{path} must hold a JSON object {{...}} with a pipeline's keys, and holds a {_kind(spec)}")
    return spec


def _unrepeated(path: str, pairs: list[Any]) -> Mapping[str, Any]:
    spec: dict[str, Any] = {}
    for key, value in pairs:
        if key in spec:
            raise InvalidError(f"{path} has the key {_shown(key)} twice in one object")
        spec[key] = value
    return spec


def _folder_hint(folder: Any) -> str:
    if not isinstance(folder, (str, os.PathLike)):
        return ""
    return (f': for a folder of pictures write a dict with "source": {{"type": "image-folder", "uri": '
            f'{json.dumps(os.fspath(folder))}}} and its outputs, or put that into a .toml file')


def _data_set_hint(given: Any) -> str:
    kind = type(given)
    if kind.__module__ != "builtins" and hasattr(kind, "__getitem__") and "torch" in sys.modules:
        return (": a data set of your own goes to spdld.torch.Loader(dataset=...)"
                f"{_folder_hint(getattr(given, 'root', None)).replace(': for', ', and for', 1)}")
    return _folder_hint(getattr(given, "root", None))


def _kind(value: Any) -> str:
    return type(value).__name__


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."
