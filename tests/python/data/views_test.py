"""One geometry for a picture, its mask, its boxes and points: beside what torchvision v2 makes of the same boxes and flips."""
import io
import json
import os
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

import numpy as np
import spdld
import torch
from case import DaemonCase
from PIL import Image
from torchvision_v2 import FOLDER, is_there, load_torchvision_v2

HEIGHT, WIDTH = 48, 64
SAMPLES, SAMPLES_OF_BATCH = 96, 8
CLASSES = 21


# --- the steps of torchvision v2, written out: its kernels for masks and bounding boxes ---

def crop_boxes(boxes, left, top, width, height):
    moved = boxes - np.float32([left, top, left, top])
    moved[:, 0::2] = moved[:, 0::2].clip(0, width)
    moved[:, 1::2] = moved[:, 1::2].clip(0, height)
    return moved


def resize_boxes(boxes, old, new):
    across, down = np.float32(new[0] / old[0]), np.float32(new[1] / old[1])
    return boxes * np.float32([across, down, across, down])


def flip_boxes(boxes, width):
    flipped = boxes.copy()
    flipped[:, 0], flipped[:, 2] = width - boxes[:, 2], width - boxes[:, 0]
    return flipped


def is_sane(boxes, size_min):
    across, down = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return (across >= size_min) & (down >= size_min)


def nearest(mask, height, width):
    tensor = torch.from_numpy(mask.astype(np.float32))[None, None]
    return torch.nn.functional.interpolate(tensor, size=(height, width), mode="nearest")[0, 0].numpy().astype(mask.dtype)


def expected_mask(mask, box, flips):
    x, y, width, height = box
    resized = nearest(mask[y:y + height, x:x + width], HEIGHT, WIDTH)
    return resized[:, ::-1] if flips else resized


def expected_boxes(boxes, box, flips, size_min):
    """The boxes that are left, and the places of these in the list."""
    x, y, width, height = box
    moved = resize_boxes(crop_boxes(np.float32(boxes).reshape(-1, 4), x, y, width, height), (width, height), (WIDTH, HEIGHT))
    moved = flip_boxes(moved, WIDTH) if flips else moved
    kept = is_sane(moved, size_min)
    return moved[kept], np.flatnonzero(kept)


def expected_picture(picture, box, flips):
    x, y, width, height = box
    shown = picture.crop((x, y, x + width, y + height)).resize((WIDTH, HEIGHT), Image.BILINEAR)
    shown = np.asarray(shown)
    return shown[:, ::-1] if flips else shown


# --- the data ---

class Dataset:
    """SAMPLES pictures (a JPEG, its mask as a PNG, its boxes as JSON) in two archives of `folder`."""

    def __init__(self, folder, seed=5):
        random = np.random.default_rng(seed)
        self.pictures, self.masks, self.facts, self.jpegs = [], [], [], []
        for number in range(SAMPLES):
            width, height = (int(side) for side in random.integers(20, 300, 2))
            colours = random.integers(0, 256, (4, 6, 3), dtype=np.uint8)
            self.jpegs.append(as_bytes(Image.fromarray(colours).resize((width, height), Image.BICUBIC), "JPEG", quality=95))
            self.pictures.append(Image.open(io.BytesIO(self.jpegs[-1])).convert("RGB"))
            self.masks.append(random.integers(0, CLASSES, (height, width), dtype=np.uint8))
            count = int(random.integers(0, 12))
            starts = random.uniform(-20, 300, (count, 2))
            boxes = np.concatenate([starts, starts + random.uniform(0, 200, (count, 2))], 1)
            self.facts.append({"boxes": np.round(boxes, 3).tolist(), "classes": random.integers(0, 90, count).tolist(),
                               "probe": [[0, 0]]})
        for part in range(2):
            with tarfile.open(folder / f"part-{part}.tar", "w") as archive:
                for number in range(part, SAMPLES, 2):
                    for extension, content in (("jpg", self.jpegs[number]), ("png", self.png(number)),
                                               ("json", json.dumps({**self.facts[number], "number": number}).encode())):
                        member = tarfile.TarInfo(f"{number:06d}.{extension}")
                        member.size = len(content)
                        archive.addfile(member, io.BytesIO(content))

    def png(self, number):
        """Every third mask has a palette, whose colours are nothing like its numbers; the others are grey."""
        mask = Image.fromarray(self.masks[number], "P" if number % 3 == 0 else "L")
        if number % 3 == 0:
            mask.putpalette([value for colour in range(256) for value in (255 - colour, colour, 7)])
        return as_bytes(mask, "PNG")


