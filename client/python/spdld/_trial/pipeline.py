"""The pipeline of a trial: it gives one sample alone, and has further outputs that end behind each operation of a chain. These
end in functions of this package, which hand what they are given to the trial."""
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from spdld._crew.chains import NEEDS_NO_MODULE, is_python, operations_in, outputs_in
from spdld._errors import Error, InvalidError
from spdld._spec import Pipeline, cannot_open, plain, spec_text, toml_reader

CALL_LIMIT_S = 3600.0  # the most that a pipeline may say
_OUTPUTS_MAX = 64
LOOK = "spdld_trial:look"  # the call of the function that shows a step
_counter = itertools.count(1)


class Look(NamedTuple):
    """An output that shows what the chain of `output` has before its operation number `place`."""

    name: str
    output: str
    place: int
    replays: bool  # operations of the user's stand before: they are not called again


def spec_of(given: Pipeline) -> dict[str, Any]:
    if given.spec is not None:
        return dict(json.loads(given.spec))
    text = str(given.text)
    if not text.endswith(".toml"):
        raise InvalidError(f"{text} is the name of a pipeline of the daemon, whose content is the operator's: give a dict, or "
                           "a file that ends in .toml or .json")
    toml = toml_reader(f"this version of Python can't read {text}: write the pipeline as .json or as a dict, or take Python 3.11")
    try:
        with open(text, "rb") as file:
            return dict(plain(toml.load(file)))
    except OSError as error:
        raise cannot_open(text, error) from error
    except ValueError as error:
        raise InvalidError(f"{text} is no TOML: {error}") from error


class TrialPipeline:
    """Raises InvalidError where a sample of the pipeline can't be tried by itself."""

    def __init__(self, spec: Mapping[str, Any], sample: int | str, epoch: int) -> None:
        if (refusal := _refusal(spec)) is not None:
            raise InvalidError(refusal)
        self.sample, self.epoch = sample, epoch
        self.notes = _notes(spec)
        self.name = _fresh_name()
        self.chains = {str(output.get("name")): operations_in(output) for output in outputs_in(spec)}
        self.looks = list(self._looks(spec))
        self._spec = spec
        self._only: str | None = None

    def alone(self, name: str) -> "TrialPipeline":
        """A pipeline that has this one output, or this one look, and nothing else."""
        part = TrialPipeline(self._spec, self.sample, self.epoch)
        part.looks = [look for look in part.looks if look.name == name]
        part._only = name
        return part

    @staticmethod
    def folder_of(path: str) -> str:
        return os.path.dirname(path) or "."

    def text(self) -> str:
        spec = {key: value for key, value in self._spec.items() if key in ("seed", "source", "gaps")}
        outputs = outputs_in(self._spec)
        before = [self._looking(look, outputs) for look in self.looks if not look.replays]
        behind = [self._looking(look, outputs) for look in self.looks if look.replays]
        outputs = [output for output in outputs if self._only in (None, output.get("name"))]
        spec.update(name=self.name, on_bad="fail", on_drop="shorter", cache="off",
                    order={"shuffle": False, "epochs": self.epoch + 1, "include": [self.sample]},
                    output=[*before, *map(_coded, outputs), *behind],
                    batch={"size": 1, "prefetch_depth": 1, "held_max": 1, "device": "cpu"})
        if self.calls_functions():
            own = self._spec.get("python") if isinstance(self._spec.get("python"), Mapping) else {}
            spec["python"] = {**(own or {}), "processes": 1, "call_limit_s": CALL_LIMIT_S, "memory": 0}
        return spec_text(spec)

    def calls_functions(self) -> bool:
        chains = self.chains.values() if self._only is None else [self.chains.get(self._only, [])]
        return bool(self.looks) or any(is_python(op) for chain in chains for op in chain)

    def look_at(self, name: str) -> Look | None:
        return next((look for look in self.looks if look.name == name), None)

    def chain_of(self, name: str) -> list[Mapping[str, Any]]:
        """Of an output of the batch, which may be one of several copies."""
        return self.chains.get(self._base_of(name), [])

    def calls_of(self, name: str) -> list[int]:
        """The places in its chain at which functions are called; of a look, its own one is the last."""
        look = self.look_at(name)
        chain = self.chain_of(name if look is None else look.output)[:None if look is None else look.place]
        places = [place for place, op in enumerate(chain) if is_python(op)]
        return places if look is None else [*places, look.place]

    def named(self, name: str, place: int) -> str:
        """The operation at a place of an output's chain, or the field before it."""
        chain, base = self.chain_of(name), self._base_of(name)
        if 0 <= place < len(chain):
            return str(chain[place].get("call" if is_python(chain[place]) else "op"))
        return "field " + next(str(output.get("from")) for output in outputs_in(self._spec) if output.get("name") == base)

    def has_copies(self, name: str) -> bool:
        return any(output.get("name") == name and output.get("copies", 1) != 1 for output in outputs_in(self._spec))

    def _base_of(self, name: str) -> str:
        base, _, number = name.rpartition("-")
        return base if name not in self.chains and base in self.chains and number.isdecimal() else name

    def outputs_of(self, batch: Any) -> dict[str, Any]:
        """The sample's own part of each tensor, as a copy."""
        looked = {"sample_id", *(look.name for look in self.looks)}
        return {name: batch[name][0].copy() for name in batch if name not in looked}

    def drop_refused(self, complaint: str) -> bool:
        """Takes out the outputs that show steps and that the daemon complains of; all of them, where it complains of others as
        well. False: there were none, and the complaint is the caller's."""
        if not self.looks:
            return False
        named = self._named_in(complaint)
        self.looks = [look for look in self.looks if named and look.name not in named]
        self.name = _fresh_name()
        return True

    def _named_in(self, complaint: str) -> set[str]:
        order = [look.name for look in self.looks if not look.replays]
        order += [*("" for _ in self.chains), *(look.name for look in self.looks if look.replays)]
        places = {int(number) for number in re.findall(r"output\[(\d+)\]", complaint)}
        names = {order[place] for place in places if place < len(order)}
        return set() if "" in names else names

    def in_own_words(self, error: Error) -> Error:
        """The refusal of a pipeline, as somebody understands it who does not know of the trial's."""
        if "order.include" not in str(error):
            return error
        hint = re.search(r"such as .*", str(error))
        return InvalidError(f"there is no sample {self.sample}: a sample goes by its name or its number"
                            f"{', ' + hint[0] if hint else ''}")

    def reason_in(self, sentence: str) -> str:
        """Of the sentence that a pipeline ends with because a sample is bad."""
        found = re.search(r"can't be used, and on_bad is \"fail\": (.*)", sentence, re.DOTALL)
        return found[1] if found else sentence.replace(self.name, "the trial")

    def _looks(self, spec: Mapping[str, Any]) -> Iterator[Look]:
        begin = "_step"
        while any(name.startswith(begin) for name in self.chains):
            begin = "_" + begin
        count = 0
        for output in outputs_in(spec):
            chain = operations_in(output)
            if output.get("view") or output.get("copies", 1) != 1:
                continue  # its draws are not its own alone
            for place in range(max(len(chain), 1)):
                is_shown = place < len(chain) and is_python(chain[place]) or place > 0 and is_python(chain[place - 1])
                if is_shown or count + len(self.chains) >= _OUTPUTS_MAX:
                    continue
                count += 1
                replays = any(is_python(op) for op in chain[:place])
                yield Look(f"{begin}-{count}", str(output.get("name")), place, replays)

    @staticmethod
    def _looking(look: Look, outputs: list[Mapping[str, Any]]) -> dict[str, Any]:
        output = next(one for one in outputs if one.get("name") == look.output)
        ops = [*_coded(output).get("ops", [])[:look.place],
               {"op": "python", "call": LOOK, "gives": {"dtype": "uint8", "shape": []}}]
        kept = {"name": look.name, "from": output.get("from"), "ops": ops}
        if "dtype" in output and look.place > 0:
            kept["dtype"] = output["dtype"]
        return kept


