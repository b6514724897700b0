#!/usr/bin/env python3
"""Holds the daemon's warps and borders to torchvision v2's kernels for uint8 tensors, masks and boxes.

    compare_warps.py WARP_DUMP PIXEL_DUMP

Parameters are drawn here and given to both. Places are float32 numbers, so a place in the middle of two pixels may fall to
either: nearest pixels are the same but for at most one in 20,000, and bilinear ones are within 1 but for as few.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from dump import Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/scripts"))
from torchvision_v2 import is_there, load_torchvision_v2

SKIPPED = 77  # Meson's
TRIALS = 200
OTHERS_MAX = 1 / 20_000  # the part of pixels that may differ
FAILED = []


def check(name, holds, text=""):
    if not holds:
        FAILED.append(f"{name}: {text}")


class Warps:
    """warp_dump."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def of(self, picture, request):
        height, width, channels = picture.shape
        request = {"source": [width, height], "channels": channels, "boxes": [], **request}
        self.process.stdin.write(json.dumps(request).encode() + b"\n" + picture.tobytes())
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        width, height = answer["size"]
        pixels = np.frombuffer(self.process.stdout.read(width * height * channels), np.uint8)
        return pixels.reshape(height, width, channels), np.array(answer["boxes"], np.float32).reshape(-1, 4)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def make_picture(rng, channels):
    width, height = (int(side) for side in rng.integers(2, 160, 2))
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 110 * np.sin(x * rng.uniform(0.02, 0.4) + y * rng.uniform(-0.3, 0.3) + c) for c in range(channels)]
    noise = rng.integers(-15, 16, (height, width, channels))
    return np.clip(np.stack(waves, 2) + noise, 0, 255).astype(np.uint8)


def make_boxes(rng, picture):
    height, width, _ = picture.shape
    x, y = np.sort(rng.uniform(0, width - 1, (5, 2)), 1), np.sort(rng.uniform(0, height - 1, (5, 2)), 1)
    return np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1).astype(np.float32)


