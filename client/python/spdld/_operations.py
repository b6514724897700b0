"""The operations that are equal to torchvision's transforms: for each class, its arguments and what becomes of them.

A transform is read by its attributes alone, so that torchvision need not be there. A script's transforms have no objects,
and _script.py gives their arguments in the same way. Each argument has a kind, and what the kind does not know is Refused.
"""
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from spdld._values import (
    ANTIALIAS,
    BOTH_SIDES,
    BY_VERSION,
    CENTER,
    CHANCE,
    DTYPES,
    FILL,
    PADDING,
    PADDING_MODE,
    POSITIVE,
    SIDE_MAX,
    SIZE,
    Arguments,
    ByType,
    Kind,
    Refused,
    ascending,
    checked,
    dtype,
    either,
    exactly,
    flag,
    interpolation,
    listed,
    members,
    number,
    of_type,
    one_or_two,
    optional,
    policy,
    whole,
)

Operation = dict[str, Any]


class Picture(NamedTuple):
    """The picture that a transform is given: "pil", or "uint8" or "float" for a tensor; `white` is the value of white in it.

    type: "PIL", "Image" (a tv_tensors.Image) or "Tensor", by which torchvision chooses from an argument that is a dict.
    """

    kind: str = "pil"
    white: float = 255.0
    channels: int = 3
    type: str = "PIL"


class Transform(NamedTuple):
    """One transform: its class, its arguments, and whether they are attributes of an object of transforms.v2.

    read: gives an argument as it stands, or DEFAULT where the transform leaves it to its class.
    is_torchvisions: it is of torchvision's class of this name, or a Compose in another form; else the name is for people.
    unknown: why it is not known what the transform does. line: where it stands in a script.
    called: its name for people, where it stands for a class of another library. note: what differs there.
    own: its arguments and its operations, where they differ from torchvision's class of this name.
    """

    name: str
    read: Callable[[str], Any]
    v2_object: bool = False
    unknown: Refused | None = None
    is_torchvisions: bool = True
    is_v2: bool = False
    line: int | None = None
    called: str = ""
    note: str = ""
    own: Optional["Class"] = None

    def checked(self) -> "Transform":
        """The same, whose arguments are read by their kinds. Raises Refused where one of them is not known."""
        arguments = ARGUMENTS.get(self.name, ()) if self.own is None else self.own.arguments
        if self.unknown is not None:
            raise self.unknown
        if not self.is_v2 and self.name in ONLY_V2:
            raise Refused("is a class of torchvision.transforms.v2, and not of torchvision.transforms")
        given = {name: _given(name, kind, default, self.read(name)) for name, kind, default in arguments}
        return self._replace(read=given.__getitem__)


def _given(name: str, kind: Kind, default: Any, value: Any) -> Any:
    if value is not DEFAULT:
        return checked(name, kind, value)
    if default is REQUIRED:
        raise Refused(f"lacks its argument {name}")
    return default


_RESIZING = ("bilinear", "nearest", "bicubic", "lanczos", "box")
_WARPING = ("nearest", "bilinear")


def _filter(name: str, names: Sequence[str]) -> str:
    name = "nearest" if name == "nearest-exact" else name
    if name not in names:
        raise Refused(f"takes the interpolation {name}, and the operation has {', '.join(names)}")
    return name


def _fill(step: Transform, picture: Picture) -> Any:
    """The colour, where white is 255. None of torchvision stands for black."""
    value = step.read("fill")
    if isinstance(value, ByType) and not step.is_v2:
        raise Refused("has a dict as `fill`, which torchvision.transforms does not take: transforms.v2 does")
    value = of_type(value, picture.type, "fill")
    if value is None and not step.is_v2 and step.name in ("Pad", "RandomCrop"):
        raise Refused("has fill = None, which torchvision.transforms does not take: transforms.v2 does")
    if value is None or not any(value if isinstance(value, list) else [value]):
        return 0
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and len(value) != picture.channels and not (len(value) == 1 and picture.kind != "pil"):
        raise Refused(f"has fill = {value} for a picture of {picture.channels} channels")
    if picture.kind == "pil" and any(entry != int(entry) for entry in values):
        raise Refused(f"has fill = {value}, and colours of pictures of Pillow are whole numbers")
    if min(values) < 0 or max(values) > picture.white:
        raise Refused(f"has fill = {value}, and colours go from 0 to {picture.white:g} here")
    return value if picture.white == 255 else [entry * 255 / picture.white for entry in values]


