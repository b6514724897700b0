"""Tells Accelerate about a loader that is not a DataLoader. Accelerate hears which batch is the last of its epoch, so
that a round of gradient accumulation ends there. It also hears how many samples of that batch are not padding, so that
gather_for_metrics leaves the padding out. Accelerate's class for this is DataLoaderStateMixin, and its own loaders
derive from this class as well."""
import contextlib
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spdld._errors import InvalidError

if TYPE_CHECKING:
    import spdld

_WRAPPERS_MAX = 4  # Accelerate itself puts two wrappers around a loader


class Accumulation:
    """The facts that Accelerate needs about one epoch. A program that has not imported Accelerate pays nothing.

    owner: the iterator of the epoch. When the iterator goes, or before, Accelerate forgets the facts.
    """

    def __init__(self, owner: Any, loader: Any, info: "spdld.Info") -> None:
        self._told: Any = None
        self._end: Callable[[], Any] | None = None
        accelerate = sys.modules.get("accelerate.data_loader")
        if accelerate is None:
            return
        gradients = accelerate.GradientState()
        if _is_inside(loader, gradients.active_dataloader):
            _check_undivided(loader, gradients.active_dataloader, accelerate, info.world_size)
            return  # the wrapper tells Accelerate by itself, and is a batch ahead of this loader

        class Told(accelerate.DataLoaderStateMixin):  # type: ignore[misc, name-defined]
            gradient_state = gradients

        self._told = Told()
        self._told.begin()
        self._told.remainder = _remainder(info)
        self._end = weakref.finalize(owner, _forget, self._told)

    def taken(self, at_end: Callable[[], bool]) -> None:
        """A batch was handed out."""
        if self._told is not None:
            self._told.end_of_dataloader = at_end()

    def end(self) -> None:
        if self._end is not None:
            self._end()


def _remainder(info: "spdld.Info") -> int:
    """Returns the number of samples that all ranks together have in an epoch's last step, without padding. 0 means a full
    step, and -1 means that the number is not known, as in Accelerate. Where samples are gathered rank after rank, the
    padding lies behind them."""
    if info.pushed:
        return -1
    if info.last_samples:
        return info.last_samples % info.global_size
    missing = info.steps_per_epoch * info.global_size - info.samples
    return info.global_size - missing if missing > 0 else 0


def _forget(told: Any) -> None:
    with contextlib.suppress(AttributeError, ValueError):  # the program has reset Accelerate's state since
        told.end()


def _is_inside(loader: Any, wrapper: Any) -> bool:
    for _ in range(_WRAPPERS_MAX):
        wrapper = getattr(wrapper, "dataset", None)
        if wrapper is loader or getattr(wrapper, "loader", None) is loader:
            return True
    return False


def _check_undivided(loader: Any, wrapper: Any, accelerate: Any, world_size: int) -> None:
    divides = wrapper.dataset is not loader or isinstance(wrapper, accelerate.DataLoaderDispatcher)
    if divides and world_size > 1:
        raise InvalidError("Accelerate would divide the batches of a rank among the ranks once more: give prepare() the "
                           "spdld.torch.Loader itself, without a DataLoader around it")
