"""Each argument of each transform with odd values: what a script's text says becomes what an object of torchvision says, or a
gap."""
import ast
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import torchvision_v2
from spdld._computing import arithmetic
from spdld._operations import ARGUMENTS, ONLY_V2
from spdld._script import Script
from spdld._toml import operations_text
from spdld._transforms import converted
from transforms_test import answers, canonical

VALUES = [
    "None", "True", "0", "1", "3", "-1", "40", "70000", "9" * 30, "0.5", "1.5", "-0.5", "30.0", "1e300", "float('nan')",
    "float('inf')", "''", "'random'", "'reflect'", "'bilinear'", "'imagenet'", "'default'", "'RGB'", "()", "(1,)",
    "(0.5,)", "[3, 5]",
    "(5, 3)", "(0, 0)", "(0.25, 0.75)", "(1.0, 2.0)", "(-3, 3)", "(1, 2, 3)", "(0.5, 0.25, 0.125)", "(1, 2, 3, 4)", "[[1, 2], 3]",
    "['a', 'b']", "(None, None)", "{}", "{'a': 1}", "{'others': 3}", "{T.Resize: 1, 'others': 5}", "{torch.Tensor: 3}",
    "{torch.Tensor: torch.float32, 'others': None}", "{1: 2}", "T.InterpolationMode.BICUBIC", "T.InterpolationMode.NEAREST",
    "T.InterpolationMode.HAMMING", "T.InterpolationMode", "T.AutoAugmentPolicy.SVHN", "torch.float32",
    "torch.half", "torch.int64",
    "torch", "print", "lambda value: value", "b'x'", "1j", "range(2)", "np.float32(0.5)", "torch.tensor([0.5, 0.5, 0.5])",
    "(1, 2) + (3,)", "[0.5] * 3", "7 * 2", "{1, 2}", "(3 if True else 4)", "int(7.9)", "T.Resize(3)",
    "[T.RandomInvert()]", "[T.Resize]",
]
# The arguments that a class needs.
NEEDED = {
    "Resize": {"size": "40"}, "CenterCrop": {"size": "30"}, "RandomCrop": {"size": "30"}, "RandomResizedCrop": {"size": "30"},
    "Pad": {"padding": "2"}, "ScaleJitter": {"target_size": "(40, 50)"}, "RandomShortestSize": {"min_size": "30"},
    "RandomResize": {"min_size": "30", "max_size": "40"}, "RandomAffine": {"degrees": "10"}, "RandomRotation": {"degrees": "10"},
    "GaussianBlur": {"kernel_size": "3"}, "RandomPosterize": {"bits": "3"}, "RandomSolarize": {"threshold": "0.5"},
    "RandomAdjustSharpness": {"sharpness_factor": "2"}, "FiveCrop": {"size": "30"}, "TenCrop": {"size": "30"},
    "JPEG": {"quality": "30"},
    "Compose": {"transforms": "[T.RandomInvert()]"}, "RandomApply": {"transforms": "[T.RandomInvert()]"},
    "RandomChoice": {"transforms": "[T.RandomInvert(), T.RandomEqualize()]"}, "RandomOrder": {"transforms": "[T.RandomInvert()]"},
    "CutMix": {"num_classes": "3"}, "MixUp": {"num_classes": "3"}, "ToDtype": {"dtype": "torch.float32"},
    "Normalize": {"mean": "(0.5, 0.5, 0.5)", "std": "(0.2, 0.3, 0.4)"},
}
BEFORE = {"Normalize": ["T.ToTensor()"], "RandomErasing": ["T.ToTensor()", "T.PILToTensor()"],
          "ConvertImageDtype": ["T.PILToTensor()"],
          "ToDtype": ["T.PILToTensor()"], "ToPILImage": ["T.ToTensor()", "T.Grayscale(), T.ToTensor()"]}
FILLED = ("Pad", "RandomRotation", "RandomPerspective", "RandAugment", "RandomCrop", "RandomZoomOut", "RandomSolarize", "Resize")
# In the versions that the tests have: they take no whole numbers, or no None.
STRICTER = ("ElasticTransform", "ColorJitter", "num_classes=None")
# the versions that the tests have lack these, or they need boxes
UNTESTED = ("Sequential", "GaussianNoise", "JPEG", "RGB", "RandomIoUCrop")


def expressions(interface):
    made = []
    for name, arguments in ARGUMENTS.items():
        if name in UNTESTED or (interface == "v1" and name in ONLY_V2):
            continue
        starts = BEFORE.get(name, ["", "T.ToTensor()"] if name in FILLED else [""])
        for start in starts:
            for argument, *_ in arguments:
                for value in VALUES:
                    given = {**NEEDED.get(name, {}), argument: value}
                    call = f"T.{name}({', '.join(f'{key}={text}' for key, text in given.items())})"
                    made.append(call if name in ("CutMix", "MixUp") else f"T.Compose([{start + ', ' if start else ''}{call}])")
    return made


def from_text(interface, all_expressions):
    """For each expression the operations, or none where it has a gap."""
    module = "torchvision.transforms" if interface == "v1" else "torchvision.transforms.v2"
    text = f"import torch\nimport {module} as T\nimport numpy as np\n"
    script = Script(text + "\n".join(f"made{number} = {expression}" for number, expression in enumerate(all_expressions)),
                    "script.py")
    found = []
    for node in script.nodes(ast.Assign):
        faults = []
        operations = converted(node.value, script.transform, faults, "transforms")
        found.append(None if faults else operations)
    return found


