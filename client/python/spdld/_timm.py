"""timm's own transforms, as timm.data.create_transform puts them together, as torchvision's or as operations of the daemon's.

The arguments of timm's objects are read from their attributes. An attribute that is not known is of another version.
"""
import math
from collections.abc import Callable
from typing import Any

from spdld._operations import Class, Operation, Picture, Transform
from spdld._values import CHANCE, Refused, ascending, exactly, flag, listed, number, plain, whole

_PAGE = "docs/torchvision.md says what comes near"
_RATIO = ascending(number(0, 100, above=0))
_ERASING = Class((("p", CHANCE, 0.5), ("scale", ascending(CHANCE), None), ("ratio", _RATIO, None),
                  ("value", exactly(0, "random", "channel"), 0), ("inplace", flag, False)))


def of_timm(transform: Any, module: str, name: str) -> Transform:
    """The transform that an object of timm's is. `module`, `name`: of its class."""
    made = _READERS.get((module, name))
    full = f"{module}.{name}"
    if made is None:
        why = _NONE.get(name, f"is no transform of timm that spdld knows: {_PAGE}")
        return Transform(full, lambda attribute: None, unknown=Refused(why), is_torchvisions=False)
    try:
        return made(transform)._replace(called=name, is_torchvisions=False)
    except Refused as refused:
        return Transform(full, lambda attribute: None, unknown=refused, is_torchvisions=False)


def _attributes(transform: Any, *names: str) -> tuple[Any, ...]:
    """Its attributes with these names, which must be all that it has beside a Module's own."""
    own = {name: value for name, value in vars(transform).items() if not name.startswith("_") and name != "training"}
    unknown = sorted(own.keys() ^ set(names))
    if unknown:
        raise Refused(f"has or lacks the attribute {unknown[0]}: spdld does not know this version of timm")
    return tuple(own[name] for name in names)


def _of(name: str, **given: Any) -> Transform:
    return Transform(name, given.__getitem__, is_v2=True)


def _to_tensor(transform: Any) -> Transform:
    _attributes(transform)
    return _of("ToTensor")


def _to_bytes(transform: Any) -> Transform:
    _attributes(transform)
    return _of("PILToTensor")


def _to_numpy(transform: Any) -> Transform:
    _attributes(transform)
    note = ("it gives bytes, which timm's prefetcher normalises and erases in later on. Make the transform with "
            "use_prefetcher=False, and the daemon does so.")
    return _of("PILToTensor")._replace(is_v2=False, note=note)


def _to_floats(transform: Any) -> Transform:
    dtype, = _attributes(transform, "dtype")
    return _of("Compose", transforms=[_of("PILToTensor"), _of("ToDtype", dtype=dtype, scale=False)])


def _crop(transform: Any) -> Transform:
    """A crop whose filter is drawn for each picture is one of two crops."""
    size, scale, ratio, filters = _attributes(transform, "size", "scale", "ratio", "interpolation")
    drawn = filters if isinstance(filters, (list, tuple)) else [filters]
    crops = [_of("RandomResizedCrop", size=size, scale=scale, ratio=ratio, interpolation=entry, antialias=True)
             for entry in drawn]
    return crops[0] if len(crops) == 1 else _of("RandomChoice", transforms=crops, p=None)


def _center_crop(transform: Any) -> Transform:
    size, fill, mode = _attributes(transform, "size", "fill", "padding_mode")
    if mode != "constant" or any(plain(fill) if isinstance(fill, (list, tuple)) else [fill]):
        raise Refused(f"pads with other pixels than black ones where the picture is smaller: {_PAGE}")
    return _of("CenterCrop", size=size)


def _erasing(transform: Any) -> Transform:
    given = _attributes(transform, "probability", "min_area", "max_area", "log_aspect_ratio", "min_count", "max_count",
                        "num_splits", "mode", "rand_color", "per_pixel", "device")
    p, least, most, ratio, count_min, count_max, _, _, is_channel, is_pixel, _ = given
    if (count_min, count_max) != (1, 1):
        raise Refused("erases several boxes (re_count), and `random-erasing` has one for each picture")
    value: Any = "random" if is_pixel else "channel" if is_channel else 0
    return _of("RandomErasing", p=p, scale=[least, most], ratio=[math.exp(entry) for entry in plain(ratio)], value=value,
               inplace=False)._replace(own=_ERASING)


