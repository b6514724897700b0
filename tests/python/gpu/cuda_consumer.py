"""For a trainer's script: a consumer of DLPack capsules, and streams of the driver, by ctypes alone."""
import ctypes
import threading

_capsule = ctypes.pythonapi
_capsule.PyCapsule_GetPointer.restype = ctypes.c_void_p
_capsule.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule.PyCapsule_GetName.restype = ctypes.c_char_p
_capsule.PyCapsule_GetName.argtypes = [ctypes.py_object]
_capsule.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}  # must outlive the capsules


class _Tensor(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Plain(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", _DELETER), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


class Taken:
    """A tensor out of a capsule, until release()."""

    def __init__(self, capsule):
        name = _capsule.PyCapsule_GetName(capsule)
        self._pointer = _capsule.PyCapsule_GetPointer(capsule, name)
        _capsule.PyCapsule_SetName(capsule, _USED[name])
        self._managed = (_Plain if name == b"dltensor" else _Versioned).from_address(self._pointer)
        tensor = self._managed.tensor
        self.device, self.address = tuple(tensor.device), tensor.address + tensor.byte_offset
        self.dtype = (tensor.code, tensor.bits, tensor.lanes)
        self.shape = tuple(tensor.shape[:tensor.rank])
        self.strides = tuple(tensor.strides[:tensor.rank])

    def bytes(self):
        """Of a dense tensor. The fake driver's device memory is the process's own."""
        size = self.dtype[1] // 8
        for length in self.shape:
            size *= length
        return ctypes.string_at(self.address, size)

    def release(self):
        """On a thread that never had the interpreter's lock while in it, as a framework does."""
        thread = threading.Thread(target=self._managed.deleter, args=(self._pointer,))
        thread.start()
        thread.join()


class Stream:
    """A stream on a GPU's primary context, of the kinds that spdld takes."""

    def __init__(self, device=0):
        self.driver = driver = ctypes.CDLL("libcuda.so.1")
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(driver.cuInit(0))
        self._check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self._check(driver.cuCtxPushCurrent_v2(context))
        self._check(driver.cuStreamCreate(ctypes.byref(stream), 1))
        self.number = stream.value
        self._held = []

    @staticmethod
    def _check(code):
        if code != 0:
            raise RuntimeError(f"the driver says {code}")

    def __cuda_stream__(self):
        return 0, self.number

    def work(self, event):
        """Puts work on it that ends with the event."""
        self._held.append(_HOST_FUNCTION(lambda _: event.wait(30)))
        self._check(self.driver.cuLaunchHostFunc(ctypes.c_void_p(self.number), self._held[-1], None))

    def order_legacy(self):
        """The legacy default stream waits for all that was put on this one."""
        event = ctypes.c_void_p()
        self._check(self.driver.cuEventCreate(ctypes.byref(event), 2))
        self._check(self.driver.cuEventRecord(event, ctypes.c_void_p(self.number)))
        self._check(self.driver.cuStreamWaitEvent(ctypes.c_void_p(1), event, 0))

    def synchronize(self):
        self._check(self.driver.cuStreamSynchronize(ctypes.c_void_p(self.number)))


def synchronize_legacy(stream):
    Stream._check(stream.driver.cuStreamSynchronize(ctypes.c_void_p(1)))
