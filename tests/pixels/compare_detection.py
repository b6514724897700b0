#!/usr/bin/env python3
"""Holds the daemon's augmentations for detection to torchvision v2's, with the numbers that the daemon draws, and its masks to
pycocotools'.

    compare_detection.py VIEW_DUMP

torchvision's own class chooses the crops, and takes its random numbers from the daemon's streams: the crops, the pixels, the
masks and the labels are the same, bit for bit; resized pixels are within 1. Boxes are within a ten-thousandth of a pixel, since
the daemon mirrors them behind a crop. The masks of objects are those that pycocotools draws, from polygons and from run lengths.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from dump import Program

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYCOCOTOOLS = ROOT / "build" / "pycocotools"  # tests/install puts it there
sys.path[1:1] = [str(ROOT / "tests/python/scripts"), str(ROOT / "tests" / "support"), str(PYCOCOTOOLS)]
from draws import Draw
from torchvision_v2 import is_there, load_torchvision_v2

SKIPPED = 77  # Meson's
PICTURES = 200
SEED = 17
SIDE = 96
FAILED = []

HEAD = f"""
name = "views"
seed = {SEED}
[source]
type = "webdataset"
uri = "/a.tar"
[batch]
size = 1
"""


def output(name, ops, ragged=True):
    lines = ["[[output]]", f'name = "{name}"', f'from = "{name}"', 'view = "v"', f"ops = [{ops}]"]
    return "\n".join(lines + (["ragged = true", "length_max = 64"] if ragged else [])) + "\n"


class Views(Program):
    """view_dump with one pipeline."""

    def __init__(self, program, folder, outputs):
        spec = pathlib.Path(folder, "spec.toml")
        spec.write_text(HEAD + "".join(outputs))
        super().__init__([program, spec])

    def of(self, sample, fields):
        """The tensors by their names, or a text: the error. A field is a path or a list."""
        asked = {name: {"file": str(of)} if isinstance(of, pathlib.Path) else {"text": json.dumps(of)}
                 for name, of in fields.items()}
        self.process.stdin.write(json.dumps({"sample": sample, "fields": asked}).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            return answer["error"]
        return {one["name"]: np.frombuffer(self.process.stdout.read(one["bytes"]), one["dtype"]).reshape(one["shape"])
                for one in answer["outputs"]}


class Numbers:
    """torch for RandomIoUCrop, with random numbers from a stream of the daemon's."""

    draw = None

    def __getattr__(self, name):
        return getattr(torch, name)

    def randint(self, low, high, size):
        return torch.tensor([low + self.draw.below(high - low)])

    def rand(self, count):
        return torch.tensor([self.draw.uniform() for _ in range(count)], dtype=torch.float64).to(torch.float32)


def make_polygon(rng, width, height):
    """Corners that lie anywhere, also outside of the picture, on whole or half pixels, or on one another."""
    corners = rng.uniform(-0.3, 1.3, (int(rng.integers(3, 12)), 2)) * [width, height]
    kind = rng.integers(6)
    if kind == 0:
        corners = corners.round()
    elif kind == 1:
        corners = (2 * corners).round() / 2
    elif kind == 2:
        corners = corners.round(2).clip(0, [width, height])
    elif kind == 3:
        corners = np.concatenate([corners, corners[-1:], corners[:1]])
    elif kind == 4:
        corners[:, rng.integers(2)] = corners[0, 0]
    return corners.ravel().tolist()


def make_shape(rng, width, height):
    from pycocotools import mask
    if rng.random() < 0.5:
        return [make_polygon(rng, width, height) for _ in range(int(rng.integers(1, 4)))]
    pixels = (rng.random((height, width)) < rng.choice([0, 0.02, 0.5, 0.98, 1])).astype(np.uint8)
    if rng.random() < 0.5:
        top, left = int(rng.integers(height)), int(rng.integers(width))
        pixels[:] = 0
        pixels[top:top + int(rng.integers(1, height + 1)), left:left + int(rng.integers(1, width + 1))] = 1
    if rng.random() < 0.5:
        packed = mask.encode(np.asfortranarray(pixels))
        return {"size": packed["size"], "counts": packed["counts"].decode()}
    flat = np.concatenate([[0], pixels.ravel("F"), [2]])
    runs = np.diff(np.concatenate([[0], np.flatnonzero(np.diff(flat)), [len(flat) - 2]]))
    return {"size": [height, width], "counts": ([] if flat[1] == 0 else [0]) + [int(run) for run in runs if run > 0]}


