"""The order of a pipeline that takes it from the trainer, as a sampler of torch's gives it."""
from typing import Any, Iterator, Mapping, Optional

import spdld
from spdld._errors import InvalidError


class Pusher:
    """Keeps a loader as many steps ahead as it has memory for, from `batches`: an iterable of lists of sample numbers, each
    `iter()` of which is one epoch's."""

    def __init__(self, loader: "spdld.Loader", batches: Any) -> None:
        self._loader = loader
        self._batches = batches
        self._left: Optional[Iterator[Any]] = None  # of the epoch; None: all of them were pushed
        self._epoch = self._step = 0  # to push next

    def __len__(self) -> int:
        return len(self._batches)

    def begin(self, epoch: int, step: int) -> None:
        """Goes to a place: what was pushed is void, and the epoch's first `step` batches are skipped."""
        sampler = getattr(self._batches, "sampler", None)
        for told in (self._batches, sampler):
            if callable(getattr(told, "set_epoch", None)):
                told.set_epoch(epoch)
        left = iter(self._batches)
        for skipped in range(step):
            if next(left, None) is None:
                raise InvalidError(f"the sampler gives {skipped} batches, and the place is step {step} of epoch {epoch}: it is "
                                   "not the one of the run that the place belongs to")
        self._loader.seek(epoch, step)
        self._left, self._epoch, self._step = left, epoch, step
        self.keep_ahead()

    def keep_ahead(self) -> None:
        epoch, taken = self._loader.position
        while self._left is not None and epoch == self._epoch and self._step - taken < self._loader.info.slot_count:
            batch = next(self._left, None)
            if batch is None:
                self._left = None
                self._loader.push(self._epoch, self._step, (), last=True)
            else:
                self._loader.push(self._epoch, self._step, batch)
                self._step += 1


def driven(pipeline: Any) -> Any:
    """A pipeline given as a dict, with its order left to the sampler; of a file or a name that is said there."""
    if not isinstance(pipeline, Mapping):
        return pipeline
    order = pipeline.get("order", {})
    if not isinstance(order, Mapping) or "shuffle" in order:
        return pipeline
    return {**pipeline, "order": {**order, "shuffle": "client"}}