def as_bytes(picture, form, **options):
    memory = io.BytesIO()
    picture.save(memory, form, **options)
    return memory.getvalue()


def spec_of(folder, **changes):
    def output(name, field, op, **keys):
        return {"name": name, "from": field, "view": "a", "ops": [op], **keys}

    varying = {"ragged": True, "length_max": 32}
    return {
        "name": "views", "seed": 3, "source": {"type": "webdataset", "uri": str(folder)}, "order": {"epochs": 2},
        "output": [
            output("boxes", "json:boxes", {"op": "boxes", "min_size": 2, "min_area": 0}, **varying),
            output("classes", "json:classes", {"op": "keep-with", "of": "boxes"}, **varying),
            output("labels", "png", {"op": "decode-mask"}),
            output("probe", "json:probe", {"op": "points", "outside": "keep"}, pad="longest", length_max=1),
            {"name": "image", "from": "jpg", "view": "a",
             "ops": [{"op": "decode-image"}, {"op": "random-resized-crop", "size": [HEIGHT, WIDTH], "box": "crop"},
                     {"op": "horizontal-flip"}]},
            {"name": "number", "from": "json:number", "dtype": "int64"},
        ],
        "batch": {"size": SAMPLES_OF_BATCH}, **changes}


def rows_of(ragged):
    values, offsets = np.array(ragged.values), np.array(ragged.offsets)
    return [values[start:end] for start, end in zip(offsets[:-1], offsets[1:])]


def samples_of(batch):
    """Each sample of a batch as a dict of arrays of its own."""
    columns = {name: rows_of(batch[name]) if isinstance(batch[name], spdld.Ragged) else np.array(batch[name])
               for name in batch.keys()}
    return [{name: np.array(column[row]) for name, column in columns.items()} for row in range(len(columns["number"]))]


def is_flipped(sample):
    """Where the picture's upper left corner came out says whether the picture was mirrored."""
    x, _, width, _ = (int(side) for side in sample["crop"])
    plain = -x * WIDTH / width
    return abs(sample["probe"][0, 0] - plain) > abs(sample["probe"][0, 0] - (WIDTH - plain))


