"""A data set for Keras 3, on torch and on jax: model.fit, evaluate and predict take it.

    import keras
    import spdld.keras
    train = spdld.keras.Loader("train.toml", "image", "label")
    model.fit(train, epochs=90, validation_data=spdld.keras.Loader("val.toml", "image", "label"))

A Loader is a keras.utils.PyDataset without workers, because the daemon's threads read, decode and make batches ahead. Keras
asks a PyDataset for batches by their numbers, in a shuffled order unless fit has shuffle=False. The order of the samples
belongs to the pipeline, so that the Loader gives its next batch whichever number is asked for.

Each pass of Keras over the Loader is one epoch of the pipeline. Write order.epochs = 0 for training, where Keras counts the
epochs, and 1 for validation. A pass that is left before its end begins anew: Keras takes a batch to learn the shapes of a
new model and drops it, and no sample may get lost by that.
"""
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Union

import spdld
from spdld._errors import InvalidError, UnsupportedError
from spdld._moving import refuse
from spdld._over_loader import OverLoader
from spdld._ragged import Ragged
from spdld._spec import leaves_epochs_open, warn_of_repeating

try:
    _keras: Any = importlib.import_module("keras")
except ImportError as _error:
    raise ImportError(f"spdld.keras needs keras 3, which cannot be imported: {_error}") from _error

__all__ = ["Loader"]

Names = str | Sequence[str] | Mapping[str, str]
_FRAMEWORKS = {"torch": "torch", "jax": "jax", "numpy": "numpy"}  # what the arrays of a batch are, for each of Keras's backends


