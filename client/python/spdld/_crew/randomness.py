"""The random generators of a worker: the module random, numpy's legacy state, a numpy.random.Generator for functions that
take `rng`, and torch's default generator. Before each call of a user's function they stand at a state that follows from the
sample. Their memory is written by native code, after it was tried here that the memory is laid out as that code expects;
where it is not, they are seeded by their own functions.
"""
import ctypes
import importlib.abc
import importlib.util
import random
import struct
import sys
from typing import Any

from spdld import _spdld

_WORDS = 624  # of a Mersenne Twister
_KEY = 0x0123456789ABCDEF  # for the trials


def keyed(one_thread: bool = True) -> "_spdld.Randomness":
    """All generators of the modules that are loaded, and torch's as soon as torch is. one_thread: torch works in one thread,
    where it is loaded later."""
    all_of_them = _spdld.Randomness()
    _add_python(all_of_them)
    if "numpy.random" in sys.modules:
        _add_numpy(all_of_them)
    if "torch" in sys.modules:
        _add_torch(all_of_them)
    else:
        sys.meta_path.insert(0, _AwaitsTorch(all_of_them, one_thread))
    return all_of_them


class _AwaitsTorch(importlib.abc.MetaPathFinder):
    """A function may import torch when it is called. Its generator stands at the sample's state as soon as it is there."""

    def __init__(self, to: "_spdld.Randomness", one_thread: bool) -> None:
        self._to, self._one_thread = to, one_thread

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            vars(spec)["loader"] = _LoadsTorch(spec.loader, self._to, self._one_thread)
        return spec


class _LoadsTorch:
    def __init__(self, loader: Any, to: "_spdld.Randomness", one_thread: bool) -> None:
        self._loader, self._to, self._one_thread = loader, to, one_thread

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        if self._one_thread and hasattr(module, "set_num_threads"):
            module.set_num_threads(1)
        _add_torch(self._to, within_call=True)


def _mixed_ints(key: int, count: int) -> list[int]:
    """Numbers of 32 bits for a seed that takes a list."""
    return [key >> 32 & 0xFFFFFFFF, key & 0xFFFFFFFF, *range(count - 2)]


def _add_python(to: "_spdld.Randomness") -> None:
    instance: Any = vars(random)["_inst"]
    before = random.getstate()
    address = id(instance) + object.__basicsize__
    fits = type(instance).__base__.__basicsize__ >= object.__basicsize__ + 4 + 4 * _WORDS
    if fits and _words_at(address, "<i624I") == (before[1][_WORDS], *before[1][:_WORDS]):
        trial = _spdld.Randomness()
        trial.of_python(address, instance)
        random.gauss(0, 1)
        trial.reset(_KEY, 0, "")
        first = random.getstate()
        if first[1][_WORDS] == _WORDS and first[2] is None and first != before:
            to.of_python(address, instance)
            random.setstate(before)
            return
    random.setstate(before)
    to.also(random.seed)


def _add_numpy(to: "_spdld.Randomness") -> None:
    import numpy

    legacy: Any = numpy.random.mtrand._rand
    before = legacy.get_state()
    addresses = _numpy_addresses(legacy)
    if addresses is None:
        to.also(lambda key: legacy.seed(_mixed_ints(key, 2)))
    else:
        to.of_numpy(*addresses)
    legacy.set_state(before)
    generator, address, seed = _generator()
    if address:
        to.of_generator(address)
    else:
        to.also(seed)
    to.of_generators(_generator)
    to.rng = generator


def _generator() -> tuple[Any, int, Any]:
    """A new one, the address of its memory, and a function that seeds it. 0: its memory is laid out otherwise."""
    import numpy

    bits = numpy.random.PCG64(0)

    def seed(key: int) -> None:
        bits.state = numpy.random.PCG64(key).state
    address = _address_of(bits)
    return numpy.random.Generator(bits), address if _is_pcg(bits, address) else 0, seed


def _address_of(bits: Any) -> int:
    return int(bits.ctypes.state_address)


def _numpy_addresses(legacy: Any) -> tuple[int, int] | None:
    """Where numpy's legacy twister is, and its note that a normal draw is kept for later, or None."""
    bits = getattr(legacy, "_bit_generator", None)
    if type(bits).__name__ != "MT19937":
        return None
    address = _address_of(bits)
    legacy.seed(1)
    legacy.randn()  # draws two, and keeps the second one
    _, words, place, has_normal, normal = legacy.get_state()
    if has_normal != 1 or _words_at(address, "<624Ii") != (*map(int, words), place):
        return None
    at = id(legacy)
    size = type(legacy).__basicsize__
    memory = ctypes.string_at(at, size)
    found = [offset for offset in range(8, size - 7, 8)
             if struct.unpack_from("<d", memory, offset)[0] == normal
             and struct.unpack_from("<i", memory, offset - 8)[0] == 1]
    if len(found) != 1:
        return None
    trial = _spdld.Randomness()
    trial.of_numpy(address, at + found[0] - 8)
    trial.reset(_KEY, 0, "")
    _, changed, place, has_normal, _ = legacy.get_state()
    good = has_normal == 0 and place == _WORDS and list(changed) != list(words)
    return (address, at + found[0] - 8) if good else None


def _is_pcg(bits: Any, address: int) -> bool:
    def told() -> tuple[int, int, int, int]:
        state = bits.state
        return state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]

    def seen() -> tuple[int, int, int, int]:
        numbers, has_half, half = struct.unpack("<QiI", ctypes.string_at(address, 16))
        low, high, increment_low, increment_high = struct.unpack("<4Q", ctypes.string_at(numbers, 32))
        return low | high << 64, increment_low | increment_high << 64, has_half, half

    if told() != seen():  # where the processor has no numbers of 128 bits, the words stand the other way round
        return False
    trial = _spdld.Randomness()
    trial.of_generator(address)
    trial.reset(_KEY, 0, "")
    return told() == seen() and told()[1] % 2 == 1


def _add_torch(to: "_spdld.Randomness", within_call: bool = False) -> None:
    torch: Any = sys.modules.get("torch")
    generator: Any = getattr(torch, "default_generator", None)
    if generator is None:  # another module of this name
        return
    state = generator.get_state()
    if _takes_state(torch, generator, state.clone()):
        to.of_torch(state.data_ptr(), generator.set_state, state)
    else:
        to.also(lambda key: generator.manual_seed(key >> 1))
        if within_call:
            generator.manual_seed(to.key >> 1)
    if within_call:
        to.reset_torch()


def _takes_state(torch: Any, generator: Any, state: Any) -> bool:
    before = generator.get_state()
    try:
        if state.numel() != 5056 or state.dtype != torch.uint8:
            return False
        trial = _spdld.Randomness()
        trial.of_torch(state.data_ptr(), generator.set_state, state)
        trial.reset(_KEY, 0, "")
        first = (bool((generator.get_state() == state).all()), torch.randn(3).tolist())
        torch.randn(1)
        trial.reset(_KEY, 0, "")
        return first == (True, torch.randn(3).tolist())
    except RuntimeError:
        return False
    finally:
        generator.set_state(before)


def _words_at(address: int, form: str) -> tuple[Any, ...]:
    return struct.unpack(form, ctypes.string_at(address, struct.calcsize(form)))
