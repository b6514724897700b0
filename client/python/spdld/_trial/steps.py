"""The steps of one sample in a trial, as values and as a table for people."""
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spdld._crew.drop import DROP
from spdld._errors import Error

_DIGITS = 4


class Step(NamedTuple):
    """The value that one operation of a chain gave.

    output: the output's name. place: the operation's place in the chain, from 0 on; -1: what the chain begins with.
    operation: its name, or the function that it calls. kind: "tensor", "bytes", "dropped" where a function drops the
    sample, or the type of another Python value.
    dtype, shape: of a tensor; of bytes, the shape is their number. minimum, maximum, mean: of a tensor's numbers.
    seconds: the time in a function of the user's; None: the daemon's own operations are not timed one by one.
    value: an array of numpy of its own, bytes, or what a function gave. error: why there is no value.
    """

    output: str
    place: int
    operation: str
    kind: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    seconds: float | None = None
    value: Any = None
    error: BaseException | None = None


class Seen(NamedTuple):
    """A value at a place of a chain. Where an operation of the user's failed: the error in place of the value."""

    value: Any
    seconds: float | None = None
    dtype: str | None = None  # where numpy has another one for it
    error: BaseException | None = None


class Trial:
    """One sample, as it goes through the chains of a pipeline: str() of it is a table.

    sample: its number in the data set's listing, or None where the daemon gave none. name: its name. epoch, seed: what its random
    draws follow from. steps: a list of Step, output by output. outputs: the sample's part of each tensor of the batch, by name.
    notes: sentences on what differs from a run, and on a sample that is dropped.
    """

    def __init__(self, sample: int | None, name: str, epoch: int, seed: int, steps: Sequence[Step],
                 outputs: Mapping[str, Any], notes: Sequence[str]) -> None:
        self.sample, self.name, self.epoch, self.seed = sample, name, epoch, seed
        self.steps, self.outputs, self.notes = list(steps), dict(outputs), list(notes)
        self.notes += [f"{step.operation} drops this sample: on_drop says what comes in its place."
                       for step in steps if step.value is DROP]

    @property
    def dropped(self) -> bool:
        """Whether a function drops the sample (spdld.DROP)."""
        return any(step.value is DROP for step in self.steps)

    def step(self, output: str, place: int) -> Step:
        """The step of an output at a place of its chain; a place below -1 counts from the chain's end."""
        steps = [step for step in self.steps if step.output == output]
        if place < -1:
            place += 1 + max((step.place for step in steps), default=0)
        found = next((step for step in steps if step.place == place), None)
        if found is None:
            raise KeyError(f"the trial has no step {place} of output {output}")
        return found

    def shown_sample(self) -> str:
        number = "sample" if self.sample is None else f"sample {self.sample}"
        return f"{number} ({self.name})" if self.name else number

    def __str__(self) -> str:
        head = ("OUTPUT", "STEP", "TYPE", "SHAPE", "LEAST", "LARGEST", "MEAN", "TIME")
        rows = [head, *map(_row_of, self.steps), *self._batch_rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [f"{self.shown_sample()}, epoch {self.epoch}, seed {self.seed}", ""]
        for row in rows:
            cells = [cell.ljust(width) if column < 4 else cell.rjust(width)
                     for column, (cell, width) in enumerate(zip(row, widths, strict=True))]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *(["", *self.notes] if self.notes else [])])

    def __repr__(self) -> str:
        return f"<spdld.Trial of {self.shown_sample()}: {len(self.steps)} steps, {len(self.outputs)} tensors>"

    def _batch_rows(self) -> list[tuple[str, ...]]:
        """Of tensors that no step has shown, such as lengths."""
        shown = {step.output for step in self.steps}
        return [_row_of(described(name, 0, "in the batch", Seen(value)))
                for name, value in self.outputs.items() if name not in shown]


def described(output: str, place: int, operation: str, seen: Seen) -> Step:
    if seen.error is not None:
        return Step(output, place, operation, "none", seconds=seen.seconds, error=seen.error)
    value = seen.value
    if isinstance(value, (bytes, bytearray, memoryview, str)):
        data = value.encode() if isinstance(value, str) else bytes(value)
        return Step(output, place, operation, "bytes", shape=(len(data),), seconds=seen.seconds, value=data)
    if value is DROP:
        return Step(output, place, operation, "dropped", seconds=seen.seconds, value=value)
    array, dtype = _array_of(value)
    if array is None:
        return Step(output, place, operation, type(value).__qualname__, seconds=seen.seconds, value=value)
    least = largest = mean = None
    if array.size > 0 and array.dtype.kind in "biuf":
        least, largest = array.min().item(), array.max().item()
        mean = float(array.mean(dtype="float64"))
    return Step(output, place, operation, "tensor", seen.dtype or dtype, tuple(array.shape), least, largest, mean, seen.seconds,
                array)


def steps_of(trial: Any, seen: Mapping[tuple[str, int], Seen], outputs: Mapping[str, Any] | None) -> list[Step]:
    """The steps of a TrialPipeline; seen: by the output's name and the place in its chain."""
    names = [*trial.chains, *dict.fromkeys(name for name, _ in seen if name not in trial.chains)]
    steps = []
    for name in (name for name in names if not trial.has_copies(name)):
        chain = trial.chain_of(name)
        for place in range(-1, len(chain)):
            found = seen.get((name, place))
            is_last = place == len(chain) - 1
            if found is None and is_last and outputs is not None and name in outputs:
                found = Seen(outputs[name])
            if found is not None:
                steps.append(described(name, place, trial.named(name, place), found))
    return steps


def _array_of(value: Any) -> tuple[Any, str]:
    """The value as an array of numpy, and the name of its type; None where it is none."""
    import numpy

    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        value = value.detach().cpu()
        name = str(value.dtype).rpartition(".")[2]
        return (value.float() if name == "bfloat16" else value).numpy(), name
    is_number = isinstance(value, (bool, int, float))
    if not is_number and not isinstance(value, (numpy.ndarray, numpy.generic)) and not hasattr(value, "__array__") \
            and not hasattr(value, "__array_interface__"):
        return None, ""
    try:
        array = numpy.asarray(value)
    except Exception:  # of the value's own code
        return None, ""
    if array.dtype == object:
        return None, ""
    return array, array.dtype.name


def _row_of(step: Step) -> tuple[str, ...]:
    number = "" if step.place < 0 or step.operation == "in the batch" else f"{step.place} "
    time = "" if step.seconds is None else _time(step.seconds)
    if step.error is not None:
        what = "" if isinstance(step.error, Error) else f": {type(step.error).__name__}"
        return (step.output, number + step.operation, "failed" + what, "", "", "", "", time)
    shape = "" if step.shape is None else str(list(step.shape)) if step.kind == "tensor" else f"{step.shape[0]} B"
    return (step.output, number + step.operation, step.dtype or step.kind, shape, _number(step.minimum),
            _number(step.maximum), _number(step.mean), time)


def _time(seconds: float) -> str:
    factor, unit = next((pair for pair in ((1, "s"), (1e3, "ms")) if seconds * pair[0] >= 1), (1e6, "us"))
    return f"{seconds * factor:.3g} {unit}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, (bool, int)) else f"{value:.{_DIGITS}g}"