def _resizing(step: Transform, picture: Picture) -> Operation:
    antialias = step.read("antialias")
    unlike = picture.kind != "pil" and antialias in (False, None, "warn")  # Pillow's resizing is always antialiased
    name = _filter(step.read("interpolation"), _RESIZING)
    if name in ("lanczos", "box") and picture.kind != "pil":
        raise Refused(f"takes the interpolation {name}, which torchvision has for pictures of Pillow alone")
    if antialias == BY_VERSION and picture.kind != "pil" and name in ("bilinear", "bicubic"):
        raise Refused("leaves antialias to torchvision, whose default for tensors depends on its version: write antialias=True")
    return {"filter": name, **({"antialias": False} if unlike and name in ("bilinear", "bicubic") else {})}


def _warping(step: Transform, picture: Picture) -> Operation:
    return {"filter": _filter(step.read("interpolation"), _WARPING), "fill": _fill(step, picture)}


def _resize(step: Transform, picture: Picture) -> list[Operation]:
    size, most = step.read("size"), step.read("max_size")
    if size is None and (most is None or not step.is_v2):
        raise Refused("has size = None, which transforms.v2 takes beside max_size alone")
    if most is not None and (isinstance(size, list) or (size is not None and most <= size)):
        raise Refused("has a max_size that is not above its size, or stands beside two sizes")
    if size is None:
        return [{"op": "resize", "size": most, "side": "longer", **_resizing(step, picture)}]
    return [{"op": "resize", "size": size, **({} if most is None else {"max_size": most}), **_resizing(step, picture)}]


def _random_crop(step: Transform, picture: Picture) -> list[Operation]:
    fill, mode, padding = _fill(step, picture), step.read("padding_mode"), step.read("padding")
    if step.read("pad_if_needed") and (mode != "constant" or fill not in (0, [0], [0.0], [0, 0, 0])):
        raise Refused("has pad_if_needed with a border that is not black: put a Pad before it")
    crop = {"op": "random-crop", "size": step.read("size")}
    if padding in (None, 0, []):
        return [crop]
    if step.v2_object and isinstance(padding, list):  # its attribute is [left, right, top, bottom]
        padding = [padding[0], padding[2], padding[1], padding[3]]
    return [{"op": "pad", "padding": padding, "mode": mode, "fill": fill if mode == "constant" else 0}, crop]


def _affine(step: Transform, picture: Picture) -> list[Operation]:
    given = {name: step.read(name) for name in ("translate", "scale", "shear", "center")}
    return [{"op": "affine", "degrees": step.read("degrees"),
             **{name: value for name, value in given.items() if value is not None}, **_warping(step, picture)}]


def _rotate(step: Transform, picture: Picture) -> list[Operation]:
    center = step.read("center")
    if center is not None and step.read("expand"):
        raise Refused("has both expand and center, and the operation has one of them")
    return [{"op": "rotate", "degrees": step.read("degrees"), "expand": bool(step.read("expand")),
             **({} if center is None else {"center": center}), **_warping(step, picture)}]


def _jitter(step: Transform, picture: Picture) -> list[Operation]:
    given = {name: step.read(name) for name in ("brightness", "contrast", "saturation", "hue")}
    unchanged = (None, 0, [1, 1]), (None, 0, [0, 0])
    return [{"op": "color-jitter", **{name: value for name, value in given.items() if value not in unchanged[name == "hue"]}}]


def _distort(step: Transform, picture: Picture) -> list[Operation]:
    p = step.read("p")
    change = {name: {"op": name, "factor": step.read(name), "p": p}
              for name in ("brightness", "contrast", "saturation", "hue")}
    orders = [("contrast", "saturation", "hue"), ("saturation", "hue", "contrast")]
    return [change["brightness"],
            {"op": "random-choice", "ops": [{"op": "random-apply", "p": 1, "ops": [dict(change[name]) for name in order]}
                                            for order in orders]},
            {"op": "channel-permutation", "p": p}]


def _noise(step: Transform, picture: Picture) -> list[Operation]:
    if not step.read("clip"):
        raise Refused("has clip=False, and the operation keeps values from black to white")
    return [{"op": "gaussian-noise", "mean": step.read("mean"), "sigma": step.read("sigma")}]


def _solarize(step: Transform, picture: Picture) -> list[Operation]:
    if step.read("threshold") > picture.white:
        raise Refused(f"has a threshold above {picture.white:g}, which is white here")
    return [{"op": "solarize", "threshold": step.read("threshold") * 255 / picture.white, "p": step.read("p")}]


def _plain(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], list[Operation]]:
    """An operation whose parameters are the transform's; renamed: parameter="argument"."""
    parameters = {**{argument: argument for argument in arguments}, **renamed}

    def convert(step: Transform, picture: Picture) -> list[Operation]:
        return [{"op": name, **{parameter: step.read(argument) for parameter, argument in parameters.items()}}]
    return convert


