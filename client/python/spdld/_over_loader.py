"""Has the parts in which the loaders for frameworks are alike: each of them stands over a spdld.Loader."""
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import spdld

if TYPE_CHECKING:
    from spdld._trial.steps import Trial

_Self = TypeVar("_Self", bound="OverLoader")


class OverLoader:
    """A loader for a framework, which has the loader underneath in _loader. A base class beside the framework's own."""

    _loader: spdld.Loader
    _name: str  # for people: "spdld.torch.Loader"

    def stats(self) -> dict[str, Any]:
        """Counts the batches and samples that were handed out so far, and the bad samples, as spdld.Loader.stats does."""
        return self._loader.stats()

    def try_sample(self, sample: int | str, epoch: int | None = None) -> "Trial":
        """Runs one sample through this loader's pipeline in this thread, as spdld.Loader.try_sample does."""
        return self._loader.try_sample(sample, epoch)

    @property
    def info(self) -> spdld.Info:
        return self._loader.info

    @property
    def loader(self) -> spdld.Loader:
        """The loader underneath."""
        return self._loader

    def close(self) -> None:
        """Gives the rank back to the daemon. Arrays and tensors in use stay valid."""
        self._loader.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None = None, error: BaseException | None = None,
                 traceback: TracebackType | None = None) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._loader).replace("spdld.Loader", self._name, 1)
