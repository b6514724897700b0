"""A composition of torchvision's transforms as the list of spdld's operations that is equal to it."""
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from spdld._errors import UnsupportedError
from spdld._operations import (ARGUMENTS, FLIPS, PICTURES, PIECES, Operation, Picture, Refused, Transform, last_name, numbers,
                               why_none)
from spdld._toml import operations_text

_DTYPES = ("float32", "float16", "bfloat16")
_FLOATS = (*_DTYPES, "float64")
_BATCHES = {"CutMix": "cutmix", "MixUp": "mixup"}
_NO_CHANGE: Operation = {"op": "brightness", "factor": 1}


class Operations(List[Operation]):
    """A list of operations as a pipeline has them, dicts that spdld.attach takes.

    notes: sentences about what differs from torchvision, and about transforms that belong to another place.
    on_batches: True where the operations belong into `ops` of [batch], and not into an output.
    """

    def __init__(self, operations: Iterable[Operation], notes: Iterable[str] = (), on_batches: bool = False):
        super().__init__(operations)
        self.notes = list(notes)
        self.on_batches = on_batches

    def toml(self) -> str:
        """The list as a pipeline file has it, to be written behind `ops = `."""
        return operations_text(self)


class Problem(NamedTuple):
    """A transform that has no equal: its place, as "transforms[2]", the name of its class, and why."""

    place: str
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}, {self.name}: it {self.why}"


def of_object(transform: Any) -> Transform:
    """Reads the attributes of an object; its class must be one of torchvision's."""
    kind = transform if callable(transform) and hasattr(transform, "__code__") else type(transform)
    name, module = kind.__name__, getattr(kind, "__module__", None) or ""
    if isinstance(transform, (list, tuple)):
        return Transform("Compose", lambda attribute: list(transform))
    if module.startswith("torch.nn.") and name == "Sequential":
        return Transform("Compose", lambda attribute: list(transform.children()))
    if not module.startswith("torchvision.transforms"):
        return Transform(name if name in ("function", "<lambda>") else f"{module}.{name}", lambda attribute: None)
    v2 = module.startswith("torchvision.transforms.v2")
    return Transform(name, lambda attribute: _attribute(transform, name, attribute), v2)


def _attribute(transform: Any, name: str, attribute: str) -> Any:
    """An argument that this version of torchvision does not have is at its default."""
    if name == "RandomIoUCrop" and attribute == "sampler_options":
        return transform.options
    if name in ("CutMix", "MixUp") or hasattr(transform, attribute):
        return getattr(transform, attribute, None)
    return dict(ARGUMENTS[name])[attribute]