class ViewsTest(DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shards = Path(cls.folder.name) / "shards"
        cls.shards.mkdir()
        cls.data = Dataset(cls.shards)

    def take(self, spec, **options):
        """All samples of the spec's epochs, in order."""
        samples = []
        with self.attach(spec, **options) as loader:
            for _ in range(spec["order"]["epochs"]):
                for batch in loader:
                    samples += samples_of(batch)
        return samples

    def check_sample(self, sample):
        number = int(sample["number"])
        box, flips = [int(side) for side in sample["crop"]], is_flipped(sample)
        np.testing.assert_array_equal(sample["labels"], expected_mask(self.data.masks[number], box, flips))
        facts = self.data.facts[number]
        boxes, places = expected_boxes(facts["boxes"], box, flips, 2)
        np.testing.assert_array_equal(sample["classes"], np.int64(facts["classes"])[places])
        np.testing.assert_allclose(sample["boxes"], boxes, atol=1e-4)
        away = np.abs(sample["image"].astype(int) - expected_picture(self.data.pictures[number], box, flips))
        self.assertLessEqual(away.max(), 4, f"sample {number}")
        self.assertLess(away.mean(), 0.6, f"sample {number}")
        return flips, len(places), len(facts["boxes"])

    def test_all_outputs_of_a_view_have_the_geometry_of_its_picture(self):
        for cache in ("off", "encoded", "decoded"):
            with self.subTest(cache=cache):
                samples = self.take(spec_of(self.shards, cache=cache), group=f"views-{cache}")
                self.assertEqual(len(samples), 2 * SAMPLES)
                seen = [self.check_sample(sample) for sample in samples]
                flipped = sum(flips for flips, _, _ in seen)
                self.assertTrue(SAMPLES / 2 < flipped < SAMPLES * 3 / 2, flipped)
                kept, listed = sum(kept for _, kept, _ in seen), sum(listed for _, _, listed in seen)
                self.assertTrue(0.1 * listed < kept < 0.9 * listed, (kept, listed))

    def test_a_resumed_run_goes_on_with_the_same_bytes(self):
        spec = spec_of(self.shards)
        whole = self.take(spec, group="views-whole")
        with self.attach(spec, group="views-first") as loader:
            first = [sample for _ in range(5) for sample in samples_of(loader.next(timeout=20))]
            state = loader.state_dict()
        with self.attach(spec, group="views-second", state=state) as loader:
            rest = [sample for batch in loader for sample in samples_of(batch)]
        self.assertEqual(len(first) + len(rest), SAMPLES)
        for number, sample in enumerate(first + rest):
            for name, value in sample.items():
                np.testing.assert_array_equal(value, whole[number][name], f"{name} of sample {number} of the epoch")


class TorchvisionTest(unittest.TestCase):
    """The steps that are written out above are those of torchvision v2."""

    def test_masks_boxes_and_what_is_left_of_them(self):
        """In a process of its own: what stands in for a newer torch is none of the other tests' business."""
        self.assertTrue(is_there(), f"{FOLDER} lacks torchvision: run tests/run once without --no-install")
        ran = subprocess.run([sys.executable, __file__], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                             capture_output=True, text=True, timeout=120)
        self.assertEqual((ran.returncode, ran.stdout), (0, "the same\n"), ran.stderr)

    def compare(self):
        v2, tv_tensors = load_torchvision_v2()
        random = np.random.default_rng(8)
        for _ in range(200):
            width, height = (int(side) for side in random.integers(2, 300, 2))
            x, y = int(random.integers(0, width)), int(random.integers(0, height))
            box = x, y, int(random.integers(1, width - x + 1)), int(random.integers(1, height - y + 1))
            flips = bool(random.integers(0, 2))
            starts = random.uniform(-20, 300, (9, 2))
            boxes = np.float32(np.concatenate([starts, starts + random.uniform(0, 200, (9, 2))], 1))
            mask = random.integers(0, 256, (height, width), dtype=np.uint8)
            ours = expected_mask(mask, box, flips)
            ours_boxes, places = expected_boxes(boxes, box, flips, 2)

            def of_v2(tensor):
                cut = v2.functional.resized_crop(tensor, box[1], box[0], box[3], box[2], (HEIGHT, WIDTH))
                return v2.functional.horizontal_flip(cut) if flips else cut

            np.testing.assert_array_equal(of_v2(tv_tensors.Mask(torch.from_numpy(mask))).numpy(), ours)
            moved = of_v2(tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=(height, width)))
            sane = v2.SanitizeBoundingBoxes(min_size=2, labels_getter=lambda sample: sample["labels"])(
                {"boxes": v2.ClampBoundingBoxes()(moved), "labels": torch.arange(9)})
            np.testing.assert_array_equal(sane["labels"].numpy(), places)
            np.testing.assert_allclose(sane["boxes"].numpy(), ours_boxes, atol=1e-4)


if __name__ == "__main__":
    TorchvisionTest("compare").compare()
    print("the same")
