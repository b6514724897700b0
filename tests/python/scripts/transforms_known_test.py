"""Functions and presets whose meaning is known by their code, as CLIP and many a Lambda have them, and Weights.transforms()."""
import ast
import json
import subprocess
import sys
import unittest
from pathlib import Path

import torchvision_v2
from spdld._script import Script
from spdld._transforms import converted
from transforms_test import canonical

FLOATS = {"op": "convert", "dtype": "float32", "layout": "NCHW", "scale": 1 / 255}


def normal(mean, std, channels=3, **more):
    return {"op": "normalize", "mean": [mean] * channels, "std": [std] * channels, **more}


# Lists of transforms, with the operations behind decode-image. Their text is a script's, too.
LAMBDAS = [
    ("[T.Lambda(lambda x: x), T.ToTensor(), T.Lambda(lambda y: y)]", [FLOATS]),
    ("[T.ToTensor(), T.Lambda(lambda t: (t * 2) - 1)]", [normal(0.5, 0.5)]),
    ("[T.ToTensor(), T.Lambda(lambda t: 2.0 * t - 1.0)]", [normal(0.5, 0.5)]),
    ("[T.ToTensor(), T.Lambda(lambda x: (x - 0.25) * 4)]", [normal(0.25, 0.25)]),
    ("[T.ToTensor(), T.Lambda(lambda x: (x - 0.25) / 4)]", [normal(0.25, 4.0)]),
    ("[T.ToTensor(), T.Lambda(lambda x: x / 0.5 - 1)]", [normal(0.5, 0.5)]),
    ("[T.ToTensor(), T.Lambda(lambda x: x.mul(2).sub(1))]", [normal(0.5, 0.5)]),
    ("[T.ToTensor(), T.Lambda(lambda x: x.mul(255))]", [{"op": "convert", "dtype": "float32", "layout": "NCHW"}]),
    ("[T.ToTensor(), T.Lambda(lambda x: x * 255), T.Normalize((64, 64, 64), (32, 32, 32))]", [normal(64, 32, scale=255)]),
    ("[T.ToTensor(), T.Normalize([0.5] * 3, [0.25] * 3), T.Lambda(lambda x: x * 2 + 1)]", [normal(0.375, 0.125)]),
    ("[T.PILToTensor(), T.Lambda(lambda x: x.float()), T.Lambda(lambda x: x / 255)]", [FLOATS]),
    ("[T.Grayscale(), T.ToTensor(), T.Lambda(lambda x: x.repeat(3, 1, 1))]", [{"op": "grayscale", "channels": 3}, FLOATS]),
    ("[T.Grayscale(), T.ToTensor(), T.Lambda(lambda x: x.expand(3, -1, -1))]", [{"op": "grayscale", "channels": 3}, FLOATS]),
    ("[T.Grayscale(), T.Lambda(lambda x: x.convert('RGB')), T.ToTensor()]", [{"op": "grayscale", "channels": 3}, FLOATS]),
]
PIECES = [{"op": "five-crop", "size": [20, 20]}]
LAMBDAS += [
    ("[T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops]))]", [*PIECES, FLOATS]),
    ("[T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([ToTensor()(one) for one in crops])), "
     "T.Lambda(lambda crops: torch.stack([normalize(crop) for crop in crops]))]", [*PIECES, normal(0.5, 0.25)]),
    ("[T.FiveCrop(20), T.Lambda(lambda c: torch.stack([T.PILToTensor()(x) for x in c]))]",
     [*PIECES, {"op": "convert", "dtype": "uint8", "layout": "NCHW"}]),
]
REFUSED = [
    ("[T.ToTensor(), T.Lambda(lambda crops: torch.stack([normalize(crop) for crop in crops]))]", "stacks pieces"),
    ("[T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([T.ToTensor()(one) for one in crops if one]))]", "runs code of yours"),
    ("[T.FiveCrop(20), T.Lambda(lambda crops: torch.cat([T.ToTensor()(crop) for crop in crops]))]", "runs code of yours"),
    ("[T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([T.ToTensor()(crop) for crop in crops], 1))]", "runs code of yours"),
    ("[T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([T.ToTensor()(crops) for crop in crops]))]", "runs code of yours"),
    ("[T.FiveCrop(20), T.Lambda(lambda crops: [T.ToTensor()(crop) for crop in crops])]", "runs code of yours"),
    ("[T.Lambda(lambda x: x * 2)]", "computes with the picture's values"),
    ("[T.PILToTensor(), T.Lambda(lambda x: x * 2)]", "computes with the picture's values"),
    ("[T.ToTensor(), T.Lambda(lambda x: x * -1)]", "is not above 0"),
    ("[T.ToTensor(), T.Lambda(lambda x: x / 0)]", "runs code of yours"),
    ("[T.ToTensor(), T.Lambda(lambda x: x * x)]", "runs code of yours"),
    ("[T.ToTensor(), T.Lambda(lambda x: x - 2)]", "a mean above 1"),
    ("[T.ToTensor(), T.Lambda(lambda x: x * 7), T.Normalize((1, 1, 1), (1, 1, 1))]", "whose white is 7"),
    ("[T.ToTensor(), T.Lambda(lambda x: x * 255), T.ColorJitter(0.5)]", "stands behind a Lambda that multiplies"),
    ("[T.ToTensor(), T.RandomErasing(), T.Lambda(lambda x: x * 255)]", "computes with the picture's values"),
    ("[T.ToTensor(), T.Lambda(lambda x: x.repeat(3, 1, 1))]", "repeats the channels of a tensor"),
    ("[T.Grayscale(), T.ToTensor(), T.Lambda(lambda x: x.repeat(1, 3, 1))]", "runs code of yours"),
    ("[T.Grayscale(), T.RandomInvert(), T.ToTensor(), T.Lambda(lambda x: x.repeat(3, 1, 1))]", "write grayscale with channels"),
    ("[T.ToTensor(), T.Lambda(lambda x, by=2: x * by)]", "runs code of yours"),
]

