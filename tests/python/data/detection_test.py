"""Objects with boxes, labels and masks: crops that are chosen by boxes, mosaics of four samples, and pasted objects."""
import io
import json
import tarfile
import unittest
from pathlib import Path

import numpy as np
import spdld
from case import DaemonCase
from draws import M64, Draw
from PIL import Image

HEIGHT, WIDTH = 40, 56
SAMPLES, SAMPLES_OF_BATCH, GROUP = 48, 8, 4
SEED = 23


def make_member(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def make_dataset(folder, seed=9):
    """Pictures whose objects are upright boxes of one colour each, with the objects' outlines as polygons."""
    random = np.random.default_rng(seed)
    with tarfile.open(folder / "part.tar", "w") as archive:
        for number in range(SAMPLES):
            width, height = (int(side) for side in random.integers(60, 160, 2))
            count = int(random.integers(1, 6))
            boxes, shapes = [], []
            for _ in range(count):
                x, y = int(random.integers(0, width - 10)), int(random.integers(0, height - 10))
                right, bottom = int(random.integers(x + 8, width)), int(random.integers(y + 8, height))
                boxes.append([x, y, right, bottom])
                shapes.append([[x, y, right, y, right, bottom, x, bottom]])
            picture = io.BytesIO()
            Image.fromarray(random.integers(0, 256, (height, width, 3), np.uint8)).save(picture, "PNG")
            facts = {"boxes": boxes, "shapes": shapes, "labels": [100 * number + i for i in range(count)], "number": number}
            make_member(archive, f"{number:06d}.png", picture.getvalue())
            make_member(archive, f"{number:06d}.json", json.dumps(facts).encode())


def mix_bits(z):
    """As daemon/base/random.h has it."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def rows_of(ragged):
    values, offsets = np.array(ragged.values), np.array(ragged.offsets)
    return [values[start:end] for start, end in zip(offsets[:-1], offsets[1:])]


class DetectionTest(DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shards = Path(cls.folder.name) / "objects"
        cls.shards.mkdir()
        make_dataset(cls.shards)

    def detection_spec(self, *first, batch=None, length_max=12, **changes):
        def output(name, field, op):
            return {"name": name, "from": field, "view": "a", "ops": [op], "ragged": True, "length_max": length_max}

        return {"name": "detection", "seed": SEED, "source": {"type": "webdataset", "uri": str(self.shards)},
                "order": {"epochs": 1}, "output": [
                    {"name": "image", "from": "png", "view": "a",
                     "ops": [{"op": "decode-image"}, *first, {"op": "resize", "size": [HEIGHT, WIDTH]}]},
                    output("masks", "json:shapes", {"op": "instance-masks", "of": "boxes"}),
                    output("boxes", "json:boxes", {"op": "boxes"}),
                    output("labels", "json:labels", {"op": "keep-with", "of": "boxes"}),
                    {"name": "number", "from": "json:number", "dtype": "int64"}],
                "batch": {"size": SAMPLES_OF_BATCH, **(batch or {})}, **changes}

    def take(self, spec, group):
        samples = []
        with self.attach(spec, group=group) as loader:
            for batch in loader:
                columns = {name: rows_of(batch[name]) if isinstance(batch[name], spdld.Ragged) else np.array(batch[name])
                           for name in batch.keys()}
                samples += [{name: column[row] for name, column in columns.items()} for row in range(len(columns["number"]))]
        self.assertEqual(len(samples), SAMPLES)
        return samples

    def check_masks(self, samples):
        """A mask fills its box, up to the pixel that nearest resizing may move a side by."""
        objects = 0
        for sample in samples:
            self.assertEqual(len(sample["masks"]), len(sample["boxes"]))
            for mask, box in zip(sample["masks"], sample["boxes"]):
                lines, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
                seen = [columns[0], lines[0], columns[-1] + 1, lines[-1] + 1]
                np.testing.assert_allclose(seen, box, atol=1.01)
                self.assertTrue(mask[lines[0]:lines[-1] + 1, columns[0]:columns[-1] + 1].all())
                objects += 1
        return objects

    def test_crops_are_chosen_by_boxes_from_every_cache(self):
        crop = {"op": "random-iou-crop", "boxes": "boxes", "min_scale": 0.4, "max_scale": 0.8, "sampler_options": [0.1, 0.3]}
        whole = self.take(self.detection_spec(), "objects-whole")
        samples = self.take(self.detection_spec(crop, cache="off"), "objects-off")
        objects = self.check_masks(samples)
        self.assertTrue(all(len(sample["boxes"]) > 0 for sample in samples))  # each crop has the centre of a box
        self.assertLess(objects, sum(len(sample["boxes"]) for sample in whole))
        again = self.take(self.detection_spec(crop, cache="encoded"), "objects-encoded")
        for one, other in zip(samples, again):
            for name, value in one.items():
                np.testing.assert_array_equal(value, other[name], name)

    def test_mosaics_are_those_of_the_four_samples(self):
        mosaic = {"op": "mosaic", "images": ["image"], "boxes": "boxes", "labels": ["labels", "masks"],
                  "share": 0.7, "min_size": 2, "min_area": 0, "min_part": 0.2}
        plain = self.take(self.detection_spec(), "objects-plain")
        mixed = self.take(self.detection_spec(batch={"ops": [mosaic], "group": GROUP, "lam": "lam"}), "objects-mosaic")
        made = cut = 0
        for position, sample in enumerate(mixed):
            first = position // GROUP * GROUP
            four = [plain[first + (position - first - back) % GROUP] for back in range(4)]
            self.assertEqual(sample["number"], plain[position]["number"])
            if Draw(SEED, 0, position, "batch.ops").uniform() >= 0.7:
                wanted = {**{name: plain[position][name] for name in ("image", "boxes", "labels", "masks")}, "lam": np.float32(1)}
            else:
                made += 1
                wanted = self.mosaic_of(four, Draw(SEED, 0, position, "mosaic"))
                cut += len(wanted["labels"]) == 12
            for name, value in wanted.items():
                np.testing.assert_array_equal(sample[name], value, f"{name} at {position}")
        self.assertTrue(SAMPLES / 2 < made < SAMPLES, made)

    def test_pasted_objects_are_those_of_the_sample_before(self):
        paste = {"op": "copy-paste", "images": ["image"], "boxes": "boxes", "labels": ["labels", "masks"], "masks": "masks",
                 "min_pixels": 20}
        plain = self.take(self.detection_spec(length_max=7), "objects-unpasted")
        pasted = self.take(self.detection_spec(length_max=7, batch={"ops": [paste], "group": 2}), "objects-pasted")
        covered = 0
        for position, sample in enumerate(pasted):
            own, other = plain[position], plain[position ^ 1]
            wanted = self.pasted(own, other, Draw(SEED, 0, position, "copy-paste"))
            covered += len(wanted["labels"]) < len(own["labels"]) + 1
            for name, value in wanted.items():
                np.testing.assert_array_equal(sample[name], value, f"{name} at {position}")
        self.assertGreater(covered, 0)

    def pasted(self, own, other, draw):
        count, seed = len(other["labels"]), draw.bits64()
        chosen = sorted({((mix_bits((seed + i) & M64) >> 32) * count) >> 32 for i in range(count)})[:7]
        shade = other["masks"][chosen].any(0)
        boxes, labels, masks = [], [], []
        for box, label, mask in zip(own["boxes"], own["labels"], own["masks"]):
            left = mask & ~shade
            if left.sum() < 20 or len(labels) + len(chosen) == 7:
                continue
            lines, columns = np.flatnonzero(left.any(1)), np.flatnonzero(left.any(0))
            around = np.float32([columns[0], lines[0], columns[-1] + 1, lines[-1] + 1])
            boxes, labels, masks = [*boxes, around if (mask & shade).any() else box], [*labels, label], [*masks, left]
        return {"image": np.where(shade[..., None], other["image"], own["image"]),
                **{name: np.concatenate([np.array(mine, own[name].dtype).reshape(-1, *own[name].shape[1:]), other[name][chosen]])
                   for name, mine in (("boxes", boxes), ("labels", labels), ("masks", masks))}}

    def mosaic_of(self, four, draw):
        x, y = int(draw.uniform() * WIDTH), int(draw.uniform() * HEIGHT)
        image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        boxes, labels, masks = [], [], []
        for place, sample in enumerate(four):
            left, right = (x, WIDTH) if place % 2 else (0, x)
            top, bottom = (y, HEIGHT) if place >= 2 else (0, y)
            across, down = (x if place % 2 else x - WIDTH), (y if place >= 2 else y - HEIGHT)
            there = np.s_[top:bottom, left:right]
            here = np.s_[top - down:bottom - down, left - across:right - across]
            image[there] = sample["image"][here]
            for box, label, mask in zip(sample["boxes"], sample["labels"], sample["masks"]):
                moved = box + np.float32([across, down, across, down])
                moved[0::2], moved[1::2] = moved[0::2].clip(left, right), moved[1::2].clip(top, bottom)
                sides, was = moved[2:] - moved[:2], box[2:] - box[:2]
                if (sides < 2).any() or sides.prod() < np.float32(0.2) * was[0] * was[1] or len(labels) == 12:
                    continue
                pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
                pixels[there] = mask[here]
                boxes, labels, masks = [*boxes, moved], [*labels, label], [*masks, pixels]
        return {"image": image, "boxes": np.float32(boxes).reshape(-1, 4), "labels": np.int64(labels),
                "masks": np.array(masks, np.uint8).reshape(-1, HEIGHT, WIDTH), "lam": np.float32(x * y / (WIDTH * HEIGHT))}

    def test_a_damaged_shape_is_a_bad_sample(self):
        folder = Path(self.folder.name) / "damaged"
        folder.mkdir()
        make_dataset(folder)
        with tarfile.open(folder / "part.tar", "a") as archive:
            picture = io.BytesIO()
            Image.new("RGB", (30, 20)).save(picture, "PNG")
            make_member(archive, "999999.png", picture.getvalue())
            make_member(archive, "999999.json", json.dumps({"boxes": [[1, 1, 9, 9]], "shapes": [[[1, 1, 9]]], "labels": [1],
                                                            "number": 99}).encode())
        spec = {**self.detection_spec(), "source": {"type": "webdataset", "uri": str(folder)}, "batch": {"size": 7}}
        with (self.assertWarnsRegex(spdld.DataWarning, "a polygon of it has 3 numbers"),
              self.attach(spec, group="objects-damaged") as loader):
            self.assertEqual(sum(batch.substituted if isinstance(batch.substituted, int) else len(batch.substituted)
                                 for batch in loader), 1)


if __name__ == "__main__":
    unittest.main()
