"""The trainer's side of data sets of the user's own (sources with type = "python"): what their items are like is learned from a
first item, and they are taken to the processes that call them."""
import contextlib
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

from spdld._crew.digests import code_of, code_of_data_set
from spdld._crew.drop import DROP
from spdld._crew.items import leaves_of, structure_of
from spdld._crew.pickles import import_path, pickled_data_set
from spdld._crew.results import text_of
from spdld._errors import InvalidError, UnsupportedError

_TRIED = 8  # items, where the first ones are bad
_DROPPED_MAX = 1000  # items that the data set drops before the first one that it keeps


class DataSet:
    """A data set of the program's, or a class or function that makes one."""

    def __init__(self, call: str, value: Any, is_imported: bool = False, around: Any = None) -> None:
        """is_imported: the processes import the data set by its call. around: the program's own data set, where `value` stands
        around it."""
        self.call, self.value = call, value
        self._own = value if around is None else around
        self.is_made = is_data_set(value)
        self.path = None if self.is_made else import_path(value)
        if not self.is_made:
            refuse_other(call, value)
        self._is_imported = is_imported
        self._pickled: bytes | None = None
        self._trial: Any = None

    def code(self) -> str:
        return code_of_data_set(self._own) if is_data_set(self._own) else code_of(self._own)

    def pickled(self) -> bytes:
        if self._pickled is None:
            self._pickled = pickled_data_set(self.call, self.value, self._own)
        return self._pickled

    def trial(self) -> Any:
        """A data set to try items of. It is not the program's own, which may open a file when it gives its first item, and can't
        be pickled after that."""
        if self._trial is None:
            with _kept_randomness():
                self._trial = self._copied() if self.is_made else made(self.call, self.value)
        return self._trial

    def __len__(self) -> int:
        whole = self.value if self.is_made else self.trial()
        try:
            count = len(whole)
        except Exception as error:
            raise InvalidError(f"len({self.call}) {_raised(error)}: write samples = ... under [source]") from error
        if count == 0:
            raise InvalidError(f'the data set "{self.call}" has no items')
        return count

    def first_item(self) -> tuple[int, Any]:
        """The first item that is not bad, and its index."""
        trial, first, bad = self.trial(), None, 0
        tried = range(min(len(self), _DROPPED_MAX))
        with _kept_randomness():
            for index in tried:
                try:
                    item = trial[index]
                    if item is not DROP:
                        return index, item
                except Exception as error:
                    first = first or text_of(f"{self.call}[{index}]", error, error.__traceback__)
                    bad += 1
                if bad == _TRIED:
                    break
        if first is None:
            raise InvalidError(f"{self.call} drops its first {len(tried)} items, and nothing can be learned of the others: write "
                               "source.gives")
        raise InvalidError(f"{first}, and the items behind it are bad too: nothing can be learned of the items, so correct "
                           "them, or write source.gives and source.samples")

    def forget(self) -> None:
        """Gives back the memory of what is not needed any more: a data set may be large."""
        self._trial = self._pickled = None

    def tried(self, index: int) -> Any:
        with _kept_randomness():
            return self.trial()[index]

    def _copied(self) -> Any:
        if self._is_imported:
            try:
                return pickle.loads(pickle.dumps(self.value))
            except Exception:  # it need not be possible: the processes import it
                return self.value
        try:
            return pickle.loads(self.pickled())
        except InvalidError:
            raise
        except Exception as error:
            raise InvalidError(f'the data set "{self.call}" cannot be loaded from its pickle: {type(error).__name__}: {error}. '
                               "Correct its __setstate__ or __reduce__, or give a function that makes the data set in its "
                               "place") from error


def is_data_set(value: Any) -> bool:
    kind = type(value)
    return not isinstance(value, type) and hasattr(kind, "__len__") and hasattr(kind, "__getitem__")


def refuse_other(call: str, value: Any) -> None:
    """Raises a sentence for what neither is a data set nor may make one."""
    kind = type(value)
    if _is_iterable(kind) or (isinstance(value, type) and _is_iterable(value)):
        raise UnsupportedError(f'the data set "{call}" is iterable, and only data sets with __len__ and __getitem__ are taken '
                               "yet: write __getitem__(index) in place of __iter__, let the daemon read the files (for shards "
                               'source = {"type": "webdataset", "uri": ...}), or keep it in a DataLoader')
    if hasattr(kind, "__getitem__"):
        raise InvalidError(f'the data set "{call}", a {kind.__name__}, has no __len__: give it one, which tells how many items '
                           "there are")
    if not callable(value):
        raise InvalidError(f'the data set "{call}" is a value of the type {kind.__name__}: give an object with __len__ and '
                           "__getitem__, or a class or function that makes one without arguments")


def made(call: str, make: Callable[[], Any]) -> Any:
    """The data set that a class or function makes, in the trainer or in a crew."""
    try:
        dataset = make()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of the user's own code
        raise InvalidError(f'the data set "{call}" cannot be made: {text_of(call, error, error.__traceback__)}') from error
    if not is_data_set(dataset):
        refuse_other(call, dataset)
        raise InvalidError(f'"{call}" makes a value of the type {type(dataset).__name__}, which is no data set: it is to have '
                           "__len__ and __getitem__")
    return dataset


def learned_gives(dataset: DataSet) -> dict[str, Any]:
    """As a pipeline says it of the source."""
    return {leaf.field: leaf.gives for leaf in leaves_of(structure_of(dataset.call, *dataset.first_item()))}


def _is_iterable(kind: type) -> bool:
    data = sys.modules.get("torch.utils.data")
    return (data is not None and issubclass(kind, data.IterableDataset)) or \
        (hasattr(kind, "__iter__") and hasattr(kind, "__next__")) or \
        (hasattr(kind, "__iter__") and not hasattr(kind, "__getitem__"))


def _raised(error: BaseException) -> str:
    return f"raised {type(error).__name__}: {error}"


@contextlib.contextmanager
def _kept_randomness() -> Iterator[None]:
    """A trial draws no number that the program would have drawn."""
    numpy: Any = sys.modules.get("numpy.random")
    torch: Any = sys.modules.get("torch")
    of_python = random.getstate()
    of_numpy = None if numpy is None else numpy.get_state()
    of_torch = torch.get_rng_state() if hasattr(torch, "get_rng_state") else None
    try:
        yield
    finally:
        random.setstate(of_python)
        if of_numpy is not None:
            numpy.set_state(of_numpy)
        if of_torch is not None:
            torch.set_rng_state(of_torch)