def drawn(shape, width, height):
    """The shape's pixels, as COCO.annToMask gives them."""
    from pycocotools import mask
    if isinstance(shape, list):
        return mask.decode(mask.merge(mask.frPyObjects(shape, height, width)))
    return mask.decode(mask.frPyObjects(shape, height, width) if isinstance(shape["counts"], list) else shape)


def check_shapes(program, folder):
    """Masks before any geometry."""
    rng = np.random.default_rng(4)
    kinds = {}
    for width, height in ((1, 1), (1, 40), (37, 1), (64, 48), (131, 97)):
        path = pathlib.Path(folder, "shapes.png")
        Image.fromarray(np.zeros((height, width, 3), np.uint8)).save(path)
        outputs = [output("image", f'{{ op = "decode-image" }}, {{ op = "center-crop", size = [{height}, {width}] }}', False),
                   output("masks", '{ op = "instance-masks" }')]
        with Views(program, folder, outputs) as views:
            for number in range(60):
                shapes = [make_shape(rng, width, height) for _ in range(int(rng.integers(1, 12)))]
                got = views.of(number, {"image": path, "masks": shapes})
                if isinstance(got, str):
                    FAILED.append(f"shapes of {width} x {height}: {got}")
                    continue
                for ours, shape in zip(got["masks"], shapes):
                    kind = ("polygons" if isinstance(shape, list) else "packed runs" if isinstance(shape["counts"], str)
                            else "runs")
                    theirs = drawn(shape, width, height)
                    count = kinds.setdefault(kind, [0, 0, 0])
                    count[0] += 1
                    count[1] += int(theirs.any())
                    if not np.array_equal(ours, theirs):
                        count[2] += 1
                        FAILED.append(f"{kind} of {width} x {height}: {(ours != theirs).sum()} pixels differ: {shape}"[:400])
    for kind, (count, seen, differ) in kinds.items():
        print(f"{kind}: {differ} of {count} masks differ; {seen} have pixels")


def make_sample(rng, folder, number):
    width, height = (int(side) for side in rng.integers(20, 120, 2))
    picture = rng.integers(0, 256, (height, width, 3), np.uint8)
    classes = rng.integers(0, 9, (height, width), np.uint8)
    paths = pathlib.Path(folder, f"{number}.png"), pathlib.Path(folder, f"{number}-mask.png")
    Image.fromarray(picture).save(paths[0])
    Image.fromarray(classes).save(paths[1])
    count = int(rng.integers(1, 8))
    boxes = np.stack([rng.uniform(0, width, (count, 2)), rng.uniform(0, height, (count, 2))], 2)
    boxes = np.concatenate([boxes.min(1), boxes.max(1)], 1)
    boxes = (boxes.round() if number % 2 else boxes).astype(np.float32)
    labels = rng.integers(0, 80, count)
    shapes = [make_shape(rng, width, height) for _ in range(count)]
    return picture, classes, boxes, labels, shapes, paths


