"""Makes the arrays of a framework from spdld.Tensor. A framework is imported only when it is asked for."""
import abc
import importlib
import sys
from collections.abc import Callable
from typing import Any

from spdld._errors import InvalidError, UnsupportedError
from spdld._spdld import Tensor

Converter = Callable[[Tensor], Any] | None
# A function that makes the legacy default stream wait for all work that the framework has been given so far, or None. With
# such a function, a batch that the framework lets go of is given back to the daemon after that work, with the loader's next
# call.
Order = Callable[[], None] | None


class Framework(abc.ABC):
    """One framework, imported."""

    name: str

    def _module(self, name: str) -> Any:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            raise ImportError(f'framework="{self.name}" needs {name}, which cannot be imported: {error}') from error

    @abc.abstractmethod
    def refuses_gpus(self) -> str | None:
        """Returns the reason why the framework cannot take batches in GPU memory, as the end of a sentence. None: it
        can."""

    @abc.abstractmethod
    def converter(self, memory: str, device: int | None) -> tuple[Converter, Order]:
        """Returns the function that turns a Tensor into an array (None: the Tensor is used itself), and the order
        function. For memory and device see Info."""


# Types that not every torch takes by DLPack, and the type of the same size that torch takes in their place.
_TORCH_BY_WAY_OF = {"bool": "uint8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}


class _Torch(Framework):
    name = "torch"

    def __init__(self) -> None:
        self._torch = self._module("torch")

    def _array(self, tensor: Tensor) -> Any:
        through = _TORCH_BY_WAY_OF.get(tensor.dtype)
        if through is None:
            return self._torch.from_dlpack(tensor)
        dtype = getattr(self._torch, tensor.dtype, None)
        if dtype is None:
            raise UnsupportedError(f'the tensor "{tensor.name}" is {tensor.dtype}, which torch {self._torch.__version__} does '
                                   'not have: install torch 2.3 or later, or use another dtype or framework="numpy"')
        return self._torch.from_dlpack(tensor._viewed(through)).view(dtype)

    def refuses_gpus(self) -> str | None:
        torch = self._torch
        if torch.version.cuda is None:
            return (f'this torch ({torch.__version__}) is built without CUDA: install one with it, or use device="cpu" '
                    'or framework="raw"')
        if not torch.cuda.is_available():
            return 'torch.cuda.is_available() is false: see why torch finds no GPU, or use device="cpu"'
        return None

    def converter(self, memory: str, device: int | None) -> tuple[Converter, Order]:
        # For GPU memory, torch itself gives its current stream.
        if memory != "pinned" or self.refuses_gpus() is not None:
            return self._array, None
        current_stream = self._torch.cuda.current_stream

        def convert(tensor: Tensor) -> Any:
            # A copy by .to("cuda", non_blocking=True) is then done before the memory is filled anew.
            tensor.use(current_stream(device))
            return self._array(tensor)
        return convert, None


class _Numpy(Framework):
    name = "numpy"

    def __init__(self) -> None:
        # numpy reads the array interface, because numpy 1 makes read-only arrays from DLPack.
        self._asarray: Callable[[Tensor], Any] = self._module("numpy").asarray

    def refuses_gpus(self) -> str | None:
        return 'numpy has arrays in host memory only: use device="cpu", or framework="torch", "cupy", "jax" or "raw"'

    def converter(self, memory: str, device: int | None) -> tuple[Converter, Order]:
        return self._asarray, None


class _Jax(Framework):
    name = "jax"

    def __init__(self) -> None:
        self._jax = self._module("jax")
        self._from_dlpack: Callable[[Tensor], Any] = self._module("jax.dlpack").from_dlpack

    def refuses_gpus(self) -> str | None:
        try:
            if self._jax.local_devices(backend="cuda"):
                return None
        except RuntimeError:  # jax raises this where it has no such platform
            pass
        return ('jax has no CUDA device (jax.local_devices(backend="cuda")): install jax with CUDA, or use device="cpu" '
                'or framework="raw"')

    def converter(self, memory: str, device: int | None) -> tuple[Converter, Order]:
        return self._from_dlpack, self._order(device) if memory.startswith("cuda") else None

    def _order(self, device: int | None) -> Callable[[], None]:
        """Returns a function that makes the legacy default stream wait for jax's computations. All computations on one
        GPU run one after the other on a stream of XLA, and an array's __dlpack__ makes another stream wait for them."""
        jax = self._jax
        gpus = [gpu for gpu in jax.local_devices(backend="cuda") if gpu.local_hardware_id == device]
        if not gpus:
            raise UnsupportedError(f"the batches lie on GPU {device} of this process, which jax leaves out "
                                   '(jax.local_devices()): let jax see it, or use another device')
        before = jax.device_put(jax.numpy.zeros((), "uint8"), gpus[0])
        # The function is compiled, so that it runs at once even while another function is being traced.
        last = jax.jit(lambda number: number + 1).lower(before).compile()

        def order() -> None:
            last(before).__dlpack__(stream=1)
        return order


class _Cupy(Framework):
    name = "cupy"

    def __init__(self) -> None:
        self._cupy = self._module("cupy")
        self._as_host: Callable[[Tensor], Any] = self._module("numpy").asarray

    def refuses_gpus(self) -> str | None:
        if self._cupy.cuda.is_available():
            return None
        return 'cupy.cuda.is_available() is false: see why cupy finds no GPU'

    def converter(self, memory: str, device: int | None) -> tuple[Converter, Order]:
        if memory.startswith("cuda"):
            from_dlpack: Callable[[Tensor], Any] = self._cupy.from_dlpack
            current_stream = self._cupy.cuda.get_current_stream

            def convert(tensor: Tensor) -> Any:
                # By the object, which lives then as long as its stream is needed: cupy destroys the stream with it.
                tensor.use(current_stream())
                return from_dlpack(tensor)
            return convert, None
        asarray, as_host = self._cupy.asarray, self._as_host
        return (lambda tensor: asarray(as_host(tensor))), None


class _Raw(Framework):
    name = "raw"

    def refuses_gpus(self) -> str | None:
        return None

    def converter(self, memory: str, device: int | None) -> tuple[Converter, Order]:
        return None, None


_FRAMEWORKS: dict[str, Callable[[], Framework]] = {
    _Torch.name: _Torch, _Numpy.name: _Numpy, _Jax.name: _Jax, _Cupy.name: _Cupy, _Raw.name: _Raw}


def framework_of(name: str | None) -> Framework:
    """Returns the framework of this name. With None it is torch where the program has imported torch, else numpy."""
    if name is None:
        name = "torch" if "torch" in sys.modules else "numpy"
    make = _FRAMEWORKS.get(name)
    if make is None:
        raise InvalidError(f"framework={name!r} is not known: give one of {', '.join(_FRAMEWORKS)}")
    return make()
