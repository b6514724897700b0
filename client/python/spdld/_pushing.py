"""Gives a sampler's order to a pipeline that takes its order from the trainer."""
from collections.abc import Iterator, Mapping
from typing import Any

import spdld
from spdld._errors import InvalidError


class Pusher:
    """Pushes the sampler's batches to a loader, as many steps ahead as the loader has memory for.

    batches: an iterable of lists of sample numbers. Each `iter()` of it gives one epoch.
    """

    def __init__(self, loader: "spdld.Loader", batches: Any) -> None:
        self._loader = loader
        self._batches = batches
        self._left: Iterator[Any] | None = None  # the rest of the epoch's batches. None: all were pushed
        self._epoch = self._step = 0  # the place to push next

    def __len__(self) -> int:
        return len(self._batches)

    def begin(self, epoch: int, step: int) -> None:
        """Goes to a place. All pushed steps become void, and the first `step` batches of the epoch are skipped."""
        sampler = getattr(self._batches, "sampler", None)
        for told in (self._batches, sampler):
            if callable(getattr(told, "set_epoch", None)):
                told.set_epoch(epoch)
        left = iter(self._batches)
        for skipped in range(step):
            if next(left, None) is None:
                raise InvalidError(f"the sampler gives {skipped} batches, and the place is step {step} of epoch {epoch}: the "
                                   "place belongs to a run with another sampler")
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
    """Returns the pipeline with its order left to the sampler, where it is given as a dict. A file or a named pipeline
    must leave the order to the sampler by itself."""
    if not isinstance(pipeline, Mapping):
        return pipeline
    order = pipeline.get("order", {})
    if not isinstance(order, Mapping) or "shuffle" in order:
        return pipeline
    return {**pipeline, "order": {**order, "shuffle": "client"}}
