"""The operations that are equal to torchvision's transforms: for each class, its arguments and what becomes of them.

A transform is read by its attributes alone, so that torchvision need not be there. A script's transforms have no objects,
and _script.py gives their arguments in the same way.
"""
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

Operation = Dict[str, Any]


class Refused(Exception):
    """The transform has no equal. The text says why, as the end of a sentence that begins with the transform's name."""


class Picture(NamedTuple):
    """The picture that a transform is given: "pil", or "uint8" or "float" for a tensor; `white` is the value of white in it."""

    kind: str = "pil"
    white: float = 255.0


class Transform(NamedTuple):
    """One transform: its class, its arguments, and whether they are attributes of an object of transforms.v2.

    unknown: why a script's text does not tell which transform it is.
    """

    name: str
    read: Callable[[str], Any]
    v2_object: bool = False
    unknown: Optional[Refused] = None


class _Interpolations(NamedTuple):
    names: Tuple[str, ...]


_RESIZING = ("bilinear", "nearest", "bicubic", "lanczos", "box")
_WARPING = ("nearest", "bilinear")
_BY_NUMBER = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def last_name(value: Any) -> str:
    """The last part of the name of an enumerator or of a dtype: "float32" of torch.float32."""
    return str(getattr(value, "value", value)).rpartition(".")[2].lower().replace("_", "-")


