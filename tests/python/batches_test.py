"""What a loader gives: epochs, places, batches, and their tensors in each framework."""
import ctypes
import os
import unittest
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import spdld
from case import BATCH, SAMPLES, STEPS, DaemonCase


def places(batches):
    return [(batch.epoch, batch.step) for batch in batches]  # each is dropped before the next is taken


def epoch_places(epoch, first=0):
    return [(epoch, step) for step in range(first, STEPS)]


class Epochs(DaemonCase):
    def test_each_for_gives_one_epoch_and_after_the_last_nothing(self):
        loader = self.attach()
        self.assertEqual(len(loader), STEPS)
        for epoch in range(2):
            seen = []
            for batch in loader:
                self.assertEqual((batch.epoch, batch.step, batch.first, batch.valid),
                                 (epoch, len(seen) // BATCH, len(seen), BATCH))
                seen += batch["sample_id"].tolist()
            self.assertEqual(sorted(seen), list(range(SAMPLES)))
        self.assertEqual(places(loader), [])
        self.assertIsNone(loader.next())

    def test_a_for_that_was_left_goes_on_where_it_stood(self):
        loader = self.attach()
        for batch in loader:
            if batch.step == 2:
                break
        self.assertEqual(loader.position, (0, 3))
        self.assertEqual(places(loader), epoch_places(0, 3))

    def test_a_for_that_was_left_with_the_last_batch_is_followed_by_the_next_epoch(self):
        loader = self.attach()
        for batch in loader:
            if batch.step == STEPS - 1:
                break
        self.assertEqual(places(loader), epoch_places(1))

    def test_an_iterator_stays_at_its_end(self):
        batches = iter(self.attach())
        self.assertEqual(places(batches), epoch_places(0))
        self.assertEqual(places(batches), [])

    def test_next_says_none_at_an_epochs_end(self):
        loader = self.attach()
        got = []
        for _ in range(STEPS + 2):
            batch = loader.next(timeout=20)
            got.append(batch and (batch.epoch, batch.step))
        self.assertEqual(got, [*epoch_places(0), None, (1, 0)])

    def test_set_epoch_and_seek(self):
        loader = self.attach()
        loader.set_epoch(1)
        self.assertEqual(places(loader), epoch_places(1))
        loader.set_epoch(0)
        first = loader.next()["sample_id"].tolist()
        loader.seek(0, 3)
        self.assertEqual((loader.position, places(loader)), ((0, 3), epoch_places(0, 3)))
        loader.seek(0)
        self.assertEqual(loader.next()["sample_id"].tolist(), first)
        with self.assertRaisesRegex(spdld.InvalidError, "2 epochs"):
            loader.seek(5)

    def test_attach_begins_where_it_is_told(self):
        fingerprint = self.attach().info.fingerprint
        loader = self.attach(group="other", epoch=1, step=4, fingerprint=fingerprint)
        self.assertEqual(places(loader), epoch_places(1, 4))
        with self.assertRaises(spdld.ChangedError):
            self.attach(group="third", epoch=1, fingerprint="1-2-3")

    def test_two_ranks_share_an_epoch(self):
        loaders = [self.attach(rank=rank, world_size=2) for rank in range(2)]
        seen = [batch["sample_id"].tolist() for loader in loaders for batch in loader]
        self.assertEqual(sorted(sum(seen, [])), list(range(SAMPLES)))

    def test_a_short_last_batch(self):
        loader = self.attach(self.spec(name="short", batch={"size": 5, "last": "short"}))
        sizes = [(batch.valid, *batch["image"].shape) for batch in loader]
        self.assertEqual(sizes, [*[(5, 5, 32, 32, 3)] * (SAMPLES // 5), (SAMPLES % 5, SAMPLES % 5, 32, 32, 3)])

    def test_a_file_and_its_folder(self):
        file = Path(self.folder.name) / "small.toml"
        file.write_text('name = "file"\n[source]\ntype = "image-folder"\nuri = "pictures"\n[order]\nepochs = 1\n'
                        '[[output]]\nname = "label"\nfrom = "class"\n[batch]\nsize = 4\n')
        for path in (file, str(file)):
            with self.attach(path) as loader:
                self.assertEqual((loader.info.pipeline, len(loader)), ("file", STEPS))

    def test_info(self):
        info = self.attach(rank=1, world_size=2).info
        self.assertEqual((info.rank, info.world_size, info.batch_size, info.global_size), (1, 2, BATCH, 2 * BATCH))
        self.assertEqual((info.samples, info.epochs, info.group, info.writable), (SAMPLES, 2, self.id(), True))
        self.assertGreater(info.slot_bytes, BATCH * 32 * 32 * 3)


class Errors(DaemonCase):
    def test_all_faults_of_a_spec_at_once(self):
        bad = self.spec(batch={"size": -1}, order={"shufle": True})
        with self.assertRaises(spdld.InvalidError) as caught:
            self.attach(bad)
        self.assertIsInstance(caught.exception, ValueError)
        for word in ("batch.size", "shufle"):
            self.assertIn(word, str(caught.exception))

    def test_arguments(self):
        for options, word in (({"rank": 1}, "world_size"), ({"rank": 2, "world_size": 2}, "rank is 2"),
                              ({"framework": "tensorflow"}, "torch, numpy"), ({"rank": -1, "world_size": 1}, "rank is -1"),
                              ({"timeout": -1.0}, "seconds"), ({"reconnect": -1.0}, "reconnect"),
                              ({"world_size": 0, "rank": 0}, "at least 1")):
            with self.subTest(options), self.assertRaisesRegex(spdld.InvalidError, word):
                self.attach(**options)
        with self.assertRaisesRegex(spdld.InvalidError, "type int"):
            self.attach(17)
        with self.assertRaisesRegex(spdld.InvalidError, "object"):
            self.attach(self.spec(seed=object()))

    def test_what_is_not_there(self):
        with self.assertRaises(spdld.NotFoundError):
            self.attach("no-such-pipeline")
        with self.assertRaises((spdld.NotFoundError, spdld.InvalidError)):
            self.attach(self.spec(source={"type": "image-folder", "uri": "/no/such/folder"}))
        with self.assertRaises(ConnectionError) as caught:
            self.attach(socket="/no/such/socket")
        self.assertIsInstance(caught.exception, spdld.NoDaemonError)

    def test_a_rank_is_held_once(self):
        with self.attach() as loader, self.assertRaises(spdld.ConflictError):
            self.attach()
        with self.assertRaisesRegex(spdld.InvalidError, "closed"):
            loader.next()
        self.assertIn("closed", repr(loader))
        self.attach()

    def test_query(self):
        self.assertEqual(spdld.query("ping", socket=self.daemon.socket)["pid"], self.daemon.process.pid)
        with self.assertRaises(spdld.InvalidError):
            spdld.query("weather", socket=self.daemon.socket)


class Tensors(DaemonCase):
    def setUp(self):
        self.loader = self.attach()
        self.batch = self.loader.next()

    def test_a_batch_is_a_mapping(self):
        self.assertEqual(list(self.batch), ["image", "label", "sample_id"])
        self.assertEqual((self.batch.keys(), len(self.batch)), (["image", "label", "sample_id"], 3))
        self.assertTrue("image" in self.batch and "images" not in self.batch and 3 not in self.batch)
        self.assertEqual([name for name, _ in self.batch.items()], self.batch.keys())
        self.assertEqual({name: array.shape for name, array in dict(self.batch).items()},
                         {"image": (BATCH, 32, 32, 3), "label": (BATCH,), "sample_id": (BATCH,)})
        with self.assertRaisesRegex(KeyError, "image, label"):
            self.batch["picture"]
        self.assertIn("image uint8 [4, 32, 32, 3], label int64 [4]", repr(self.batch))

    def test_the_pictures_are_the_files(self):
        names = sorted(path for path in self.pictures.rglob("*.jpg"))
        for array, label, sample in zip(self.batch["image"], self.batch["label"], self.batch["sample_id"]):
            picture = Image.open(names[sample]).convert("RGB").resize((32, 32), Image.BILINEAR)
            self.assertLess(np.abs(np.asarray(picture, np.int16) - array.astype(np.int16)).mean(), 1.5)
            self.assertEqual(names[sample].parent.name, f"class-{label}")

    def test_raw(self):
        image = self.batch.tensor("image")
        self.assertEqual((image.name, image.dtype, image.shape, image.strides, image.nbytes, len(image)),
                         ("image", "uint8", (BATCH, 32, 32, 3), (3072, 96, 3, 1), BATCH * 3072, BATCH))
        self.assertEqual((image.__dlpack_device__(), image.__array_interface__["version"]), ((1, 0), 3))
        raw = self.attach(group="raw", framework="raw").next()["label"]
        self.assertIsInstance(raw, spdld.Tensor)
        self.assertEqual(np.asarray(raw).tolist(), self.batch["label"].tolist())

    def test_numpy_arrays_are_the_slots_memory(self):
        one, other = self.batch["image"], np.asarray(self.batch.tensor("image"))
        self.assertEqual((one.dtype, self.batch["label"].dtype), (np.uint8, np.int64))
        self.assertTrue(one.flags.writeable and np.shares_memory(one, other))
        before = int(one[0, 0, 0, 0])
        one ^= 255
        self.assertEqual(other[0, 0, 0, 0], 255 - before)

    def test_numpy_by_dlpack(self):
        array = np.from_dlpack(self.batch.tensor("image"))
        self.assertTrue(np.shares_memory(array, self.batch["image"]))
        np.testing.assert_array_equal(array, self.batch["image"])

    def test_capsules_of_both_kinds(self):
        name_of = ctypes.pythonapi.PyCapsule_GetName
        name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
        image = self.batch.tensor("image")
        for options, name in (({}, b"dltensor"), ({"max_version": (0, 8)}, b"dltensor"),
                              ({"max_version": (1, 0), "stream": None}, b"dltensor_versioned"),
                              ({"max_version": (2, 3), "copy": False, "dl_device": (1, 0)}, b"dltensor_versioned")):
            self.assertEqual(name_of(image.__dlpack__(**options)), name, options)
        with self.assertRaisesRegex(BufferError, "host memory"):
            image.__dlpack__(dl_device=(2, 0))

    def test_a_copy_is_a_copy(self):
        class Copied:
            """A consumer's view of a producer that is asked for a copy."""

            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, stream=None, **_):
                return self.tensor.__dlpack__(copy=True)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        array = np.from_dlpack(Copied(self.batch.tensor("image")))
        np.testing.assert_array_equal(array, self.batch["image"])
        self.assertFalse(np.shares_memory(array, self.batch["image"]))

    def test_numpy_has_no_bfloat16(self):
        normal = {"op": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "dtype": "bfloat16"}
        output = [{"name": "image", "from": "image",
                   "ops": [{"op": "decode-image"}, {"op": "resize", "size": [32, 32]}, normal]}]
        spec = self.spec(name="half", output=output)
        batch = self.attach(spec).next()
        with self.assertRaisesRegex(spdld.UnsupportedError, 'framework="torch"'):
            batch["image"]
        if torch:
            image = self.attach(spec, group="torch", framework="torch").next()["image"]
            self.assertEqual(image.dtype, torch.bfloat16)
            self.assertTrue(bool(torch.isfinite(image.float()).all()) and float(image.float().std()) > 0.1)

    def test_torch(self):
        loader = self.attach(group="torch", framework="torch")
        batch = loader.next()
        image, label = batch["image"], batch["label"]
        self.assertEqual((image.dtype, label.dtype, tuple(image.shape)), (torch.uint8, torch.int64, (BATCH, 32, 32, 3)))
        np.testing.assert_array_equal(image.numpy(), self.batch["image"])
        self.assertEqual(label.tolist(), self.batch["label"].tolist())
        self.assertEqual(image.data_ptr(), torch.from_dlpack(batch.tensor("image")).data_ptr())
        image.add_(1)
        np.testing.assert_array_equal(np.asarray(batch.tensor("image")), self.batch["image"] + np.uint8(1))

    def test_the_default_framework(self):
        code = "import sys; {} import spdld; from spdld._frameworks import framework_of; print(framework_of(None).name)"
        for first, name in (("", "numpy"), ("import torch;", "torch")):
            if first and not torch:
                continue
            output = self.run_script(code.format(first))
            self.assertEqual(output.strip(), name)

    def test_readers_have_pages_of_their_own(self):
        readers = [self.attach(group="readers", replica=replica, replicas=2) for replica in range(2)]
        self.assertFalse(readers[0].info.writable)
        one, other = (reader.next(timeout=20)["image"] for reader in readers)
        np.testing.assert_array_equal(one, other)
        one[:] = 0
        self.assertGreater(int(other.max()), 0)
        one = other = None
        one, other = (reader.next(timeout=20)["image"] for reader in readers)
        np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    unittest.main()