class Chain:
    """The operations for the transforms so far, and what the picture has become.

    open: makes a Transform of a member of a composition. faults: is given each transform that has no equal.
    """

    def __init__(self, opened: Callable[[Any], Transform], faults: List[Problem], notes: List[str], held: bool = False,
                 picture: Picture = Picture()):
        self.operations: List[Operation] = []
        self.picture = picture
        self._open, self._faults, self._notes, self._held = opened, faults, notes, held
        self._erasing: List[Tuple[Operation, float]] = []
        self._normalize: Optional[Operation] = None
        self._dtype = "float32"
        self._in_pieces = False

    def add(self, member: Any, place: str) -> None:
        """Adds one transform. A transform without an equal is kept for the error, so that the error tells all of them."""
        step = self._open(member)
        try:
            if step.unknown is not None:
                raise step.unknown
            if step.name in ("Compose", "Sequential"):
                for number, entry in enumerate(step.read("transforms")):
                    self.add(entry, f"{place}[{number}]")
            else:
                self._add(step, place)
        except Refused as refused:
            self._faults.append(Problem(place, step.name, str(refused)))

    def finished(self) -> List[Operation]:
        """All operations, with their end. A picture of Pillow stays as it is: bytes, channels last."""
        if self._normalize is not None:
            end = [self._normalize]
        elif self.picture.kind == "float":
            end = [{"op": "convert", "dtype": self._dtype, "layout": "NCHW",
                    **({} if self.picture.white == 255 else {"scale": self.picture.white / 255})}]
        elif self.picture.kind == "uint8":
            end = [{"op": "convert", "dtype": "uint8", "layout": "NCHW"}]
        else:
            end = []
        return [*self.operations, *end, *self._erased()]

    def _add(self, step: Transform, place: str) -> None:
        if step.name in PICTURES:
            self._add_to_picture(step.name, lambda: PICTURES[step.name].convert(step, self.picture))
            if step.name == "RandomIoUCrop":
                self._notes.append(f"{place}, RandomIoUCrop: it needs an output of the same view, named boxes, with the boxes.")
        elif step.name in ("RandomApply", "RandomChoice", "RandomOrder"):
            self._add_to_picture(step.name, lambda: [self._holder(step, place)])
        elif step.name in ("Identity", "ToPureTensor", "RGB"):
            return
        elif step.name in ("SanitizeBoundingBoxes", "ClampBoundingBoxes", "ConvertBoundingBoxFormat"):
            self._notes.append(f"{place}, {step.name}: it {why_none(step.name)}.")
        elif step.name in _BATCHES:
            raise Refused("works on batches: convert it by itself, and write the result into `ops` of [batch]")
        elif step.name in _ENDS and self._held:
            raise Refused("changes the type of the picture, which an operation that is held by another one cannot do")
        elif step.name in _ENDS:
            _ENDS[step.name](self, step)
        else:
            raise Refused(why_none(step.name))

    def _add_to_picture(self, name: str, convert: Callable[[], List[Operation]]) -> None:
        if name in PIECES and self._held:
            raise Refused("makes several pictures of one, which an operation that is held by another one cannot do")
        if self._in_pieces:
            raise Refused("stands behind FiveCrop or TenCrop, where only conversions and Normalize have an equal")
        if self._erasing:
            raise Refused("stands behind RandomErasing: put it before")
        if self._normalize is not None and name not in FLIPS:  # a flip moves the values alone, so its place does not matter
            raise Refused("stands behind Normalize: put it before")
        self.operations += convert()
        self._in_pieces = name in PIECES

    def _holder(self, step: Transform, place: str) -> Operation:
        members = list(step.read("transforms"))
        held = [self._branch(member, f"{place}.transforms[{number}]") for number, member in enumerate(members)]
        if step.name == "RandomApply":
            return {"op": "random-apply", "p": step.read("p"), "ops": [entry for branch in held for entry in branch]
                    or [dict(_NO_CHANGE)]}
        ops = [branch[0] if len(branch) == 1 else {"op": "random-apply", "p": 1, "ops": branch or [dict(_NO_CHANGE)]}
               for branch in held]
        if step.name == "RandomOrder":
            return {"op": "random-order", "ops": ops}
        weights = numbers(step.read("p"))
        even = weights is None or len(set(weights)) == 1
        return {"op": "random-choice", **({} if even else {"weights": weights}), "ops": ops}

    def _branch(self, member: Any, place: str) -> List[Operation]:
        chain = Chain(self._open, self._faults, self._notes, True, self.picture)
        chain.add(member, place)
        return chain.operations

    def _to_float_tensor(self, step: Transform) -> None:
        if self.picture.kind == "pil":
            self.picture = Picture("float", 1.0)

    def _to_tensor(self, step: Transform) -> None:
        if self.picture.kind == "pil":
            self.picture = Picture("uint8", 255.0)

    def _to_pil(self, step: Transform) -> None:
        if step.read("mode") not in (None, "RGB"):
            raise Refused(f"asks for the mode {step.read('mode')}: write `colours` of decode-image, or grayscale")
        if self._normalize is not None or self._erasing:
            raise Refused("stands behind Normalize or RandomErasing, which give a tensor")
        self.picture = Picture()

    def _to_dtype(self, step: Transform) -> None:
        scale = True if step.name == "ConvertImageDtype" else bool(step.read("scale"))
        dtype = _dtype_of(step.read("dtype"))
        if dtype is None or (dtype == "uint8" and self.picture.kind == "uint8"):
            return
        if self.picture.kind == "pil":
            raise Refused("stands before ToImage, where torchvision leaves the picture as it is: put it behind")
        if dtype not in _DTYPES:
            raise Refused(f"makes {dtype}, and a picture's tensor is uint8, float32, float16 or bfloat16")
        if self.picture.kind == "uint8":
            self.picture = Picture("float", 1.0 if scale else 255.0)
        self._dtype = dtype
        if self._normalize is not None:
            self._normalize["dtype"] = dtype

    def _to_normal(self, step: Transform) -> None:
        if self._normalize is not None:
            raise Refused("is the second Normalize: compute one from both")
        if self.picture.kind != "float":
            raise Refused("stands before the conversion to floating-point numbers (ToTensor, or ToDtype with scale=True)")
        if any("noise" in erasing for erasing, _ in self._erasing):
            raise Refused("stands behind a RandomErasing with noise, which it would change: put RandomErasing behind")
        self._normalize = {"op": "normalize", "mean": numbers(step.read("mean")), "std": numbers(step.read("std")),
                           **({} if self.picture.white == 1 else {"scale": int(self.picture.white)}),
                           **({} if self._dtype == "float32" else {"dtype": self._dtype})}

    def _to_erased(self, step: Transform) -> None:
        if self.picture.kind == "pil" or self._in_pieces:
            raise Refused("stands behind FiveCrop or TenCrop" if self._in_pieces else "stands before the conversion to a tensor")
        value = numbers(step.read("value"))
        erasing: Operation = {"op": "random-erasing", **{name: numbers(step.read(name)) for name in ("scale", "ratio", "p")}}
        if value is None or value == "random":
            erasing["noise"] = "pixel"
        else:
            erasing["value"] = value if isinstance(value, list) else [value]
        self._erasing.append((erasing, 0.0 if self._normalize is not None else self.picture.white))

    def _erased(self) -> List[Operation]:
        """Values that were written before the tensor was finished are what the rest of the chain makes of them."""
        done: List[Operation] = []
        for erasing, white in self._erasing:
            if "value" in erasing and white != 0:
                erasing = {**erasing, "value": self._at_the_end(erasing["value"], white)}
            done.append(erasing)
        return done

    def _at_the_end(self, values: List[float], white: float) -> List[float]:
        factor = self.picture.white / white
        if self._normalize is None:
            return values if factor == 1 else [value * factor for value in values]
        mean, std = self._normalize["mean"], self._normalize["std"]
        each = values * len(mean) if len(values) == 1 else values
        return [(value * factor - middle) / deviation for value, middle, deviation in zip(each, mean, std)]