def numbers(value: Any) -> Any:
    """A number, or a list of numbers; the plain values of tensors and of numpy's arrays and numbers."""
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    return [numbers(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _filter(value: Any, names: Sequence[str]) -> str:
    name = _BY_NUMBER.get(value, "") if isinstance(value, int) else last_name(value)
    name = "nearest" if name == "nearest-exact" else name
    if name not in names:
        raise Refused(f"takes the interpolation {name or value}, and the operation has {', '.join(names)}")
    return name


def _fill(value: Any, white: float) -> Any:
    """The colour, where white is 255. None of torchvision stands for black."""
    if isinstance(value, Mapping):
        of_pictures = [entry for key, entry in value.items()
                       if key == "others" or getattr(key, "__name__", "") in ("Image", "Tensor")]
        if len(of_pictures) != 1:
            raise Refused("has a `fill` for several types: give it the colour of pictures alone")
        value = of_pictures[0]
    value = 0 if value is None else numbers(value)
    return value if white == 255 else [entry * 255 / white for entry in (value if isinstance(value, list) else [value])]


def _resizing(step: Transform, picture: Picture) -> Operation:
    antialias = step.read("antialias")
    unlike = picture.kind != "pil" and antialias in (False, None, "warn")  # Pillow's resizing is always antialiased
    name = _filter(step.read("interpolation"), _RESIZING)
    if name in ("lanczos", "box") and picture.kind != "pil":
        raise Refused(f"takes the interpolation {name}, which torchvision has for pictures of Pillow alone")
    return {"filter": name, **({"antialias": False} if unlike and name in ("bilinear", "bicubic") else {})}


def _warping(step: Transform, picture: Picture) -> Operation:
    return {"filter": _filter(step.read("interpolation"), _WARPING), "fill": _fill(step.read("fill"), picture.white)}


def _size(value: Any) -> Any:
    value = numbers(value)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _resize(step: Transform, picture: Picture) -> List[Operation]:
    size, most = _size(step.read("size")), step.read("max_size")
    if size is None:
        return [{"op": "resize", "size": most, "side": "longer", **_resizing(step, picture)}]
    return [{"op": "resize", "size": size, **({} if most is None else {"max_size": most}), **_resizing(step, picture)}]


def _random_crop(step: Transform, picture: Picture) -> List[Operation]:
    fill, mode, padding = _fill(step.read("fill"), picture.white), step.read("padding_mode"), numbers(step.read("padding"))
    if step.read("pad_if_needed") and (mode != "constant" or fill not in (0, [0], [0.0], [0, 0, 0])):
        raise Refused("has pad_if_needed with a border that is not black: put a Pad before it")
    crop = {"op": "random-crop", "size": _size(step.read("size"))}
    if padding in (None, 0, []):
        return [crop]
    if step.v2_object and isinstance(padding, list):  # its attribute is [left, right, top, bottom]
        padding = [padding[0], padding[2], padding[1], padding[3]]
    return [{"op": "pad", "padding": padding, "mode": mode, "fill": fill}, crop]


def _affine(step: Transform, picture: Picture) -> List[Operation]:
    given = {name: numbers(step.read(name)) for name in ("translate", "scale", "shear", "center")}
    return [{"op": "affine", "degrees": numbers(step.read("degrees")),
             **{name: value for name, value in given.items() if value is not None}, **_warping(step, picture)}]


def _rotate(step: Transform, picture: Picture) -> List[Operation]:
    center = numbers(step.read("center"))
    return [{"op": "rotate", "degrees": numbers(step.read("degrees")), "expand": bool(step.read("expand")),
             **({} if center is None else {"center": center}), **_warping(step, picture)}]


def _jitter(step: Transform, picture: Picture) -> List[Operation]:
    given = {name: numbers(step.read(name)) for name in ("brightness", "contrast", "saturation", "hue")}
    return [{"op": "color-jitter", **{name: value for name, value in given.items() if value is not None}}]


def _distort(step: Transform, picture: Picture) -> List[Operation]:
    p = step.read("p")
    change = {name: {"op": name, "factor": numbers(step.read(name)), "p": p}
              for name in ("brightness", "contrast", "saturation", "hue")}
    orders = [("contrast", "saturation", "hue"), ("saturation", "hue", "contrast")]
    return [change["brightness"],
            {"op": "random-choice", "ops": [{"op": "random-apply", "p": 1, "ops": [dict(change[name]) for name in order]}
                                            for order in orders]},
            {"op": "channel-permutation", "p": p}]


def _noise(step: Transform, picture: Picture) -> List[Operation]:
    if not step.read("clip"):
        raise Refused("has clip=False, and the operation keeps values from black to white")
    return [{"op": "gaussian-noise", "mean": step.read("mean"), "sigma": step.read("sigma")}]


def _solarize(step: Transform, picture: Picture) -> List[Operation]:
    return [{"op": "solarize", "threshold": step.read("threshold") * 255 / picture.white, "p": step.read("p")}]


def _plain(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], List[Operation]]:
    """An operation whose parameters are the transform's; renamed: parameter="argument"."""
    parameters = {**{argument: argument for argument in arguments}, **renamed}

    def convert(step: Transform, picture: Picture) -> List[Operation]:
        return [{"op": name, **{parameter: numbers(step.read(argument)) for parameter, argument in parameters.items()}}]
    return convert


def _resized(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], List[Operation]]:
    plain = _plain(name, *arguments, **renamed)
    return lambda step, picture: [{**plain(step, picture)[0], **_resizing(step, picture)}]


def _warped(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], List[Operation]]:
    plain = _plain(name, *arguments, **renamed)
    return lambda step, picture: [{**plain(step, picture)[0], **_warping(step, picture)}]


def _filled(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], List[Operation]]:
    plain = _plain(name, *arguments, **renamed)
    return lambda step, picture: [{**plain(step, picture)[0], "fill": _fill(step.read("fill"), picture.white)}]


def _iou_crop(step: Transform, picture: Picture) -> List[Operation]:
    plain = _plain("random-iou-crop", "min_scale", "max_scale", "min_aspect_ratio", "max_aspect_ratio", "trials")(step, picture)[0]
    options = numbers(step.read("sampler_options"))
    return [{**plain, "boxes": "boxes", **({} if options is None else {"sampler_options": options})}]


def _policy(step: Transform, picture: Picture) -> List[Operation]:
    return [{"op": "auto-augment", "policy": last_name(step.read("policy")), **_warping(step, picture)}]


class Class(NamedTuple):
    """A class of torchvision: its arguments with their defaults, and the operations for it. REQUIRED: no default."""

    arguments: Tuple[Tuple[str, Any], ...]
    convert: Callable[[Transform, Picture], List[Operation]]


