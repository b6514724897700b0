"""What Accelerate is told of a loader that is no DataLoader: which batch is its epoch's last, so that a round of gradient
accumulation ends there, and how many samples of that batch are no padding, so that gather_for_metrics leaves the padding out.
Its class for that is DataLoaderStateMixin, which its own loaders have as well."""
import contextlib
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional

from spdld._errors import InvalidError

if TYPE_CHECKING:
    import spdld

_WRAPPERS_MAX = 4  # Accelerate's own are two


class Accumulation:
    """Of one epoch. owner: its iterator; what Accelerate knows of it is taken back when that goes, at the latest. A program
    that has not imported Accelerate pays nothing."""

    def __init__(self, owner: Any, loader: Any, info: "spdld.Info") -> None:
        self._told: Any = None
        self._end: Optional[Callable[[], Any]] = None
        accelerate = sys.modules.get("accelerate.data_loader")
        if accelerate is None:
            return
        gradients = accelerate.GradientState()
        if _is_inside(loader, gradients.active_dataloader):
            _check_undivided(loader, gradients.active_dataloader, accelerate, info.world_size)
            return  # that one tells of itself, and is a batch ahead of this one

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
    """Samples of all ranks in an epoch's last step, without padding; 0: a full step, and -1, as Accelerate has it: not known.
    Where they are gathered rank after rank, the padding lies behind them."""
    if info.pushed:
        return -1
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
