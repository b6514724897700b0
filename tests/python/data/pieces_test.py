"""Operations that make several pieces of a picture, all the way to a trainer: ragged, padded and fixed, from files and from the
cache."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image

import spdld
from case import PROGRAM, WAIT_S, Daemon

SIZES = ((160, 80), (80, 160), (90, 90), (300, 60), (61, 200), (400, 280), (47, 53), (250, 120))
TILE = 24


def outputs():
    grid = {"op": "grid", "size": TILE, "tiles_max": 6, "thumbnail": "last", "filter": "bicubic"}
    decode = {"op": "decode-image"}
    return [{"name": "tiles", "from": "image", "ops": [decode, {**grid, "shape": "shape"}], "ragged": True},
            {"name": "padded", "from": "image", "ops": [decode, grid, {"op": "convert", "layout": "NCHW"}], "pad": "longest",
             "lengths": "counts", "pad_value": 9},
            {"name": "ten", "from": "image", "ops": [decode, {"op": "ten-crop", "size": [20, 30]}]}]


class Pieces(unittest.TestCase):
    def test_every_sample_has_the_tiles_of_its_grid(self):
        with tempfile.TemporaryDirectory(prefix="spdld-pieces-") as made:
            folder = Path(made) / "a"
            folder.mkdir()
            rng = np.random.default_rng(5)
            for number, (width, height) in enumerate(SIZES):
                Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(folder / f"{number}.jpg", quality=90)
            daemon = Daemon(PROGRAM)
            self.addCleanup(daemon.close)
            spec = {"name": "pieces", "source": {"type": "image-folder", "uri": made}, "output": outputs(), "cache": "decoded",
                    "order": {"epochs": 2, "shuffle": False}, "batch": {"size": 4}}
            lengths = set()
            with spdld.attach(spec, socket=daemon.socket, framework="numpy", timeout=WAIT_S) as loader:
                for _ in range(2):
                    for batch in loader:
                        for index, sample in enumerate(batch["sample_id"]):
                            lengths.add(self.compare(folder / f"{sample}.jpg", batch, index))
        self.assertGreater(len(lengths), 2)

    def compare(self, path, batch, index):
        picture = Image.open(path).convert("RGB")
        rows, columns, height, width = (int(number) for number in batch["shape"][index])
        self.assertEqual((width, height), picture.size)
        whole = np.asarray(picture.resize((columns * TILE, rows * TILE), Image.BICUBIC))
        tiles = [whole[y * TILE:(y + 1) * TILE, x * TILE:(x + 1) * TILE] for y in range(rows) for x in range(columns)]
        if len(tiles) > 1:
            tiles.append(np.asarray(picture.resize((TILE, TILE), Image.BICUBIC)))
        np.testing.assert_array_equal(np.array(batch["tiles"][index]), np.stack(tiles))
        self.assertEqual(batch["counts"][index], len(tiles))
        padded = np.array(batch["padded"][index])
        np.testing.assert_array_equal(padded[:len(tiles)], np.stack(tiles).transpose(0, 3, 1, 2))
        self.assertTrue((padded[len(tiles):] == 9).all())
        ten = np.array(batch["ten"][index])
        self.assertEqual(ten.shape, (10, 20, 30, 3))
        np.testing.assert_array_equal(ten[5], ten[1][:, ::-1])
        self.assertLessEqual(np.abs(ten[0].astype(int) - np.asarray(picture)[:20, :30]).max(), 3)
        return len(tiles)


if __name__ == "__main__":
    unittest.main()
