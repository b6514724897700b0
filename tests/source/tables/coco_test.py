#!/usr/bin/env python3
"""Annotations in COCO's form give what torchvision.datasets.CocoDetection gives; damaged files are refused with a sentence.

    coco_test.py --dump TABLE_DUMP
"""
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PYCOCOTOOLS = ROOT / "build" / "pycocotools"  # tests/install puts it there
sys.path[:0] = [str(ROOT / "tests" / "support"), str(PYCOCOTOOLS)]
import cases

DUMP = cases.options("dump").dump
MUTATIONS = 1000
FIELDS = {"boxes": "bbox", "category_ids": "category_id", "areas": "area", "iscrowd": "iscrowd", "annotation_ids": "id",
          "keypoints": "keypoints", "segmentations": "segmentation"}


def made(draw, pictures=40):
    """A file of annotations: pictures in no order, some without annotations, ids with gaps, polygons and run lengths."""
    ids = draw.sample(range(1, 1000), pictures)
    categories = [{"id": number, "name": f"category {number}"} for number in draw.sample(range(1, 91), 12)]
    annotations = []
    for number, picture in enumerate(draw.choices(ids[:30], k=200)):
        crowd = draw.random() < 0.1
        segmentation = ({"size": [48, 64], "counts": [draw.randrange(1, 50) for _ in range(9)]} if crowd else
                        [[round(draw.uniform(0, 48), 2) for _ in range(8)] for _ in range(draw.randrange(1, 3))])
        annotations.append({"id": 5000 + 3 * number, "image_id": picture, "category_id": draw.choice(categories)["id"],
                            "bbox": [round(draw.uniform(0, 48), 2) for _ in range(4)], "area": round(draw.uniform(0, 999), 4),
                            "iscrowd": int(crowd), "segmentation": segmentation,
                            "keypoints": [draw.randrange(48) for _ in range(51)]})
    draw.shuffle(annotations)
    return {"info": {"description": "made"}, "licenses": [{"id": 1, "name": "a, [b] \"c\""}],
            "images": [{"id": number, "file_name": f"{number:012}.png", "width": 64, "height": 48} for number in ids],
            "annotations": annotations, "categories": categories}


class Coco(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.draw = random.Random(11)
        self.path = self.folder / "annotations" / "instances.json"
        self.path.parent.mkdir()

    def dump(self, **parameters):
        return subprocess.run([DUMP, "coco", json.dumps(parameters), str(self.path)], capture_output=True, text=True, check=False)

    def listed(self, **parameters):
        done = self.dump(**parameters)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, *samples = map(json.loads, done.stdout.splitlines())
        for sample in samples:
            for name, value in sample.items():
                if name != "path" and value is not None and not value.startswith("bad: "):
                    sample[name] = bytes.fromhex(value)
        return head, samples

    @unittest.skipUnless((PYCOCOTOOLS / "pycocotools").is_dir(), "pycocotools is not there: tests/install installs it")
    def test_samples_are_those_of_torchvision(self):
        from PIL import Image
        from torchvision.datasets import CocoDetection
        data = made(self.draw)
        for indent in (None, 1):
            self.path.write_text(json.dumps(data, indent=indent))
            for picture in data["images"]:
                path = self.folder / "pictures" / picture["file_name"]
                path.parent.mkdir(exist_ok=True)
                Image.new("RGB", (4, 3), (picture["id"] % 251, 1, 2)).save(path)
            head, samples = self.listed(images="../pictures")
            reference = CocoDetection(str(self.folder / "pictures"), str(self.path))
            self.assertEqual(len(samples), len(reference))
            self.assertEqual(head["remarks"], [])
            names = {category["id"]: category["name"] for category in reference.coco.loadCats(reference.coco.getCatIds())}
            self.assertEqual(head["classes"], [names[number] for number in sorted(names)])
            for sample, number, (picture, annotations) in zip(samples, reference.ids, reference):
                self.assertEqual(int(sample["image_id"]), number)
                path = self.folder / "pictures" / sample["path"]
                self.assertEqual(sample["image"], path.read_bytes())
                self.assertEqual(Image.open(path).convert("RGB").tobytes(), picture.tobytes())
                for field, key in FIELDS.items():
                    self.assertEqual(json.loads(sample[field]), [one[key] for one in annotations], field)
                self.assertEqual([head["classes"][label] for label in json.loads(sample["labels"])],
                                 [names[one["category_id"]] for one in annotations])

    def test_captions_are_those_of_json(self):
        texts = ["a \"quoted\" cat\\dog", "é 🐈", "", "two\nlines"]
        self.path.write_text(json.dumps({"images": [{"id": 3, "file_name": "a.jpg"}], "annotations": [
            {"id": number, "image_id": 3, "caption": text} for number, text in enumerate(texts)]}))
        _, samples = self.listed()
        self.assertEqual(json.loads(samples[0]["captions"]), texts)

    def test_damaged_files_are_refused_with_one_sentence(self):
        whole = json.dumps(made(self.draw, 31)).encode()
        refused = 0
        for _ in range(MUTATIONS):
            body = bytearray(whole)
            for _ in range(self.draw.randrange(1, 4)):
                at = self.draw.randrange(len(body))
                if self.draw.random() < 0.3:
                    body = body[:at] if self.draw.random() < 0.3 else body[:at] + body[at + self.draw.randrange(1, 200):]
                else:
                    body[at] = self.draw.choice(b'[]{}",:0-.eN\\\x00\xff')
                if not body:
                    break
            self.path.write_bytes(body)
            done = self.dump()
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 1:
                refused += 1
                self.assertRegex(done.stdout, r"\Arefused: [^\n]*instances\.json[^\n]*\.\n\Z")
        self.assertGreater(refused, MUTATIONS // 4)


if __name__ == "__main__":
    cases.main()
