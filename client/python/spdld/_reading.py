"""Reads the attributes of a program's transforms: torchvision's and timm's classes, and functions whose code is known."""
import importlib
import inspect
from types import FunctionType, MethodType
from typing import Any

from spdld._hints import hint_of
from spdld._known_code import meaning_of
from spdld._operations import ARGUMENTS, DEFAULT, Class, Transform, why_none
from spdld._piece_code import piece_of
from spdld._timm import of_timm
from spdld._values import Member, Refused, number

LIST = "list"  # of transforms, which only spdld takes in place of a Compose


def of_object(transform: Any) -> Transform:
    """Reads the attributes of an object; its class must be one of torchvision's or timm's."""
    if isinstance(transform, Transform):  # a part that one of timm's transforms was taken apart into
        return transform
    kind = transform if isinstance(transform, (FunctionType, MethodType)) else type(transform)
    name, module = kind.__name__, getattr(kind, "__module__", None) or ""
    if isinstance(transform, (list, tuple)):
        return Transform(LIST, lambda attribute: list(transform))
    if module.startswith("torch.nn.") and name == "Sequential":
        return Transform("Compose", lambda attribute: list(transform.children()), unknown=_changed(transform))
    made = of_function(kind) or _of_pieces(kind)
    if made is not None:
        return made
    if (module, name) == _PRESET:
        return Transform("Compose", lambda attribute: _preset_steps(transform), unknown=_changed(transform))
    if module.startswith("timm.data."):
        timms = of_timm(transform, module, name)
        return timms._replace(unknown=timms.unknown or _changed(transform))
    if not (module + ".").startswith("torchvision.transforms."):
        full = name if name in ("function", "<lambda>") else f"{module}.{name}"
        return Transform(full, lambda attribute: None, unknown=Refused(hint_of(full) or why_none(full)), is_torchvisions=False)
    function = getattr(transform, "lambd", None) if name == "Lambda" and _changed(transform) is None else None
    made = of_function(function) or _of_pieces(function)
    if made is not None:
        return made
    v2 = (module + ".").startswith("torchvision.transforms.v2.")
    return Transform(name, lambda attribute: _attribute(transform, name, attribute), v2, _changed(transform), is_v2=v2)


_LINEAR = Class((("scale", number(), DEFAULT), ("shift", number(), DEFAULT)))
_NAMES = {"rgb": "RGB", "same": "Identity", "repeat": "*repeat", "linear": "*linear"}  # no class has a name with a star


def of_function(function: Any) -> Transform | None:
    """The transform that a function or a Lambda is, where its code is known."""
    meaning = meaning_of(function)
    if meaning is None:
        return None
    if meaning.kind == "float":
        given = {"dtype": Member("torch.float32"), "scale": False}
        return Transform("ToDtype", given.__getitem__, is_v2=True, called="Lambda")
    numbers = {"scale": meaning.scale, "shift": meaning.shift}
    own = _LINEAR if meaning.kind == "linear" else Class(())
    return Transform(_NAMES[meaning.kind], numbers.__getitem__, is_v2=True, called="Lambda", own=own)


def of_pieces(member: Any) -> Transform:
    """A function that does this transform to each piece of a FiveCrop or a TenCrop, and stacks the pieces."""
    own = Class((("member", lambda value: value, DEFAULT),))
    return Transform("*pieces", {"member": member}.__getitem__, is_v2=True, called="Lambda", own=own)


def _of_pieces(function: Any) -> Transform | None:
    piece = piece_of(function)
    if piece is None:
        return None
    if not piece.is_class:
        return of_pieces(piece.what)
    name, module = getattr(piece.what, "__name__", ""), getattr(piece.what, "__module__", None) or ""
    if name not in ("ToTensor", "PILToTensor") or not module.startswith("torchvision.transforms."):
        return None
    return of_pieces(Transform(name, lambda attribute: DEFAULT, is_v2=module.startswith("torchvision.transforms.v2.")))


_PRESET = ("torchvision.transforms._presets", "ImageClassification")


def _preset_steps(preset: Any) -> list[Any]:
    """The transforms that `Weights.transforms()` of a classification model does one after another."""
    transforms: Any = importlib.import_module("torchvision.transforms")
    float32 = importlib.import_module("torch").float32
    antialias = {"antialias": preset.antialias} if hasattr(preset, "antialias") else {}
    return [transforms.Resize(list(preset.resize_size), interpolation=preset.interpolation, **antialias),
            transforms.CenterCrop(list(preset.crop_size)), transforms.PILToTensor(), transforms.ConvertImageDtype(float32),
            transforms.Normalize(mean=preset.mean, std=preset.std)]


_LIBRARIES = ("torch", "torchvision", "timm")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_CODE = ("__call__", "forward", "transform", "_transform", "get_params", "_get_params", "make_params")


def _changed(transform: Any) -> Refused | None:
    """Where a program has put code of its own into an object or its class, its attributes do not tell what it does."""
    own = getattr(transform, "__dict__", {})
    if any(own.get(hooks) for hooks in _HOOKS) or any(name in own for name in _CODE):
        return Refused("was given code of yours, and the daemon runs none")
    for name in _CODE:
        code = next((vars(kind)[name] for kind in type(transform).__mro__ if name in vars(kind)), None)
        code = getattr(code, "__func__", code)
        if code is not None and (getattr(code, "__module__", None) or "").partition(".")[0] not in _LIBRARIES:
            return Refused(f"has a method {name} that is not its library's, and the daemon runs no code of yours")
    return None


def _attribute(transform: Any, name: str, attribute: str) -> Any:
    """An argument that this version of torchvision does not have is at its default."""
    _refuse_newer(transform, name)
    if name == "RandomIoUCrop" and attribute == "sampler_options":
        return transform.options
    if attribute == "labels_getter":
        getter = getattr(transform, "_labels_getter", None)
        return DEFAULT if getattr(getter, "__name__", "") in _LABEL_GETTERS else getter
    if hasattr(transform, attribute):
        return getattr(transform, attribute)
    if attribute in _parameters(transform):
        raise Refused(f"takes an argument {attribute}, and has no attribute of this name: spdld does not know this version")
    return DEFAULT


_LABEL_GETTERS = ("find_labels_default_heuristic", "_find_labels_default_heuristic")


def _defaults(name: str) -> list[tuple[str, Any]]:
    return [(argument, default) for argument, _, default in ARGUMENTS.get(name, ())]


def _parameters(transform: Any) -> dict[str, Any]:
    """The arguments that its class takes, with their defaults."""
    try:
        found = inspect.signature(type(transform)).parameters
    except (TypeError, ValueError):
        return {}
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: entry.default for name, entry in found.items() if entry.kind not in kinds}


def _refuse_newer(transform: Any, name: str) -> None:
    """An argument of a newer torchvision that is not known here may be left at its default alone."""
    known = dict(_defaults(name))
    for argument, default in _parameters(transform).items():
        if name in ARGUMENTS and argument not in known and getattr(transform, argument, DEFAULT) != default:
            raise Refused(f"has an argument {argument}, which is not known")