def _resized(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], list[Operation]]:
    plain = _plain(name, *arguments, **renamed)
    return lambda step, picture: [{**plain(step, picture)[0], **_resizing(step, picture)}]


def _warped(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], list[Operation]]:
    plain = _plain(name, *arguments, **renamed)
    return lambda step, picture: [{**plain(step, picture)[0], **_warping(step, picture)}]


def _filled(name: str, *arguments: str, **renamed: str) -> Callable[[Transform, Picture], list[Operation]]:
    plain = _plain(name, *arguments, **renamed)
    return lambda step, picture: [{**plain(step, picture)[0], "fill": _fill(step, picture)}]


def _iou_crop(step: Transform, picture: Picture) -> list[Operation]:
    if step.read("min_scale") > step.read("max_scale") or step.read("min_aspect_ratio") > step.read("max_aspect_ratio"):
        raise Refused("has a least value above its greatest")
    plain = _plain("random-iou-crop", "min_scale", "max_scale", "min_aspect_ratio", "max_aspect_ratio", "trials")
    options = step.read("sampler_options")
    return [{**plain(step, picture)[0], "boxes": "boxes", **({} if options is None else {"sampler_options": options})}]


def _policy(step: Transform, picture: Picture) -> list[Operation]:
    return [{"op": "auto-augment", "policy": step.read("policy"), **_warping(step, picture)}]


def _pad(step: Transform, picture: Picture) -> list[Operation]:
    fill, mode = _fill(step, picture), step.read("padding_mode")
    # With another mode the colour is not used, and the operation takes none.
    return [{"op": "pad", "padding": step.read("padding"), "mode": mode, "fill": fill if mode == "constant" else 0}]


def _rand_augment(step: Transform, picture: Picture) -> list[Operation]:
    if step.read("magnitude") >= step.read("num_magnitude_bins"):
        raise Refused("has a magnitude that is not below num_magnitude_bins")
    return _warped("rand-augment", "num_ops", "magnitude", bins="num_magnitude_bins")(step, picture)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _random_resize(step: Transform, picture: Picture) -> list[Operation]:
    least, bound = step.read("min_size"), step.read("max_size")
    if least >= bound:
        raise Refused("has a min_size that is not below max_size")
    return [{"op": "random-resize", "size": [least, bound], **_resizing(step, picture)}]


def _odd(value: Any) -> int:
    return exactly(*range(1, 128, 2))(value)  # type: ignore[no-any-return]


_ELASTIC_ALPHA = one_or_two(number(0, 10_000))
_ELASTIC_SIGMA = one_or_two(number(0, 100, above=0))
_BLUR_SIGMA = either(number(0, 1000, above=0), ascending(number(0, 1000, above=0)))


class Class(NamedTuple):
    """A class of transforms: its arguments in the order in which it takes them, and the operations for it; none where it is no
    operation of its own."""

    arguments: Arguments
    convert: Callable[[Transform, Picture], list[Operation]] | None = None


REQUIRED: Any = object()  # in place of a default: there is none
DEFAULT: Any = object()   # in place of a value: the class's default


def _class(convert: Callable[[Transform, Picture], list[Operation]], **arguments: Any) -> Class:
    """An argument is its kind, where it has no default, or (kind, default)."""
    pairs = {name: entry if isinstance(entry, tuple) else (entry, REQUIRED) for name, entry in arguments.items()}
    return Class(tuple((name, kind, default) for name, (kind, default) in pairs.items()), convert)


_RESIZES: dict[str, Any] = {"interpolation": (interpolation, "bilinear"), "antialias": (ANTIALIAS, BY_VERSION)}
_NEAREST: dict[str, Any] = {"interpolation": (interpolation, "nearest"), "fill": (FILL, None)}
_BILINEAR: dict[str, Any] = {"interpolation": (interpolation, "bilinear"), "fill": (FILL, None)}
_P = (CHANCE, 0.5)
_SIDE = whole(1, SIDE_MAX)
_TURN = either(number(0, 360), ascending(number(-360, 360)))
_SHEAR = either(number(0, 90), ascending(number(-90, 90)), listed(number(-90, 90), 4))
_FACTOR = either(number(0, 100), ascending(number(0, 100)))
_FACTORS = ascending(number(0, 100))
_HUE = either(number(0, 0.5), ascending(number(-0.5, 0.5)))

