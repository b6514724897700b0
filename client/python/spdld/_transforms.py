"""A composition of torchvision's transforms as the list of spdld's operations that is equal to it."""
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from spdld._errors import UnsupportedError
from spdld._operations import ERASED_MAX, FLIPS, PICTURES, PIECES, Operation, Picture, Transform, why_none
from spdld._reading import LIST, of_object
from spdld._toml import operations_text
from spdld._values import Refused, of_type

_DTYPES = ("float32", "float16", "bfloat16")
_BATCHES = {"CutMix": "cutmix", "MixUp": "mixup"}
_HELD_MAX = 16  # of an operation that holds others
_NO_CHANGE: Operation = {"op": "brightness", "factor": 1}


class Operations(list[Operation]):
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
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.place}, {self.name}: it {self.why}"


class Chain:
    """The operations for the transforms so far, and what the picture has become.

    open: makes a Transform of a member of a composition. faults: is given each transform that has no equal.
    """

    def __init__(self, opened: Callable[[Any], Transform], faults: list[Problem], notes: list[str], held: bool = False,
                 picture: Picture = Picture()):
        self.operations: list[Operation] = []
        self.picture = picture
        self._open, self._faults, self._notes, self._held = opened, faults, notes, held
        self._erasing: list[tuple[Operation, float]] = []
        self._normalize: Operation | None = None
        self._dtype = "float32"
        self._in_pieces = False
        self._is_scaled = False

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
            if step.note:
                self._notes.append(f"{place}, {step.called or step.name}: {step.note}")
        except Refused as refused:
            self._faults.append(Problem(place, step.called or step.name, str(refused), step.line))

    def add_all(self, members: Iterable[Any], place: str) -> None:
        for number, entry in enumerate(members):
            self.add(entry, f"{place}[{number}]")

    def finished(self) -> list[Operation]:
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
        entry = step.own or PICTURES.get(step.name)
        convert = None if entry is None else entry.convert
        if convert is not None:
            self._add_to_picture(step.name, partial(convert, step, self.picture))
            if step.name == "Grayscale":
                self._to_channels(step.read("num_output_channels"))
            if step.name == "RandomIoUCrop":
                self._notes.append(f"{place}, RandomIoUCrop: it needs an output of the same view, named boxes, with the boxes.")
        elif step.name in ("RandomApply", "RandomChoice", "RandomOrder"):
            self._add_to_picture(step.name, lambda: [self._holder(step, place)])
        elif step.name == "Identity":
            return
        elif step.name == "RGB":
            self._to_three_channels()
        elif step.name == "*pieces":
            if not self._in_pieces:
                raise Refused("stacks pieces, which FiveCrop or TenCrop before it would make")
            self.add(step.read("member"), place)
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

    def _add_to_picture(self, name: str, convert: Callable[[], list[Operation]]) -> None:
        if name in PIECES and self._held:
            raise Refused("makes several pictures of one, which an operation that is held by another one cannot do")
        if self._in_pieces:
            raise Refused("stands behind FiveCrop or TenCrop, where only conversions and Normalize have an equal")
        if self._erasing:
            raise Refused("stands behind RandomErasing: put it before")
        if (self._normalize is not None or self._is_scaled) and name not in FLIPS:  # a flip moves the values alone
            what = "Normalize" if self._normalize is not None else "a Lambda that multiplies"
            raise Refused(f"stands behind {what}: put it before")
        self.operations += convert()
        self._in_pieces = name in PIECES

    def _to_channels(self, count: int) -> None:
        if self._held and count != self.picture.channels:
            raise Refused("changes the number of channels, which an operation that is held by another one cannot do")
        self.picture = self.picture._replace(channels=count)

    def _to_three_channels(self) -> None:
        """Of one channel, that a grayscale right before has made, three equal ones are made there."""
        if self.picture.channels == 3:
            return
        last = self.operations[-1] if self.operations else {}
        if self._held or self._normalize is not None or self._erasing or last != {"op": "grayscale", "channels": 1}:
            raise Refused("makes three channels of one: write grayscale with channels = 3 in place of both")
        self.operations[-1] = {"op": "grayscale", "channels": 3}
        self.picture = self.picture._replace(channels=3)

    def _to_repeated(self, step: Transform) -> None:
        if self.picture.kind == "pil" or self.picture.channels != 1:
            raise Refused("repeats the channels of a tensor, which has one channel behind Grayscale and ToTensor alone")
        self._to_three_channels()

    def _to_linear(self, step: Transform) -> None:
        """A Lambda that multiplies and adds: another value of white, or a Normalize."""
        scale, shift = step.read("scale"), step.read("shift")
        if self.picture.kind != "float" or self._erasing:
            raise Refused("computes with the picture's values: put it right behind ToTensor or Normalize")
        if scale <= 0:
            raise Refused("multiplies with a number that is not above 0")
        if self._normalize is not None:
            scales = [scale / entry for entry in self._normalize["std"]]
            self._set_normal([mean - shift / factor for mean, factor in zip(self._normalize["mean"], scales)],
                             [1 / factor for factor in scales])
        elif shift != 0:
            self._set_normal([-shift / scale] * self.picture.channels, [1 / scale] * self.picture.channels)
        else:
            self.picture = self.picture._replace(white=self.picture.white * scale)
            self._is_scaled = True

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

    def _branch(self, member: Any, place: str) -> list[Operation]:
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
        self._set_normal(self._each_channel(step, "mean"), self._each_channel(step, "std"))

    def _set_normal(self, mean: list[Any], std: list[Any]) -> None:
        white = self.picture.white
        if white not in (1, 255):
            raise Refused(f"is given values whose white is {white:g}, where `normalize` knows 1 and 255")
        if max(mean) > white:
            raise Refused(f"has a mean above {white:g}, which is white here")
        if min(mean) < -1000 or max(std) > 65535:
            raise Refused("has a mean below -1000 or a deviation above 65535")
        self._normalize = {"op": "normalize", "mean": mean, "std": std, **({} if white == 1 else {"scale": int(white)}),
                           **({} if self._dtype == "float32" else {"dtype": self._dtype})}

    def _each_channel(self, step: Transform, argument: str) -> list[Any]:
        """One number is for all channels, in torchvision alone."""
        given: list[Any] = step.read(argument)
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
        if value is None or value in ("random", "channel"):
            erasing["noise"] = "channel" if value == "channel" else "pixel"
        else:
            erasing["value"] = value if isinstance(value, list) else [value]
        self._erasing.append((erasing, 0.0 if self._normalize is not None else self.picture.white))

    def _erased(self) -> list[Operation]:
        """Values that were written before the tensor was finished are what the rest of the chain makes of them."""
        done: list[Operation] = []
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
        written: list[float] = erasing.get("value", [0])
        is_bytes = self.picture.kind == "uint8" and self._normalize is None
        if is_bytes and ("noise" in erasing or any(value != int(value) or not 0 <= value <= 255 for value in written)):
            return "writes noise, or other values than whole numbers from 0 to 255, into a tensor of uint8"
        if max(abs(value) for value in written) > ERASED_MAX:
            return f"has a value beyond {ERASED_MAX} in the finished tensor"
        return ""

    def _at_the_end(self, values: list[float], white: float) -> list[float]:
        factor = self.picture.white / white
        if self._normalize is None:
            return values if factor == 1 else [value * factor for value in values]
        mean, std = self._normalize["mean"], self._normalize["std"]
        each = values * len(mean) if len(values) == 1 else values
        return [(value * factor - middle) / deviation for value, middle, deviation in zip(each, mean, std)]


