#!/usr/bin/env python3
"""Holds the daemon's policies of augmentation to torchvision v2's, with the numbers that the daemon draws.

    compare_policies.py PIXEL_DUMP

torchvision's own classes run, and take their random numbers from the daemon's streams. One change of a picture gives the same
values where torchvision computes with integers, and values within 1 where it computes in float32. Behind a change that is off by
1, another change may make more of it: such pairs have a bound on how many values are farther away.
"""
import pathlib
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

from dump import Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "tests/python/scripts"), str(ROOT / "tests" / "support")]
from draws import Draw, beta, parts
from torchvision_v2 import is_there, load_torchvision_v2

SKIPPED = 77  # Meson's
SIZES = [(64, 48), (61, 97)]  # width, height
PICTURES = 100  # of each size
EXACT = {"Identity", "Brightness", "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert"}
WARPS = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"}
FAILED = []
SEEN = {}  # change: [pictures, greatest difference, pixels that differ, pixels]


class Numbers:
    """torch for torchvision's policies, with random numbers from a stream of the daemon's."""

    def __init__(self):
        self.draw = self.bins = self.bin = None

    def __getattr__(self, name):
        return getattr(torch, name)

    def linspace(self, first, last, count):
        """By the formula of torch's kernel. Its own numbers depend on the machine's vectors, by one unit in the last place."""
        first, last = np.float32(first), np.float32(last)
        step = float((last - first) / np.float32(count - 1))
        numbers = [first + step * i if i < count // 2 else last - step * (count - 1 - i) for i in range(count)]
        ours, theirs = np.array(numbers, np.float32), torch.linspace(first, last, count).numpy()
        if np.any(np.abs(ours - theirs) > 1.5 * np.spacing(np.maximum(np.abs(first), np.abs(last)))):
            FAILED.append(f"linspace({first}, {last}, {count})")
        return torch.from_numpy(ours)

    def begin(self, draw, bins):
        """`bins`: among how many a change's bin is drawn; 0: it is given."""
        self.draw, self.bins, self.bin = draw, bins, None
        return draw.uniform()  # for the operation's p

    def randint(self, bound=None, shape=None, *, low=None, high=None, size=None):
        if low is not None:
            return torch.tensor([low + self.draw.below(high - low)])
        if bound == self.bins and self.bin is not None:
            bin, self.bin = self.bin, None
            return torch.tensor(bin)
        chosen = self.draw.below(bound)
        self.bin = self.draw.below(self.bins) if self.bins else None
        self.sign = self.draw.below(2)
        return torch.tensor(chosen)

    def rand(self, _shape):
        return torch.tensor(float(self.sign))  # 0 is below 0.5, and makes the magnitude negative


def make_pictures(rng, width, height):
    y, x = np.mgrid[0:height, 0:width]
    for number in range(PICTURES):
        a, b, c = rng.uniform(0.02, 0.3, 3)
        waves = np.stack([128 + 100 * np.sin(x * a + y * b * k + c * number + k) for k in range(3)], 2)
        noise = rng.normal(0, rng.uniform(0, 30), waves.shape)
        yield np.clip(waves + noise, 0, 255).astype(np.uint8)


def torched(picture):
    return torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))


def untorched(tensor):
    return tensor.numpy().transpose(1, 2, 0).astype(int)


class Recorded:
    """Notes the changes that a policy makes of a picture."""

    def recorded(self, policy):
        self.made = []
        apply = policy._apply_image_or_video_transform

        def noting(image, name, magnitude, **how):
            self.made.append(name)
            return apply(image, name, magnitude, **how)

        policy._apply_image_or_video_transform = noting
        return policy


def check(name, changes, ours, theirs, filter):
    """Of one picture."""
    delta = np.abs(ours - theirs)
    off = [change for change in changes if change not in EXACT]
    warps = [change for change in changes if change in WARPS]
    if len(changes) == 1:
        seen = SEEN.setdefault(f"{changes[0]} {filter}" if warps else changes[0], [0, 0, 0, 0])
        seen[:] = seen[0] + 1, max(seen[1], delta.max()), seen[2] + np.count_nonzero(delta), seen[3] + delta.size
    if warps and filter == "nearest":
        wrong = np.mean(delta > 1) > 0.01  # ties of places
    elif len(off) == 0:
        wrong = delta.max() > 0
    elif off == [changes[-1]]:
        wrong = delta.max() > 1
    else:
        wrong = np.mean(delta > 2) > 0.05 or delta.mean() > 0.5
    if wrong:
        FAILED.append(f"{name} {changes}: {np.mean(delta > 0):.5f} differ, {np.mean(delta > 1):.5f} by more than 1, "
                      f"at most {delta.max()}")


