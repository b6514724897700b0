"""The result of timm.data.create_transform as operations, with the real timm; and what timm's changes make of pictures."""
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from case import DaemonCase
from transforms_test import FixedPixels, answers, canonical

ROOT = Path(__file__).resolve().parents[3]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMAL = {"op": "normalize", "mean": MEAN, "std": STD}
FLIP = {"op": "horizontal-flip", "p": 0.5}
JITTER = {"op": "color-jitter", "brightness": 0.4, "contrast": 0.4, "saturation": 0.4}
BYTES = {"op": "convert", "dtype": "uint8", "layout": "NCHW"}


def crop(size=96, filter="bilinear", scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    return {"op": "random-resized-crop", "size": [size, size], "scale": list(scale), "ratio": list(ratio), "filter": filter}


def erasing(p, **how):
    return {"op": "random-erasing", "scale": [0.02, 1 / 3], "ratio": [0.3, 1 / 0.3], "p": p, **how}


def policy(**changes):
    return {"op": "timm-rand-augment", "num_ops": 2, "magnitude": 9, "magnitude_std": 0.5, "change_p": 0.5, "increasing": True,
            "filter": "bilinear", "fill": [124, 116, 104], **changes}


def middle(size, crop, filter="bilinear"):
    return [{"op": "resize", "size": size, "filter": filter}, {"op": "center-crop", "size": [crop, crop]}]


# (expression, the operations behind decode-image)
EQUAL = [
    ("create(224)", [*middle(256, 224), NORMAL]),
    ("create((3, 96, 96), interpolation='bicubic', crop_pct=1.0)", [*middle(96, 96, "bicubic"), NORMAL]),
    ("create(96, crop_mode='squash', crop_pct=0.75)",
     [{"op": "resize", "size": [128, 128], "filter": "bilinear"}, {"op": "center-crop", "size": 96}, NORMAL]),
    ("create(96, normalize=False)", [*middle(109, 96), BYTES]),
    ("create(96, use_prefetcher=True)", [*middle(109, 96), BYTES]),
    ("create(96, True, no_aug=True)", [*middle(96, 96), NORMAL]),
    ("create(96, True)", [crop(), FLIP, JITTER, NORMAL]),
    ("create(96, True, scale=(0.3, 0.9), ratio=(1, 2), hflip=0, vflip=0.5, color_jitter=None, re_prob=0.2)",
     [crop(scale=(0.3, 0.9), ratio=(1, 2)), {"op": "vertical-flip", "p": 0.5}, NORMAL, erasing(0.2, value=[0])]),
    ("create(96, True, interpolation='random', auto_augment='rand-m9-mstd0.5-inc1', re_prob=0.25, re_mode='pixel')",
     [{"op": "random-choice", "ops": [crop(), crop(filter="bicubic")]}, FLIP, policy(filter="random"), NORMAL,
      erasing(0.25, noise="pixel")]),
    ("create(96, True, interpolation='bicubic', auto_augment='rand-m7-n3-p0.8', re_prob=0.1, re_mode='rand')",
     [crop(filter="bicubic"), FLIP,
      policy(num_ops=3, magnitude=7, magnitude_std=0, change_p=0.8, increasing=False, filter="bicubic"), NORMAL,
      erasing(0.1, noise="channel")]),
    ("create(96, True, color_jitter=(0.1, 0.2, 0.3, 0.1), color_jitter_prob=0.8, grayscale_prob=0.2, gaussian_blur_prob=0.5)",
     [crop(), FLIP, {"op": "random-apply", "p": 0.8, "ops": [{"op": "color-jitter", "brightness": 0.1, "contrast": 0.2,
                                                               "saturation": 0.3, "hue": 0.1}]},
      {"op": "grayscale", "p": 0.2},
      {"op": "random-apply", "p": 0.5, "ops": [{"op": "gaussian-blur", "kernel_size": 23, "sigma": [0.1, 2.0]}]}, NORMAL]),
    ("T.Compose([T.Resize((96, 96)), timm.transforms.CenterCropOrPad(64), timm.transforms.ToTensor(torch.float16)])",
     [{"op": "resize", "size": [96, 96], "filter": "bilinear"}, {"op": "center-crop", "size": 64},
      {"op": "convert", "dtype": "float16", "layout": "NCHW"}]),
]
REFUSED = [
    ("create(96, True, auto_augment='original')", ["transforms[2], timm.data.auto_augment.AutoAugment: it has policies"]),
    ("create(96, True, auto_augment='augmix-m3')", ["AugMixAugment: it has changes and magnitudes of timm's own"]),
    ("create(96, True, auto_augment='rand-m9-t3a')", ["RandAugment: it has other changes than timm's own fifteen"]),
    ("create(96, True, auto_augment='rand-m9-tweights')", ["RandAugment: it has weights for its changes"]),
    ("create(96, True, auto_augment='rand-m9-mstd101')", ["RandAugment: it draws its magnitudes evenly"]),
    ("create(96, True, auto_augment='rand-m15-mmax20')", ["RandAugment: it has another greatest magnitude"]),
    ("create(96, True, auto_augment='rand-m15')", ["RandAugment: it has magnitude = 15, and spdld knows numbers from 0 to 10"]),
    ("create(96, True, interpolation='lanczos', auto_augment='rand-m9')", ["RandAugment: it has another interpolation"]),
    ("create(96, True, re_prob=0.2, re_count=3)", ["RandomErasing: it erases several boxes"]),
    ("create((96, 128))", ["transforms[0], timm.data.transforms.ResizeKeepRatio: it rounds the longer side"]),
    ("create(96, crop_mode='border')", ["ResizeKeepRatio: it rounds", "CenterCropOrPad: it pads with other pixels"]),
    ("create(96, crop_border_pixels=4)", ["TrimBorder: it cuts a border off"]),
    ("create(96, True, train_crop_mode='rkrr')", ["ResizeKeepRatio: it rounds", "RandomCropOrPad: it crops or pads"]),
    ("changed(timm.transforms.MaybeToTensor(), '__call__')", ["MaybeToTensor: it was given code of yours"]),
    ("changed(timm.transforms.CenterCropOrPad(96))", ["CenterCropOrPad: it has or lacks the attribute forward"]),
    ("type('RandomErasing', (timm.random_erasing.RandomErasing,), {})()", ["RandomErasing: it is no transform that spdld knows"]),
    ("setattr(e := timm.random_erasing.RandomErasing(), 'shape', 3) or e", ["RandomErasing: it has or lacks the attribute"]),
    ("setattr((r := policy('rand-m9', {})).ops[3], 'aug_fn', print) or r", ["code of yours"]),
    ("setattr((r := policy('rand-m9', {})).ops[3], 'magnitude', 3) or r", ["several magnitudes"]),
    ("policy('rand-m9', {'translate_pct': 0.3})", ["other moves than timm's own"]),
    ("type('Compose', (), {'__module__': 'albumentations.core.composition'})()",
     ["albumentations.core.composition.Compose: it is a transform of albumentations: docs/torchvision.md has a pipeline"]),
    ("[T.ToTensor(), policy('rand-m9', {})]", ["pictures of Pillow with three channels alone"]),
]
# (expression, the greatest difference in grey levels): without chance, so that the pixels are compared.
FIXED = [
    ("create(96, mean=(0, 0, 0), std=(1, 1, 1))", 1.01),
    ("create(96, interpolation='bicubic', mean=(0, 0, 0), std=(1, 1, 1))", 0.01),
    ("create(96, crop_mode='squash', interpolation='bicubic', mean=(0, 0, 0), std=(1, 1, 1))", 0.01),
    ("create(96, True, no_aug=True, normalize=False)", 1),
    ("T.Compose([T.Resize((40, 50)), timm.transforms.CenterCropOrPad(64), timm.transforms.MaybePILToTensor()])", 1),
]
# timm's own objects, with the numbers that they would draw, beside the reference that pixels/compare_timm.py holds the daemon to.
CHANGES = """
import itertools, json, sys
import numpy as np
from PIL import Image
sys.path[:0] = sys.argv[1:]
import timm.data.auto_augment as policies
import timm_changes

FILL = (124, 116, 104)
picture = Image.fromarray(np.random.default_rng(3).integers(0, 256, (5, 7, 3), dtype=np.uint8)).resize((61, 43), Image.BICUBIC)
apart, count = [], 0
for increasing, names in ((False, policies._RAND_TRANSFORMS), (True, policies._RAND_INCREASING_TRANSFORMS)):
    pairs = zip(names, timm_changes.CHANGES, strict=True)
    for (name, plain), magnitude, sign in itertools.product(pairs, (0, 2.5, 9, 10), (-1, 1)):
        policies.random.random = lambda: 0.25 if sign > 0 else 0.75
        change = policies.AugmentOp(name, prob=1, magnitude=magnitude, hparams={"img_mean": FILL, "interpolation": Image.BICUBIC})
        ours = timm_changes.changed(picture, plain, magnitude / 10, sign, increasing, {"filter": Image.BICUBIC, "fill": FILL})
        count += 1
        if not np.array_equal(np.asarray(change(picture)), np.asarray(ours)):
            apart.append([name, magnitude, sign])
print(json.dumps([count, apart]))
"""


@unittest.skipUnless((ROOT / "build" / "timm" / "timm").is_dir(), "tests/install installs timm")
class Timm(FixedPixels, DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        given = answers("timm", [expression for expression, _ in EQUAL + REFUSED])
        cls.equal, cls.refused = given[:len(EQUAL)], given[len(EQUAL):]

    def test_equal_operations(self):
        for (expression, expected), answer in zip(EQUAL, self.equal, strict=True):
            with self.subTest(expression):
                self.assertNotIn("error", answer)
                ops = [canonical(entry) for entry in answer["ops"][1:]]
                self.assertEqual(json.loads(json.dumps(ops), parse_float=lambda text: round(float(text), 6)),
                                 json.loads(json.dumps([canonical(entry) for entry in expected]),
                                            parse_float=lambda text: round(float(text), 6)))
                self.assertEqual(tomllib.loads("ops = " + answer["toml"])["ops"], answer["ops"])
                self.assertEqual(["use_prefetcher=False" in note for note in answer["notes"]], ["use_prefetcher" in expression] *
                                 len(answer["notes"]))
        outputs = [{"name": f"o{number}", "from": "image", "ops": [{"op": "decode-image"}, *expected]}
                   for number, (_, expected) in enumerate(EQUAL)]
        with self.attach(self.spec(output=outputs)) as loader:
            self.assertEqual({entry["name"] for entry in outputs} - set(next(iter(loader))), set())

    def test_what_has_no_equal_is_named(self):
        for (expression, parts), answer in zip(REFUSED, self.refused, strict=True):
            with self.subTest(expression):
                lines = answer.get("error", "").splitlines()
                self.assertEqual(len(lines), len(parts), answer)
                for line, part in zip(lines, parts):
                    self.assertIn(part, line)

    def test_the_block_of_the_page(self):
        section = (ROOT / "docs/torchvision.md").read_text().split("\n## timm\n")[1].split("\n## ")[0]
        block, = re.findall(r"```python gpu\n(.*?)```", section, re.DOTALL)
        path = os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT / "build/timm")])
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", block], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": path})
        self.assertEqual(done.returncode, 0, done.stderr)
        ops = tomllib.loads("ops = " + done.stdout)["ops"]
        self.assertEqual([entry["op"] for entry in ops], ["decode-image", "random-resized-crop", "horizontal-flip",
                                                          "timm-rand-augment", "normalize", "random-erasing"])

    def test_pixels(self):
        self.compare_pixels("timm", FIXED)

    def test_the_reference_of_the_changes_is_timm_itself(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            folders = [str(ROOT / "build/timm"), str(ROOT / "tests/support")]
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", CHANGES, *folders], capture_output=True, text=True,
                                  timeout=120, cwd=elsewhere)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), [15 * 2 * 4 * 2, []])


if __name__ == "__main__":
    unittest.main()
