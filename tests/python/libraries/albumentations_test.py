"""The pipeline that docs/torchvision.md gives for albumentations' usual chain: it runs, and is as near as the page says."""
import io
import json
import re
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

import numpy as np
from PIL import Image
from recipe_case import RecipeCase, is_flipped

ROOT = Path(__file__).resolve().parents[3]
COUNT, SIDE = 8, 224
STD = np.float32([0.229, 0.224, 0.225])
UNCHANGED = {"brightness": 1, "contrast": 1, "saturation": 1, "hue": 0}
FACTORS = {"brightness": (0.8, 1.2), "contrast": (0.8, 1.2), "saturation": (0.8, 1.2), "hue": (-0.5, -0.1, 0.1, 0.4)}


def section(heading):
    text = (ROOT / "docs/torchvision.md").read_text()
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def recipe():
    """The page's operations."""
    block, = re.findall(r"```toml\n(.*?)```", section("albumentations"), re.DOTALL)
    return tomllib.loads(block)["output"][0]["ops"]


def bounds():
    """Of the page's table: the greatest mean difference, and the greatest difference, of each part."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| (\d+) \|$", section("albumentations"), re.MULTILINE)
    return {name: (float(mean), float(most)) for name, mean, most in rows}


@unittest.skipUnless((ROOT / "build/albumentations/albumentations").is_dir(), "tests/install installs albumentations")
class Albumentations(RecipeCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        photos, cls.files = Path(cls.folder.name) / "photos", []
        subprocess.run([sys.executable, ROOT / "deploy/make_corpus.py", photos, "--count", str(COUNT)], check=True,
                       stdout=subprocess.DEVNULL)
        (Path(cls.folder.name) / "pngs" / "a").mkdir(parents=True)
        for number, path in enumerate(sorted(photos.rglob("*.jpg"))):
            cls.files.append(Path(cls.folder.name) / "pngs" / "a" / f"{number:02}.png")
            with Image.open(path) as picture:
                picture.convert("RGB").save(cls.files[-1])

    def spec_of(self, name, *outputs):
        source = {"type": "image-folder", "uri": str(self.files[0].parent.parent), "extensions": "png"}
        return {"name": name, "seed": 17, "source": source, "order": {"epochs": 1}, "batch": {"size": 4},
                "output": [{"name": f"o{number}", "from": "image", "ops": ops} for number, ops in enumerate(outputs)]}

    def assert_near(self, apart, part):
        """Not further than the page says, and not so near that the page were wrong."""
        mean, most = bounds()[part]
        self.assertLessEqual(np.mean(apart), mean, part)
        self.assertLessEqual(np.max(apart), most + 1e-3, part)
        self.assertGreaterEqual(np.max(apart) + 1, most, part)

    def middle(self, number, side=100):
        """albumentations rounds the place of its CenterCrop in another way."""
        with Image.open(self.files[number]) as picture:
            x, y = (round((length - side) / 2) for length in picture.size)
        return f"A.Crop({x}, {y}, {x + side}, {y + side})"

    def theirs(self, cases):
        made = Path(self.folder.name) / "made.npz"
        done = subprocess.run([sys.executable, "-W", "ignore", Path(__file__).parent / "albumentations_script.py", made],
                              input=json.dumps([[str(self.files[number]), each] for number, each in cases]),
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(np.load(io.BytesIO(made.read_bytes())).values())

    def test_the_recipe_runs(self):
        found = self.samples(self.spec_of("whole", recipe()), COUNT)
        self.assertEqual({(sample["o0"].shape, str(sample["o0"].dtype)) for sample in found.values()},
                         {((3, SIDE, SIDE), "float32")})
        block, = re.findall(r"```python gpu\n(.*?)```", section("albumentations"), re.DOTALL)
        theirs, = self.theirs([(0, block)])
        self.assertEqual((theirs.shape, str(theirs.dtype)), ((3, SIDE, SIDE), "float32"))

    def test_crops_flips_and_normalize(self):
        ops = [dict(entry) for entry in recipe() if entry["op"] != "color-jitter"]
        ops[1]["box"] = "box"
        found, cases = self.samples(self.spec_of("crops", ops), COUNT), []
        for number in range(COUNT):
            x, y, width, height = found[number]["box"].tolist()
            cases.append((number, [f"A.Crop({x}, {y}, {x + width}, {y + height})", f"A.Resize({SIDE}, {SIDE})",
                                   *(["A.HorizontalFlip(p=1)"] if is_flipped(number) else []), "A.Normalize()", "ToTensorV2()"]))
        apart = [np.abs(found[number]["o0"] - theirs) * STD[:, None, None] * 255
                 for number, theirs in enumerate(self.theirs(cases))]
        self.assert_near(apart, "the crop, the flip and `A.Normalize`")

    def test_colours(self):
        changes = [(name, factor) for name, factors in FACTORS.items() for factor in factors]
        start = [{"op": "decode-image"}, {"op": "center-crop", "size": 100}]
        found = self.samples(self.spec_of("colours", *[[*start, {"op": "color-jitter", name: [factor, factor]}]
                                                       for name, factor in changes]), COUNT)
        cases = []
        for name, factor in changes:
            given = ", ".join(f"{key}=({value}, {value})" for key, value in {**UNCHANGED, name: factor}.items())
            cases += [(number, [self.middle(number), f"A.ColorJitter({given}, p=1)"]) for number in range(COUNT)]
        made, apart = self.theirs(cases), {name: [] for name in FACTORS}
        for at, (name, _) in enumerate(changes):
            apart[name] += [np.abs(found[number][f"o{at}"].astype(float) - made[at * COUNT + number]) for number in range(COUNT)]
        for name, differences in apart.items():
            with self.subTest(name, mean=np.mean(differences), most=np.max(differences)):
                self.assert_near(differences, name)

    def test_single_transforms(self):
        start = {"op": "decode-image"}
        found = self.samples(self.spec_of(
            "single", [start, {"op": "resize", "size": [90, 130], "antialias": False}],
            [start, {"op": "center-crop", "size": [95, 130]}],
            [start, {"op": "center-crop", "size": 64}, {"op": "convert", "dtype": "float32", "scale": 1 / 255,
                                                                "layout": "NCHW"}]), COUNT)
        theirs = self.theirs([(number, [one]) for one in ("A.Resize(90, 130)", "A.CenterCrop(95, 130)")
                              for number in range(COUNT)] +
                             [(number, [self.middle(number, 64), "A.ToFloat()", "ToTensorV2()"]) for number in range(COUNT)])
        for number in range(COUNT):
            self.assertLessEqual(np.max(np.abs(found[number]["o0"].astype(float) - theirs[number])), 1)
            with Image.open(self.files[number]) as picture:
                around = np.pad(np.asarray(picture.convert("RGB")), ((1, 1), (1, 1), (0, 0)))
            y, x = (round((length - 2 - side) / 2) for length, side in zip(around.shape, (95, 130)))
            near = [around[y + down:y + down + 95, x + right:x + right + 130] for down in range(3) for right in range(3)]
            np.testing.assert_array_equal(found[number]["o1"], near[4])
            self.assertTrue(any(np.array_equal(theirs[COUNT + number], one) for one in near))
            np.testing.assert_allclose(found[number]["o2"], theirs[2 * COUNT + number], atol=1e-6)


if __name__ == "__main__":
    unittest.main()
