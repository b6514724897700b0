"""Batches of pictures of one size out of several: which samples they have, and what is in them."""
import unittest
import warnings

import numpy as np
from PIL import Image, ImageOps

import spdld
from case import DaemonCase

SIZES = ((32, 32), (24, 40), (40, 24))  # height, width
PICTURES = ((64, 64), (70, 66), (90, 50), (100, 60), (50, 90), (300, 40), (40, 300), (33, 32), (41, 25), (24, 40),
            (61, 43), (43, 61))
COUNT, BATCH = 60, 4
NAMES = [f"{height}x{width}" for height, width in SIZES]


def closest(width, height):
    """kohya's sd-scripts take the bucket whose aspect ratio is closest."""
    if (height, width) in SIZES:
        return (height, width)
    return SIZES[int(np.abs(np.array([w / h for h, w in SIZES]) - width / height).argmin())]


def covering(picture, height, width):
    """The middle of the picture, resized to cover the size as sd-scripts do it."""
    scale = height / picture.height if picture.width / picture.height > width / height else width / picture.width
    wide, high = int(picture.width * scale + 0.5), int(picture.height * scale + 0.5)
    left, top = (wide - width) // 2, (high - height) // 2
    resized = picture.resize((wide, high), Image.BICUBIC) if (wide, high) != picture.size else picture
    return np.asarray(resized.crop((left, top, left + width, top + height)))


class Shapes(DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.pictures.parent / "shapes" / "a"
        folder.mkdir(parents=True)
        rng = np.random.default_rng(3)
        cls.read = []
        for number in range(COUNT):
            width, height = PICTURES[number % len(PICTURES)]
            exif = Image.Exif()
            if number % 5 == 1:
                exif[0x0112] = 6
            path = folder / f"{number:03}.png"
            Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(path, exif=exif)
            cls.read.append(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
        cls.of = [closest(*picture.size) for picture in cls.read]
        cls.folder_of_shapes = folder.parent

    def bucketed(self, folder=None, layout="NHWC", **changes):
        bucket = {"op": "aspect-bucket", "sizes": NAMES, "filter": "bicubic"}
        output = [{"name": "image", "from": "image",
                   "ops": [{"op": "decode-image"}, bucket, {"op": "convert", "layout": layout}]},
                  {"name": "random", "from": "image", "ops": [{"op": "decode-image"}, {**bucket, "crop": "random"},
                                                              {"op": "horizontal-flip"}]},
                  {"name": "label", "from": "class"}]
        return self.spec(source={"type": "image-folder", "uri": str(folder or self.folder_of_shapes), "extensions": "png"},
                         output=output, batch={"size": BATCH}, seed=11, **changes)

    def test_a_batch_has_pictures_of_one_size(self):
        for layout, order in (("NHWC", {"epochs": 2}), ("NCHW", {"epochs": 2, "shuffle": False})):
            seen, shapes = {0: [], 1: []}, []
            spec = self.bucketed(layout=layout, order=order)
            with self.attach(spec, group=f"{self.id()}-{layout}") as loader:
                steps = sum(-(-self.of.count(size) // BATCH) for size in SIZES)
                self.assertEqual(len(loader), steps)
                for epoch in range(2):
                    for batch in loader:
                        image, random = np.array(batch["image"]), np.array(batch["random"])
                        if layout == "NCHW":
                            image = image.transpose(0, 2, 3, 1)
                        size = image.shape[1:3]
                        shapes.append(size)
                        self.assertEqual(random.shape, image.shape)
                        self.assertTrue(batch["image"].flags.c_contiguous)
                        for index, sample in enumerate(batch["sample_id"]):
                            seen[epoch].append(int(sample))
                            self.assertEqual(self.of[sample], size)
                            np.testing.assert_array_equal(image[index], covering(self.read[sample], *size))
            self.assertEqual([sorted(ids) for ids in seen.values()], [list(range(COUNT))] * 2)
            self.assertNotEqual(shapes, sorted(shapes))

    def test_ranks_have_the_same_sizes_in_the_same_steps(self):
        loaders = [self.attach(self.bucketed(), rank=rank, world_size=3) for rank in range(3)]
        steps = len(loaders[0])
        self.assertEqual([len(loader) for loader in loaders], [steps] * 3)
        ids = []
        for _ in range(steps):
            batches = [loader.next() for loader in loaders]
            full = {np.array(batch["image"]).shape[1:] for batch in batches if len(batch["sample_id"])}
            self.assertEqual(len(full), 1)
            for batch in batches:
                ids += batch["sample_id"].tolist()
                batch.release()
        self.assertEqual(sorted(ids), list(range(COUNT)))

    def test_a_bad_picture_is_replaced_or_masked_in_its_batchs_size(self):
        folder = self.pictures.parent / "damaged" / "a"
        folder.mkdir(parents=True)
        for number, picture in enumerate(self.read):
            picture.save(folder / f"{number:03}.png")
        whole = (folder / "004.png").read_bytes()
        (folder / "004.png").write_bytes(whole[:len(whole) // 2])   # its size can be read, and its pixels can't
        (folder / "007.png").write_bytes(b"no picture")             # nor its size
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", spdld.DataWarning)
        for way in ("substitute", "mask"):
            found = 0
            with self.attach(self.bucketed(folder.parent, on_bad=way, order={"epochs": 1}), group=f"{self.id()}-{way}") as loader:
                for batch in loader:
                    size = np.array(batch["image"]).shape[1:3]
                    for index, sample in enumerate(batch["sample_id"].tolist()):
                        if way == "mask" and sample in (4, 7):
                            found += 1
                            self.assertEqual(batch["mask"][index], 0)
                            self.assertFalse(np.array(batch["image"][index]).any())
                        else:
                            self.assertNotIn(sample, (4, 7))
                            np.testing.assert_array_equal(np.array(batch["image"][index]), covering(self.read[sample], *size))
            self.assertEqual(found, 2 if way == "mask" else 0)

    def test_a_run_goes_on_at_any_step(self):
        def shapes_of(loader):
            return [(np.array(batch["image"]).shape, batch["sample_id"].tolist()) for batch in loader]

        with self.attach(self.bucketed(order={"epochs": 1})) as loader:
            undisturbed = shapes_of(loader)
        for at in (1, 5, len(undisturbed) - 1):
            with self.attach(self.bucketed(order={"epochs": 1})) as loader:
                loader.seek(0, at)
                self.assertEqual(shapes_of(loader), undisturbed[at:])

    def test_describe_shows_the_buckets(self):
        spec = self.bucketed()
        self.attach({**spec, "name": "described"})
        described = spdld.query("describe", "described", socket=self.daemon.socket)
        self.assertEqual([(bucket["height"], bucket["width"], bucket["samples"]) for bucket in described["buckets"]],
                         [(*size, self.of.count(size)) for size in SIZES])
        self.assertNotIn("padding", described)

    def test_batches_may_have_another_size_for_each_job(self):
        with self.attach(self.bucketed(order={"epochs": 1}), batch_size=7) as loader:
            self.assertEqual(max(len(batch["sample_id"]) for batch in loader), 7)


if __name__ == "__main__":
    unittest.main()