_COMMON = ["AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast",
           "Brightness", "Sharpness", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel"]
_GROWING = ("Posterize", "Solarize", "Color", "Contrast", "Brightness", "Sharpness")
_INCREASING = [f"{name}Increasing" if name in _GROWING else name for name in _COMMON]
_POLICY_FILTERS: dict[Any, str] = {2: "bilinear", 3: "bicubic", (2, 3): "random"}  # by Pillow's numbers
_KINDS = (("num_ops", whole(1, 16)), ("magnitude", number(0, 10)), ("magnitude_std", number(0, 10)), ("change_p", CHANCE),
          ("increasing", flag), ("filter", exactly("bilinear", "bicubic", "random")), ("fill", listed(whole(0, 255), 3)))


def _rand_augment(transform: Any) -> Transform:
    changes, count, weights = _attributes(transform, "ops", "num_layers", "choice_weights")
    if weights is not None:
        raise Refused(f"has weights for its changes, and `timm-rand-augment` draws all alike: {_PAGE}")
    names = [getattr(change, "name", None) for change in changes]
    if names not in (_COMMON, _INCREASING):
        raise Refused(f"has other changes than timm's own fifteen: {_PAGE}")
    each = [_change(change) for change in changes]
    if any(entry != each[0] for entry in each):
        raise Refused("has changes of several magnitudes or probabilities, and `timm-rand-augment` has one for all")
    given = {**each[0], "num_ops": count, "increasing": names == _INCREASING}
    return _of("timm-rand-augment", **given)._replace(own=Class(tuple((name, kind, None) for name, kind in _KINDS), _policy))


def _change(change: Any) -> dict[str, Any]:
    """The arguments of one change of a RandAugment."""
    names = ("prob", "magnitude", "hparams", "kwargs", "magnitude_std", "magnitude_max", "aug_fn", "level_fn")
    p, magnitude, others, how, deviation, most, *functions = _attributes(change, "name", *names)[1:]
    if (type(change).__module__, type(change).__name__) != ("timm.data.auto_augment", "AugmentOp") or \
            any(not str(getattr(function, "__module__", "")).startswith("timm.") for function in functions if function):
        raise Refused("has changes that are code of yours, and the daemon runs none")
    if most not in (None, 10) or others.get("translate_pct", 0.45) != 0.45 or how.keys() != {"fillcolor", "resample"}:
        raise Refused(f"has another greatest magnitude or other moves than timm's own: {_PAGE}")
    if deviation == math.inf:
        raise Refused("draws its magnitudes evenly (mstd of more than 100), and `timm-rand-augment` draws them around one")
    resample = how["resample"]
    filters = tuple(int(entry) for entry in resample) if isinstance(resample, (list, tuple)) else int(resample)
    if filters not in _POLICY_FILTERS:
        raise Refused("has another interpolation than bilinear, bicubic or one of both at random")
    return {"magnitude": magnitude, "magnitude_std": deviation, "change_p": p, "filter": _POLICY_FILTERS[filters],
            "fill": plain(how["fillcolor"])}


def _policy(step: Transform, picture: Picture) -> list[Operation]:
    if picture.kind != "pil" or picture.channels != 3:
        raise Refused("changes pictures of Pillow with three channels alone")
    return [{"op": step.name, **{name: step.read(name) for name, _ in _KINDS}}]


_TRANSFORMS = "timm.data.transforms"
_READERS: dict[tuple[str, str], Callable[[Any], Transform]] = {
    (_TRANSFORMS, "MaybeToTensor"): _to_tensor,
    (_TRANSFORMS, "MaybePILToTensor"): _to_bytes,
    (_TRANSFORMS, "ToNumpy"): _to_numpy,
    (_TRANSFORMS, "ToTensor"): _to_floats,
    (_TRANSFORMS, "RandomResizedCropAndInterpolation"): _crop,
    (_TRANSFORMS, "CenterCropOrPad"): _center_crop,
    ("timm.data.random_erasing", "RandomErasing"): _erasing,
    ("timm.data.auto_augment", "RandAugment"): _rand_augment,
}
# Why a class has no equal.
_NONE: dict[str, str] = {
    "AutoAugment": f"has policies and magnitudes of timm's own, and `auto-augment` has torchvision's: {_PAGE}",
    "AugMixAugment": f"has changes and magnitudes of timm's own, and `aug-mix` has torchvision's: {_PAGE}",
    "ResizeKeepRatio": f"rounds the longer side to the nearest pixel, and `resize` rounds it down: {_PAGE}",
    "RandomCropOrPad": f"crops or pads at a random place, for which there is no operation: {_PAGE}",
    "RandomPad": f"pads at a random place, for which there is no operation: {_PAGE}",
    "TrimBorder": "cuts a border off pictures of any size, for which there is no operation",
    "TfPreprocessTransform": "computes with tensorflow, and the daemon does not",
}