PICTURES: dict[str, Class] = {
    "Resize": _class(_resize, size=optional(SIZE), interpolation=(interpolation, "bilinear"), max_size=(optional(_SIDE), None),
                     antialias=(ANTIALIAS, BY_VERSION)),
    "CenterCrop": _class(_plain("center-crop", "size"), size=SIZE),
    "RandomCrop": _class(_random_crop, size=SIZE, padding=(optional(PADDING), None), pad_if_needed=(flag, False), fill=(FILL, 0),
                         padding_mode=(PADDING_MODE, "constant")),
    "RandomResizedCrop": _class(_resized("random-resized-crop", "size", "scale", "ratio"), size=SIZE,
                                scale=(ascending(number(0, 1, above=0)), [0.08, 1.0]),
                                ratio=(ascending(number(0, 100, above=0)), [3 / 4, 4 / 3]), **_RESIZES),
    "RandomHorizontalFlip": _class(_plain("horizontal-flip", "p"), p=_P),
    "RandomVerticalFlip": _class(_plain("vertical-flip", "p"), p=_P),
    "Pad": _class(_pad, padding=PADDING, fill=(FILL, 0), padding_mode=(PADDING_MODE, "constant")),
    "RandomZoomOut": _class(_filled("zoom-out", "side_range", "p"), fill=(FILL, 0),
                            side_range=(ascending(number(1, 8)), [1.0, 4.0]), p=_P),
    "ScaleJitter": _class(_resized("scale-jitter", size="target_size", scale="scale_range"), target_size=BOTH_SIDES,
                          scale_range=(ascending(number(0, 16, above=0)), [0.1, 2.0]), **_RESIZES),
    "RandomShortestSize": _class(
        lambda step, picture: [{"op": "random-shortest-size", "sizes": _listed(step.read("min_size")),
                                **({} if step.read("max_size") is None else {"max_size": step.read("max_size")}),
                                **_resizing(step, picture)}],
        min_size=either(_SIDE, listed(_SIDE, *range(1, 65))), max_size=(optional(_SIDE), None), **_RESIZES),
    "RandomResize": _class(_random_resize, min_size=_SIDE, max_size=_SIDE, **_RESIZES),
    "RandomAffine": _class(_affine, degrees=_TURN, translate=(optional(listed(CHANCE, 2)), None),
                           scale=(optional(ascending(number(0, 100, above=0))), None), shear=(optional(_SHEAR), None),
                           interpolation=(interpolation, "nearest"), fill=(FILL, 0), center=(CENTER, None)),
    "RandomRotation": _class(_rotate, degrees=_TURN, interpolation=(interpolation, "nearest"), expand=(flag, False),
                             center=(CENTER, None), fill=(FILL, 0)),
    "RandomPerspective": _class(_warped("perspective", "distortion_scale", "p"), distortion_scale=(CHANCE, 0.5), p=_P,
                                **_BILINEAR),
    "ElasticTransform": _class(_warped("elastic", "alpha", "sigma"), alpha=(_ELASTIC_ALPHA, 50.0), sigma=(_ELASTIC_SIGMA, 5.0),
                               **_BILINEAR),
    "ColorJitter": _class(_jitter, brightness=(optional(_FACTOR), None), contrast=(optional(_FACTOR), None),
                          saturation=(optional(_FACTOR), None), hue=(optional(_HUE), None)),
    "Grayscale": _class(_plain("grayscale", channels="num_output_channels"), num_output_channels=(exactly(1, 3), 1)),
    "RandomGrayscale": _class(_plain("grayscale", "p"), p=(CHANCE, 0.1)),
    "GaussianBlur": _class(_plain("gaussian-blur", "kernel_size", "sigma"), kernel_size=one_or_two(_odd),
                           sigma=(_BLUR_SIGMA, [0.1, 2.0])),
    "GaussianNoise": _class(_noise, mean=(number(-1, 1), 0.0), sigma=(number(0, 1), 0.1), clip=(flag, True)),
    "RandomInvert": _class(_plain("invert", "p"), p=_P),
    "RandomPosterize": _class(_plain("posterize", "bits", "p"), bits=whole(0, 8), p=_P),
    "RandomSolarize": _class(_solarize, threshold=number(0, 255), p=_P),
    "RandomAdjustSharpness": _class(_plain("sharpness", "p", factor="sharpness_factor"), sharpness_factor=number(0, 100), p=_P),
    "RandomAutocontrast": _class(_plain("autocontrast", "p"), p=_P),
    "RandomEqualize": _class(_plain("equalize", "p"), p=_P),
    "RandomChannelPermutation": _class(_plain("channel-permutation")),
    "RandomPhotometricDistort": _class(_distort, brightness=(_FACTORS, [0.875, 1.125]), contrast=(_FACTORS, [0.5, 1.5]),
                                       saturation=(_FACTORS, [0.5, 1.5]), hue=(ascending(number(-0.5, 0.5)), [-0.05, 0.05]),
                                       p=_P),
    "RandAugment": _class(_rand_augment, num_ops=(whole(1, 16), 2), magnitude=(whole(0, 1000), 9),
                          num_magnitude_bins=(whole(2, 1000), 31), **_NEAREST),
    "TrivialAugmentWide": _class(_warped("trivial-augment", bins="num_magnitude_bins"), num_magnitude_bins=(whole(2, 1000), 31),
                                 **_NEAREST),
    "AutoAugment": _class(_policy, policy=(policy, "imagenet"), **_NEAREST),
    "FiveCrop": _class(_plain("five-crop", "size"), size=SIZE),
    "TenCrop": _class(_plain("ten-crop", "size", "vertical_flip"), size=SIZE, vertical_flip=(flag, False)),
    "JPEG": _class(_plain("jpeg", "quality"), quality=either(whole(1, 100), ascending(whole(1, 100)))),
    "RandomIoUCrop": _class(_iou_crop, min_scale=(CHANCE, 0.3), max_scale=(CHANCE, 1.0), min_aspect_ratio=(POSITIVE, 0.5),
                            max_aspect_ratio=(POSITIVE, 2.0), sampler_options=(optional(listed(number(0), *range(1, 17))), None),
                            trials=(whole(1, 1000), 40)),
    "AugMix": _class(_warped("aug-mix", "severity", "mixture_width", "chain_depth", "alpha", "all_ops"),
                     severity=(whole(1, 10), 3), mixture_width=(whole(1, 8), 3),
                     chain_depth=(either(exactly(-1), whole(1, 8)), -1),
                     alpha=(number(0.01, 100), 1.0), all_ops=(flag, True), **_BILINEAR),
}

