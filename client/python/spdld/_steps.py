"""Provides the parts of a DataLoader that programs use beside its batches. Refuses the uses that a loader of whole
batches cannot serve."""
import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from spdld._errors import InvalidError, UnsupportedError
from spdld._moving import PART

_data: Any = importlib.import_module("torch.utils.data")

_WHOLE = "a spdld.torch.Loader gives whole batches, in its pipeline's order"


class Step(NamedTuple):
    """A batch that nobody has asked for yet. The batch_sampler of a DataLoader gives numbers of samples instead."""

    epoch: Any  # the iterator that gives the batch
    number: int  # the number of the step in the epoch, from 0


class Steps:
    """A loader's batch_sampler. Hugging Face's Trainer skips its first steps when it resumes, and nothing is read for
    them."""

    drop_last = False

    def __init__(self, loader: Any) -> None:
        self.sampler = loader

    @property
    def batch_size(self) -> int:
        return int(self.sampler.info.batch_size)

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[list[Step]]:
        count, epoch = len(self.sampler), iter(self.sampler)
        for number in range(count):
            yield [Step(epoch, number)]


class Samples:
    """A loader's dataset. Its length is the number of samples in an epoch, for all ranks together."""

    def __init__(self, loader: Any, own: Any = None) -> None:
        """own: the program's data set, where the loader was made of one."""
        self.loader, self._own = loader, own

    def __len__(self) -> int:
        return int(self.loader.info.samples)

    def __getitem__(self, step: Any) -> Any:
        if isinstance(step, Step):
            return step.epoch.at(step.number)
        if not hasattr(type(self._own), "__getitem__"):
            refuse_picking()
        return self._own[step]

    def __getattr__(self, name: str) -> Any:
        own = None if name == "_own" else self._own
        if own is None or name.startswith("__"):
            raise AttributeError(name)
        return getattr(own, name)


def only(batches: list[Any]) -> Any:
    """A loader's collate_fn. The list has a single entry, since Steps gives lists of a single step."""
    batch, = batches
    return batch


def refuse_picking() -> NoReturn:
    raise UnsupportedError(f"{_WHOLE}, so that a number cannot pick a sample or batch from it: iterate it, or give the order as "
                           "a sampler, spdld.torch.Loader(..., sampler=)")


def refuse_collating() -> None:
    """Raises an error where a DataLoader iterates the loader to make one batch of several. It is called in __iter__."""
    caller = sys._getframe(2)
    if caller.f_code is _FETCHING and caller.f_locals.get("auto_collation"):
        raise InvalidError(f"{_WHOLE}, and a DataLoader around it would make one batch of several: iterate the loader itself, "
                           "or write DataLoader(loader, batch_size=None). Hugging Face's Trainer takes the "
                           "loader from get_train_dataloader() and get_eval_dataloader(), and not as a data set")


def refuse_splitting() -> None:
    """Raises an error where random_split asks for the length. It is called in __len__."""
    if sys._getframe(2).f_code is _SPLITTING:
        raise UnsupportedError(f"{_WHOLE}, so that it cannot be split: {PART}")


def refuse_parts_of(kinds: tuple[type, ...]) -> None:
    """Makes torch's Subset and ConcatDataset refuse data sets of these kinds at once. Otherwise they would fail with the
    first batch, and the error would not mention the loader. Other data sets are accepted as before."""
    make_subset, make_concat = _data.Subset.__init__, _data.ConcatDataset.__init__

    @functools.wraps(make_subset)
    def subset(self: Any, dataset: Any, *args: Any, **options: Any) -> None:
        if isinstance(dataset, kinds):
            raise UnsupportedError(f"{_WHOLE}, so that it has no Subset: {PART}")
        make_subset(self, dataset, *args, **options)

    @functools.wraps(make_concat)
    def concat(self: Any, datasets: Any, *args: Any, **options: Any) -> None:
        every = list(datasets)
        if any(isinstance(dataset, kinds) for dataset in every):
            raise UnsupportedError(f"{_WHOLE}, so that a ConcatDataset cannot hold it: give one pipeline several [[sources]]")
        make_concat(self, every, *args, **options)

    _data.Subset.__init__, _data.ConcatDataset.__init__ = subset, concat


def _code_of(*names: str) -> Any:
    """Returns the code of a function below torch.utils.data, or None where this version of torch has no such function."""
    found = _data
    for name in names:
        found = getattr(found, name, None)
    return getattr(found, "__code__", None)


_FETCHING = _code_of("_utils", "fetch", "_IterableDatasetFetcher", "__init__")
_SPLITTING = _code_of("random_split")
