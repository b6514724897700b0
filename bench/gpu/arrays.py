"""One interface to the frameworks: a batch's tensor as numpy, its address, and a wait for the GPU. A framework is
imported late."""
import importlib
import os

from report import NotPossible


class Arrays:
    def __init__(self, framework):
        self.framework = framework
        if framework == "jax":
            # Else it takes three quarters of the GPU at its first use.
            os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        try:
            self.module = importlib.import_module(framework)
        except ImportError as error:
            raise NotPossible(f"{framework} cannot be imported: {error}") from error

    def require_gpu(self):
        if not self._finds_gpu():
            raise NotPossible(f"this {self.framework} ({self.module.__version__}) finds no GPU")

    def _finds_gpu(self):
        if self.framework == "torch":
            return self.module.cuda.is_available()
        if self.framework == "cupy":
            return self.module.cuda.is_available()
        if self.framework == "jax":
            try:
                return bool(self.module.local_devices(backend="cuda"))
            except RuntimeError:
                return False
        return False

    def to_numpy(self, array):
        if self.framework == "torch":
            return array.cpu().numpy()
        if self.framework == "cupy":
            return self.module.asnumpy(array)
        return importlib.import_module("numpy").asarray(array)

    def address(self, array):
        if self.framework == "torch":
            return array.data_ptr()
        if self.framework == "cupy":
            return array.data.ptr
        if self.framework == "jax":
            return array.unsafe_buffer_pointer()
        return array.__array_interface__["data"][0]


def address_of(tensor, way):
    """Returns the address of a spdld.Tensor."""
    interface = tensor.__array_interface__ if way in ("cpu", "pinned") else tensor.__cuda_array_interface__
    return interface["data"][0]


def torch_with_gpu():
    arrays = Arrays("torch")
    arrays.require_gpu()
    return arrays.module
