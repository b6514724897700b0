"""Ragged and padded batches, and tensors of every type, of a daemon that sends nothing else."""
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
import torch

import spdld

PROGRAM = os.environ.get("SPDLD_FAKE_RAGGED", "")
TYPES = ("uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool", "int8", "int16", "uint16",
         "uint32", "uint64", "complex64", "complex128")


def boxes_of(number, sample):
    return (number + sample) % 4


class FakeCase(unittest.TestCase):
    def daemon(self, *arguments):
        folder = tempfile.TemporaryDirectory(prefix="spdld-ragged-")
        self.addCleanup(folder.cleanup)
        socket = f"{folder.name}/s"
        process = subprocess.Popen([PROGRAM, socket, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "listening\n")
        return socket

    def attach(self, framework, *arguments, **options):
        loader = spdld.attach("p", socket=self.daemon(*arguments), framework=framework, group="g", rank=0, world_size=1,
                              timeout=20, **options)
        self.addCleanup(loader.close)
        return loader


class Batches(FakeCase):
    def check(self, batch, number):
        self.assertEqual(batch.keys(), ["sample_id", "image", "boxes", "text", "text.lengths", "text.mask"])
        boxes = batch["boxes"]
        self.assertIsInstance(boxes, spdld.Ragged)
        counts = [boxes_of(number, sample) for sample in range(4)]
        self.assertEqual((len(boxes), [int(length) for length in boxes.lengths]), (4, counts))
        self.assertEqual([int(end) for end in boxes.offsets], [sum(counts[:i]) for i in range(5)])
        value = 100.0 * number
        for sample, row in enumerate(boxes):
            self.assertEqual(tuple(row.shape), (counts[sample], 2))
            for pair in row.tolist():
                self.assertEqual(pair, [value, value + 1])
                value += 2
        self.assertEqual(boxes[-1].tolist(), boxes[3].tolist())
        text, lengths = batch["text"], [int(length) for length in batch["text.lengths"]]
        self.assertEqual((tuple(text.shape), lengths), ((4, number + 4), [number + i + 1 for i in range(4)]))
        for sample, row in enumerate(text.tolist()):
            self.assertEqual(row, [10 * sample + k if k < lengths[sample] else 0 for k in range(number + 4)])
        self.assertEqual([sum(row) for row in batch["text.mask"].tolist()], lengths)

    def test_numpy(self):
        loader = self.attach("numpy")
        for number, batch in enumerate(loader):
            self.check(batch, number)
            self.assertEqual(batch["text.mask"].dtype, np.bool_)
        self.assertEqual(number, 4)

    def test_torch(self):
        for number, batch in enumerate(self.attach("torch")):
            self.check(batch, number)
            self.assertEqual((batch["text.mask"].dtype, batch["boxes"].offsets.dtype), (torch.bool, torch.int64))

    def test_jax(self):
        with mock.patch.dict(os.environ, {"JAX_PLATFORMS": "cpu"}):
            for number, batch in enumerate(self.attach("jax")):
                self.check(batch, number)
                del batch

    def test_nothing_is_copied(self):
        batch = self.attach("numpy").next()
        for array, name in ((batch["boxes"].values, "boxes"), (batch["text"], "text"), (batch["text.mask"], "text.mask")):
            self.assertTrue(np.shares_memory(array, np.asarray(batch.tensor(name))), name)
        self.assertEqual(batch.tensor("boxes").shape, (6, 2))
        self.assertEqual(batch.tensor("boxes.offsets").shape, (5,))

    def test_a_ragged_output_holds_the_batch(self):
        loader = self.attach("numpy", held_wait=0)
        kept = [loader.next()["boxes"] for _ in range(3)]
        with self.assertRaises(spdld.LimitError):
            loader.next(timeout=1)
        self.assertEqual(kept[0][1].tolist(), [[0, 1]])
        del kept
        self.assertIsNotNone(loader.next(timeout=20))

    def test_copies_hold_nothing(self):
        loader = self.attach("numpy", held_wait=0)
        copies = [batch.copy() for batch in loader]
        self.assertEqual([copy["boxes"].values.shape[0] for copy in copies], [6] * 5)
        self.assertEqual(list(copies[0]), ["sample_id", "image", "boxes", "text", "text.lengths", "text.mask"])

    def test_raw(self):
        boxes = self.attach("raw").next()["boxes"]
        self.assertEqual((len(boxes), boxes.values.shape, boxes.offsets.dtype), (4, (6, 2), "int64"))
        with self.assertRaisesRegex(spdld.UnsupportedError, "raw"):
            boxes[0]
        with self.assertRaisesRegex(spdld.UnsupportedError, "raw"):
            boxes.lengths

    def test_what_a_ragged_output_is_not(self):
        boxes = self.attach("numpy").next()["boxes"]
        for index in (4, -5):
            with self.assertRaises(IndexError):
                boxes[index]
        with self.assertRaisesRegex(spdld.InvalidError, "slice"):
            boxes[1:2]
        self.assertIn("boxes: 4 samples", repr(boxes))
        with self.assertRaisesRegex(spdld.UnsupportedError, 'framework="torch"'):
            boxes.nested()

    def test_to(self):
        boxes = self.attach("torch").next()["boxes"]
        moved = boxes.to(torch.float64)
        self.assertEqual((moved.values.dtype, moved.offsets.dtype, moved[3].tolist()),
                         (torch.float64, torch.int64, boxes[3].tolist()))
        elsewhere = boxes.to("meta")
        self.assertEqual((elsewhere.values.device.type, elsewhere.offsets.device.type), ("meta", "meta"))
        with self.assertRaisesRegex(spdld.UnsupportedError, 'framework="torch"'):
            self.attach("numpy").next()["boxes"].to("cpu")

    def test_nested(self):
        boxes = self.attach("torch").next()["boxes"]
        if hasattr(torch.nested, "nested_tensor_from_jagged"):
            nested = boxes.nested()
            self.assertEqual([row.tolist() for row in nested.unbind()], [row.tolist() for row in boxes])
            self.assertEqual(nested.values().data_ptr(), boxes.values.data_ptr())
            return
        with self.assertRaisesRegex(spdld.UnsupportedError, "nested_tensor_from_jagged"):
            boxes.nested()
        made = types.SimpleNamespace(nested_tensor_from_jagged=lambda values, offsets: (values, offsets))
        with mock.patch.object(torch, "nested", made):
            values, offsets = boxes.nested()
        self.assertEqual((values.data_ptr(), offsets.tolist()), (boxes.values.data_ptr(), [0, 0, 1, 3, 6]))

    def test_torch_loader_gives_ragged_outputs(self):
        code = """
import sys, spdld.torch
loader = spdld.torch.Loader("p", socket=sys.argv[1], group="g", rank=0, world_size=1)
for batch in loader:
    print(type(batch["boxes"]).__name__, len(batch["boxes"]), tuple(batch["text"].shape))
"""
        done = subprocess.run([sys.executable, "-c", code, self.daemon()], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), [f"Ragged 4 (4, {number + 4})" for number in range(5)])


