"""Items of a data set as bytes: pickled by protocol 5, with the memory of their arrays and tensors behind the pickle. The
processes that call the data set write them, and the trainer reads them without a copy of the arrays.

    uint64 buffers, uint64 bytes of the pickle, uint64 bytes of each buffer, the pickle, and each buffer at a multiple of 64
"""
import io
import pickle
import struct
import sys
from typing import Any

from spdld._crew.drop import DROP, Drop

FIELD = "object"
_ALIGNMENT = 64


class Pieces(tuple[Any, ...]):
    """The bytes of one value. Each piece begins at a multiple of 64, and so does what follows the last one."""

    __slots__ = ()


class Objects:
    """A data set that gives the items of another one as bytes."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Pieces] | Drop:
        item = self.dataset[index]
        return DROP if item is DROP else {FIELD: packed(item)}


class MadeObjects:
    """Makes the same of what a class or a function makes."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def __call__(self) -> Objects:
        return Objects(self.make())


def packed(item: Any) -> Pieces:
    buffers: list[Any] = []
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append).dump(item)
    pickled, raw = file.getvalue(), [buffer.raw() for buffer in buffers]
    head = struct.pack(f"<{2 + len(raw)}Q", len(raw), len(pickled), *[memory.nbytes for memory in raw])
    return Pieces((head + pickled, *raw))


def unpacked(memory: memoryview) -> Any:
    """The item. Its arrays are views of the memory."""
    count, pickled_bytes = struct.unpack_from("<2Q", memory)
    lengths = struct.unpack_from(f"<{count}Q", memory, 16)
    start = 16 + 8 * count
    at = start + pickled_bytes
    buffers = []
    for length in lengths:
        at = -at // _ALIGNMENT * -_ALIGNMENT
        buffers.append(memory[at:at + length])
        at += length
    return pickle.loads(memory[start:start + pickled_bytes], buffers=buffers)


def packed_bytes(pieces: Pieces) -> int:
    return sum(-memoryview(piece).nbytes // _ALIGNMENT * -_ALIGNMENT for piece in pieces)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type):
            return (_of_main, (value.__qualname__,)) if value.__module__ == "__main__" else NotImplemented
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None and isinstance(value, numpy.memmap):
            return numpy.asarray(value).__reduce_ex__(pickle.HIGHEST_PROTOCOL)  # its values, and not its file
        if torch is None or type(value) is not getattr(torch, "Tensor", None):
            return NotImplemented
        if value.device.type != "cpu" or value.layout != torch.strided or value.requires_grad or value.is_quantized:
            return NotImplemented
        value = value.resolve_conj().resolve_neg().contiguous()
        if value.dtype == torch.bfloat16:
            return _tensor, (value.view(torch.int16).numpy(), "bfloat16")
        try:
            return _tensor, (value.numpy(), "")
        except TypeError:  # numpy has no such type
            return NotImplemented


def _tensor(array: Any, dtype: str) -> Any:
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(getattr(torch, dtype)) if dtype else tensor


def _of_main(name: str) -> Any:
    """A class of the program itself, which is another one's module in the process that has pickled it."""
    found: Any = sys.modules["__main__"]
    for part in name.split("."):
        found = getattr(found, part)
    return found
