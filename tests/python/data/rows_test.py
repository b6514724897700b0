"""Rows made of records, from the files to a trainer: tiles of large pictures beside Pillow, and what a restart keeps."""
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np
from case import PROGRAM, WAIT_S
from daemon import Daemon
from PIL import Image

import spdld

TILE = 48
SIZES = ((200, 130), (48, 48), (90, 301), (20, 20), (149, 97))  # (width, height)


def make_large(folder):
    random = np.random.default_rng(3)
    (folder / "a").mkdir(parents=True)
    for number, size in enumerate(SIZES):
        colours = random.integers(0, 256, (5, 5, 3), dtype=np.uint8)
        Image.fromarray(colours).resize(size, Image.BICUBIC).save(folder / "a" / f"{number}.png")


def spec_of(folder, **rows):
    integers = [{"name": name, "from": f"row.{name}"} for name in ("record", "y", "x")]
    return {"name": "tiles", "source": {"type": "image-folder", "uri": str(folder), "extensions": "png"},
            "rows": {"kind": "tiles", "from": "image", "size": TILE, **rows}, "order": {"epochs": 1}, "cache": "decoded",
            "output": [{"name": "image", "from": "image",
                        "ops": [{"op": "decode-image"}, {"op": "tile"}, {"op": "convert", "layout": "NHWC"}]}, *integers],
            "batch": {"size": 5}}


class Tiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        make_large(self.folder / "pictures")
        for path in (self.folder / "pictures").rglob("*"):
            os.utime(path, (1_000_000_000, 1_000_000_000))  # long ago: it need not be read again
        self.config = f'[state]\nfolder = "{self.folder / "state"}"\n'

    def daemon(self):
        daemon = Daemon(PROGRAM, self.config)
        self.addCleanup(lambda: daemon.log.closed or daemon.close())
        return daemon

    def attach(self, daemon, state=None, **rows):
        loader = spdld.attach(spec_of(self.folder / "pictures", **rows), socket=str(daemon.socket), framework="numpy",
                              timeout=WAIT_S, state=state)
        self.addCleanup(loader.close)
        return loader

    def pictures_of(self, loader):
        """Each picture, put together again from the tiles of an epoch."""
        put = [np.zeros((height + TILE, width + TILE, 3), np.uint8) for width, height in SIZES]
        for batch in loader:
            for image, record, y, x in zip(*(batch[name] for name in ("image", "record", "y", "x"))):
                put[record][y:y + TILE, x:x + TILE] = image
        return put

    def test_the_tiles_of_an_epoch_are_the_pictures_that_pillow_reads(self):
        daemon = self.daemon()
        for stride in (TILE, 31):
            put = self.pictures_of(self.attach(daemon, stride=stride))
            for number, (width, height) in enumerate(SIZES):
                with Image.open(self.folder / "pictures" / "a" / f"{number}.png") as picture:
                    whole = np.asarray(picture.convert("RGB"))
                self.assertTrue((put[number][:height, :width] == whole).all(), f"picture {number}, stride {stride}")
                self.assertFalse(put[number][height:].any() or put[number][:, width:].any(), "what is outside is black")

    def test_a_state_goes_on_after_a_restart_and_belongs_to_these_lengths(self):
        daemon = self.daemon()
        loader = self.attach(daemon)
        for _ in range(3):
            loader.next().release()
        state = loader.state_dict()
        rest = [batch["sample_id"].tolist() for batch in loader]
        loader.close()
        daemon.close()
        kept = [file.read_bytes() for file in (self.folder / "state").rglob("*.listing")]
        self.assertEqual(sum(b"length-index" in file for file in kept), 1)
        again = self.daemon()
        loader = self.attach(again, state=state)
        self.assertEqual([batch["sample_id"].tolist() for batch in loader], rest)
        loader.close()
        again.close()
        Image.new("RGB", (500, 500)).save(self.folder / "pictures" / "a" / "0.png")
        third = self.daemon()
        with self.assertRaises(spdld.ChangedError):
            self.attach(third, state=state)

    def test_a_mistake_is_told_before_anything_is_listed(self):
        with self.assertRaisesRegex(spdld.InvalidError, "at most size"):
            self.attach(self.daemon(), stride=TILE + 1)


if __name__ == "__main__":
    unittest.main()
