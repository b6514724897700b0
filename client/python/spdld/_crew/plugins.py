"""Plug-ins in C (spdld_plugin.h) that a pipeline calls (operations with op = "plugin"): where a trainer finds their libraries,
and how a crew loads them and calls them. The daemon never loads one."""
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spdld import _spdld
from spdld._crew.digests import code_of_file
from spdld._crew.results import Unfit, fitter
from spdld._errors import InvalidError

_PATH = "SPDLD_PLUGIN_PATH"


def resolved(operations: Iterable[dict[str, Any]], folder: str) -> dict[str, str]:
    """The path of each library, by what the operations call it. They are given the digests of the files. `folder`: of the
    pipeline's file."""
    paths: dict[str, str] = {}
    for operation in operations:
        library = operation.get("library")
        if not isinstance(library, str) or not library or "\0" in library:
            continue  # the daemon says what is wrong
        if library not in paths:
            paths[library] = _found(library, folder)
        operation["code"] = _code(library, paths[library])
    return paths


def is_plugin(operation: Mapping[str, Any]) -> bool:
    """Of an operation as CREW_JOINED tells it."""
    return "library" in operation


class BoundPlugins(NamedTuple):
    """The operations of plug-ins for all workers of a crew, by the places of an errand and of its operation."""

    bound: Mapping[tuple[int, int], "_spdld.BoundPlugin"]

    def step(self, errand: Mapping[str, Any], number: int, at: int, randomness: Any, dtype: Callable[[str], Any]) -> Any:
        """The function that a worker calls for this operation with a value. `dtype`: numpy's type of a name."""
        operations = errand["ops"]
        operation, numpy = operations[at], sys.modules.get("numpy")
        takes, gives = operation["takes"], operation["gives"]
        taken = None if takes["kind"] == "bytes" else dtype(_bits(takes["dtype"]))
        if takes.get("dtype") == "bfloat16" and not (at > 0 and is_plugin(operations[at - 1])):
            taken = None  # each array is looked at by `fit`, which knows whose bits it holds
        made = None if gives["kind"] == "bytes" else dtype(_bits(gives["dtype"]))
        shown = dtype("bfloat16") if _shows_bfloat16(operations, at) else None
        before = operations[at - 1]["call"] if at > 0 else "the pipeline"
        step = self.bound[number, at].step(
            who=_who(operation), randomness=randomness, ndarray=getattr(numpy, "ndarray", None),
            zeros=getattr(numpy, "zeros", None), taken_dtype=taken, made_dtype=made, shown_dtype=shown,
            fit=fitter(before, takes), bad=Unfit)
        return step.run


def bound(errands: Sequence[Mapping[str, Any]], libraries: Mapping[str, str], tell: Callable[[str], None]) -> BoundPlugins:
    """Loads the libraries that the errands call. Raises a sentence where one can't do its work. `tell`: is told of progress."""
    loaded: dict[str, _spdld.Plugin] = {}
    found: dict[tuple[int, int], _spdld.BoundPlugin] = {}
    for number, errand in enumerate(errands):
        for at, operation in enumerate(errand["ops"]):
            if not is_plugin(operation):
                continue
            library = operation["library"]
            if library not in loaded:
                tell(f"loading {library}")
                loaded[library] = _loaded(operation, libraries)
            try:
                found[number, at] = loaded[library].bind(operation["call"], operation["settings"], _value(operation["takes"]),
                                                         _value(operation["gives"]))
            except InvalidError as error:
                raise InvalidError(f"{_who(operation)} {error}") from None
    return BoundPlugins(found)


def types_needed(operations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The types of numpy that the steps of an errand need, by name."""
    for at, operation in enumerate(operations):
        if is_plugin(operation):
            yield from (_bits(value["dtype"]) for value in (operation["takes"], operation["gives"]) if value["kind"] == "tensor")
            if _shows_bfloat16(operations, at):
                yield "bfloat16"


def _bits(dtype: str) -> str:
    """Between plug-ins, and at an errand's end, a bfloat16 passes as its bits, since numpy itself has no such type."""
    return "uint16" if dtype == "bfloat16" else dtype


def _shows_bfloat16(operations: Sequence[Mapping[str, Any]], at: int) -> bool:
    """Whether a function of Python's is to see what this plug-in gives."""
    return (operations[at]["gives"].get("dtype") == "bfloat16" and at + 1 < len(operations) and
            not is_plugin(operations[at + 1]))


def _found(library: str, folder: str) -> str:
    given = [os.path.join(folder, library)]
    if "/" not in library:
        given += [os.path.join(place, library) for place in os.environ.get(_PATH, "").split(os.pathsep) if place]
    for path in given:
        if os.path.isfile(path):
            return os.path.abspath(path)
    places = " nor ".join(map(os.path.abspath, given))
    hint = f", or name its folder in {_PATH}" if "/" not in library else ""
    raise InvalidError(f'an operation calls the plug-in "{library}", and there is no file {places}: write the path of the '
                       f"library, from the folder of the pipeline's file on{hint}")


def _code(library: str, path: str) -> str:
    try:
        return code_of_file(path)
    except OSError as error:
        raise InvalidError(f'an operation calls the plug-in "{library}", and {path} cannot be read: {error.strerror}') from error


def _loaded(operation: Mapping[str, Any], libraries: Mapping[str, str]) -> "_spdld.Plugin":
    library = operation["library"]
    path = libraries.get(library)
    if path is None:
        raise InvalidError(f'the pipeline calls the plug-in "{library}", and the program that started the crew knows none of '
                           "this name: attach all ranks with one pipeline")
    code = _code(library, path)
    if operation["code"] != code:
        raise InvalidError(f"the plug-in {path} has changed since the trainer attached: start the job anew")
    try:
        return _spdld.Plugin(path)
    except InvalidError as error:
        raise InvalidError(f"the plug-in {path} {error}") from None


def _value(told: Mapping[str, Any]) -> tuple[str, list[int]] | None:
    if told["kind"] == "bytes":
        return None
    return told["dtype"], [-1 if size is None else size for size in told["shape"]]


def _who(operation: Mapping[str, Any]) -> str:
    return f"{operation['call']} of {operation['library']}"
