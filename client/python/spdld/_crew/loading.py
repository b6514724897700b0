"""Makes the pipeline for a data set of the program's own, as spdld.torch.Loader(dataset=...) takes it, and turns its batches into
what a DataLoader would give."""
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from spdld._crew.datasets import DataSet, is_data_set
from spdld._crew.drop import DROP
from spdld._crew.items import Leaf, collated, leaves_of, structure_of
from spdld._crew.objects import FIELD, MadeObjects, Objects, packed_bytes, unpacked
from spdld._errors import InvalidError

CALL = "dataset"
_TEXT_BYTES_MIN = 4096
_LENGTH_MIN = 1024
_ROOM = 4  # times the first text or the first item of a ragged field
_OBJECTS_TRIED, _OBJECTS_S = 8, 1.0
_OBJECT_BYTES_MIN = 4096


class Made(NamedTuple):
    pipeline: dict[str, Any]
    dataset: DataSet
    convert: Callable[[Any], Any] | None  # None: as the program says, or a dict


class Wishes(NamedTuple):
    """Of the program, beside the data set."""

    tables: Any  # of a pipeline
    batch_size: int | None
    shuffle: bool
    seed: int | None
    drop_last: bool
    collate_fn: Callable[[list[Any]], Any] | None
    item_bytes_max: int | None
    is_converted: bool  # by the program


def of_arguments(dataset: Any, tables: Any, given: Mapping[str, Any],
                 options: dict[str, Any]) -> tuple[dict[str, Any], Callable[[Any], Any] | None]:
    """The pipeline, and the form in which the program gets a batch (None: as convert says). given: of the Loader's own arguments;
    options: the arguments of attach, which are changed."""
    for other, what in (("substituted", "give convert=, a function that reads batch.substituted"),
                        ("convert" if given["collate_fn"] is not None else "", "collate_fn says what the program gets")):
        if given.get(other):
            raise InvalidError(f"{other} does not stand beside {'collate_fn' if other == 'convert' else 'dataset'}=: {what}")
    by_sampler = given["sampler"] is not None or given["batch_sampler"] is not None
    if by_sampler and given["shuffle"]:
        raise InvalidError("shuffle and a sampler both give the order: give one of them")
    if given["batch_sampler"] is not None and given["drop_last"]:
        raise InvalidError("batch_sampler makes the batches: leave drop_last out")
    size = options.pop("batch_size", 0) or None
    if size is None and given["batch_sampler"] is not None:
        size = getattr(given["batch_sampler"], "batch_size", None)
        if not isinstance(size, int):
            raise InvalidError("the batch_sampler has no batch_size, from which the memory of a batch follows: give batch_size=, "
                               "the largest number of samples of a batch")
    if given["collate_fn"] is not None:
        if str(options.get("device") or "cpu") not in ("cpu", "pinned"):
            raise InvalidError("collate_fn gets items that lie in host memory: leave device out, and move what it gives to "
                               "the GPU")
        options["device"] = options.get("device") or "cpu"
    made = pipeline_for(dataset, Wishes(tables, size, not by_sampler and bool(given["shuffle"]), given["seed"],
                                        bool(given["drop_last"]) and not by_sampler, given["collate_fn"], given["item_bytes_max"],
                                        given["convert"] is not None))
    if by_sampler:
        made.pipeline["order"]["shuffle"] = "client"
    options["ops"] = {**(options.get("ops") or {}), CALL: made.dataset}
    return made.pipeline, made.convert


def pipeline_for(dataset: Any, wishes: Wishes) -> Made:
    tables = {} if wishes.tables is None else wishes.tables
    if not isinstance(tables, Mapping):
        raise InvalidError("beside dataset= the pipeline is a dict of further tables, such as {\"python\": {\"processes\": 4}}, "
                           f"and not a value of the type {type(tables).__name__}")
    convert: Callable[[Any], Any] | None
    outputs: list[dict[str, Any]]
    if wishes.collate_fn is None:
        if wishes.item_bytes_max is not None:
            raise InvalidError("item_bytes_max belongs to collate_fn: leave it out, or write length_max at the outputs of the "
                               "pipeline")
        taken = DataSet(CALL, dataset)
        source = tables.get("source")
        told = source.get("gives") if isinstance(source, Mapping) else None
        told = {name: _table_of(value) for name, value in told.items()} if isinstance(told, Mapping) else {}
        structure = structure_of(CALL, *taken.first_item(), told)
        gives = {leaf.field: leaf.gives for leaf in leaves_of(structure)}
        outputs = [{"name": name_of(leaf.field), "from": leaf.field, **_form_of(leaf)} for leaf in leaves_of(structure)]
        for name in told:
            if name not in gives:
                raise InvalidError(f'source.gives has "{name}", which no value of {CALL}[0] is called: its values are '
                                   f"{', '.join(gives)}")
        convert = None if wishes.is_converted or "output" in tables else _default(structure)
    else:
        own = DataSet(CALL, dataset)
        around: Any = Objects(dataset) if own.is_made else MadeObjects(dataset)
        taken = DataSet(CALL, around, around=dataset)
        gives = {FIELD: "bytes"}
        outputs = [{"name": FIELD, "from": FIELD, "ops": [{"op": "bytes"}], "ragged": True,
                    "length_max": wishes.item_bytes_max or _object_bytes(taken)}]
        convert = _collating(wishes.collate_fn)
    return Made(_with_tables(_spec(taken, dataset, gives, outputs, wishes), tables), taken, convert)


