"""Photographs all the way through a daemon, beside the same by Pillow and torchvision: every picture, and every kind of work."""
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torchvision.transforms.functional as F
from PIL import Image, ImageOps
from torchvision.transforms import InterpolationMode

import spdld
from case import PROGRAM, WAIT_S, Daemon

MAE_MAX, PSNR_MIN = 0.7, 44.0  # docs/torchvision.md
COUNT = 60
BILINEAR = InterpolationMode.BILINEAR
DECODE = {"op": "decode-image"}
AS_PILLOW = {**DECODE, "resampling": "pillow"}
EXACT = ("decoded", "resized_as_pillow", "cropped_as_pillow")
MAKE_CORPUS = Path(__file__).resolve().parents[3] / "deploy" / "make_corpus.py"


def spec_of(folder):
    outputs = {"decoded": [DECODE, {"op": "center-crop", "size": [180, 240]}],
               "resized": [DECODE, {"op": "resize", "size": [160, 200]}],
               "cropped": [DECODE, {"op": "random-resized-crop", "size": 224, "box": "box"}],
               "resized_as_pillow": [AS_PILLOW, {"op": "resize", "size": [160, 200]}],
               "cropped_as_pillow": [AS_PILLOW, {"op": "random-resized-crop", "size": 224}]}
    return {"name": "pixels", "seed": 3, "source": {"type": "image-folder", "uri": str(folder)},
            "output": [{"name": name, "from": "image", "ops": ops} for name, ops in outputs.items()],
            "batch": {"size": 8}}


def references(picture, box):
    x, y, width, height = map(int, box)
    resized = F.resize(picture, [160, 200], BILINEAR)
    cropped = F.resized_crop(picture, y, x, height, width, [224, 224], BILINEAR)
    return {"decoded": F.center_crop(picture, [180, 240]), "resized": resized, "cropped": cropped,
            "resized_as_pillow": resized, "cropped_as_pillow": cropped}


def difference(ours, theirs):
    """Mean absolute difference in grey levels, and PSNR in dB."""
    delta = ours.astype(np.float64) - np.asarray(theirs, np.float64)
    error = np.mean(delta * delta)
    return np.mean(np.abs(delta)), math.inf if error == 0 else 10 * math.log10(255 * 255 / error)


class Pixels(unittest.TestCase):
    def test_every_picture_is_as_pillow_and_torchvision_make_it(self):
        seen = set()
        with tempfile.TemporaryDirectory(prefix="spdld-pixels-") as made:
            folder = Path(made) / "photos"
            subprocess.run([sys.executable, MAKE_CORPUS, folder, "--count", str(COUNT)], check=True, stdout=subprocess.DEVNULL)
            daemon = Daemon(PROGRAM)
            self.addCleanup(daemon.close)
            with spdld.attach(spec_of(folder), socket=daemon.socket, framework="numpy", timeout=WAIT_S) as loader:
                for batch in loader:
                    ids = [int(sample) for sample in batch["sample_id"]]
                    answer = spdld.query("samples", " ".join(["pixels", *map(str, ids)]), socket=daemon.socket)
                    for index, sample in enumerate(answer["samples"]):
                        self.compare(folder / sample["name"], batch, index)
                        seen.add(sample["name"])
        self.assertEqual(len(seen), COUNT)

    def compare(self, path, batch, index):
        with Image.open(path) as stored:
            picture = ImageOps.exif_transpose(stored).convert("RGB")
        for work, theirs in references(picture, batch["box"][index]).items():
            mae, psnr = difference(batch[work][index], theirs)
            with self.subTest(picture=path.name, work=work):
                if work in EXACT:
                    self.assertEqual(mae, 0)
                self.assertLessEqual(mae, MAE_MAX)
                self.assertGreaterEqual(psnr, PSNR_MIN)


if __name__ == "__main__":
    unittest.main()
