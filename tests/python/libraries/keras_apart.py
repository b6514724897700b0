"""Keras 3 beside Debian's torch, which is older than it, and without SciPy: with stand-ins for names that Keras asks for and that
these tests do not need."""
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "build" / "keras"  # tests/install puts it there
_DTYPES = ("float8_e4m3fn", "float8_e5m2")


def is_there():
    return (FOLDER / "keras").is_dir()


def load_keras():
    """The module keras; $KERAS_BACKEND says what it computes with. Precondition: is_there()."""
    _stand_in_for_scipy()
    import torch
    for name in _DTYPES:
        if not hasattr(torch, name):
            setattr(torch, name, object())
    if not hasattr(torch, "_dynamo"):
        torch._dynamo = types.ModuleType("torch._dynamo")
        torch._dynamo.disable = lambda function=None, **_options: function or (lambda same: same)
        sys.modules["torch._dynamo"] = torch._dynamo
        _let_parameters_repeat(torch.nn.Module)
    sys.path.insert(0, str(FOLDER))
    import keras
    return keras


def _stand_in_for_scipy():
    """jax's sparse arrays, which Keras imports, name some of its classes."""
    names = ("scipy", "scipy.sparse", "scipy.sparse.linalg")
    modules = {name: types.ModuleType(name) for name in names}
    modules["scipy.sparse"].csr_matrix = type("csr_matrix", (), {})
    modules["scipy.sparse"].linalg = modules["scipy.sparse.linalg"]
    modules["scipy"].sparse = modules["scipy.sparse"]
    sys.modules.update(modules)


def _let_parameters_repeat(module):
    """torch 1.13 names each parameter once, and has no argument that asks for it."""
    plain = module.named_parameters
    module.named_parameters = lambda self, prefix="", recurse=True, remove_duplicate=True: plain(self, prefix, recurse)
