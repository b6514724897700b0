"""torchvision's second interface beside Debian's torch, which is older than it: the module's own code for masks and boxes, with
stand-ins for names of newer torch versions that this code asks for and does not need."""
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "build" / "torchvision-v2"  # tests/install puts it there


class Compiler:
    @staticmethod
    def disable(function=None, **_options):
        return function

    @staticmethod
    def is_compiling():
        return False


def is_there():
    return (FOLDER / "torchvision").is_dir()


def load_torchvision_v2():
    """torchvision.transforms.v2 and torchvision.tv_tensors. Precondition: is_there()."""
    import torch
    if not hasattr(torch._C, "DisableTorchFunctionSubclass"):
        torch._C.DisableTorchFunctionSubclass = torch._C.DisableTorchFunction
    if not hasattr(torch, "compiler"):
        torch.compiler = Compiler
    if not hasattr(torch, "_dynamo"):
        torch._dynamo = types.ModuleType("torch._dynamo")
        torch._dynamo.allow_in_graph = lambda function: function
        sys.modules["torch._dynamo"] = torch._dynamo
    if "torchvision" not in sys.modules:  # without its compiled operators, which want the newer torch
        package = types.ModuleType("torchvision")
        package.__path__ = [str(FOLDER / "torchvision")]
        extension = types.ModuleType("torchvision.extension")
        extension._has_ops, extension._assert_has_ops = (lambda: False), (lambda: None)
        sys.modules.update({"torchvision": package, "torchvision.extension": extension})
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    return v2, tv_tensors