class Types(FakeCase):
    def test_numpy(self):
        for name in TYPES:
            with self.subTest(name):
                batch = self.attach("numpy", name).next()
                self.assertEqual(batch.tensor("image").dtype, name)
                if name == "bfloat16":
                    with self.assertRaises(spdld.UnsupportedError):
                        batch["image"]
                    continue
                image = batch["image"]
                expected = np.frombuffer(bytes(i % 2 for i in range(image.nbytes)), name).reshape(4, 2)
                np.testing.assert_array_equal(image, expected)
                self.assertEqual(image.dtype, np.dtype(name))

    def test_torch(self):
        for name in TYPES:
            with self.subTest(name):
                batch = self.attach("torch", name).next()
                if not hasattr(torch, name):
                    with self.assertRaisesRegex(spdld.UnsupportedError, f"{name}, which torch"):
                        batch["image"]
                    continue
                image = batch["image"]
                self.assertEqual((image.dtype, tuple(image.shape)), (getattr(torch, name), (4, 2)))
                if name == "bool":
                    self.assertEqual(image.tolist(), [[False, True]] * 4)

    def test_jax(self):
        with mock.patch.dict(os.environ, {"JAX_PLATFORMS": "cpu"}):
            import jax
        jax.config.update("jax_enable_x64", True)
        self.addCleanup(jax.config.update, "jax_enable_x64", False)
        for name in TYPES:
            with self.subTest(name):
                image = self.attach("jax", name).next()["image"]
                self.assertEqual((str(image.dtype), image.shape), (name, (4, 2)))

    def test_memory_is_seen_as_a_type_of_its_own_size_alone(self):
        tensor = self.attach("numpy", "bool").next().tensor("image")
        self.assertEqual(tensor._viewed("uint8").dtype, "uint8")
        for name in ("int16", "nothing"):
            with self.assertRaisesRegex(spdld.InvalidError, f"bool tensor cannot be seen as {name}"):
                tensor._viewed(name)


if __name__ == "__main__":
    unittest.main()
