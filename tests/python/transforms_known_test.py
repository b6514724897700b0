"""Functions and presets whose meaning is known: `convert("RGB")` as CLIP and many a Lambda do it, and Weights.transforms()."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

import torchvision_v2

PROGRAM = """
import json
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

known = [_convert_image_to_rgb, T.Lambda(_convert_image_to_rgb), T.Lambda(lambda x: x.convert("RGB")), v2.Lambda(lambda x: x.convert("RGB"))]
unknown = [grey, two, captured(), own, T.Lambda(grey), lambda x: x.convert("RGBA"), lambda x: x.resize("RGB"), lambda *x: x.convert("RGB"),
           lambda x: x.convert("RGB").copy(), hooked(), Mine(crop_size=224)]
presets = [ImageClassification(crop_size=224), ImageClassification(crop_size=384, resize_size=400, interpolation=InterpolationMode.BICUBIC)]
def of(transform):
    try:
        return from_transforms(transform)
    except Exception as error:
        return type(error).__name__
print(json.dumps({"known": [of(T.Compose([entry, T.Resize(20)])) for entry in known],
                  "unknown": [of(T.Compose([entry, T.Resize(20)])) for entry in unknown],
                  "presets": [of(entry) for entry in presets]}))
"""


@unittest.skipUnless(torchvision_v2.is_there(), "tests/run installs the newer torchvision")
class Known(unittest.TestCase):
    def test_functions_and_presets(self):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120,
                              cwd=Path(__file__).resolve().parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads(done.stdout)
        plain = [{"op": "decode-image", "exif": False}, {"op": "resize", "size": 20, "filter": "bilinear"}]
        self.assertEqual(made["known"], [plain] * 4)
        self.assertEqual(made["unknown"], ["UnsupportedError"] * 11)
        for ops, sides, name in zip(made["presets"], ((256, 224), (400, 384)), ("bilinear", "bicubic"), strict=True):
            self.assertEqual([entry["op"] for entry in ops], ["decode-image", "resize", "center-crop", "normalize"])
            self.assertEqual((ops[1]["size"], ops[1]["filter"]), (sides[0], name))
            self.assertIn(ops[2]["size"], (sides[1], [sides[1]] * 2))
            self.assertEqual((ops[3]["mean"], ops[3]["std"]), ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))


if __name__ == "__main__":
    unittest.main()
