"""A composition of torchvision's transforms as the list of spdld's operations that is equal to it."""
import importlib
import inspect
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from spdld._errors import UnsupportedError
from spdld._operations import ARGUMENTS, DEFAULT, ERASED_MAX, FLIPS, PICTURES, PIECES, Operation, Picture, Transform, why_none
from spdld._toml import operations_text
from spdld._values import Refused, of_type

_DTYPES = ("float32", "float16", "bfloat16")
_BATCHES = {"CutMix": "cutmix", "MixUp": "mixup"}
_HELD_MAX = 16  # of an operation that holds others
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
    """A transform that has no equal: its place, as "transforms[2]", the name of its class, why, and its line in a script."""

    place: str
    name: str
    why: str
    line: Optional[int] = None

    def __str__(self) -> str:
        return f"{self.place}, {self.name}: it {self.why}"


def of_object(transform: Any) -> Transform:
    """Reads the attributes of an object; its class must be one of torchvision's."""
    kind = transform if callable(transform) and hasattr(transform, "__code__") else type(transform)
    name, module = kind.__name__, getattr(kind, "__module__", None) or ""
    if isinstance(transform, (list, tuple)):
        return Transform(LIST, lambda attribute: list(transform))
    if module.startswith("torch.nn.") and name == "Sequential":
        return Transform("Compose", lambda attribute: list(transform.children()), unknown=_changed(transform))
    if _gives_rgb(kind):
        return Transform("RGB", lambda attribute: DEFAULT, is_v2=True)
    if (module, name) == _PRESET:
        return Transform("Compose", lambda attribute: _preset_steps(transform), unknown=_changed(transform))
    if name == "Lambda" and (module + ".").startswith("torchvision.transforms.") and _gives_rgb(getattr(transform, "lambd", None)) and \
            _changed(transform) is None:
        return Transform("RGB", lambda attribute: DEFAULT, is_v2=True)
    if not (module + ".").startswith("torchvision.transforms."):
        full = name if name in ("function", "<lambda>") else f"{module}.{name}"
        return Transform(full, lambda attribute: None, unknown=Refused(why_none(full)), is_torchvisions=False)
    v2 = (module + ".").startswith("torchvision.transforms.v2.")
    return Transform(name, lambda attribute: _attribute(transform, name, attribute), v2, _changed(transform), is_v2=v2)


_PRESET = ("torchvision.transforms._presets", "ImageClassification")


def _preset_steps(preset: Any) -> List[Any]:
    """The transforms that `Weights.transforms()` of a classification model does one after another."""
    transforms: Any = importlib.import_module("torchvision.transforms")
    float32 = importlib.import_module("torch").float32
    antialias = {"antialias": preset.antialias} if hasattr(preset, "antialias") else {}
    return [transforms.Resize(list(preset.resize_size), interpolation=preset.interpolation, **antialias),
            transforms.CenterCrop(list(preset.crop_size)), transforms.PILToTensor(), transforms.ConvertImageDtype(float32),
            transforms.Normalize(mean=preset.mean, std=preset.std)]