def policies(tv, numbers, filter):
    """Each: the operation, torchvision's object, bins that are drawn, and how torchvision's object is run."""
    mode = getattr(tv.InterpolationMode, filter.upper())
    how = f'filter = "{filter}", fill = 0'
    run = lambda policy, picture: policy(picture)
    for count, magnitude, bins in ((1, 9, 31), (1, 30, 31), (2, 7, 10)):
        yield (f'{{ op = "rand-augment", num_ops = {count}, magnitude = {magnitude}, bins = {bins}, {how} }}', "rand-augment",
               tv.RandAugment(count, magnitude, bins, mode, 0), 0, run)
    for bins in (31, 12):
        yield f'{{ op = "trivial-augment", bins = {bins}, {how} }}', "trivial-augment", tv.TrivialAugmentWide(
            bins, mode, 0), bins, run
    for name in ("imagenet", "cifar10", "svhn"):
        policy = tv.AutoAugment(tv.AutoAugmentPolicy(name), mode, 0)
        yield f'{{ op = "auto-augment", policy = "{name}", {how} }}', "auto-augment", policy, 0, lambda p, x: auto_augment(
            p, x, numbers.draw)


def auto_augment(policy, picture, draw):
    """AutoAugment's forward(): its own takes no number for the sign of a change that is not made."""
    for name, probability, bin in policy._policies[draw.below(len(policy._policies))]:
        done, sign = draw.uniform() < probability, draw.below(2)
        magnitudes, signed = policy._AUGMENTATION_SPACE[name]
        magnitudes = magnitudes(10, *picture.shape[-2:])
        magnitude = 0.0 if magnitudes is None else float(magnitudes[bin]) * (-1 if signed and sign == 0 else 1)
        if done:
            picture = policy._apply_image_or_video_transform(picture, name, magnitude, interpolation=policy.interpolation,
                                                             fill=policy._fill)
    return picture


class Trial:
    def __init__(self, program, folder, numbers):
        self.program, self.folder, self.numbers = program, folder, numbers
        rng = np.random.default_rng(5)
        self.pictures = {}
        for width, height in SIZES:
            for picture in make_pictures(rng, width, height):
                path = pathlib.Path(folder, f"{len(self.pictures)}.png")
                Image.fromarray(picture).save(path)
                self.pictures[path] = picture

    def each(self, ops):
        """The number of each picture, itself, and the daemon's."""
        for width, height in SIZES:
            alike = {number: path for number, path in enumerate(self.pictures)
                     if self.pictures[path].shape[:2] == (height, width)}
            with Daemon(self.program, self.folder, 'colours = "rgb"',
                        f'{{ op = "center-crop", size = [{height}, {width}] }}, {ops}') as daemon:
                for number, path in alike.items():
                    yield number, self.pictures[path], daemon.of(path, number)

    def policies(self, tv):
        for filter in ("nearest", "bilinear"):
            for ops, name, policy, bins, run in policies(tv, self.numbers, filter):
                recorder = Recorded()
                recorder.recorded(policy)
                for number, picture, ours in self.each(ops):
                    recorder.made.clear()
                    self.numbers.begin(Draw(0, 0, number, name), bins)
                    theirs = untorched(run(policy, torched(picture)))
                    check(f"{ops} of picture {number}", list(recorder.made), ours, theirs, filter)

    def aug_mix(self, tv):
        for severity, width, depth, alpha, every in ((3, 3, -1, 1.0, True), (10, 2, 1, 0.5, False), (1, 4, 3, 2.0, True)):
            ops = (f'{{ op = "aug-mix", severity = {severity}, mixture_width = {width}, chain_depth = {depth}, alpha = {alpha}, '
                   f'all_ops = {str(every).lower()}, fill = 0 }}')
            policy = tv.AugMix(severity, width, depth, alpha, every, tv.InterpolationMode.BILINEAR, 0)
            worst = beyond = values = 0
            for number, picture, ours in self.each(ops):
                draw = Draw(0, 0, number, "aug-mix")
                self.numbers.begin(draw, severity)
                own = beta(draw, alpha)
                weights = [torch.tensor([[own, 1 - own]]), torch.tensor([parts(draw, alpha, width)])]
                policy._sample_dirichlet = lambda _params, left=weights: left.pop(0)
                if depth > 0:
                    policy.chain_depth = DrawnDepth(draw, depth)
                delta = np.abs(ours - untorched(policy(torched(picture))))
                worst, beyond, values = max(worst, delta.max()), beyond + np.count_nonzero(delta > 1), values + delta.size
                if np.mean(delta > 1) > 0.05:
                    FAILED.append(f"{ops} of picture {number}: {np.mean(delta > 1):.4f} differ by more than 1, "
                                  f"at most {delta.max()}")
            print(f"aug-mix {severity} {width} {depth}: at most {worst}, {beyond / values:.6f} of the values by more than 1")


