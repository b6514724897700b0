"""A ragged output of a batch: samples with different numbers of values."""
import sys
from collections.abc import Iterator
from typing import Any

from spdld._errors import InvalidError, UnsupportedError


class Ragged:
    """The values of a ragged output, one sample's after the other's, and the offsets at which each sample begins.

        boxes = batch["boxes"]
        len(boxes)                  # the number of samples
        boxes[3]                    # the values of sample 3, of shape [lengths[3], ...]
        boxes.values, boxes.offsets # the two arrays
        boxes.nested()              # in torch: a jagged nested tensor

    Arrays are of the loader's framework, and share the batch's memory, as every array of a batch does. A Ragged holds its
    batch, unless it comes from Batch.copy().
    """

    __slots__ = ("name", "values", "offsets", "_ends")

    def __init__(self, name: str, values: Any, offsets: Any) -> None:
        self.name = name
        #: The values of all samples. The first dimension counts them.
        self.values = values
        #: int64, one number more than there are samples: the values of sample i are values[offsets[i]:offsets[i + 1]].
        self.offsets = offsets
        self._ends: list[int] | None = None

    @property
    def lengths(self) -> Any:
        """How many values each sample has, as an array of the framework."""
        self._refuse_raw()
        return self.offsets[1:] - self.offsets[:-1]

    def nested(self) -> Any:
        """A jagged nested tensor of torch, over the same memory. Raises UnsupportedError for another framework, and for a torch
        that has no torch.nested.nested_tensor_from_jagged."""
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(self.values, torch.Tensor):
            raise UnsupportedError('nested tensors are torch\'s: attach with framework="torch", or use values and offsets')
        make = getattr(getattr(torch, "nested", None), "nested_tensor_from_jagged", None)
        if make is None:
            raise UnsupportedError(f"torch {torch.__version__} has no torch.nested.nested_tensor_from_jagged: install a later "
                                   "torch, or use values and offsets")
        return make(self.values, self.offsets)

    def to(self, *arguments: Any, **options: Any) -> "Ragged":
        """In torch: a Ragged whose values are values.to(...) and whose offsets are on the same device. Programs that move a
        batch to a GPU call it."""
        if not hasattr(self.values, "to"):
            raise UnsupportedError('to() is torch\'s: attach with framework="torch", or move values and offsets')
        values = self.values.to(*arguments, **options)
        return Ragged(self.name, values, self.offsets.to(values.device))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Any:
        count = len(self)
        if isinstance(index, slice):
            raise InvalidError("a slice of samples is not possible: index one sample, or slice values by offsets")
        at = index + count if index < 0 else index
        if not 0 <= at < count:
            raise IndexError(f"sample {index} of {count}")
        ends = self._offsets()
        return self.values[ends[at]:ends[at + 1]]

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]

    def __repr__(self) -> str:
        return f"<spdld.Ragged {self.name}: {len(self)} samples of {tuple(self.values.shape)} values>"

    def _offsets(self) -> list[int]:
        if self._ends is None:
            self._refuse_raw()
            self._ends = self.offsets.tolist()
        return self._ends

    def _refuse_raw(self) -> None:
        if not hasattr(self.offsets, "tolist"):
            raise UnsupportedError('framework="raw" computes nothing: take values and offsets with the library that uses them')