class Loader(OverLoader, _keras.utils.PyDataset):  # type: ignore[misc]
    """The batches of one rank for Keras, as (x,), (x, y) or (x, y, sample_weight).

    pipeline, options: the arguments of spdld.attach, without framework: the arrays are of Keras's backend, torch or jax.
    x, y: the output that the model gets, and the output that the loss compares with. A list of names gives a list of arrays,
        and a dict {name of the model: name of the output} gives a dict of arrays.
    sample_weight: the output that weighs the samples in the loss. With on_bad = "mask" this may be "mask", so that samples
        with bad content count nothing.

    Give training and validation a Loader each. Keras's images have the channels last, unless it is configured otherwise:
    write layout = "NHWC" in the pipeline's normalize or convert.
    """

    _name = "spdld.keras.Loader"

    def __init__(self, pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], x: Names, y: Names | None = None,
                 sample_weight: str | None = None, **options: Any) -> None:
        super().__init__(workers=0, use_multiprocessing=False)
        known = [name for name in spdld.attach.__kwdefaults__ if name != "framework"]
        refuse("spdld.keras.Loader", {name: value for name, value in options.items() if name not in known}, known)
        if sample_weight is not None and y is None:
            raise InvalidError("sample_weight weighs a loss, which compares with y: give y, the name of an output")
        self._parts = tuple(_reader(names) for names in (x, y, sample_weight) if names is not None)
        self._loader = spdld.attach(pipeline, framework=_framework(), **options)
        if self._loader.info.pushed:
            self._loader.close()
            raise InvalidError(f"pipeline {self._loader.info.pipeline} has order.shuffle = \"client\", and spdld.keras.Loader "
                               "takes no sampler: leave shuffle out, or use spdld.torch.Loader in a loop of your own")
        self._warns_of_repeating = self._loader.epochs == 1 and leaves_epochs_open(pipeline)
        self._batches: Iterator[spdld.Batch] | None = None  # of the pass; None: the next batch begins one
        self._given = 0  # batches of the pass
        self._state: dict[str, Any] | None = None  # at the beginning of the pass

    @property
    def num_batches(self) -> int:
        """The number of batches (steps) in an epoch. The generator in which Keras makes a pass over the data asks for it when it
        begins, and so the next batch begins an epoch."""
        caller = sys._getframe(1)
        if caller.f_code.co_flags & inspect.CO_GENERATOR and caller.f_globals.get("__name__", "").startswith("keras."):
            self._batches = None
        return len(self)

    def __len__(self) -> int:
        return len(self._loader)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        """The next batch of the pass, whichever number is asked for."""
        if not 0 <= index < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        if self._batches is None:
            self._begin()
        assert self._batches is not None
        if self._given == len(self):
            raise InvalidError(f"Keras asks for more than the {len(self)} batches that an epoch of the pipeline "
                               f"{self.info.pipeline} has: give training and validation a spdld.keras.Loader each")
        self._given += 1
        return self._converted(next(self._batches))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """One epoch, for loops of your own."""
        self._batches = None
        for index in range(len(self)):
            yield self[index]

    @property
    def workers(self) -> int:
        return 0

    @workers.setter
    def workers(self, value: int) -> None:
        _refuse_workers(value)

    @property
    def use_multiprocessing(self) -> bool:
        return False

    @use_multiprocessing.setter
    def use_multiprocessing(self, value: bool) -> None:
        _refuse_workers(value)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._loader.position[0]

    def set_epoch(self, epoch: int) -> None:
        """The next pass gives this epoch, as in fit(..., initial_epoch=epoch). In a pipeline with a single epoch, every number
        means that epoch."""
        self._loader.set_epoch(0 if self._loader.epochs == 1 else epoch)
        self._batches, self._state = None, None

    def state_dict(self) -> dict[str, Any]:
        """The place for a checkpoint: the beginning of the epoch that Keras goes through or, in on_epoch_end of a callback, of
        the next epoch."""
        if self._state is None or self._given == len(self):
            return self._loader.state_dict()
        return self._state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Goes to the epoch of a state. The next pass gives the whole epoch, because all of Keras's epochs have the same number
        of batches. For strict and for the errors see spdld.Loader.load_state_dict."""
        self._loader.load_state_dict(state_dict, strict)
        self._batches, self._state = None, None

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError("a spdld.keras.Loader cannot be copied into another process: the daemon's threads do the work of "
                               "Keras's workers")

    def _begin(self) -> None:
        epoch, _ = self._loader.position
        epochs = self._loader.epochs
        if 0 < epochs <= epoch:
            if epochs > 1:
                raise InvalidError(f"all {epochs} epochs of the pipeline have ended: set order.epochs to more, or to 0 where "
                                   "Keras counts the epochs, or begin an epoch anew with set_epoch()")
            if self._warns_of_repeating:
                self._warns_of_repeating = False
                warn_of_repeating(self.info.pipeline, level=3)
            epoch = 0
        self._loader.seek(epoch, 0)
        self._state = self._loader.state_dict()
        self._batches, self._given = iter(self._loader), 0

    def _converted(self, batch: spdld.Batch) -> tuple[Any, ...]:
        return tuple(part(batch) for part in self._parts)


def _framework() -> str:
    backend = _keras.backend.backend()
    if backend not in _FRAMEWORKS:
        raise UnsupportedError(f"Keras runs on {backend}, and spdld.keras works with torch and jax: set KERAS_BACKEND to one of "
                               "these before keras is imported, or make a tf.data.Dataset.from_generator around spdld.attach")
    return _FRAMEWORKS[backend]


def _refuse_workers(value: Any) -> None:
    if value:
        raise InvalidError("a spdld.keras.Loader has no workers: the daemon's threads read, decode and make batches ahead")


def _reader(names: Names) -> Callable[[spdld.Batch], Any]:
    """Makes the part of a batch that Keras gets for these names of outputs."""
    if isinstance(names, str):
        name = names
        return lambda batch: _array(batch, name)
    if isinstance(names, Mapping):
        named = dict(names)
        return lambda batch: {key: _array(batch, name) for key, name in named.items()}
    if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names):
        several = tuple(names)
        return lambda batch: [_array(batch, name) for name in several]
    raise InvalidError("x and y are names of outputs, lists of names, or dicts of the model's names and names of outputs, and "
                       f"not {names!r}")


def _array(batch: spdld.Batch, name: str) -> Any:
    array = batch[name]
    if isinstance(array, Ragged):
        raise UnsupportedError(f"the output {name} is ragged, and Keras takes arrays: write pad = \"longest\" in place of "
                               "ragged = true")
    return array