_ENDS: dict[str, Callable[[Chain, Transform], None]] = {
    "ToTensor": Chain._to_float_tensor, "ToImage": Chain._to_tensor, "PILToTensor": Chain._to_tensor,
    "ToPILImage": Chain._to_pil, "ToDtype": Chain._to_dtype, "ConvertImageDtype": Chain._to_dtype,
    "Normalize": Chain._to_normal, "RandomErasing": Chain._to_erased, "*linear": Chain._to_linear, "*repeat": Chain._to_repeated,
}


def _weights(step: Transform, members: list[Any]) -> list[Any]:
    """Of a RandomChoice; equal ones where it has none."""
    weights = step.read("p")
    if not members:
        raise Refused("has no transforms to choose from")
    if weights is None:
        return [1.0] * len(members)
    if len(weights) != len(members) or sum(weights) <= 0:
        raise Refused(f"has {len(weights)} numbers as p for {len(members)} transforms, or none above 0")
    return list(weights)


def on_batches(transform: Any, opened: Callable[[Any], Transform], share: float | None = None) -> list[Operation] | None:
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


def converted(transform: Any, opened: Callable[[Any], Transform], faults: list[Problem], place: str) -> Operations:
    """The operations; faults: is given what has no equal."""
    notes: list[str] = []
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
    faults: list[Problem] = []
    operations = converted(transforms, of_object, faults, "transforms")
    if faults:
        raise UnsupportedError("\n".join(f"{fault}" for fault in faults))
    return operations
