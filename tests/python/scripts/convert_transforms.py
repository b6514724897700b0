"""Makes transforms of torchvision and timm from expressions, and gives what spdld makes of each; a process of its own, because a
process has either Debian's torchvision (v1, and with timm) or the newer one's second interface (v2).

    convert_transforms.py v1|v2|timm [FOLDER|--arguments] < expressions.json > answers.json

With FOLDER, which holds RGB pictures in PNG, each transform is also done to each picture; the answers name the .npy files. With
--arguments the answer is the names of the arguments of each class.
"""
import inspect
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import torchvision_v2
from spdld import UnsupportedError
from spdld._operations import ARGUMENTS
from spdld.torch import from_transforms

warnings.simplefilter("ignore")
if sys.argv[1] == "v2":
    T, _ = torchvision_v2.load_torchvision_v2()
else:
    import torchvision.transforms as T
NAMES = {"T": T, "torch": torch, "np": np, "InterpolationMode": T.InterpolationMode}
if sys.argv[1] == "timm":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "build" / "timm"))
    import timm.data.auto_augment
    NAMES.update({"timm": timm.data, "create": timm.data.create_transform,
                  "policy": timm.data.auto_augment.rand_augment_transform})


class Own:
    """A transform that torchvision does not have."""

    def __call__(self, picture):
        return picture


def changed(transform, name="forward"):
    """The transform with code of a user in it."""
    setattr(transform, name, lambda picture: picture)
    return transform


def hooked(transform):
    transform.register_forward_hook(lambda module, given, made: given[0])
    return transform


def done_to_pictures(transform, folder, number):
    files = []
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as picture:
            result = transform(picture.convert("RGB"))
        values = np.asarray(result) if isinstance(result, Image.Image) else result.as_subclass(torch.Tensor).numpy()
        files.append(str(folder / f"{sys.argv[1]}-{number}-{path.stem}.npy"))
        np.save(files[-1], values)
    return files


def answer(number, expression):
    try:
        transform = eval(expression, {**NAMES, "Own": Own, "changed": changed, "hooked": hooked})
    except Exception as error:
        return {"broken": f"{type(error).__name__}: {error}"}
    try:
        operations = from_transforms(transform)
    except UnsupportedError as error:
        return {"error": str(error)}
    done = {"ops": list(operations), "notes": operations.notes, "on_batches": operations.on_batches, "toml": operations.toml()}
    if len(sys.argv) > 2:
        done["files"] = done_to_pictures(transform, Path(sys.argv[2]), number)
    return done


torch.set_num_threads(1)
if sys.argv[2:] == ["--arguments"]:
    classes = {name: getattr(T, name) for name in ARGUMENTS if hasattr(T, name)}
    json.dump({name: list(inspect.signature(made).parameters) for name, made in classes.items()}, sys.stdout)
    sys.exit(0)
json.dump([answer(number, expression) for number, expression in enumerate(json.load(sys.stdin))], sys.stdout)
