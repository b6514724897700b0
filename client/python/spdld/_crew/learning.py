"""Learns what a function gives where its operation leaves `gives` out. Processes as of any crew call the function on the first
samples of the listing, and `gives` says what these results have in common. So it depends on the data set and the functions alone,
and the pipeline of a run that is resumed is the same."""
import functools
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spdld._crew import Crew
from spdld._crew.chains import NEEDS_NO_MODULE, is_python, operations_in, outputs_in
from spdld._crew.connection import Connection
from spdld._crew.drop import DROP
from spdld._crew.items import Leaf, structure_of
from spdld._crew.results import kind_of, text_of
from spdld._errors import Error, FailedError, InvalidError
from spdld._spec import Pipeline, spec_text

_SAMPLES = 4
_TEXT_BYTES = 4096  # of what is told of one result
_FAULT_MAX = 600  # characters of a sentence: JSON writes up to six bytes for one
_CALL_LIMIT_S = 600.0
_INSTEAD = 'write gives = "bytes" or such as gives = "uint8 [224, 224, 3]" into the operation'
_counter = itertools.count(1)


class _Place(NamedTuple):
    """An operation without `gives`, the first one of its output."""

    output: int  # of the pipeline's
    name: str  # of the output
    place: int  # in its chain
    call: str
    batch: int  # how many samples a call of the function is given; 0: one by itself

    def __str__(self) -> str:
        return f"operation {self.place} of output {self.name}"


def lacks_gives(spec: Mapping[str, Any]) -> bool:
    return bool(_places_in(spec))


def learn_gives(spec: Mapping[str, Any], folder: str | None, ways: Mapping[str, Mapping[str, str]],
                crew_of: Callable[[Mapping[str, Any]], Crew], connection: Connection) -> None:
    """Writes `gives` into each operation that calls a function and has none. ways: how a crew gets the functions that have no
    path as their call. crew_of: makes a crew that gets functions in these ways.

    Raises InvalidError where a function fails on all samples, or where its results have nothing in common."""
    while places := _places_in(spec):
        calls = {f"learned_{number}": place for number, place in enumerate(places)}
        asked = {call: {**ways.get(place.call, {"path": place.call}), "described": place.call, "batch": place.batch}
                 for call, place in calls.items()}
        pipeline = Pipeline(spec=spec_text(_pipeline(spec, calls)), folder=folder)
        told = _told(pipeline, crew_of({**ways, **asked}), connection, places)
        for place, results in zip(places, told, strict=True):
            operations_in(outputs_in(spec)[place.output])[place.place]["gives"] = _common(place, results)


def described(function: Callable[..., Any], call: str) -> Callable[..., Any]:
    """In a crew: the function that tells what this one gives, as a text."""
    sys.breakpointhook = lambda *_, **__: None  # nobody sits before this process

    @functools.wraps(function)
    def tell(*values: Any, **named: Any) -> Any:
        try:
            value = function(*values, **named)
            if value is DROP:
                return value
            found = structure_of(call, 0, value)
            if not isinstance(found, Leaf):
                raise InvalidError(f"{call} gave a {kind_of(found.container)}, and a function gives one value: return an array, "
                                   "a tensor, a number or bytes")
        except InvalidError as error:
            fault = str(error).replace(f"{call}[0]", call)
        except Exception as error:
            fault = text_of(call, error, error.__traceback__)
        else:
            return json.dumps({"gives": found.gives}).encode()
        return json.dumps({"fault": fault[:_FAULT_MAX]}).encode()

    return tell


def _places_in(spec: Mapping[str, Any]) -> list[_Place]:
    return [place for number, output in enumerate(outputs_in(spec)) for place in itertools.islice(_lacking(number, output), 1)]


def _lacking(number: int, output: Mapping[str, Any]) -> Iterator[_Place]:
    for place, operation in enumerate(operations_in(output)):
        if is_python(operation) and "gives" not in operation and isinstance(operation.get("call"), str):
            batch = operation.get("batch")
            yield _Place(number, str(output.get("name")), place, operation["call"], batch if isinstance(batch, int) else 0)