def _gives_rgb(function: Any) -> bool:
    """Whether a function's code is that of `return image.convert("RGB")`, as CLIP's _convert_image_to_rgb and many a Lambda is."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount != 1 or code.co_freevars or code.co_flags & 0x2ac:  # *args, **kwargs, a generator, a coroutine
        return False
    plain = (lambda image: image.convert("RGB")).__code__
    return bool(code.co_code == plain.co_code and code.co_names == plain.co_names and
                [entry for entry in code.co_consts if entry is not None] == ["RGB"] and not code.co_cellvars and
                not code.co_kwonlyargcount)


_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_CODE = ("__call__", "forward", "transform", "_transform", "get_params", "_get_params", "make_params")


def _changed(transform: Any) -> Optional[Refused]:
    """Where a program has put code of its own into an object or its class, its attributes do not tell what it does."""
    own = getattr(transform, "__dict__", {})
    if any(own.get(hooks) for hooks in _HOOKS) or any(name in own for name in _CODE):
        return Refused("was given code of yours, and the daemon runs none")
    for name in _CODE:
        code = next((vars(kind)[name] for kind in type(transform).__mro__ if name in vars(kind)), None)
        code = getattr(code, "__func__", code)
        if code is not None and (getattr(code, "__module__", None) or "").partition(".")[0] not in ("torch", "torchvision"):
            return Refused(f"has a method {name} that is not torchvision's, and the daemon runs no code of yours")
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


def _defaults(name: str) -> List[Tuple[str, Any]]:
    return [(argument, default) for argument, _, default in ARGUMENTS.get(name, ())]


def _parameters(transform: Any) -> Dict[str, Any]:
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


LIST = "list"  # of transforms, which only spdld takes in place of a Compose


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
            step = step.checked()
            if step.name in ("Compose", "Sequential"):
                if step.is_v2 and not step.read("transforms"):
                    raise Refused("has no transforms, which torchvision refuses")
                self.add_all(step.read("transforms"), place)
            else:
                self._add(step, place)
        except Refused as refused:
            self._faults.append(Problem(place, step.name, str(refused), step.line))

    def add_all(self, members: Iterable[Any], place: str) -> None:
        for number, entry in enumerate(members):
            self.add(entry, f"{place}[{number}]")

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
            if step.name == "Grayscale":
                self._to_channels(step.read("num_output_channels"))
            if step.name == "RandomIoUCrop":
                self._notes.append(f"{place}, RandomIoUCrop: it needs an output of the same view, named boxes, with the boxes.")
        elif step.name in ("RandomApply", "RandomChoice", "RandomOrder"):
            self._add_to_picture(step.name, lambda: [self._holder(step, place)])
        elif step.name == "Identity":
            return
        elif step.name == "RGB":
            if self.picture.channels != 3:
                raise Refused("makes three channels of one: write grayscale with channels = 3 in place of both")
        elif step.name == "ToPureTensor":
            self.picture = self.picture._replace(type="Tensor" if self.picture.type == "Image" else self.picture.type)
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

    def _to_channels(self, count: int) -> None:
        if self._held and count != self.picture.channels:
            raise Refused("changes the number of channels, which an operation that is held by another one cannot do")
        self.picture = self.picture._replace(channels=count)

    def _holder(self, step: Transform, place: str) -> Operation:
        members = list(step.read("transforms"))
        if not members and step.name == "RandomOrder":
            raise Refused("has no transforms")
        held = [self._branch(member, f"{place}.transforms[{number}]") for number, member in enumerate(members)]
        if max(len(members), *map(len, held), 0 if step.name != "RandomApply" else sum(map(len, held))) > _HELD_MAX:
            raise Refused(f"holds more than {_HELD_MAX} operations")
        if step.name == "RandomApply":
            return {"op": "random-apply", "p": step.read("p"), "ops": [entry for branch in held for entry in branch]
                    or [dict(_NO_CHANGE)]}
        ops = [branch[0] if len(branch) == 1 else {"op": "random-apply", "p": 1, "ops": branch or [dict(_NO_CHANGE)]}
               for branch in held]
        if step.name == "RandomOrder":
            return {"op": "random-order", "ops": ops}
        weights = _weights(step, members)
        even = len(set(weights)) == 1
        return {"op": "random-choice", **({} if even else {"weights": weights}), "ops": ops}

    def _branch(self, member: Any, place: str) -> List[Operation]:
        chain = Chain(self._open, self._faults, self._notes, True, self.picture)
        chain.add(member, place)
        return chain.operations

    def _to_float_tensor(self, step: Transform) -> None:
        if self.picture.kind == "pil":
            self.picture = Picture("float", 1.0, self.picture.channels, "Tensor")
        elif not step.is_v2:
            raise Refused("is given a tensor, and takes pictures of Pillow alone")

    def _to_tensor(self, step: Transform) -> None:
        if self.picture.kind == "pil":
            self.picture = Picture("uint8", 255.0, self.picture.channels, "Image" if step.name == "ToImage" else "Tensor")
        elif step.name == "ToImage":
            self.picture = self.picture._replace(type="Image")
        elif not step.is_v2:
            raise Refused("is given a tensor, and takes pictures of Pillow alone")

    def _to_pil(self, step: Transform) -> None:
        if step.read("mode") not in (None, "RGB" if self.picture.channels == 3 else "L"):
            raise Refused(f"asks for the mode {step.read('mode')}: write `colours` of decode-image, or grayscale")
        if self._normalize is not None or self._erasing:
            raise Refused("stands behind Normalize or RandomErasing, which give a tensor")
        self.picture = Picture(channels=self.picture.channels)

    def _to_dtype(self, step: Transform) -> None:
        scale = True if step.name == "ConvertImageDtype" else bool(step.read("scale"))
        dtype = of_type(step.read("dtype"), self.picture.type, "dtype")
        if dtype is None or (dtype == "uint8" and self.picture.kind == "uint8"):
            return
        if self.picture.kind == "pil":
            raise Refused("stands before ToImage, where torchvision leaves the picture as it is: put it behind")
        if dtype not in _DTYPES:
            raise Refused(f"makes {dtype}, and a picture's tensor is uint8, float32, float16 or bfloat16")
        if self.picture.kind == "uint8":
            self.picture = self.picture._replace(kind="float", white=1.0 if scale else 255.0)
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
        mean, std = self._each_channel(step, "mean"), self._each_channel(step, "std")
        if max(mean) > self.picture.white:
            raise Refused(f"has a mean above {self.picture.white:g}, which is white here")
        self._normalize = {"op": "normalize", "mean": mean, "std": std,
                           **({} if self.picture.white == 1 else {"scale": int(self.picture.white)}),
                           **({} if self._dtype == "float32" else {"dtype": self._dtype})}

    def _each_channel(self, step: Transform, argument: str) -> List[Any]:
        """One number is for all channels, in torchvision alone."""
        given: List[Any] = step.read(argument)
        if len(given) == 1:
            return given * self.picture.channels
        if len(given) != self.picture.channels:
            raise Refused(f"has a {argument} of {len(given)} numbers for a picture of {self.picture.channels} channels")
        return given

    def _to_erased(self, step: Transform) -> None:
        if self.picture.kind == "pil" or self._in_pieces:
            raise Refused("stands behind FiveCrop or TenCrop" if self._in_pieces else "stands before the conversion to a tensor")
        value = step.read("value")
        if value is None and not step.v2_object:  # an object has None in place of "random"
            raise Refused("has value = None, which torchvision refuses")
        if isinstance(value, list) and len(value) not in (1, self.picture.channels):
            raise Refused(f"has a value of {len(value)} numbers for a picture of {self.picture.channels} channels")
        erasing: Operation = {"op": "random-erasing", **{name: step.read(name) for name in ("scale", "ratio", "p")}}
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
            why = self._why_not_erased(erasing)
            if why:
                self._faults.append(Problem("transforms", "RandomErasing", why))
            done.append(erasing)
        return done

    def _why_not_erased(self, erasing: Operation) -> str:
        """Why the finished tensor cannot hold what an erasing writes; empty: it can."""
        written: List[float] = erasing.get("value", [0])
        is_bytes = self.picture.kind == "uint8" and self._normalize is None
        if is_bytes and ("noise" in erasing or any(value != int(value) or not 0 <= value <= 255 for value in written)):
            return "writes noise, or other values than whole numbers from 0 to 255, into a tensor of uint8"
        if max(abs(value) for value in written) > ERASED_MAX:
            return f"has a value beyond {ERASED_MAX} in the finished tensor"
        return ""

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


def _weights(step: Transform, members: List[Any]) -> List[Any]:
    """Of a RandomChoice; equal ones where it has none."""
    weights = step.read("p")
    if not members:
        raise Refused("has no transforms to choose from")
    if weights is None:
        return [1.0] * len(members)
    if len(weights) != len(members) or sum(weights) <= 0:
        raise Refused(f"has {len(weights)} numbers as p for {len(members)} transforms, or none above 0")
    return list(weights)


def on_batches(transform: Any, opened: Callable[[Any], Transform], share: Optional[float] = None) -> Optional[List[Operation]]:
    """The operations of [batch] for CutMix, MixUp, or a RandomChoice of them; None for all others."""
    step = opened(transform)
    if step.name not in (*_BATCHES, "RandomChoice") or not step.is_torchvisions:
        return None
    step = step.checked()
    if step.name in _BATCHES:
        return [{"op": _BATCHES[step.name], "images": ["image"], "labels": ["label"],
                 "alpha": float(step.read("alpha")), **({} if share is None else {"share": share})}]
    members = list(step.read("transforms"))
    weights = _weights(step, members)
    parts = [on_batches(member, opened, weight / sum(weights)) for member, weight in zip(members, weights)]
    return None if not parts or None in parts else [operation for part in parts if part for operation in part]


def converted(transform: Any, opened: Callable[[Any], Transform], faults: List[Problem], place: str) -> Operations:
    """The operations; faults: is given what has no equal."""
    notes: List[str] = []
    chain = Chain(opened, faults, notes)
    step = opened(transform)
    try:
        mixing = on_batches(transform, opened)
    except Refused:
        mixing = None  # the chain says why
    if mixing is not None:
        return Operations(mixing, [_MIXING_NOTE], on_batches=True)
    if step.name == LIST and step.unknown is None:
        chain.add_all(step.read("transforms"), place)
    else:
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