def make_affine(rng, width, height):
    given = {"angle": rng.uniform(-180, 180), "translate": [int(rng.integers(-width, width)) // 3,
                                                            int(rng.integers(-height, height)) // 3],
             "scale": rng.uniform(0.3, 2.5), "shear": [rng.uniform(-40, 40), rng.uniform(-40, 40)]}
    if rng.random() < 0.5:
        given["center"] = [rng.uniform(0, width), rng.uniform(0, height)]
    return given


def make_corners(rng, width, height):
    """What RandomPerspective draws."""
    x, y = (int(0.6 * (side // 2)) + 1 for side in (width, height))
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    end = [[abs(corner[0] - int(rng.integers(x))), abs(corner[1] - int(rng.integers(y)))] for corner in start]
    return start, end


def uniform(seed, count):
    """SplitMix64, as the daemon draws displacements: numbers from -1 to 1."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) * np.float32(2 / (1 << 24)) - np.float32(1)


def displacement_of(F, seed, shape, alpha, sigma):
    """ElasticTransform._get_params with the daemon's numbers."""
    height, width, _ = shape
    drawn = torch.from_numpy(uniform(seed, 2 * height * width).reshape(2, 1, 1, height, width))
    taps = int(8 * sigma + 1) | 1
    moved = []
    for values, side in zip(drawn, (height, width)):
        if sigma > 0:
            values = F.gaussian_blur(values, [taps, taps], [sigma, sigma])
        moved.append(values * alpha / side)
    return torch.concat(moved, 1).permute([0, 2, 3, 1])


class Trial:
    """One picture through one warp, here and there."""

    def __init__(self, v2, tv_tensors, warps, rng):
        self.F, self.tv, self.warps, self.rng = v2.functional, tv_tensors, warps, rng
        self.differ, self.pixels = {}, {}

    def compare(self, name, ours, theirs, bound):
        if ours.shape != theirs.shape:
            return check(name, False, f"{ours.shape} and not {theirs.shape}")
        delta = np.abs(ours.astype(int) - theirs.astype(int))
        self.differ[name] = self.differ.get(name, 0) + int((delta > bound).any(2).sum())
        self.pixels[name] = self.pixels.get(name, 0) + delta.shape[0] * delta.shape[1]

    def run(self, kind, given, transform, boxes_within):
        """transform(input, ...) is torchvision's function with everything but `interpolation` and `fill`."""
        rng = self.rng
        channels = int(rng.choice([1, 3]))
        picture = make_picture(rng, channels)
        request = given(picture.shape)
        apply = transform(request, picture.shape)
        for filter_name, bound in (("nearest", 0), ("bilinear", 1)):
            fill = [int(value) for value in rng.integers(0, 256, 3)]
            boxes = make_boxes(rng, picture)
            ours, seen = self.warps.of(picture, {"kind": kind, "filter": filter_name, "fill": fill,
                                                 "boxes": boxes.tolist(), **request})
            image = torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))
            theirs = apply(image, interpolation=filter_name, fill=fill[:channels]).numpy().transpose(1, 2, 0)
            self.compare(f"{kind}, {filter_name}", ours, theirs, bound)
            size = picture.shape[:2]
            there = apply(self.tv.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=size)).numpy()
            apart = np.abs(seen - there).max()
            check(f"{kind}, boxes", apart <= boxes_within, f"{apart} pixels apart")

    def report(self):
        for name, differ in sorted(self.differ.items()):
            part = differ / self.pixels[name]
            print(f"{name}: {differ} of {self.pixels[name]} pixels differ ({part:.2e})")
            check(name, part <= OTHERS_MAX, f"{part} of the pixels differ")


def check_warps(v2, tv_tensors, warps, rng):
    F, trial = v2.functional, Trial(v2, tv_tensors, warps, rng)
    from torchvision.transforms import InterpolationMode

    def modes(function):
        def with_modes(value, interpolation=None, **rest):
            if interpolation is not None:
                rest["interpolation"] = InterpolationMode(interpolation)
            return function(value, **rest)
        return with_modes

    def affine(request, _shape):
        of = {name: request[name] for name in ("angle", "translate", "scale", "shear")}
        return modes(lambda value, **rest: F.affine(value, **of, center=request.get("center"), **rest))

    def rotate(request, _shape):
        return modes(lambda value, **rest: F.rotate(value, request["angle"], expand=request["expand"],
                                                    center=request.get("center"), **rest))

    def perspective(request, _shape):
        coefficients = solve(request["from"], request["to"])
        return modes(lambda value, **rest: F.perspective(value, None, None, coefficients=coefficients, **rest))

    def elastic(request, shape):
        displacement = displacement_of(F, request["seed"], shape, request["alpha"], request["sigma"])
        return modes(lambda value, **rest: F.elastic(value, displacement, **rest))

    def rotation(_shape):
        return {"angle": float(rng.choice([rng.uniform(-360, 360), 90, 180, -45, 0])), "expand": bool(rng.random() < 0.5)}

    def corners(shape):
        start, end = make_corners(rng, shape[1], shape[0])
        return {"from": start, "to": end}

    def displacement(shape):
        sigma = float(rng.uniform(0.1, max(0.12, min(5, (min(shape[:2]) - 2) / 4))))  # torch mirrors a picture once alone
        return {"seed": int(rng.integers(1 << 62)), "alpha": float(rng.uniform(1, 80)), "sigma": sigma}

    for _ in range(TRIALS):
        trial.run("affine", lambda shape: make_affine(rng, shape[1], shape[0]), affine, 0.01)
        # A picture that grows has whole pixels: torchvision moves its boxes by the part that was rounded.
        trial.run("rotate", rotation, rotate, 1.0)
        trial.run("perspective", corners, perspective, 0.05)
        trial.run("elastic", displacement, elastic, 0.01)
    trial.report()


def solve(start, end):
    """torchvision's _get_perspective_coeffs in double precision, as its newer versions have it."""
    rows, right = [], []
    for (x, y), (u, v) in zip(end, start):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.linalg.solve(np.array(rows, float), np.array(right, float)).tolist()


def check_operations(v2, program, folder, rng):
    """The same through chains of a pipeline: parameters without chance, and what later operations make of the result."""
    F = v2.functional
    from torchvision.transforms import InterpolationMode
    picture = make_picture(rng, 3)[:60, :70]
    path = pathlib.Path(folder, "picture.png")
    Image.fromarray(picture).save(path)
    height, width, _ = picture.shape
    image = torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))
    size = f"size = [{height}, {width}]"

    def chain(name, ops, theirs, bound):
        with Daemon(program, folder, 'colours = "rgb"', ops) as daemon:
            ours = daemon.of(path)
        theirs = theirs.numpy().transpose(1, 2, 0)
        if ours.shape != theirs.shape:
            return check(name, False, f"{ours.shape} and not {theirs.shape}")
        return check(name, (np.abs(ours - theirs.astype(int)) > bound).any(2).mean() <= OTHERS_MAX, "pixels differ")

    bilinear = InterpolationMode.BILINEAR
    turned = ('{ op = "affine", degrees = [20, 20], translate = [0, 0], scale = 1.2, shear = [10, 10], filter = "bilinear", '
              'fill = 9 }')
    crop = f'{{ op = "center-crop", {size} }}'
    still = F.affine(image, 20, [0, 0], 1.2, [10, 0], bilinear, [9, 9, 9])
    chain("affine", f"{crop}, {turned}", still, 1)
    chain("affine, then a crop", f'{turned}, {{ op = "center-crop", size = [30, 20] }}', F.center_crop(still, [30, 20]), 1)
    chain("flips on both sides", f'{{ op = "horizontal-flip", p = 1 }}, {turned}, {{ op = "horizontal-flip", p = 1 }}, {crop}',
          F.horizontal_flip(F.affine(F.horizontal_flip(image), 20, [0, 0], 1.2, [10, 0], bilinear, [9, 9, 9])), 1)
    chain("colours on both sides", f'{{ op = "invert", p = 1 }}, {turned}, {{ op = "posterize", bits = 4, p = 1 }}, {crop}',
          F.posterize(F.affine(F.invert(image), 20, [0, 0], 1.2, [10, 0], bilinear, [9, 9, 9]), 4), 16)
    expanded = F.rotate(image, 30, InterpolationMode.NEAREST, True, None, [1, 2, 3])
    chain("rotate, expanded", f'{{ op = "rotate", degrees = [30, 30], expand = true, fill = [1, 2, 3] }}, '
          f'{{ op = "center-crop", size = [{expanded.shape[1]}, {expanded.shape[2]}] }}', expanded, 0)
    for mode in ("constant", "edge", "reflect", "symmetric"):
        for padding in ([3], [4, 7], [1, 2, 30, 4]):
            padded = F.pad(image, padding, 7 if mode == "constant" else 0, mode)
            fill = ", fill = 7" if mode == "constant" else ""
            chain(f"pad {mode} {padding}", f'{{ op = "pad", padding = {padding}, mode = "{mode}"{fill} }}, '
                  f'{{ op = "center-crop", size = [{padded.shape[1]}, {padded.shape[2]}] }}', padded, 0)
    for name, ops, transform in (("random-resize", "size = [31, 32]", None),
                                 ("random-shortest-size", "sizes = [50], max_size = 40", v2.RandomShortestSize(50, 40)),
                                 ("random-shortest-size, unbounded", "sizes = 50", v2.RandomShortestSize(50)),
                                 ("scale-jitter", "size = 64, scale = [1.3, 1.3]", v2.ScaleJitter((64, 64), (1.3, 1.3)))):
        shorter = min(height, width)
        wanted = [31 * height // shorter,
                  31 * width // shorter] if transform is None else [int(side) for side in transform._get_params([image])["size"]]
        with Daemon(program, folder, 'colours = "rgb"', f'{{ op = "resize", size = {wanted} }}') as daemon:
            resized = torch.from_numpy(daemon.of(path)).permute(2, 0, 1)
        op = name.split(",")[0]
        chain(name, f'{{ op = "{op}", {ops} }}, {{ op = "center-crop", size = {wanted} }}', resized, 0)
    chain("CIFAR's padded crop",
          f'{{ op = "pad", padding = 4 }}, {{ op = "center-crop", size = [{height + 8}, {width + 8}] }}, {crop}', image, 0)


def main():
    if not is_there():
        print("torchvision v2 is not there: tests/install installs it")
        sys.exit(SKIPPED)
    v2, tv_tensors = load_torchvision_v2()
    warp_dump, pixel_dump = sys.argv[1:]
    rng = np.random.default_rng(11)
    warps = Warps(warp_dump)
    check_warps(v2, tv_tensors, warps, rng)
    warps.close()
    with tempfile.TemporaryDirectory() as folder:
        check_operations(v2, pixel_dump, folder, rng)
    for failure in FAILED[:20]:
        print("FAILED", failure)
    print(f"{len(FAILED)} failures")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
