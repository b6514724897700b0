"""torchvision's transforms as operations: of objects of both interfaces, and from a script's text; the daemon takes them all."""
import ast
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

import spdld
import torchvision_v2
from case import DaemonCase
from spdld._operations import ARGUMENTS
from spdld._script import Script
from spdld._transforms import converted
from spdld.torch import from_transforms

HERE = Path(__file__).resolve().parent
BILINEAR, NEAREST = {"filter": "bilinear"}, {"filter": "nearest"}
DISTORTED = [{"op": "brightness", "factor": [0.875, 1.125], "p": 0.5},
             {"op": "random-choice", "ops": [
                 {"op": "random-apply", "p": 1, "ops": [{"op": name, "factor": factor, "p": 0.5} for name, factor in order]}
                 for order in ([("contrast", [0.5, 1.5]), ("saturation", [0.5, 1.5]), ("hue", [-0.05, 0.05])],
                               [("saturation", [0.5, 1.5]), ("hue", [-0.05, 0.05]), ("contrast", [0.5, 1.5])])]},
             {"op": "channel-permutation", "p": 0.5}]
# (expression, the operations behind decode-image) of transforms that both interfaces have.
BOTH = [
    ("T.Resize(40)", [{"op": "resize", "size": 40, **BILINEAR}]),
    ("T.Resize([40])", [{"op": "resize", "size": 40, **BILINEAR}]),
    ("T.Resize((40, 50), interpolation=InterpolationMode.BICUBIC)", [{"op": "resize", "size": [40, 50], "filter": "bicubic"}]),
    ("T.Resize(40, max_size=60, interpolation=InterpolationMode.LANCZOS)",
     [{"op": "resize", "size": 40, "max_size": 60, "filter": "lanczos"}]),
    ("T.Resize(40, InterpolationMode.NEAREST)", [{"op": "resize", "size": 40, **NEAREST}]),
    ("T.FiveCrop(20)", [{"op": "five-crop", "size": 20}]),
    ("T.TenCrop((20, 24), vertical_flip=True)", [{"op": "ten-crop", "size": [20, 24], "vertical_flip": True}]),
    ("T.CenterCrop(30)", [{"op": "center-crop", "size": 30}]),
    ("T.CenterCrop((30, 20))", [{"op": "center-crop", "size": [30, 20]}]),
    ("T.RandomCrop(32)", [{"op": "random-crop", "size": 32}]),
    ("T.RandomCrop(32, padding=4, padding_mode='reflect')",
     [{"op": "pad", "padding": 4, "mode": "reflect", "fill": 0}, {"op": "random-crop", "size": 32}]),
    ("T.RandomCrop(32, padding=[1, 2, 3, 4], fill=7)",
     [{"op": "pad", "padding": [1, 2, 3, 4], "mode": "constant", "fill": 7}, {"op": "random-crop", "size": 32}]),
    ("T.RandomCrop(32, pad_if_needed=True)", [{"op": "random-crop", "size": 32}]),
    ("T.RandomResizedCrop(32, scale=(0.2, 0.9), ratio=(0.5, 2.0))",
     [{"op": "random-resized-crop", "size": 32, "scale": [0.2, 0.9], "ratio": [0.5, 2.0], **BILINEAR}]),
    ("T.RandomHorizontalFlip(0.3)", [{"op": "horizontal-flip", "p": 0.3}]),
    ("T.RandomVerticalFlip()", [{"op": "vertical-flip", "p": 0.5}]),
    ("T.Pad((1, 2), fill=(1, 2, 3))", [{"op": "pad", "padding": [1, 2], "fill": [1, 2, 3], "mode": "constant"}]),
    ("T.Pad((1, 2, 3, 4), padding_mode='edge')", [{"op": "pad", "padding": [1, 2, 3, 4], "fill": 0, "mode": "edge"}]),
    ("T.ColorJitter(0.4, (0.5, 1.5), hue=0.1)",
     [{"op": "color-jitter", "brightness": 0.4, "contrast": [0.5, 1.5], "hue": 0.1}]),
    ("T.Grayscale()", [{"op": "grayscale", "channels": 1}]),
    ("T.Grayscale(3)", [{"op": "grayscale", "channels": 3}]),
    ("T.RandomGrayscale(0.2)", [{"op": "grayscale", "p": 0.2}]),
    ("T.GaussianBlur(5)", [{"op": "gaussian-blur", "kernel_size": 5, "sigma": [0.1, 2.0]}]),
    ("T.GaussianBlur((3, 5), sigma=1.5)", [{"op": "gaussian-blur", "kernel_size": [3, 5], "sigma": 1.5}]),
    ("T.RandomInvert(0.1)", [{"op": "invert", "p": 0.1}]),
    ("T.RandomPosterize(3)", [{"op": "posterize", "bits": 3, "p": 0.5}]),
    ("T.RandomSolarize(128)", [{"op": "solarize", "threshold": 128, "p": 0.5}]),
    ("T.RandomAdjustSharpness(2, p=0.4)", [{"op": "sharpness", "factor": 2, "p": 0.4}]),
    ("T.RandomAutocontrast()", [{"op": "autocontrast", "p": 0.5}]),
    ("T.RandomEqualize()", [{"op": "equalize", "p": 0.5}]),
    ("T.RandomAffine(30, translate=(0.1, 0.2), scale=(0.9, 1.1), shear=5, fill=9)",
     [{"op": "affine", "degrees": 30, "translate": [0.1, 0.2], "scale": [0.9, 1.1], "shear": 5, "fill": 9, **NEAREST}]),
    ("T.RandomRotation((0, 45), expand=True, interpolation=InterpolationMode.BILINEAR)",
     [{"op": "rotate", "degrees": [0, 45], "expand": True, "fill": 0, **BILINEAR}]),
    ("T.RandomPerspective(0.3, p=0.7)", [{"op": "perspective", "distortion_scale": 0.3, "p": 0.7, "fill": 0, **BILINEAR}]),
    ("T.ElasticTransform(alpha=40.0, sigma=4.0)", [{"op": "elastic", "alpha": 40, "sigma": 4, "fill": 0, **BILINEAR}]),
    ("T.RandAugment(3, 7)", [{"op": "rand-augment", "num_ops": 3, "magnitude": 7, "bins": 31, "fill": 0, **NEAREST}]),
    ("T.TrivialAugmentWide()", [{"op": "trivial-augment", "bins": 31, "fill": 0, **NEAREST}]),
    ("T.AutoAugment(T.AutoAugmentPolicy.CIFAR10)", [{"op": "auto-augment", "policy": "cifar10", "fill": 0, **NEAREST}]),
    ("T.AugMix(severity=2)", [{"op": "aug-mix", "severity": 2, "mixture_width": 3, "chain_depth": -1, "alpha": 1.0,
                               "all_ops": True, "fill": 0, **BILINEAR}]),
    ("T.RandomApply([T.ColorJitter(0.4), T.Grayscale(3)], p=0.8)",
     [{"op": "random-apply", "p": 0.8, "ops": [{"op": "color-jitter", "brightness": 0.4}, {"op": "grayscale", "channels": 3}]}]),
    ("T.RandomOrder([T.RandomInvert(), T.Compose([T.RandomEqualize(), T.RandomInvert()])])",
     [{"op": "random-order", "ops": [{"op": "invert", "p": 0.5}, {"op": "random-apply", "p": 1, "ops": [
         {"op": "equalize", "p": 0.5}, {"op": "invert", "p": 0.5}]}]}]),
    ("T.RandomChoice([T.RandomInvert(), T.RandomEqualize()], p=[0.25, 0.75])",
     [{"op": "random-choice", "weights": [0.25, 0.75], "ops": [{"op": "invert", "p": 0.5}, {"op": "equalize", "p": 0.5}]}]),
]
# Of the second interface alone.
V2 = [
    ("T.RandomZoomOut(fill=3, side_range=(1.0, 2.0), p=0.4)", [{"op": "zoom-out", "side_range": [1, 2], "p": 0.4, "fill": 3}]),
    ("T.ScaleJitter((40, 50), scale_range=(0.5, 1.5))",
     [{"op": "scale-jitter", "size": [40, 50], "scale": [0.5, 1.5], **BILINEAR}]),
    ("T.RandomShortestSize([30, 40], max_size=60)",
     [{"op": "random-shortest-size", "sizes": [30, 40], "max_size": 60, **BILINEAR}]),
    ("T.RandomResize(30, 40)", [{"op": "random-resize", "size": [30, 40], **BILINEAR}]),
    ("T.RandomChannelPermutation()", [{"op": "channel-permutation"}]),
    ("T.RandomPhotometricDistort()", DISTORTED),
    ("T.Identity()", []),
    ("T.Compose([T.ToImage(), T.RandomInvert(), T.ToPILImage(), T.ToImage(), T.ToPureTensor()])",
     [{"op": "invert", "p": 0.5}, {"op": "convert", "dtype": "uint8", "layout": "NCHW"}]),
    ("T.RandomChoice([T.Identity(), T.RandomInvert()])",
     [{"op": "random-choice", "ops": [{"op": "random-apply", "p": 1, "ops": [{"op": "brightness", "factor": 1}]},
                                      {"op": "invert", "p": 0.5}]}]),
    ("T.Pad(2, fill={T.Resize: 1, 'others': 5})", [{"op": "pad", "padding": 2, "fill": 5, "mode": "constant"}]),
    ("T.Compose([T.ToImage(), T.Resize(40, antialias=False)])",
     [{"op": "resize", "size": 40, "antialias": False, **BILINEAR}, {"op": "convert", "dtype": "uint8", "layout": "NCHW"}]),
    ("T.Compose([T.ToImage(), T.ToDtype(torch.float16, scale=True)])",
     [{"op": "convert", "dtype": "float16", "layout": "NCHW", "scale": 1 / 255}]),
    ("T.Compose([T.ToImage(), T.ToDtype(torch.float32), T.Normalize([127.0] * 3, [60.0] * 3)])",
     [{"op": "normalize", "mean": [127, 127, 127], "std": [60, 60, 60], "scale": 255}]),
]
# Chains, whose ends make a tensor.
ENDS = [
    ("T.Compose([T.PILToTensor()])", [{"op": "convert", "dtype": "uint8", "layout": "NCHW"}]),
    ("T.Compose([T.ToTensor()])", [{"op": "convert", "dtype": "float32", "layout": "NCHW", "scale": 1 / 255}]),
    ("T.Compose([T.ToTensor(), T.Normalize([np.float32(0.5)] * 3, torch.tensor([0.5, 0.25, 0.125]))])",
     [{"op": "normalize", "mean": [0.5] * 3, "std": [0.5, 0.25, 0.125]}]),
    ("[T.PILToTensor(), T.ConvertImageDtype(torch.float32), T.Normalize((0.5, 0.5, 0.5), (0.2, 0.3, 0.4))]",
     [{"op": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.2, 0.3, 0.4]}]),
    ("T.Compose([T.ToTensor(), T.RandomErasing(value='random'), T.RandomErasing(0.1, value=(1, 2, 3))])",
     [{"op": "convert", "dtype": "float32", "layout": "NCHW", "scale": 1 / 255},
      {"op": "random-erasing", "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "p": 0.5, "noise": "pixel"},
      {"op": "random-erasing", "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "p": 0.1, "value": [1, 2, 3]}]),
    ("T.Compose([T.ToTensor(), T.RandomErasing(1, value=0.5), T.Normalize((0.25,) * 3, (0.5,) * 3)])",
     [{"op": "normalize", "mean": [0.25] * 3, "std": [0.5] * 3},
      {"op": "random-erasing", "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "p": 1, "value": [0.5] * 3}]),
    ("T.Compose([T.ToTensor(), T.Pad(2, fill=0.5)])",
     [{"op": "pad", "padding": 2, "fill": [127.5], "mode": "constant"},
      {"op": "convert", "dtype": "float32", "layout": "NCHW", "scale": 1 / 255}]),
    ("[T.PILToTensor(), T.RandomErasing(1, value=51), T.ConvertImageDtype(torch.float32), T.Normalize((0.1,) * 3, (0.5,) * 3)]",
     [{"op": "normalize", "mean": [0.1] * 3, "std": [0.5] * 3},
      {"op": "random-erasing", "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "p": 1, "value": [(51 * (1 / 255) - 0.1) / 0.5] * 3}]),
    ("T.Compose([T.ToTensor(), T.RandomSolarize(0.5), T.Normalize((0.5,) * 3, (0.5,) * 3), T.RandomHorizontalFlip()])",
     [{"op": "solarize", "threshold": 127.5, "p": 0.5}, {"op": "horizontal-flip", "p": 0.5},
      {"op": "normalize", "mean": [0.5] * 3, "std": [0.5] * 3}]),
]
REFUSED = [
    ("T.Lambda(lambda picture: picture.rotate(3))", ["transforms, Lambda: it runs code"]),
    ("T.Compose([T.FiveCrop(30), T.Resize(30), Own(), T.RandomApply([T.TenCrop(30)])])",
     ["transforms[1], Resize: it stands behind FiveCrop", "transforms[2], __main__.Own: it is no transform",
      "transforms[3], RandomApply: it stands behind FiveCrop"]),
    ("T.RandomApply([T.TenCrop(30)])", ["transforms.transforms[0], TenCrop: it makes several"]),
    ("[lambda picture: picture.rotate(3)]", ["transforms[0], <lambda>: it"]),
    ("T.RandomAffine(3, interpolation=InterpolationMode.BICUBIC)", ["takes the interpolation bicubic"]),
    ("T.RandomCrop(32, pad_if_needed=True, fill=3)", ["pad_if_needed with a border that is not black"]),
    ("[T.ToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3), T.GaussianBlur(3)]", ["transforms[2], GaussianBlur: it stands behind"]),
    ("[T.PILToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3)]", ["stands before the conversion to floating-point"]),
    ("[T.ToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3), T.Normalize((0.5,) * 3, (0.5,) * 3)]", ["the second Normalize"]),
    ("[T.ToTensor(), T.RandomErasing(value='random'), T.Normalize((0.5,) * 3, (0.5,) * 3)]", ["a RandomErasing with noise"]),
    ("[T.ToTensor(), T.ToPILImage(mode='L')]", ["transforms[1], ToPILImage: it asks for the mode L"]),
    ("T.RandomApply([T.ToTensor()])", ["transforms.transforms[0], ToTensor: it changes the type"]),
    ("T.LinearTransformation(torch.eye(3), torch.zeros(3))", ["LinearTransformation: it multiplies"]),
    ("[changed(T.Resize(40)), T.CenterCrop(20)]", ["transforms[0], Resize: it was given code of yours"]),
    ("[changed(T.RandomRotation(9), 'get_params')]", ["transforms[0], RandomRotation: it was given code of yours"]),
    ("hooked(T.Resize(40))", ["Resize: it was given code of yours"]),
    ("hooked(torch.nn.Sequential(T.Resize(40)))", ["it was given code of yours"]),
    ("type('Resize', (T.Resize,), {})(40)", ["Resize: it is no transform that spdld knows"]),
    ("[T.Resize(40), [T.CenterCrop(20)]]", ["transforms[1], list: it is no transform"]),
    ("[T.Grayscale(1), T.ToTensor(), T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]", ["a mean of 3 numbers for a picture of 1"]),
    ("[T.ToTensor(), T.Normalize((127, 127, 127), (60, 60, 60))]", ["has a mean above 1"]),
]


BOXES = """
name = "boxes"
source = { type = "webdataset", uri = "a.tar" }
output = [
  { name = "image", from = "jpg", view = "all", ops = OPERATIONS },
  { name = "boxes", from = "json:boxes", view = "all", ops = [{ op = "boxes" }], ragged = true, length_max = 9 },
]
batch = { size = 2 }
"""


def answers(interface, expressions, *folder):
    done = subprocess.run([sys.executable, HERE / "convert_transforms.py", interface, *folder], input=json.dumps(expressions),
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def canonical(operation):
    """An object has both numbers where its constructor was given one."""
    same = dict(operation)
    name = same["op"]
    pairs = {"center-crop": ["size"], "five-crop": ["size"], "ten-crop": ["size"], "random-crop": ["size"],
             "random-resized-crop": ["size"], "elastic": ["alpha", "sigma"],
             "gaussian-blur": ["kernel_size", "sigma"]}.get(name, [])
    for key in pairs:
        if not isinstance(same[key], list):
            same[key] = [same[key]] * 2
    for key in ("degrees", "shear", "hue"):
        if key in same and not isinstance(same[key], list):
            same[key] = [-same[key], same[key]]
    for key in ("brightness", "contrast", "saturation"):
        if key in same and not isinstance(same[key], list):
            same[key] = [max(0, 1 - same[key]), 1 + same[key]]
    if name == "pad":
        given = same["padding"] if isinstance(same["padding"], list) else [same["padding"]]
        same["padding"] = (given * 4)[:4]
    if "weights" in same:
        same["weights"] = [round(weight / sum(same["weights"]), 9) for weight in same["weights"]]
    if "ops" in same:
        same["ops"] = [canonical(entry) for entry in same["ops"]]
    return same


class Converted(DaemonCase):
    def expect(self, cases, given):
        for (expression, expected), answer in zip(cases, given, strict=True):
            with self.subTest(expression):
                self.assertNotIn("error", answer)
                self.assertEqual(answer["ops"][0], {"op": "decode-image", "exif": False})
                self.assertEqual([canonical(entry) for entry in answer["ops"][1:]], [canonical(entry) for entry in expected])
                self.assertEqual(tomllib.loads("ops = " + answer["toml"])["ops"], answer["ops"])

    def expect_errors(self, given):
        for (expression, parts), answer in zip(REFUSED, given, strict=True):
            with self.subTest(expression):
                self.assertEqual(len(answer.get("error", "").splitlines()), len(parts), answer)
                for line, part in zip(answer["error"].splitlines(), parts):
                    self.assertIn(part, line)

    def test_objects_of_the_first_interface(self):
        given = answers("v1", [expression for expression, _ in BOTH + ENDS + REFUSED])
        self.expect(BOTH + ENDS, given[:-len(REFUSED)])
        self.expect_errors(given[-len(REFUSED):])

    @unittest.skipUnless(torchvision_v2.is_there(), "tests/install installs the newer torchvision")
    def test_objects_of_the_second_interface(self):
        given = answers("v2", [expression for expression, _ in BOTH + V2 + ENDS + REFUSED])
        self.expect(BOTH + V2 + ENDS, given[:-len(REFUSED)])
        self.expect_errors(given[-len(REFUSED):])

    def test_the_arguments_stand_in_torchvisions_order(self):
        for interface in ("v1", *(["v2"] if torchvision_v2.is_there() else [])):
            given = answers(interface, [], "--arguments")
            self.assertGreater(len(given), 30)
            for name, arguments in given.items():
                with self.subTest(f"{interface} {name}"):
                    self.assertEqual([entry[0] for entry in ARGUMENTS[name]], arguments)

    def test_the_text_of_a_script(self):
        cases = [case for case in BOTH + V2 + ENDS if not any(part in case[0] for part in ("np.", "torch.tensor"))]
        given = []
        for expression, _ in cases:
            script = Script("import torch\nimport torchvision.transforms.v2 as T\nfrom torchvision.transforms.v2 import "
                            f"InterpolationMode\nmade = {expression}\n", "script.py")
            faults = []
            made = next(node.value for node in script.nodes(ast.Assign))
            operations = converted(made, script.transform, faults, "transforms")
            given.append({"error": str(faults)} if faults else {"ops": list(operations), "toml": operations.toml()})
        self.expect(cases, given)

    def test_the_daemon_takes_all(self):
        outputs = []
        for number, (_, expected) in enumerate(BOTH + V2):
            tensor = any(entry["op"] in ("convert", "normalize", "five-crop", "ten-crop") for entry in expected)
            end = [] if tensor else [{"op": "resize", "size": [24, 24]}]
            start = [{"op": "decode-image"}, *([{"op": "resize", "size": [24, 24]}] if tensor else [])]
            outputs.append({"name": f"o{number}", "from": "image", "ops": [*start, *expected, *end]})
        outputs += [{"name": f"e{number}", "from": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [24, 24]},
                                                                   *expected]} for number, (_, expected) in enumerate(ENDS)]
        for start in range(0, len(outputs), 16):
            with self.attach(self.spec(output=outputs[start:start + 16]), group=f"all-{start}") as loader:
                batch = next(iter(loader))
                self.assertEqual({entry["name"] for entry in outputs[start:start + 16]} - set(batch), set())

    @unittest.skipUnless(torchvision_v2.is_there(), "tests/install installs the newer torchvision")
    def test_operations_on_batches(self):
        one, several = answers("v2", ["T.CutMix(num_classes=3, alpha=0.5)",
                                      "T.RandomChoice([T.MixUp(num_classes=3), T.CutMix(num_classes=3)], p=[1, 3])"])
        mixes = {"images": ["image"], "labels": ["label"]}
        self.assertTrue(one["on_batches"] and several["on_batches"])
        self.assertEqual(one["ops"][0]["op"], "cutmix")
        self.assertEqual([(entry["op"], entry["share"]) for entry in several["ops"]], [("mixup", 0.25), ("cutmix", 0.75)])
        self.assertEqual({key: several["ops"][0][key] for key in mixes}, mixes)

    def test_crops_by_boxes(self):
        answer, = answers("v2", ["T.RandomIoUCrop(min_scale=0.4, sampler_options=[0.0, 0.5])"])
        self.assertEqual(answer["ops"][1:], [{"op": "random-iou-crop", "boxes": "boxes", "min_scale": 0.4, "max_scale": 1.0,
                                              "min_aspect_ratio": 0.5, "max_aspect_ratio": 2.0, "trials": 40,
                                              "sampler_options": [0.0, 0.5]}])
        self.assertIn("named boxes", answer["notes"][0])
        with tempfile.TemporaryDirectory(prefix="spdld-transforms-") as made:
            file = Path(made) / "boxes.toml"
            file.write_text(BOXES.replace("OPERATIONS", answer["toml"].rstrip("]") + '{ op = "resize", size = [24, 24] }]'))
            done = subprocess.run([os.environ["SPDLD_CTL"], "check", file], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_fakes_of_classes_that_are_newer_than_both(self):
        newer = type("JPEG", (), {"quality": (5, 50), "__module__": "torchvision.transforms.v2._augment"})
        self.assertEqual(from_transforms(newer())[1:], [{"op": "jpeg", "quality": [5, 50]}])
        fake = type("GaussianNoise", (), {"mean": 0.0, "sigma": 0.2, "clip": True,
                                          "__module__": "torchvision.transforms.v2._misc"})
        self.assertEqual(from_transforms([fake()])[1:], [{"op": "gaussian-noise", "mean": 0.0, "sigma": 0.2}])
        fake.clip = False
        with self.assertRaisesRegex(spdld.UnsupportedError, "clip=False"):
            from_transforms([fake()])


# (expression, the greatest difference in grey levels): without chance, so that the pixels are compared.
FIXED = [
    ("T.Compose([T.Resize(150), T.CenterCrop(128), T.ToTensor()])", 1.01),
    ("T.Compose([T.Resize((120, 100), InterpolationMode.BICUBIC), T.ToTensor()])", 0.01),
    ("T.Compose([T.CenterCrop(400), T.RandomHorizontalFlip(1), T.PILToTensor()])", 0),
    ("T.Compose([T.CenterCrop(90), T.RandomVerticalFlip(1), T.Pad((3, 5, 7, 9), padding_mode='reflect'), T.PILToTensor()])", 0),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomPosterize(3, p=1), T.RandomInvert(1)])", 0),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomSolarize(100, p=1), T.RandomCrop(90, padding=0)])", 0),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomEqualize(1)])", 0),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomAutocontrast(1)])", 1),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomAdjustSharpness(2, 1)])", 1),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.GaussianBlur((3, 5), (1.5, 1.5))])", 1),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.ColorJitter((1.3, 1.3))])", 1),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.Grayscale(3)])", 1),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomRotation((20, 20), fill=9)])", 0),
    ("T.Compose([T.CenterCrop(90), T.PILToTensor(), T.RandomAffine((15, 15), shear=(10, 10, -5, -5), fill=9)])", 0),
]


