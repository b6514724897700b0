#!/usr/bin/env python3
"""PASCAL VOC gives what torchvision.datasets.VOCDetection gives; YOLO's labels and pairs give what numpy, PyYAML and a look at
the folders give.

    annotations_test.py --dump TABLE_DUMP
"""
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "support"))
import cases

DUMP = cases.options("dump").dump
CLASSES = ["aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse",
           "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"]
FILES = ("image", "mask", "class_mask", "object_mask")


class Compared(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.draw = random.Random(7)

    def write(self, name, body):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body if isinstance(body, bytes) else body.encode())
        return path

    def listed(self, kind, **parameters):
        done = subprocess.run([DUMP, kind, json.dumps(parameters), str(self.folder)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, *samples = map(json.loads, done.stdout.splitlines())
        self.assertEqual(head["remarks"], [])
        for sample in samples:
            for name, value in sample.items():
                if name in FILES:
                    sample[name] = bytes.fromhex(value)
                elif name != "path":
                    sample[name] = json.loads(bytes.fromhex(value))
        return head, samples

    def picture(self, folder, name, kind="png"):
        from PIL import Image
        path = self.folder / folder / f"{name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 3), (self.draw.randrange(256), 1, 2)).save(path)


class Voc(Compared):
    def objects(self):
        for _ in range(self.draw.randrange(5)):
            x, y = self.draw.randrange(1, 300), round(self.draw.uniform(1, 300), 4)
            part = "<part><name>hand</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>"
            yield (f"\t<object>\n\t\t<name>{self.draw.choice(CLASSES)}</name>\n\t\t<pose>Left &amp; right</pose>\n"
                   f"\t\t<truncated>{self.draw.randrange(2)}</truncated>\n\t\t<difficult>{self.draw.randrange(2)}</difficult>\n"
                   f"\t\t<bndbox>\n\t\t\t<xmax>{x + 9}</xmax><xmin>{x}</xmin><ymin>{y}</ymin><ymax>{y + 7.5}</ymax>\n"
                   "\t\t</bndbox>\n"
                   f"{self.draw.choice(['', part])}\t</object>\n")

    def test_samples_are_those_of_torchvision(self):
        from torchvision.datasets import VOCDetection
        base = self.folder
        self.folder = base / "VOCdevkit" / "VOC2012"
        names = [f"2007_{number:06}" for number in self.draw.sample(range(1000), 40)]
        for name in names:
            self.picture("JPEGImages", name, "jpg")
            self.picture("SegmentationClass", name)
            self.picture("SegmentationObject", name)
            self.write(f"Annotations/{name}.xml",
                       f"<annotation>\n\t<folder>VOC2012</folder><filename>{escape(name)}.jpg</filename>\n"
                       f"{''.join(self.objects())}</annotation>\n")
        self.write("ImageSets/Main/val.txt", "\n".join(names[:30]) + "\n")
        head, samples = self.listed("voc", set="Main/val")
        self.assertEqual(head["classes"], CLASSES)
        reference = VOCDetection(str(base), year="2012", image_set="val")
        self.assertEqual(len(samples), len(reference))
        for sample, (picture, target), path in zip(samples, reference, reference.images):
            self.assertEqual(str(self.folder / sample["path"]), path)
            self.assertEqual(sample["image"], Path(path).read_bytes())
            self.assertEqual(picture.size, (4, 3))
            for field, folder in (("class_mask", "SegmentationClass"), ("object_mask", "SegmentationObject")):
                self.assertEqual(sample[field], (self.folder / folder / f"{Path(path).stem}.png").read_bytes())
            objects = target["annotation"].get("object", [])
            self.assertEqual(sample["boxes"], [[float(one["bndbox"][key]) for key in ("xmin", "ymin", "xmax", "ymax")]
                                               for one in objects])
            self.assertEqual(sample["classes"], [one["name"] for one in objects])
            self.assertEqual([CLASSES[label] for label in sample["labels"]], sample["classes"])
            for flag in ("difficult", "truncated"):
                self.assertEqual(sample[flag], [int(one[flag]) for one in objects])


class Yolo(Compared):
    def lines(self):
        for _ in range(self.draw.randrange(1, 6)):
            if self.draw.random() < 0.5:
                numbers = [self.draw.uniform(0, 1) for _ in range(4)]
            else:
                numbers = [self.draw.uniform(0, 1) for _ in range(2 * self.draw.randrange(3, 9))]
            yield " ".join([str(self.draw.randrange(12))] + [f"{number:.6g}" for number in numbers]) + "\n"

    def test_labels_are_those_of_numpy(self):
        names = [f"name {number}: of 'it'" if number == 3 else f"class {number}" for number in range(12)]
        for style in ({"default_flow_style": None}, {"default_flow_style": False}):
            for form in (names, dict(enumerate(names))):
                self.write("data.yaml", yaml.safe_dump({"path": "x", "nc": 12, "names": form, "train": "images/train"},
                                                       width=1000, **style))
                head, _ = self.labelled()
                self.assertEqual(head["classes"], names)
        head, samples = self.labelled()
        pictures = sorted((self.folder / "images" / "train").glob("*"))
        self.assertEqual([sample["path"] for sample in samples], [f"images/train/{path.name}" for path in pictures])
        for sample, path in zip(samples, pictures):
            self.assertEqual(sample["image"], path.read_bytes())
            labels = self.folder / "labels" / "train" / f"{path.stem}.txt"
            rows = [np.array(line.split(), float) for line in labels.read_text().splitlines()] if labels.exists() else []
            self.assertEqual(sample["labels"], [int(row[0]) for row in rows])
            self.assertEqual(sample["segmentations"], [[] if len(row) == 5 else [row[1:].tolist()] for row in rows])
            for box, row in zip(sample["boxes"], rows, strict=True):
                if len(row) == 5:
                    self.assertEqual(box, row[1:].tolist())
                    continue
                points = row[1:].reshape(-1, 2)
                least, most = points.min(0), points.max(0)
                np.testing.assert_allclose(box, np.concatenate([(least + most) / 2, most - least]), rtol=0, atol=1e-15)

    def labelled(self):
        if not (self.folder / "images").exists():
            for number in range(30):
                self.picture("images/train", f"{number:03}", self.draw.choice(["png", "jpg"]))
                if self.draw.random() < 0.8:
                    self.write(f"labels/train/{number:03}.txt", self.draw.choice(["", "".join(self.lines())]))
        return self.listed("yolo", names_file="data.yaml")


class Pairs(Compared):
    def test_pairs_are_those_of_the_folders(self):
        names = [f"{self.draw.choice('ab')}/{number}" for number in self.draw.sample(range(1000), 30)]
        for name in names:
            self.picture("images", f"{name}_leftImg8bit")
            self.picture("gt", f"{name}_labelIds")
            self.picture("gt", f"{name}_color")
        head, samples = self.listed("image-pairs", masks="gt", image_suffix="_leftImg8bit", mask_suffix="_labelIds",
                                    names=["a", "b"])
        self.assertEqual(head["classes"], ["a", "b"])
        pictures = sorted((self.folder / "images").rglob("*.png"))
        self.assertEqual([sample["path"] for sample in samples], [str(path.relative_to(self.folder)) for path in pictures])
        for sample, path in zip(samples, pictures):
            self.assertEqual(sample["image"], path.read_bytes())
            mask = str(path).replace("/images/", "/gt/").replace("_leftImg8bit", "_labelIds")
            self.assertEqual(sample["mask"], Path(mask).read_bytes())


if __name__ == "__main__":
    cases.main()