class OddValues(unittest.TestCase):
    def compare(self, interface):
        """A text without a gap is a transform that torchvision makes, and its operations are those of the object."""
        tried = expressions(interface)
        objects, texts = answers(interface, tried), from_text(interface, tried)
        taken = refused = 0
        for expression, made, ours in zip(tried, objects, texts, strict=True):
            if ours is None:
                refused += 1
                continue
            taken += 1
            if "broken" in made and any(name in expression for name in STRICTER):
                continue  # no script runs with this
            with self.subTest(f"{interface} {expression}"):
                self.assertNotIn("broken", made)
                self.assertNotIn("error", made)
                self.assertEqual([canonical(entry) for entry in ours], [canonical(entry) for entry in made["ops"]])
        self.assertGreater(taken, 300)
        self.assertGreater(refused, 2000)
        self.check({made["toml"] for made in objects if "ops" in made and not made["on_batches"]} |
                   {operations_text(ours) for ours in texts if ours is not None and not ours.on_batches})

    def check(self, lists):
        """The daemon's own check takes every list of operations that was made; their pictures are made of one size first."""
        lists = sorted(lists)
        with tempfile.TemporaryDirectory(prefix="spdld-values-") as folder:
            for start in range(0, len(lists), 40):
                file = Path(folder) / f"{start}.toml"
                outputs = []
                for number, text in enumerate(lists[start:start + 40]):
                    sized = text.replace("exif = false },", 'exif = false },\n  { op = "resize", size = [512, 512] },', 1)
                    resize = '  { op = "resize", size = [64, 64] },\n'
                    if "-crop" not in text.replace("center-crop", "").replace("random-crop", "").replace("resized-crop", ""):
                        end = re.search(r'  { op = "(convert|normalize)"', sized)
                        sized = sized[:end.start()] + resize + sized[end.start():] if end else sized[:-1] + resize + "]"
                    outputs.append(f'[[output]]\nname = "o{number}"\nfrom = "image"\nops = {sized}\n')
                file.write_text('name = "values"\n[source]\ntype = "image-folder"\nuri = "a"\n' + "".join(outputs)
                                + "[batch]\nsize = 2\n")
                done = subprocess.run([os.environ["SPDLD_CTL"], "check", file], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr + file.read_text())

    def test_the_first_interface(self):
        self.compare("v1")

    @unittest.skipUnless(torchvision_v2.is_there(), "tests/install installs the newer torchvision")
    def test_the_second_interface(self):
        self.compare("v2")

    def test_a_dict_as_fill_is_the_value_for_this_type_or_a_gap(self):
        script = ("import torch\nfrom torchvision import tv_tensors\nfrom PIL import Image\nimport config\n"
                  "import torchvision.transforms.v2 as T\n"
                  "made = T.Compose([{}T.Pad(2, fill={})])\n")
        for start, fill, expected in (
                ("", "{tv_tensors.Image: 3, 'others': 5}", 5), ("T.ToImage(), ", "{tv_tensors.Image: 3, 'others': 5}", 3),
                ("T.PILToTensor(), ", "{tv_tensors.Image: 3, torch.Tensor: 7}", 7), ("", "{Image.Image: 9}", 9),
                ("T.ToImage(), T.ToPureTensor(), ", "{tv_tensors.Image: 3, 'others': 5}", 5),
                ("", "{tv_tensors.Image: 3}", None), ("", "{config.TYPE: 3, 'others': 5}", None), ("", "{'image': 3}", None),
                ("", "config.FILL", None), ("", "{'others': config.FILL}", None), ("", "dict(others=3)", 3)):
            with self.subTest(f"{start}{fill}"):
                read, faults = Script(script.format(start, fill), "script.py"), []
                made = converted(next(node.value for node in read.nodes(ast.Assign)), read.transform, faults, "transforms")
                self.assertEqual([entry["fill"] for entry in made if entry["op"] == "pad"],
                                 [] if expected is None else [expected])
                self.assertEqual(len(faults), expected is None)


class Arithmetic(unittest.TestCase):
    def test_is_pythons_own(self):
        for text in ("7 // 2", "-7 // 2", "7.5 // 2", "7 / 2", "6 / 3", "7 % 4", "-7 % 4", "7 - 9", "2 + 0.5", "3 * 4", "2 ** 5",
                     "2 ** -1", "(1, 2) + (3,)", "[1] * 3", "3 * (2,)"):
            with self.subTest(text):
                node, expected = ast.parse(text, mode="eval").body, eval(text)
                got = arithmetic(node.op, *(eval(ast.unparse(side)) for side in (node.left, node.right)))
                self.assertEqual((type(got), got), (type(expected), expected))

    def test_bounds(self):
        for operator, left, right in ((ast.Pow(), 2, 65), (ast.Pow(), 1_000_001, 2), (ast.Mult(), [0] * 4096, 2),
                                      (ast.Mod(), "%s", 1)):
            with self.subTest(type(operator).__name__), self.assertRaises(TypeError):
                arithmetic(operator, left, right)
        self.assertEqual(arithmetic(ast.Pow(), 2, 64), 2 ** 64)


if __name__ == "__main__":
    unittest.main()