def _pipeline(spec: Mapping[str, Any], calls: Mapping[str, _Place]) -> dict[str, Any]:
    """The chains up to each function, which tells of its result as a text."""
    kept = {key: value for key, value in spec.items() if key in ("seed", "source", "sources", "rows", "gaps")}
    tables = [spec.get(key) for key in ("order", "python")]
    own_order, own_python = (table if isinstance(table, dict) else {} for table in tables)
    order = {key: value for key, value in own_order.items() if key in ("include", "exclude", "part", "first")}
    outputs = []
    for call, place in calls.items():
        output = outputs_in(spec)[place.output]
        *before, last = operations_in(output)[:place.place + 1]
        told = [{"op": "python", "call": call, "code": last.get("code") or NEEDS_NO_MODULE, "gives": "bytes"}, {"op": "bytes"}]
        outputs.append({**{key: value for key, value in output.items() if key in ("name", "from", "view")},
                        "ops": [*before, *told], "ragged": True, "length_max": _TEXT_BYTES})
    return {**kept, "name": f"learn-{os.getpid()}-{next(_counter)}", "on_bad": "substitute", "cache": "off", "output": outputs,
            "order": {**order, "shuffle": False, "epochs": 1},
            "batch": {"size": _SAMPLES, "prefetch_depth": 1, "held_max": 1, "device": "cpu"},
            "python": {**own_python, "processes": 1, "call_limit_s": _CALL_LIMIT_S}}


def _told(pipeline: Pipeline, crew: Crew, connection: Connection, places: Sequence[_Place]) -> list[list[Any]]:
    """By output: what is told of each result."""
    try:
        loader = connection.look(pipeline, crew, json.loads(str(pipeline.spec))["name"])
    except InvalidError as error:
        raise InvalidError(_with_places(str(error), places)) from None
    try:
        batch = loader.next(connection.timeout)
        if batch is None:
            raise InvalidError(f"the pipeline gives no sample that tells what {places[0].call} gives: {_INSTEAD}")
        return [_texts_of(batch[place.name]) for place in places]
    except Error as error:
        if isinstance(error, FailedError):
            raise FailedError(f"what {places[0].call} gives can't be learned from the first samples: {error}") from None
        raise
    finally:
        batch = None
        loader.close()


def _with_places(complaint: str, places: Sequence[_Place]) -> str:
    """The daemon's complaint, with the pipeline's own numbers of outputs."""
    def own(found: re.Match[str]) -> str:
        at = int(found[1])
        return f"output[{places[at].output if at < len(places) else at}]"

    return re.sub(r"output\[(\d+)\]", own, complaint)


def _texts_of(rows: Any) -> list[Any]:
    return [json.loads(bytes(rows[row])) for row in range(len(rows.offsets) - 1)]


def _common(place: _Place, told: Sequence[Mapping[str, Any]]) -> Any:
    results = [entry["gives"] for entry in told if "gives" in entry]
    if not results:
        raise InvalidError(f"{place}: {told[0]['fault']}")
    first = results[0]
    other = next((result for result in results if result != first), None)
    if other is None:
        return first
    if all(isinstance(result, dict) and result["dtype"] == first["dtype"] and result["shape"][1:] == first["shape"][1:] and
           len(result["shape"]) == len(first["shape"]) for result in results) if isinstance(first, dict) else False:
        return {"dtype": first["dtype"], "shape": [-1, *first["shape"][1:]]}
    raise InvalidError(f"{place}: {place.call} gave {_shown(first)} for one sample and {_shown(other)} for another one, and the "
                       f"results may differ in their first dimension alone: let it give results that are alike, or {_INSTEAD}")


def _shown(gives: Any) -> str:
    return f"{gives['dtype']} {gives['shape']}" if isinstance(gives, dict) else str(gives)
