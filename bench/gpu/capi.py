"""Calls libspdld by its C interface (client/include/spdld.h) through ctypes. The Python package does not offer
spdld_poll_fd."""
import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

OK, END_OF_EPOCH = 0, 1


class AttachOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("socket", c_char_p), ("pipeline", c_char_p), ("spec", c_char_p),
                ("spec_is_json", c_int), ("spec_folder", c_char_p), ("group", c_char_p), ("rank", c_uint32),
                ("world_size", c_uint32), ("local_rank", c_uint32), ("reader", c_uint32), ("readers", c_uint32),
                ("epoch", c_uint64), ("step", c_uint64), ("fingerprint", c_char_p), ("held_max", c_uint32),
                ("timeout_ms", c_int64), ("reconnect_ms", c_int64), ("no_private_daemon", c_int), ("progress", c_void_p),
                ("progress_user", c_void_p), ("client_name", c_char_p), ("device", c_char_p), ("transport", c_char_p),
                ("experimental_ready_early", c_int)]


class Tensor(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("dtype", c_int), ("rank", c_uint32),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("address", c_void_p)]


class Failure(Exception):
    pass


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.spdld_last_error.restype = c_char_p
        self.c.spdld_attach.argtypes = [POINTER(AttachOptions), POINTER(c_void_p)]
        self.c.spdld_detach.argtypes = [c_void_p]
        self.c.spdld_next.argtypes = [c_void_p, c_int64, POINTER(c_void_p)]
        self.c.spdld_poll_fd.argtypes = [c_void_p]
        self.c.spdld_batch_find.argtypes = [c_void_p, c_char_p, POINTER(Tensor)]
        self.c.spdld_batch_release.argtypes = [c_void_p]

    def check(self, result):
        if result < 0:
            raise Failure(self.c.spdld_last_error().decode())
        return result


class Loader:
    """A loader of the C interface: `with Loader(library, socket, spec as JSON, way options)`."""

    def __init__(self, library, socket, spec, device, transport=None, experimental_ready_early=False):
        self.library, self.handle = library, c_void_p()
        options = AttachOptions(struct_size=ctypes.sizeof(AttachOptions), socket=socket.encode(), spec=spec.encode(),
                                spec_is_json=1, no_private_daemon=1, timeout_ms=60_000, client_name=b"ctypes",
                                device=device.encode(), transport=transport.encode() if transport else None,
                                experimental_ready_early=experimental_ready_early)
        library.check(library.c.spdld_attach(byref(options), byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.c.spdld_detach(self.handle)

    def poll_fd(self):
        return self.library.c.spdld_poll_fd(self.handle)

    def next(self, timeout_ms):
        """Returns a batch, which the caller must release, or None where an epoch ended."""
        batch = c_void_p()
        result = self.library.check(self.library.c.spdld_next(self.handle, timeout_ms, byref(batch)))
        if result not in (OK, END_OF_EPOCH):
            raise Failure(f"spdld_next gave {result}")
        return batch if result == OK else None

    def find(self, batch, name):
        tensor = Tensor(struct_size=ctypes.sizeof(Tensor))
        self.library.check(self.library.c.spdld_batch_find(batch, name, byref(tensor)))
        return tensor

    def release(self, batch):
        self.library.c.spdld_batch_release(batch)