_MEMBERS = ("transforms", members, REQUIRED)
_MIXING: Arguments = (("alpha", number(0.01, 100), 1.0), ("num_classes", optional(whole(1, 1 << 20)), None),
                      ("labels_getter", exactly("default"), "default"))
ERASED_MAX = 65535
_ERASED = number(-ERASED_MAX, ERASED_MAX)
_MEAN = listed(number(-1000, 65535), 1, 3)
_STD = listed(number(0, 65535, above=0), 1, 3)

# These classes are no operations of their own: the end of a chain, what holds others, and what works on a batch.
ARGUMENTS: dict[str, Arguments] = {
    **{name: entry.arguments for name, entry in PICTURES.items()},
    "Compose": (_MEMBERS,), "Sequential": (_MEMBERS,),
    "RandomApply": (_MEMBERS, ("p", CHANCE, 0.5)),
    "RandomChoice": (_MEMBERS, ("p", optional(listed(number(0), *range(1, 65))), None)),
    "RandomOrder": (_MEMBERS,),
    "ToTensor": (), "ToImage": (), "PILToTensor": (), "ToPureTensor": (), "Identity": (), "RGB": (),
    "ToPILImage": (("mode", exactly(None, "RGB", "L"), None),),
    "ToDtype": (("dtype", DTYPES, REQUIRED), ("scale", flag, False)),
    "ConvertImageDtype": (("dtype", dtype, "float32"),),
    "Normalize": (("mean", _MEAN, REQUIRED), ("std", _STD, REQUIRED), ("inplace", flag, False)),
    "RandomErasing": (("p", CHANCE, 0.5), ("scale", ascending(CHANCE), [0.02, 0.33]),
                      ("ratio", ascending(number(0, 100, above=0)), [0.3, 3.3]),
                      ("value", either(optional(_ERASED), exactly("random"), listed(_ERASED, 1, 3)), 0),
                      ("inplace", flag, False)),
    "CutMix": _MIXING, "MixUp": _MIXING,
}

# Classes that the first interface, torchvision.transforms, does not have.
ONLY_V2 = ("RandomZoomOut", "ScaleJitter", "RandomShortestSize", "RandomResize", "GaussianNoise", "RandomChannelPermutation",
           "RandomPhotometricDistort", "JPEG", "RandomIoUCrop", "ToImage", "ToPureTensor", "Identity", "RGB", "ToDtype", "CutMix",
           "MixUp")

_BOXES = "works on boxes and not on the picture: the operation `boxes` of their output does it"
_CODE = "runs code of yours, and the daemon runs none"

# Why a class has no equal.
NONE: dict[str, str] = {
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
