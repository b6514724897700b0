"""The recipes of classification in config/examples, through a daemon: their pictures and labels beside what torchvision and
Pillow make of the same crops, and the mixing of their rows beside its formula."""
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import numpy as np
import torch
from case import DaemonCase
from draws import Draw
from PIL import Image
from timm_changes import timm_rand_augment
from torchvision import transforms as T
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F
from torchvision.transforms.autoaugment import _apply_op

REPOSITORY = Path(__file__).resolve().parents[3]
MEAN, STD = np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1), np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)
CLASSES, PICTURES = 3, 24
BICUBIC = InterpolationMode.BICUBIC
# Of the daemon's bilinear filter beside Pillow's, as tests/pixels has them: a JPEG is resized before it becomes RGB.
MEAN_BOUND, PSNR_LEAST = 1.0, 44.0


def levels(tensor):
    """The grey levels, from 0 to 255, that a normalised picture has."""
    return (tensor.astype(np.float64) * STD + MEAN) * 255


def planes(picture):
    return np.asarray(picture, np.float64).transpose(2, 0, 1)


def both_ways(picture):
    return [picture, picture.transpose(Image.FLIP_LEFT_RIGHT)]


def opened(file):
    with Image.open(file) as picture:
        return picture.convert("RGB")


def grey_levels(tensors):
    """As uint8, of rows that hold whole levels."""
    return torch.from_numpy(np.rint(levels(tensors)).astype(np.uint8))


def changes():
    """torchvision's table of TrivialAugmentWide: each change with each of its magnitudes."""
    for name, (magnitudes, has_sign) in T.TrivialAugmentWide()._augmentation_space(31).items():
        for magnitude in sorted(set(magnitudes.reshape(-1).tolist())):
            yield name, magnitude
            if has_sign:
                yield name, -magnitude


def apart(ours, theirs):
    return (ours.int() - theirs.int()).abs().max().item()


def is_bilinear(ours, theirs):
    delta = levels(ours) - theirs
    return np.abs(delta).mean() <= MEAN_BOUND and 10 * np.log10(255 ** 2 / np.square(delta).mean()) >= PSNR_LEAST


def is_exact(ours, theirs):
    return np.abs(levels(ours) - theirs).max() <= 0.01


def is_change(image, base, where, name, magnitude):
    """With black as the given fill: the daemon blends moved pixels with it at a picture's sides, as torchvision does then."""
    made = _apply_op(base, name, magnitude, InterpolationMode.BILINEAR, [0.0, 0.0, 0.0])
    return apart(image[:, where], made[:, where]) <= 1


