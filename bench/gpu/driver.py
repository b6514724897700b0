"""Calls NVIDIA's driver through ctypes, for the jobs that need no framework."""
import ctypes

from report import NotPossible

LEGACY = 1  # the legacy default stream
NON_BLOCKING = 1
CAPTURE_GLOBAL = 0  # the mode in which torch captures


class Gpu:
    """The primary context of the first GPU, current on the calling thread. It lasts until the process ends."""

    def __init__(self):
        try:
            self.c = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NotPossible(f"no driver: {error}") from error
        self.context = ctypes.c_void_p()
        self.check(self.c.cuInit(0), "cuInit")
        self.check(self.c.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0), "cuDevicePrimaryCtxRetain")
        self.enter_thread()

    @staticmethod
    def check(code, what):
        if code != 0:
            raise RuntimeError(f"{what} gave error {code}")

    def enter_thread(self):
        """Makes the context current on the calling thread. Each thread needs that once."""
        self.check(self.c.cuCtxPushCurrent_v2(self.context), "cuCtxPushCurrent")

    def stream(self):
        stream = ctypes.c_void_p()
        self.check(self.c.cuStreamCreate(ctypes.byref(stream), NON_BLOCKING), "cuStreamCreate")
        return stream.value

    def copy(self, target, address, size, stream=LEGACY):
        """Copies from the GPU into a buffer of ctypes, and waits."""
        self.check(self.c.cuMemcpyDtoHAsync_v2(target, ctypes.c_ulonglong(address), ctypes.c_size_t(size),
                                               ctypes.c_void_p(stream)),
                   "cuMemcpyDtoHAsync")
        self.check(self.c.cuStreamSynchronize(ctypes.c_void_p(stream)), "cuStreamSynchronize")

    def bytes_of(self, tensor):
        """Returns the bytes of a dense spdld.Tensor in GPU memory, behind its copy."""
        size = tensor.nbytes
        target = ctypes.create_string_buffer(size)
        self.copy(target, tensor.__cuda_array_interface__["data"][0], size)
        return target.raw

    def begin_capture(self, stream):
        self.check(self.c.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), CAPTURE_GLOBAL), "cuStreamBeginCapture")

    def end_capture(self, stream):
        """Returns the driver's code: 0, or 901 where a call of another thread has spoilt the capture."""
        graph = ctypes.c_void_p()
        code = self.c.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph))
        if code == 0 and graph.value:
            self.check(self.c.cuGraphDestroy(graph), "cuGraphDestroy")
        return code