class FixedPixels:
    """Real pictures through a daemon, with the operations that objects were turned into, beside what the objects do."""

    def compare_pixels(self, interface, cases):
        with tempfile.TemporaryDirectory(prefix="spdld-transforms-") as made:
            photos, pictures = Path(made) / "photos", Path(made) / "pictures" / "a"
            subprocess.run([sys.executable, HERE.parents[2] / "deploy" / "make_corpus.py", photos, "--count", "6"], check=True,
                           stdout=subprocess.DEVNULL)
            pictures.mkdir(parents=True)
            for number, path in enumerate(sorted(photos.rglob("*.jpg"))):
                with Image.open(path) as picture:
                    picture.convert("RGB").resize((220, 180)).save(pictures / f"{number}.png")
            given = answers(interface, [expression for expression, _ in cases], str(pictures))
            spec = {"name": f"fixed-{interface}", "source": {"type": "image-folder", "uri": str(pictures.parent),
                                                             "extensions": "png"},
                    "order": {"shuffle": False}, "batch": {"size": 6},
                    "output": [{"name": f"o{number}", "from": "image", "ops": answer["ops"]}
                               for number, answer in enumerate(given)]}
            with self.attach(spec) as loader:
                batch = next(iter(loader))
                for number, ((expression, bound), answer) in enumerate(zip(cases, given, strict=True)):
                    ours = np.array(batch[f"o{number}"])
                    theirs = np.stack([np.load(file) for file in answer["files"]])
                    with self.subTest(expression):
                        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                        white = 1 if ours.dtype == np.uint8 else 255
                        apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) * white
                        self.assertLessEqual(apart.max(), bound)


class Pixels(FixedPixels, DaemonCase):
    def test_the_first_interface(self):
        self.compare_pixels("v1", FIXED)

    @unittest.skipUnless(torchvision_v2.is_there(), "tests/install installs the newer torchvision")
    def test_the_second_interface(self):
        self.compare_pixels("v2", FIXED)


if __name__ == "__main__":
    unittest.main()
