"""Asks the daemon which samples a step or a batch has. The daemon computes the answer, and records nothing."""
import json
import time
from typing import Any, NamedTuple

from spdld import _spdld
from spdld._errors import Error, InvalidError, LimitError

_IDS_AT_ONCE = 1000
_ANSWER_S = 30.0
_LOOK_S = 0.05


class Sample(NamedTuple):
    """A sample of a data set: its number in the listing, and its name."""
    id: int
    name: str


def _ask(info: Any, words: str) -> Any:
    """About the pipeline of the loader's own job, whatever other pipelines have its name."""
    return json.loads(_spdld.query("samples", f"{info.pipeline} {words} group {info.group}", info.socket, _ANSWER_S))


def samples_of(info: Any, epoch: int, step: int, rank: int | None) -> list[Sample]:
    """The samples of a step, in the order in which the batch has them."""
    rank = info.rank if rank is None else rank
    if min(epoch, step, rank) < 0:
        raise InvalidError(f"epochs, steps and ranks count from 0, so that there is no epoch {epoch}, step {step}, rank {rank}")
    samples: list[Sample] = []
    until = time.monotonic() + _ANSWER_S
    while True:
        answer = _ask(info, f"step {epoch} {step} {rank} 0 0 {len(samples)}")
        samples += [Sample(sample["id"], sample["name"]) for sample in answer["samples"]]
        if answer["is_drawn"] and len(samples) >= answer["count"]:
            return samples
        if answer["is_drawn"] and not answer["samples"]:
            raise Error("the daemon answered without samples")
        if answer["is_drawn"]:
            continue
        if time.monotonic() > until:
            raise LimitError(f"the order of epoch {epoch} is still being drawn after {_ANSWER_S:.0f} s: ask again")
        time.sleep(_LOOK_S)


def names_of(info: Any, ids: Any) -> list[str]:
    """The names of samples; `ids`: an array of any framework, or an spdld.Tensor in host memory."""
    if not hasattr(ids, "tolist"):
        import numpy
        ids = numpy.asarray(ids)
    numbers = ids.tolist()
    names: list[str] = []
    for first in range(0, len(numbers), _IDS_AT_ONCE):
        words = " ".join(str(int(number)) for number in numbers[first:first + _IDS_AT_ONCE])
        names += [sample["name"] for sample in _ask(info, words)["samples"]]
    return names