class Recipes(DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = tempfile.TemporaryDirectory(prefix="spdld-recipes-")
        cls.addClassCleanup(made.cleanup)
        cls.photos = Path(made.name) / "photos"
        subprocess.run([sys.executable, REPOSITORY / "deploy" / "make_corpus.py", cls.photos, "--count", str(PICTURES),
                        "--classes", str(CLASSES)], check=True, stdout=subprocess.DEVNULL)
        cls.files = sorted(cls.photos.rglob("*.jpg"))
        cls.labels = [sorted(path.name for path in cls.photos.iterdir()).index(file.parent.name) for file in cls.files]

    def recipe(self, name, **batch):
        """The very file, for these photos, in small batches, and with the box of each crop."""
        spec = tomllib.loads((REPOSITORY / "config" / "examples" / f"{name}.toml").read_text())
        spec["source"]["uri"] = str(self.photos)
        spec["batch"].update(batch)
        for entry in spec["output"][0]["ops"]:
            if entry["op"] == "random-resized-crop":
                entry["box"] = "crop"
        return spec

    def epoch(self, spec, label):
        """The rows of an epoch, in its order."""
        with self.attach(spec, group=f"{self.id()} {label}") as loader:
            steps = [{name: np.array(batch[name]) for name in batch.keys()} for batch in loader]
        return {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}

    def crops(self, rows, filter):
        """For each row its picture, cropped and resized by torchvision, as it is and mirrored."""
        size = rows["image"].shape[2:]
        for sample, (x, y, width, height) in zip(rows["sample_id"], rows["crop"].tolist()):
            picture = opened(self.files[sample])
            yield both_ways(F.resized_crop(picture, y, x, height, width, size, filter))

    def expect_deterministic(self, name, transform, is_equal):
        rows = self.epoch(self.recipe(name, size=7), name)
        self.assertEqual(rows["image"].dtype, np.float32)
        self.assertEqual(rows["label"].tolist(), self.labels)
        self.assertEqual(rows["sample_id"].tolist(), list(range(PICTURES)))
        for ours, file in zip(rows["image"], self.files, strict=True):
            theirs = planes(transform(opened(file)))
            self.assertEqual(ours.shape, theirs.shape)
            self.assertTrue(is_equal(ours, theirs), file)

    def test_pictures_of_ffcv_grow_with_the_epochs(self):
        def resolution(epoch, least=160, most=192, start=65, end=76):
            """FFCV's get_resolution of its recipe in 88 epochs."""
            if epoch <= start:
                return least
            if epoch >= end:
                return most
            return int(np.round(np.interp([epoch], [start, end], [least, most])[0] / 32)) * 32

        spec = self.recipe("ffcv-train", size=6)
        for entry in spec["output"][0]["ops"]:
            if entry["op"] == "normalize":
                entry["dtype"] = "float32"
        with self.attach(spec, group=self.id()) as loader:
            for epoch in (0, 65, 70, 71, 76, 87):
                loader.seek(epoch, 0)
                rows = [{name: np.array(batch[name]) for name in batch.keys()} for batch in loader]
                self.assertEqual(len(rows), PICTURES // 6)
                rows = {name: np.concatenate([step[name] for step in rows]) for name in rows[0]}
                self.assertEqual(rows["image"].shape, (PICTURES, 3, resolution(epoch), resolution(epoch)))
                for ours, theirs in zip(rows["image"], self.crops(rows, InterpolationMode.BILINEAR)):
                    self.assertTrue(any(is_bilinear(ours, planes(way)) for way in theirs))

    def test_a_rank_that_comes_back_within_an_epoch_has_its_size(self):
        spec = self.recipe("ffcv-train", size=4)
        spec["output"][0]["ops"][1].update(size=48, by_epoch=["1:64"])
        ranks = [self.attach(spec, group=self.id(), rank=rank, world_size=2) for rank in range(2)]
        sides, steps = [], PICTURES // 8
        for step in range(2 * steps):
            for loader in ranks:
                batch = None
                while batch is None:  # the end of an epoch is no batch
                    batch = loader.next()
                sides.append(np.array(batch["image"]).shape[2])
            if step == steps + 1:
                state = ranks[1].state_dict()
                ranks[1].close()
                ranks[1] = self.attach(spec, group=self.id(), rank=1, world_size=2, state=state)
        self.assertEqual(sides, [48] * 2 * steps + [64] * 2 * steps)

    def test_the_half_of_ffcv_that_validates(self):
        spec = self.recipe("ffcv-val", size=7)
        for entry in spec["output"][0]["ops"]:
            if entry["op"] == "normalize":
                entry["dtype"] = "float32"
        rows = self.epoch(spec, "val")
        transform = T.Compose([T.Resize(293), T.CenterCrop(256)])
        for ours, file in zip(rows["image"], self.files, strict=True):
            self.assertTrue(is_bilinear(ours, planes(transform(opened(file)))))

    def test_validation(self):
        self.expect_deterministic("resnet50-val", T.Compose([T.Resize(232), T.CenterCrop(224)]), is_bilinear)
        self.expect_deterministic("convnext-val", T.Compose([T.Resize(256, BICUBIC), T.CenterCrop(224)]), is_exact)
        self.expect_deterministic("deit3-val", T.Compose([T.Resize(224, BICUBIC), T.CenterCrop(224)]), is_exact)

    def test_mae(self):
        spec = self.recipe("mae-pretrain", size=12)
        self.assertEqual([output["name"] for output in spec["output"]], ["image"])
        rows = self.epoch(spec, "mae")
        self.assertEqual((rows["image"].shape, rows["image"].dtype), ((PICTURES, 3, 224, 224), np.float32))
        self.assertEqual(sorted(rows["sample_id"].tolist()), list(range(PICTURES)))
        mirrored = []
        for ours, sample, box, candidates in zip(rows["image"], rows["sample_id"], rows["crop"], self.crops(rows, BICUBIC)):
            equal = [is_exact(ours, planes(candidate)) for candidate in candidates]
            self.assertIn(True, equal)
            mirrored.append(equal.index(True))
            width, height = opened(self.files[sample]).size
            self.assertGreater(box[2] * box[3] / (width * height), 0.19)
        self.assertEqual(set(mirrored), {0, 1})

    def plain_and_mixed(self, name, repeats, size, smoothing):
        """The rows of a recipe without and with its mixing, whose ids, labels and order are as they must be."""
        plain_spec, mixed_spec = (self.recipe(name, size=size, lam="lam", partner="partner") for _ in range(2))
        for key in ("ops", "group", "lam", "partner"):
            del plain_spec["batch"][key]
        for spec in (plain_spec, mixed_spec):
            self.assertEqual(spec["order"]["repeats"], repeats)
            spec["order"].update(epoch_samples=2 * size, epochs=1)
        plain, mixed = self.epoch(plain_spec, f"{name} plain"), self.epoch(mixed_spec, f"{name} mixed")
        ids = plain["sample_id"]
        self.assertEqual(mixed["sample_id"].tolist(), ids.tolist())
        self.assertTrue((ids.reshape(-1, repeats) == ids[::repeats, None]).all(), "the rows of a picture follow one another")
        self.assertEqual(len(set(ids.tolist())), 2 * size // repeats)
        boxes = plain["crop"].reshape(-1, repeats, 4)
        self.assertTrue(all(len(np.unique(of_one, axis=0)) > 1 for of_one in boxes), "each row is drawn anew")
        expected = np.full((2 * size, 1000), smoothing / 1000)
        expected[np.arange(2 * size), [self.labels[sample] for sample in ids]] += 1 - smoothing
        np.testing.assert_allclose(plain["label"], expected, atol=1e-6)
        np.testing.assert_allclose(mixed["label"].sum(axis=1), 1, atol=1e-5)
        return plain, mixed

    def expect_mixed(self, plain, mixed, group, repeats):
        """Each row is mixed with the row of another picture, by mixup or by cutmix; both are seen."""
        by_mixup = by_cutmix = 0
        for row, lam in enumerate(mixed["lam"].astype(np.float64)):
            first = row // group * group
            other = first + (row - first - repeats) % group
            self.assertEqual(mixed["partner"][row], plain["sample_id"][other])
            self.assertNotEqual(mixed["partner"][row], plain["sample_id"][row])
            np.testing.assert_allclose(mixed["label"][row], plain["label"][row] * lam + plain["label"][other] * (1 - lam),
                                       atol=1e-5)
            own, partner, ours = plain["image"][row], plain["image"][other], mixed["image"][row]
            if np.abs(own * lam + partner * (1 - lam) - ours).max() < 1e-4:
                by_mixup += 1
                continue
            pasted = (ours != own).any(axis=0)
            np.testing.assert_array_equal(ours[:, pasted], partner[:, pasted])
            # Where both pictures have the same colours, a pasted pixel is not seen.
            self.assertLessEqual(pasted.mean(), 1 - lam + 1e-6)
            by_cutmix += 1
        self.assertGreater(by_mixup, len(mixed["lam"]) // 5)
        self.assertGreater(by_cutmix, len(mixed["lam"]) // 5)

    def test_deit_3(self):
        plain, mixed = self.plain_and_mixed("deit3-train", 3, 30, 0)
        self.assertEqual((plain["image"].shape, plain["image"].dtype), ((60, 3, 224, 224), np.float32))
        self.expect_mixed(plain, mixed, 6, 3)
        self.assertGreaterEqual(levels(plain["image"]).min(), -0.01)
        self.assertLessEqual(levels(plain["image"]).max(), 255.01)

    def test_resnet_50(self):
        plain, mixed = self.plain_and_mixed("resnet50-train", 4, 32, 0.1)
        self.assertEqual((plain["image"].shape, plain["image"].dtype), ((64, 3, 176, 176), np.float32))
        self.expect_mixed(plain, mixed, 8, 4)

    def with_base(self, name, left_out, **batch):
        """A recipe without its mixing, and a further output: its crops as they are before what a recipe changes of colours."""
        spec = self.recipe(name, **batch)
        for key in ("ops", "group"):
            spec["batch"].pop(key, None)
        image = spec["output"][0]
        ops = [entry for entry in image["ops"] if entry["op"] not in left_out]
        ops = [{key: value for key, value in entry.items() if key != "box"} for entry in ops]
        return {**spec, "output": [*spec["output"], {**image, "name": "base", "ops": ops}]}

    def test_trivial_augment_and_erasing_of_resnet_50(self):
        """Every row is a change of torchvision's table, of some magnitude, of its crop; but for the box that was erased."""
        spec = self.with_base("resnet50-train", ("trivial-augment", "random-erasing"), size=96)
        spec["order"].update(epoch_samples=96, epochs=1)
        rows = self.epoch(spec, "base")
        for base, candidates in zip(rows["base"][:24], self.crops(rows, InterpolationMode.BILINEAR)):
            self.assertTrue(any(is_bilinear(base, planes(picture)) for picture in candidates))
        erased = (rows["image"] == 0).all(axis=1)
        self.assertTrue(1 <= erased.any(axis=(1, 2)).sum() <= 24, "a tenth of 96 rows")
        for box in erased[erased.any(axis=(1, 2))]:
            down, across = (np.flatnonzero(box.any(axis=axis)) for axis in (1, 0))
            self.assertEqual(box.sum(), (down[-1] - down[0] + 1) * (across[-1] - across[0] + 1))
        bases, images, kept = grey_levels(rows["base"]), grey_levels(rows["image"]), torch.from_numpy(~erased)
        found = set()
        for base, image, where in zip(bases[:20], images[:20], kept[:20]):
            name = next((name for name, magnitude in changes() if is_change(image, base, where, name, magnitude)),
                        None)
            self.assertIsNotNone(name, "no change of TrivialAugmentWide makes this row")
            found.add(name)
        self.assertGreater(len(found), 4)

    def test_policy_and_erasing_of_convnext(self):
        """Every row is what timm's RandAugment makes of its crop with the same numbers, but for the box of noise."""
        spec = self.with_base("convnext-train", ("timm-rand-augment", "random-erasing"), size=24)
        spec["order"]["epochs"] = 1
        rows = self.epoch(spec, "base")
        for base, candidates in zip(rows["base"], self.crops(rows, BICUBIC)):
            self.assertTrue(any(is_exact(base, planes(picture)) for picture in candidates))
        erased = found = 0
        for base, image, sample in zip(rows["base"], rows["image"], rows["sample_id"].tolist()):
            draw = Draw(spec["seed"], 0, sample, "timm-rand-augment")
            draw.uniform()  # for the operation's p
            picture = Image.fromarray(np.rint(levels(base)).astype(np.uint8).transpose(1, 2, 0))
            made, names = timm_rand_augment(picture, draw, fill=(124, 116, 104))
            found += len(names)
            other = (np.abs(levels(image) - planes(made)) > 0.01).any(axis=0)
            if not other.any():
                continue
            erased += 1
            down, across = (np.flatnonzero(other.any(axis=axis)) for axis in (1, 0))
            box = image[:, down[0]:down[-1] + 1, across[0]:across[-1] + 1].astype(np.float64)
            self.assertGreater(other.sum(), 0.99 * box[0].size)
            self.assertTrue(0.019 < box[0].size / 224 ** 2 < 0.337)
            self.assertTrue(abs(box.mean()) < 0.1 and abs(box.std() - 1) < 0.1, "per-pixel normal noise")
        self.assertTrue(1 <= erased <= 14, "a quarter of 24 rows")
        self.assertTrue(10 <= found <= 38, "half of 48 changes")

    def test_mixing_of_convnext(self):
        plain_spec, mixed_spec = (self.recipe("convnext-train", size=12, lam="lam", partner="partner") for _ in range(2))
        for key in ("ops", "lam", "partner"):
            del plain_spec["batch"][key]
        for spec in (plain_spec, mixed_spec):
            spec["order"]["epochs"] = 1
        plain, mixed = self.epoch(plain_spec, "plain"), self.epoch(mixed_spec, "mixed")
        self.assertEqual(mixed["sample_id"].tolist(), plain["sample_id"].tolist())
        expected = np.full((PICTURES, 1000), 0.1 / 1000)
        expected[np.arange(PICTURES), [self.labels[sample] for sample in plain["sample_id"]]] += 0.9
        np.testing.assert_allclose(plain["label"], expected, atol=1e-6)
        row_of = {sample: row for row, sample in enumerate(plain["sample_id"].tolist())}
        by_mixup = 0
        for row, (lam, partner) in enumerate(zip(mixed["lam"].astype(np.float64), mixed["partner"].tolist())):
            other = row_of[partner]
            self.assertEqual(row // 12, other // 12)
            np.testing.assert_allclose(mixed["label"][row], plain["label"][row] * lam + plain["label"][other] * (1 - lam),
                                       atol=1e-5)
            blend = plain["image"][row] * lam + plain["image"][other] * (1 - lam)
            by_mixup += np.abs(blend - mixed["image"][row]).max() < 1e-4
        self.assertTrue(4 <= by_mixup <= 20, "half of 24 rows")

    def test_three_augment_of_deit_3(self):
        """Without the jitter behind them, rows are grey, solarised or blurred crops."""
        spec = self.with_base("deit3-train", ("random-choice", "color-jitter"), size=96)
        spec["order"].update(epoch_samples=96, epochs=1)
        jitter = spec["output"][0]["ops"].pop(4)
        self.assertEqual(jitter, {"op": "color-jitter", "brightness": 0.3, "contrast": 0.3, "saturation": 0.3})
        rows = self.epoch(spec, "base")
        for base, candidates in zip(rows["base"][:24], self.crops(rows, BICUBIC)):
            self.assertTrue(any(is_exact(base, planes(picture)) for picture in candidates))
        counts = {"grey": 0, "solarised": 0, "blurred": 0}
        for base, image in zip(grey_levels(rows["base"]), grey_levels(rows["image"])):
            if apart(image, F.rgb_to_grayscale(base, 3)) <= 1:
                counts["grey"] += 1
            elif apart(image, F.solarize(base, 128)) == 0:
                counts["solarised"] += 1
            else:
                sigmas = np.linspace(0.1, 2, 20).tolist()
                self.assertLessEqual(min(apart(image, F.gaussian_blur(base, 13, sigma)) for sigma in sigmas), 6)
                counts["blurred"] += 1
        self.assertTrue(all(14 <= count <= 50 for count in counts.values()), f"a third of 96 each: {counts}")


if __name__ == "__main__":
    unittest.main()