class DrawnDepth(int):
    """A depth that is given: the daemon draws one all the same, before each copy's changes."""

    def __new__(cls, draw, depth):
        made = super().__new__(cls, depth)
        made.draw = draw
        return made

    def __gt__(self, other):
        self.draw.below(3)
        return int(self) > other


HELD = ["posterize", "solarize", "invert"]


def check_holders(trial, F):
    works = [lambda x: F.posterize(x, 3), lambda x: F.solarize(x, 100), F.invert]
    held = '{ op = "posterize", bits = 3 }, { op = "solarize", threshold = 100 }, { op = "invert" }'

    def does(number, holder, place):
        return Draw(0, 0, number, f"{holder}.{place}").uniform() < 0.5

    def applied(number, picture):
        if Draw(0, 0, number, "random-apply").uniform() >= 0.7:
            return picture
        for place, work in enumerate(works):
            picture = work(picture) if does(number, "random-apply", place) else picture
        return picture

    def chosen(number, picture):
        drawn = Draw(0, 0, number, "random-choice").uniform() * 6
        place = 0 if drawn < 1 else 1 if drawn < 3 else 2
        return works[place](picture) if does(number, "random-choice", place) else picture

    def ordered(number, picture):
        for place in Draw(0, 0, number, "random-order").shuffled(3):
            picture = works[place](picture) if does(number, "random-order", place) else picture
        return picture

    for parameters, expected in (('op = "random-apply", p = 0.7', applied), ('op = "random-choice", weights = [1, 2, 3]', chosen),
                                 ('op = "random-order"', ordered)):
        changed = 0
        for number, picture, ours in trial.each(f"{{ {parameters}, ops = [{held}] }}"):
            theirs = untorched(expected(number, torched(picture)))
            changed += np.any(theirs != picture)
            if np.any(ours != theirs):
                FAILED.append(f"{parameters} of picture {number}")
        if not 20 < changed < len(trial.pictures):
            FAILED.append(f"{parameters} changes {changed} pictures")


def main():
    if not is_there():
        print("torchvision v2 is not there: tests/install installs it")
        sys.exit(SKIPPED)
    tv = load_torchvision_v2()[0]
    numbers = Numbers()
    sys.modules["torchvision.transforms.v2._auto_augment"].torch = numbers
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(sys.argv[1], folder, numbers)
        check_holders(trial, tv.functional)
        trial.policies(tv)
        trial.aug_mix(tv)
    for name, (pictures, most, differ, values) in sorted(SEEN.items()):
        print(f"{name}: {pictures} pictures, at most {most}, {differ / values:.6f} of the values differ")
    missing = (EXACT | {"Color", "Contrast", "Sharpness"}) - SEEN.keys()
    missing |= {f"{warp} {filter}" for warp in WARPS for filter in ("nearest", "bilinear")} - SEEN.keys()
    if missing:
        FAILED.append(f"no picture had {missing}")
    for name in FAILED[:20]:
        print("FAILED", name)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