REQUIRED: Any = object()


def _class(convert: Callable[[Transform, Picture], List[Operation]], *required: str, **defaults: Any) -> Class:
    return Class((*((name, REQUIRED) for name in required), *defaults.items()), convert)


_RESIZES: Dict[str, Any] = {"interpolation": "bilinear", "antialias": True}
_NEAREST: Dict[str, Any] = {"interpolation": "nearest", "fill": None}
_BILINEAR: Dict[str, Any] = {"interpolation": "bilinear", "fill": None}

# The arguments stand in the order in which the class takes them.
PICTURES: Dict[str, Class] = {
    "Resize": _class(_resize, "size", interpolation="bilinear", max_size=None, antialias=True),
    "CenterCrop": _class(_plain("center-crop", "size"), "size"),
    "RandomCrop": _class(_random_crop, "size", padding=None, pad_if_needed=False, fill=0, padding_mode="constant"),
    "RandomResizedCrop": _class(_resized("random-resized-crop", "size", "scale", "ratio"), "size", scale=[0.08, 1.0],
                                ratio=[3 / 4, 4 / 3], **_RESIZES),
    "RandomHorizontalFlip": _class(_plain("horizontal-flip", "p"), p=0.5),
    "RandomVerticalFlip": _class(_plain("vertical-flip", "p"), p=0.5),
    "Pad": _class(_filled("pad", "padding", mode="padding_mode"), "padding", fill=0, padding_mode="constant"),
    "RandomZoomOut": _class(_filled("zoom-out", "side_range", "p"), fill=0, side_range=[1.0, 4.0], p=0.5),
    "ScaleJitter": _class(_resized("scale-jitter", size="target_size", scale="scale_range"), "target_size",
                          scale_range=[0.1, 2.0], **_RESIZES),
    "RandomShortestSize": _class(
        lambda step, picture: [{"op": "random-shortest-size", "sizes": numbers(step.read("min_size")),
                                **({} if step.read("max_size") is None else {"max_size": step.read("max_size")}),
                                **_resizing(step, picture)}], "min_size", max_size=None, **_RESIZES),
    "RandomResize": _class(
        lambda step, picture: [{"op": "random-resize", "size": [step.read("min_size"), step.read("max_size")],
                                **_resizing(step, picture)}], "min_size", "max_size", **_RESIZES),
    "RandomAffine": _class(_affine, "degrees", translate=None, scale=None, shear=None, interpolation="nearest", fill=0,
                           center=None),
    "RandomRotation": _class(_rotate, "degrees", interpolation="nearest", expand=False, center=None, fill=0),
    "RandomPerspective": _class(_warped("perspective", "distortion_scale", "p"), distortion_scale=0.5, p=0.5, **_BILINEAR),
    "ElasticTransform": _class(_warped("elastic", "alpha", "sigma"), alpha=50.0, sigma=5.0, **_BILINEAR),
    "ColorJitter": _class(_jitter, brightness=None, contrast=None, saturation=None, hue=None),
    "Grayscale": _class(_plain("grayscale", channels="num_output_channels"), num_output_channels=1),
    "RandomGrayscale": _class(_plain("grayscale", "p"), p=0.1),
    "GaussianBlur": _class(_plain("gaussian-blur", "kernel_size", "sigma"), "kernel_size", sigma=[0.1, 2.0]),
    "GaussianNoise": _class(_noise, mean=0.0, sigma=0.1, clip=True),
    "RandomInvert": _class(_plain("invert", "p"), p=0.5),
    "RandomPosterize": _class(_plain("posterize", "bits", "p"), "bits", p=0.5),
    "RandomSolarize": _class(_solarize, "threshold", p=0.5),
    "RandomAdjustSharpness": _class(_plain("sharpness", "p", factor="sharpness_factor"), "sharpness_factor", p=0.5),
    "RandomAutocontrast": _class(_plain("autocontrast", "p"), p=0.5),
    "RandomEqualize": _class(_plain("equalize", "p"), p=0.5),
    "RandomChannelPermutation": _class(_plain("channel-permutation")),
    "RandomPhotometricDistort": _class(_distort, brightness=[0.875, 1.125], contrast=[0.5, 1.5], saturation=[0.5, 1.5],
                                       hue=[-0.05, 0.05], p=0.5),
    "RandAugment": _class(_warped("rand-augment", "num_ops", "magnitude", bins="num_magnitude_bins"), num_ops=2,
                          magnitude=9, num_magnitude_bins=31, **_NEAREST),
    "TrivialAugmentWide": _class(_warped("trivial-augment", bins="num_magnitude_bins"), num_magnitude_bins=31, **_NEAREST),
    "AutoAugment": _class(_policy, policy="imagenet", **_NEAREST),
    "FiveCrop": _class(_plain("five-crop", "size"), "size"),
    "TenCrop": _class(_plain("ten-crop", "size", "vertical_flip"), "size", vertical_flip=False),
    "JPEG": _class(_plain("jpeg", "quality"), "quality"),
    "RandomIoUCrop": _class(_iou_crop, min_scale=0.3, max_scale=1.0, min_aspect_ratio=0.5, max_aspect_ratio=2.0,
                            sampler_options=None, trials=40),
    "AugMix": _class(_warped("aug-mix", "severity", "mixture_width", "chain_depth", "alpha", "all_ops"), severity=3,
                     mixture_width=3, chain_depth=-1, alpha=1.0, all_ops=True, **_BILINEAR),
}