def name_of(field: str) -> str:
    """Of a field's output: the name of an output does not begin with a digit."""
    return field if re.match("[A-Za-z_]", field) else "_" + field


def _spec(taken: DataSet, dataset: Any, gives: Any, outputs: Any, wishes: Wishes) -> dict[str, Any]:
    batch: dict[str, Any] = {"size": 1 if wishes.batch_size is None else wishes.batch_size}
    if wishes.drop_last:
        batch["last"] = "drop"
    source = {"type": "python", "call": CALL, "samples": len(taken), "gives": gives}
    spec = {"name": _shown_name(dataset), "source": source, "output": outputs, "batch": batch,
            "order": {"epochs": 0, "shuffle": wishes.shuffle}}
    return spec if wishes.seed is None else {**spec, "seed": wishes.seed}


def _with_tables(spec: dict[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    """A table of the program takes the place of one of these."""
    for key, table in tables.items():
        ours = spec.get(key)
        if key == "source" and isinstance(table, Mapping):
            own = [name for name in ("type", "call", "code") if name in table]
            if own:  # a second source would take its place
                raise InvalidError(f"dataset= is the source of the pipeline: leave {', '.join(own)} out of its source")
            table = {**table, "gives": spec["source"]["gives"]}
        spec[key] = {**ours, **table} if isinstance(ours, dict) and isinstance(table, Mapping) else table
    return spec


def _shown_name(dataset: Any) -> str:
    name = getattr(type(dataset) if is_data_set(dataset) else dataset, "__name__", "")
    return name if re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name) else CALL


def _form_of(leaf: Leaf) -> dict[str, Any]:
    if leaf.gives == "bytes":
        return {"ops": [{"op": "bytes"}], "ragged": True, "length_max": max(_TEXT_BYTES_MIN, _ROOM * leaf.size)}
    if not isinstance(leaf.gives, Mapping):
        return {"ops": []}  # the daemon says what is wrong with it
    dtype, shape = leaf.gives.get("dtype"), list(leaf.gives.get("shape", ()))
    if shape[:1] == [-1]:
        return {"ops": [{"op": "raw", "dtype": dtype, "shape": [0, *shape[1:]]}], "ragged": True,
                "length_max": max(_LENGTH_MIN, _ROOM * leaf.size)}
    return {"ops": [{"op": "raw", "dtype": dtype, "shape": shape}]}


def _table_of(gives: Any) -> Any:
    """Of a tensor that a text tells, such as "float32 [-1, 4]"."""
    text = re.fullmatch(r"(\w+)\s*\[([-\d,\s]*)\]", gives) if isinstance(gives, str) else None
    return gives if text is None else {"dtype": text[1], "shape": [int(size) for size in re.findall(r"-?\d+", text[2])]}


def _object_bytes(taken: DataSet) -> int:
    """Twice the largest of some items, because memory is laid out for it."""
    index, item = taken.first_item()
    largest, end = packed_bytes(item[FIELD]), time.monotonic() + _OBJECTS_S
    for number in range(1, _OBJECTS_TRIED):
        if time.monotonic() > end:
            break
        try:
            item = taken.tried(index + number * (len(taken) - 1 - index) // (_OBJECTS_TRIED - 1))
            largest = max(largest, 0 if item is DROP else packed_bytes(item[FIELD]))
        except Exception:  # a bad item, which is told when it comes
            continue
    return max(_OBJECT_BYTES_MIN, 2 * largest)


def _default(structure: Any) -> Callable[[Any], Any]:
    def values(batch: Any, leaf: Leaf) -> Any:
        value = batch[name_of(leaf.field)]
        return value if leaf.kind == "array" else _texts(value, leaf)

    return lambda batch: collated(structure, lambda leaf: values(batch, leaf))


def _texts(ragged: Any, leaf: Leaf) -> Any:
    data, ends = _in_host_memory(ragged.values).tobytes(), ragged.offsets.tolist()
    texts: list[Any] = [data[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    if leaf.kind == "str":
        texts = [text.decode() for text in texts]
    return tuple(texts) if leaf.is_in_sequence else texts  # as default_collate has it


def _in_host_memory(values: Any) -> Any:
    """An array of numpy, over the same memory where it lies there."""
    import numpy

    return numpy.asarray(values.cpu() if hasattr(values, "cpu") else values)


def _collating(collate_fn: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    def convert(batch: Any) -> Any:
        ragged = batch[FIELD]
        memory, ends = memoryview(_in_host_memory(ragged.values)), ragged.offsets.tolist()
        items = [unpacked(memory[start:end]) for start, end in zip(ends, ends[1:], strict=False) if end > start]
        try:
            return collate_fn(items)
        except Exception as error:
            if items:
                raise
            raise InvalidError(f"collate_fn was given an empty list, since all items of step {batch.step} in epoch {batch.epoch} "
                               f"are left out, and raised {type(error).__name__}: {error}. Let it take an empty list, or write "
                               'pipeline={"on_drop": "substitute"} for other items in their places') from error
    return convert