def bordered(v2, sample):
    """With the border that CenterCrop puts around a smaller picture. CenterCrop itself moves the boxes by another half of an odd
    border."""
    height, width = sample["image"].shape[1:]
    left, top = (max(SIDE - side, 0) // 2 for side in (width, height))
    return v2.Pad([left, top, max(SIDE - width, 0) - left, max(SIDE - height, 0) - top])(sample)


def sanitized(sample):
    """What SanitizeBoundingBoxes keeps with a least size of 1, and of a box's area."""
    boxes = sample["boxes"].numpy()
    sides = boxes[:, 2:] - boxes[:, :2]
    keep = (sides >= 1).all(1) & (sides.prod(1) >= 1)
    return boxes[keep], sample["labels"][keep], sample["masks"].numpy()[keep]


def check_crops(v2, tv, program, folder):
    """RandomIoUCrop alone, and behind a flip and behind a border."""
    numbers = Numbers()
    sys.modules["torchvision.transforms.v2._geometry"].torch = numbers
    # a newer torch has it
    sys.modules["torchvision.transforms.v2.functional._geometry"]._do_native_uint8_resize_on_cpu = lambda _: False
    cut = f'{{ op = "center-crop", size = {SIDE} }}'
    resized = '{ op = "resize", size = [70, 50] }, { op = "vertical-flip", p = 1 }'
    cases = {
        "default": ("", "", {}, []),
        "resized": ("", "", {}, []),
        "behind a flip": ('{ op = "horizontal-flip", p = 1 }, ', "", {}, [v2.RandomHorizontalFlip(p=1)]),
        "behind a border": ('{ op = "pad", padding = [9, 4, 3, 12] }, ', "", {}, [v2.Pad([9, 4, 3, 12])]),
        "parameters": ("", ", min_scale = 0.1, max_scale = 0.8, min_aspect_ratio = 0.7, max_aspect_ratio = 1.6, "
                           "sampler_options = "
                       "[0.2, 0.05, 1, 0.4], trials = 15",
                       {"min_scale": 0.1, "max_scale": 0.8, "min_aspect_ratio": 0.7, "max_aspect_ratio": 1.6,
                        "sampler_options": [0.2, 0.05, 1, 0.4], "trials": 15}, []),
    }
    for name, (before, ours, theirs, first) in cases.items():
        rng = np.random.default_rng(3)
        ops = (f'{{ op = "decode-image" }}, {before}{{ op = "random-iou-crop", boxes = "boxes"{ours} }}, '
               f'{resized if name == "resized" else cut}')
        outputs = [output("image", ops, False), output("classes", '{ op = "decode-mask" }', False),
                   output("boxes", '{ op = "boxes" }'), output("labels", '{ op = "keep-with", of = "boxes" }'),
                   output("masks", '{ op = "instance-masks", of = "boxes" }')]
        after = [lambda sample: bordered(v2, sample), v2.CenterCrop(SIDE)]
        if name == "resized":
            after = [v2.Resize([70, 50], antialias=True), v2.RandomVerticalFlip(p=1)]
        chain = [*first, v2.RandomIoUCrop(**theirs), *after]
        cropped = dropped = 0
        with Views(program, folder, outputs) as views:
            for number in range(PICTURES):
                picture, classes, boxes, labels, shapes, (path, mask_path) = make_sample(rng, folder, number)
                got = views.of(number, {"image": path, "classes": mask_path, "boxes": boxes.tolist(), "labels": labels.tolist(),
                                        "masks": shapes})
                masks = np.stack([drawn(shape, *picture.shape[1::-1]) for shape in shapes])
                numbers.draw = Draw(SEED, 0, number, "random-iou-crop")
                sample = {"image": tv.Image(torch.from_numpy(picture).permute(2, 0, 1)),
                          "classes": tv.Mask(torch.from_numpy(classes)),
                          "boxes": tv.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=picture.shape[:2]),
                          "labels": labels, "masks": tv.Mask(torch.from_numpy(masks))}
                for step in chain:
                    before_size = sample["image"].shape
                    sample = step(sample)
                    cropped += isinstance(step, v2.RandomIoUCrop) and sample["image"].shape != before_size
                kept, kept_labels, kept_masks = sanitized(sample)
                dropped += len(boxes) - len(kept)
                wanted = {"image": sample["image"].permute(1, 2, 0).numpy(), "classes": sample["classes"].numpy(), "boxes": kept,
                          "labels": kept_labels, "masks": kept_masks}
                if isinstance(got, str):
                    FAILED.append(f"{name}, picture {number}: {got}")
                    continue
                for what, values in wanted.items():
                    within = 1e-4 if what == "boxes" else 1 if what == "image" and name == "resized" else 0
                    if got[what].shape != values.shape or (np.abs(got[what].astype(float) - values) > within).any():
                        FAILED.append(f"{name}, picture {number}: {what} differ: {got[what].tolist()[:3]} and "
                                      f"{values.tolist()[:3]}"[:300])
        print(f"{name}: {cropped} of {PICTURES} pictures cropped, {dropped} boxes dropped")
        if cropped < PICTURES / 2 or dropped < PICTURES / 4:
            FAILED.append(f"{name}: hardly anything was tried")


def main():
    if not is_there() or not PYCOCOTOOLS.is_dir():
        print("torchvision v2 or pycocotools is not there: tests/install installs them")
        sys.exit(SKIPPED)
    v2, tv_tensors = load_torchvision_v2()
    with tempfile.TemporaryDirectory() as folder:
        check_shapes(sys.argv[1], folder)
        check_crops(v2, tv_tensors, sys.argv[1], folder)
    for failure in FAILED[:20]:
        print("FAILED", failure)
    print(f"{len(FAILED)} failures")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