# These classes are no operations of their own: the end of a chain, what holds others, and what works on a batch.
ARGUMENTS: Dict[str, Tuple[Tuple[str, Any], ...]] = {
    **{name: entry.arguments for name, entry in PICTURES.items()},
    "Compose": (("transforms", REQUIRED),), "Sequential": (("transforms", REQUIRED),),
    "RandomApply": (("transforms", REQUIRED), ("p", 0.5)),
    "RandomChoice": (("transforms", REQUIRED), ("p", None)),
    "RandomOrder": (("transforms", REQUIRED),),
    "ToTensor": (), "ToImage": (), "PILToTensor": (), "ToPureTensor": (), "Identity": (), "RGB": (),
    "ToPILImage": (("mode", None),),
    "ToDtype": (("dtype", REQUIRED), ("scale", False)),
    "ConvertImageDtype": (("dtype", "float32"),),
    "Normalize": (("mean", REQUIRED), ("std", REQUIRED), ("inplace", False)),
    "RandomErasing": (("p", 0.5), ("scale", [0.02, 0.33]), ("ratio", [0.3, 3.3]), ("value", 0), ("inplace", False)),
    "CutMix": (("alpha", 1.0), ("num_classes", None), ("labels_getter", "default")),
    "MixUp": (("alpha", 1.0), ("num_classes", None), ("labels_getter", "default")),
}

_BOXES = "works on boxes and not on the picture: the operation `boxes` of their output does it"
_CODE = "runs code of yours, and the daemon runs none"

# Why a class has no equal.
NONE: Dict[str, str] = {
    "LinearTransformation": "multiplies a whole picture with a matrix, for which there is no operation",
    "Lambda": _CODE,
    "UniformTemporalSubsample": "takes frames of a video: `decode-image` does it for animations and pages, with frames = N",
    "SanitizeBoundingBoxes": _BOXES, "ClampBoundingBoxes": _BOXES, "ConvertBoundingBoxFormat": _BOXES,
    "SanitizeKeyPoints": _BOXES, "ClampKeyPoints": _BOXES, "SetClampingMode": _BOXES,
}

PIECES = ("FiveCrop", "TenCrop")
FLIPS = ("RandomHorizontalFlip", "RandomVerticalFlip")


def why_none(name: str) -> str:
    return NONE.get(name, _CODE if name in ("function", "Lambda") else "is no transform that spdld knows")