PROGRAM = """
import json
import sys
import torch
import torchvision_v2
v2, _ = torchvision_v2.load_torchvision_v2()
import torchvision.transforms as T
from torchvision.transforms import InterpolationMode
from torchvision.transforms._presets import ImageClassification
from spdld.torch import from_transforms

def _convert_image_to_rgb(image):
    return image.convert("RGB")
def grey(image):
    return image.convert("L")
def two(image, other):
    return image.convert("RGB")
def captured(mode="RGB"):
    return lambda image: image.convert(mode)
from torchvision.transforms import ToTensor
normalize = T.Normalize([0.5] * 3, [0.25] * 3)
def enclosed(done):
    return [T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([done(crop) for crop in crops]))]
def own(image):
    image = image.convert("RGB")
    return image
def hooked():
    preset = ImageClassification(crop_size=224)
    preset.forward = print
    return preset
class Mine(ImageClassification):
    def forward(self, image):
        return image

known = [_convert_image_to_rgb, T.Lambda(_convert_image_to_rgb), T.Lambda(lambda x: x.convert("RGB")),
         v2.Lambda(lambda x: x.convert("RGB"))]
class Disguised:
    __code__ = _convert_image_to_rgb.__code__
    def __call__(self, image):
        return image

unknown = [Disguised(), T.Lambda(Disguised()), grey, two, captured(), own, T.Lambda(grey), lambda x: x.convert("RGBA"),
           lambda x: x.resize("RGB"),
           lambda *x: x.convert("RGB"), lambda x: x.convert("RGB").copy(), hooked(), Mine(crop_size=224)]
presets = [ImageClassification(crop_size=224),
           ImageClassification(crop_size=384, resize_size=400, interpolation=InterpolationMode.BICUBIC)]
def of(transform):
    try:
        return from_transforms(transform)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
lambdas = [of(eval(expression)) for expression in json.loads(sys.argv[1])]
enclosing = [of(enclosed(ToTensor())), of(enclosed(print))]
print(json.dumps({"lambdas": lambdas, "enclosing": enclosing, "known": [of(T.Compose([entry, T.Resize(20)])) for entry in known],
                  "unknown": [of(T.Compose([entry, T.Resize(20)])) for entry in unknown],
                  "presets": [of(entry) for entry in presets]}))
"""


@unittest.skipUnless(torchvision_v2.is_there(), "tests/install installs the newer torchvision")
class Known(unittest.TestCase):
    def test_functions_and_presets(self):
        expressions = json.dumps([expression for expression, _ in LAMBDAS + REFUSED])
        done = subprocess.run([sys.executable, "-c", PROGRAM, expressions], capture_output=True, text=True, timeout=120,
                              cwd=Path(__file__).resolve().parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads(done.stdout)
        plain = [{"op": "decode-image", "exif": False}, {"op": "resize", "size": 20, "filter": "bilinear"}]
        self.assertEqual(made["known"], [plain] * 4)
        self.assertEqual([entry.partition(":")[0] for entry in made["unknown"]], ["UnsupportedError"] * 13)
        for ops, sides, name in zip(made["presets"], ((256, 224), (400, 384)), ("bilinear", "bicubic"), strict=True):
            self.assertEqual([entry["op"] for entry in ops], ["decode-image", "resize", "center-crop", "normalize"])
            self.assertEqual((ops[1]["size"], ops[1]["filter"]), (sides[0], name))
            self.assertIn(ops[2]["size"], (sides[1], [sides[1]] * 2))
            self.assertEqual((ops[3]["mean"], ops[3]["std"]), ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
        self.check_lambdas(made["lambdas"])
        self.assertEqual(made["enclosing"][0][1:], [*PIECES, FLOATS])
        self.assertRegex(made["enclosing"][1], "^UnsupportedError: transforms.1., builtins.builtin.*: it is no transform")

    def check_lambdas(self, given):
        for (expression, expected), ops in zip(LAMBDAS + REFUSED, given, strict=True):
            with self.subTest(expression):
                if isinstance(expected, str):
                    self.assertRegex(ops, f"^UnsupportedError: transforms.*, (Lambda|ColorJitter|Normalize): it .*{expected}")
                else:
                    self.assertEqual([canonical(entry) for entry in ops[1:]], expected)

    def test_the_text_of_a_script(self):
        given = []
        for expression, _ in LAMBDAS + REFUSED:
            script, faults = Script("import torch\nimport torchvision.transforms as T\n"
                                    "from torchvision.transforms import ToTensor\n"
                                    f"normalize = T.Normalize([0.5] * 3, [0.25] * 3)\nmade = {expression}\n", "script.py"), []
            node = script.nodes_in_order(ast.Assign)[-1].value
            ops = converted(node, script.transform, faults, "transforms")
            given.append("UnsupportedError: " + "\n".join(map(str, faults)) if faults else list(ops))
        self.check_lambdas(given)
        script = Script("import torchvision.transforms as T\ndef rgb(image):\n    return image.convert('RGB')\n"
                        "made = T.Compose([rgb, T.Lambda(rgb), T.ToTensor()])\n", "script.py")
        node = next(node.value for node in script.nodes(ast.Assign))
        self.assertEqual(converted(node, script.transform, faults := [], "transforms")[1:], [FLOATS], faults)


if __name__ == "__main__":
    unittest.main()