_ENDS: Dict[str, Callable[[Chain, Transform], None]] = {
    "ToTensor": Chain._to_float_tensor, "ToImage": Chain._to_tensor, "PILToTensor": Chain._to_tensor,
    "ToPILImage": Chain._to_pil, "ToDtype": Chain._to_dtype, "ConvertImageDtype": Chain._to_dtype,
    "Normalize": Chain._to_normal, "RandomErasing": Chain._to_erased,
}


def _dtype_of(given: Any) -> Optional[str]:
    """The dtype of pictures; None where pictures keep theirs."""
    if isinstance(given, dict):
        for key, dtype in given.items():
            if getattr(key, "__name__", "") == "Image" or key == "others":
                return None if dtype is None else last_name(dtype)
        return None
    return last_name(given)


def on_batches(transform: Any, opened: Callable[[Any], Transform], share: Optional[float] = None) -> Optional[List[Operation]]:
    """The operations of [batch] for CutMix, MixUp, or a RandomChoice of them; None for all others."""
    step = opened(transform)
    if step.name in _BATCHES:
        return [{"op": _BATCHES[step.name], "images": ["image"], "labels": ["label"],
                 "alpha": _alpha(step), **({} if share is None else {"share": share})}]
    if step.name != "RandomChoice":
        return None
    members = list(step.read("transforms"))
    weights = numbers(step.read("p")) or [1.0] * len(members)
    parts = [on_batches(member, opened, weight / sum(weights)) for member, weight in zip(members, weights)]
    return None if not parts or None in parts else [operation for part in parts if part for operation in part]


def _alpha(step: Transform) -> float:
    alpha = step.read("alpha")
    return 1.0 if alpha is None else float(alpha)


def converted(transform: Any, opened: Callable[[Any], Transform], faults: List[Problem], place: str) -> Operations:
    """The operations; faults: is given what has no equal."""
    mixing = on_batches(transform, opened)
    if mixing is not None:
        return Operations(mixing, [_MIXING_NOTE], on_batches=True)
    notes: List[str] = []
    chain = Chain(opened, faults, notes)
    chain.add(transform, place)
    return Operations([{"op": "decode-image", "exif": False}, *chain.finished()], notes)


_MIXING_NOTE = ("The daemon draws for each sample, where torchvision draws once for a batch. The label's output needs "
                "one-hot.")


def from_transforms(transforms: Any) -> Operations:
    """Returns the operations that are equal to transforms of torchvision, for `ops` of an output.

        import torchvision.transforms as T
        operations = spdld.torch.from_transforms(T.Compose([T.RandomResizedCrop(224), T.ToTensor()]))
        spec["output"][0]["ops"] = operations      # or print(operations.toml())

    transforms: a transform of torchvision.transforms or torchvision.transforms.v2, a Compose of them, or a list. Its
        attributes are read, and it is not called. CutMix, MixUp, or a RandomChoice of them gives operations for `ops` of
        [batch], which are written for outputs named "image" and "label".

    The list begins with decode-image. It leaves out a photograph's EXIF orientation, as torchvision's ImageFolder does. The
    attribute `notes` of the list says what differs. Raises UnsupportedError with a line for each transform that has no
    equal.
    """
    faults: List[Problem] = []
    operations = converted(transforms, of_object, faults, "transforms")
    if faults:
        raise UnsupportedError("\n".join(f"{fault}" for fault in faults))
    return operations