def _coded(output: Mapping[str, Any]) -> dict[str, Any]:
    """The output, with digests where its operations call functions that have no module's name."""
    if "ops" not in output:
        return dict(output)
    ops = [{**op, "code": NEEDS_NO_MODULE} if is_python(op) and ":" not in str(op.get("call")) else op
           for op in operations_in(output)]
    return {**output, "ops": ops}


def _fresh_name() -> str:
    return f"try-{os.getpid()}-{next(_counter)}"


def _refusal(spec: Mapping[str, Any]) -> str | None:
    source = spec.get("source")
    if "sources" in spec:
        return ("the pipeline has several sources, and a sample's number belongs to one of them: give the pipeline with that one "
                "as its [source]")
    if "rows" in spec:
        return ("the pipeline cuts its samples out of records ([rows]), so that a number names no record: leave [rows] out to "
                "try a record")
    if any(op.get("op") == "plugin" for output in outputs_in(spec) for op in operations_in(output)):
        return ("the pipeline has plug-ins in C, whose faults would end this process: run it with a trainer, and look for the "
                "reasons of bad samples in spdlctl errors")
    if isinstance(source, Mapping) and source.get("type") == "python":
        return ("the source is a data set of Python's own, which this program has: call dataset[n] itself to look at a sample")
    return None


def _notes(spec: Mapping[str, Any]) -> list[str]:
    given = spec.get("order"), spec.get("batch")
    order, batch = (table if isinstance(table, Mapping) else {} for table in given)
    notes = []
    if order.get("shuffle") == "client":
        notes.append("the random draws are of no step of a run, where they follow from a sample's place in the trainer's order")
    elif "weights" in order and order.get("replacement", True):
        notes.append("the random draws are of no step of a run, where each place of an epoch draws anew, because its samples are "
                     "drawn with replacement")
    elif "epoch_samples" in order and "weights" not in order:
        notes.append("an epoch of this order is no pass through the data (epoch_samples), and the random draws follow from the "
                     "pass: here the epoch's number is the pass's")
    if order.get("repeats", 1) != 1:
        notes.append("the sample comes several times in an epoch, and this is the first time")
    if batch.get("ops"):
        notes.append("operations on batches are left out, because they mix samples")
    return notes
