"""Outputs whose samples differ in length, out of a WebDataset's .txt, .json and .npy members: whole epochs beside numpy."""
import io
import json
import os
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
from case import DaemonCase
from labels_test import write_archive

import spdld

ARCHIVES, OF_EACH, BATCH = 4, 25, 8
WORDS = ("a", "", "naïve ", "€ 5", "\U0001f600", "plain text ", "日本語")
CAPTION_MAX, TOKENS_MAX, BOXES_MAX = 200, 48, 12
MULTIPLE, PAD = 16, -1


def npy_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def sample_of(random):
    """The values of one sample, and the members that hold them."""
    caption = "".join(random.choice(WORDS) for _ in range(random.integers(0, 12)))
    tokens = random.integers(-2**62, 2**62, random.integers(0, TOKENS_MAX + 1))
    separator = random.choice([" ", ",", ", ", "\n"])
    text = separator.join(str(token) for token in tokens)
    boxes = random.normal(size=(random.integers(0, BOXES_MAX + 1), 4)) * 100
    points = random.integers(0, 9999, (random.integers(0, 5), 2))
    vectors = random.normal(size=(random.integers(0, 9), 3)).astype(np.float32)
    values = {"caption": np.frombuffer(caption.encode(), np.uint8), "tokens": tokens,
              "boxes": boxes.astype(np.float32), "points": points.astype(np.int32), "vectors": vectors}
    stored = vectors.astype(">f4") if random.integers(2) else vectors
    members = {"txt": caption.encode(), "ids": (f"[{text}]\n" if random.integers(2) else text).encode(),
               "json": json.dumps({"meta": {"boxes": boxes.tolist()}, "label": 1}).encode(),
               "pts": "\n".join(f"{x} {y}" for x, y in points).encode(), "npy": npy_of(stored)}
    return values, members


def out(name, field, operation, dtype=None, **keys):
    own = {key: keys.pop(key) for key in ("width", "shape", "text", "length") if key in keys}
    if dtype:
        own["dtype"] = dtype
    return {"name": name, "from": field, "ops": [{"op": operation, **own}], **keys}


def ragged(length_max, **keys):
    return {"ragged": True, "length_max": length_max, **keys}


def padded(length_max, **keys):
    return {"pad": "longest", "length_max": length_max, **keys}


class ListsCase(DaemonCase):
    """`values[i]`: what sample i of the listing holds. The samples in `damaged` have one damaged member each."""

    damaged = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(11)
        cls.shards = Path(cls.folder.name) / "lists"
        cls.values = []
        for archive in range(ARCHIVES):
            members = {}
            for number in range(OF_EACH):
                values, parts = sample_of(random)
                parts.update(cls.damaged.get(len(cls.values), {}))
                for extension, content in parts.items():
                    members[f"{number:03}.{extension}"] = content
                cls.values.append(values)
            write_archive(cls.shards / f"{archive:02}.tar", members)

    def lists(self, *outputs, framework="numpy", **changes):
        spec = {"name": self._testMethodName.replace("_", "-"), "seed": 3,
                "source": {"type": "webdataset", "uri": str(self.shards)},
                "output": list(outputs), "batch": {"size": BATCH, **changes.pop("batch", {})}}
        return self.attach({**spec, **changes}, framework=framework)

    def assert_equal(self, got, expected):
        np.testing.assert_array_equal(np.asarray(got), expected)
        self.assertEqual(np.asarray(got).dtype, expected.dtype)


class Epochs(ListsCase):
    def all_ragged(self, **changes):
        return self.lists(out("caption", "txt", "bytes", text=True, **ragged(CAPTION_MAX)),
                          out("tokens", "ids", "parse-list", "int64", **ragged(TOKENS_MAX)),
                          out("boxes", "json:meta.boxes", "parse-list", "float32", width=4, **ragged(BOXES_MAX)),
                          out("points", "pts", "parse-list", "int32", width=2, **ragged(5)),
                          out("vectors", "npy", "parse-npy", "float32", shape=[3], **ragged(8)), **changes)

    def check_ragged(self, loader):
        seen = []
        for batch in loader:
            ids = [int(sample) for sample in batch["sample_id"]]
            seen += ids
            for name in ("caption", "tokens", "boxes", "points", "vectors"):
                column = batch[name]
                expected = [self.values[sample][name] for sample in ids]
                self.assertEqual([int(length) for length in column.lengths], [len(each) for each in expected])
                self.assert_equal(column.values, np.concatenate(expected))
                for row, each in zip(column, expected):
                    self.assert_equal(row, each)
        return seen

    def test_ragged(self):
        seen = self.check_ragged(self.all_ragged())
        self.assertEqual(sorted(seen), list(range(len(self.values))))
        self.assertNotEqual(seen, sorted(seen))

    def test_what_the_cache_keeps_gives_the_same(self):
        loader = self.all_ragged(order={"epochs": 2}, cache="encoded")
        first, second = self.check_ragged(loader), self.check_ragged(loader)
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)

    def test_ragged_in_torch(self):
        import torch
        loader = self.all_ragged(framework="torch")
        batch = loader.next()
        boxes = batch["boxes"]
        expected = [self.values[sample]["boxes"] for sample in batch["sample_id"].tolist()]
        self.assert_equal(boxes.values, np.concatenate(expected))
        self.assertEqual((boxes.offsets.dtype, boxes.values.dtype), (torch.int64, torch.float32))
        if hasattr(torch.nested, "nested_tensor_from_jagged"):
            nested = boxes.nested()
            self.assertEqual(nested.layout, torch.jagged)
            for row, each in zip(nested.unbind(), expected):
                self.assert_equal(row, each)
        else:
            self.assertRaisesRegex(spdld.UnsupportedError, "nested_tensor_from_jagged", boxes.nested)

    def test_ragged_in_jax(self):
        with mock.patch.dict(os.environ, {"JAX_PLATFORMS": "cpu"}):
            batch = self.lists(out("boxes", "json:meta.boxes", "parse-list", "float32", width=4, **ragged(BOXES_MAX)),
                               framework="jax").next()
            expected = [self.values[int(sample)]["boxes"] for sample in batch["sample_id"]]
            self.assert_equal(batch["boxes"].values, np.concatenate(expected))
            del batch

    def test_padded(self):
        loader = self.lists(
            out("tokens", "ids", "parse-list", "int64",
                **padded(TOKENS_MAX, pad_multiple=MULTIPLE, pad_value=PAD, lengths="count", pad_mask="valid")),
            out("boxes", "json:meta.boxes", "parse-list", "float32", width=4, **padded(BOXES_MAX, lengths="boxes_of")))
        seen = []
        for batch in loader:
            ids = batch["sample_id"].tolist()
            seen += ids
            for name, lengths, multiple, pad in (("tokens", "count", MULTIPLE, PAD), ("boxes", "boxes_of", 1, 0)):
                rows = [self.values[sample][name] for sample in ids]
                longest = max(len(row) for row in rows)
                wide = -(-longest // multiple) * multiple
                expected = np.full((len(ids), wide, *rows[0].shape[1:]), pad, rows[0].dtype)
                for at, row in enumerate(rows):
                    expected[at, :len(row)] = row
                self.assert_equal(batch[name], expected)
                self.assert_equal(batch[lengths], np.array([len(row) for row in rows]))
            places = np.arange(batch["tokens"].shape[1])
            self.assert_equal(batch["valid"], places < np.array(batch["count"])[:, None])
        self.assertEqual(sorted(seen), list(range(len(self.values))))

    def test_what_is_too_long_is_cut(self):
        loader = self.lists(out("caption", "txt", "bytes", text=True, **ragged(9, too_long="cut")),
                            out("tokens", "ids", "parse-list", "int64", **ragged(3, too_long="cut")),
                            out("boxes", "json:meta.boxes", "parse-list", "float32", width=4, **ragged(2, too_long="cut")),
                            out("vectors", "npy", "parse-npy", "float32", shape=[3], **ragged(2, too_long="cut")))
        seen = 0
        for batch in loader:
            for at, sample in enumerate(batch["sample_id"].tolist()):
                seen += 1
                values = self.values[sample]
                caption = values["caption"].tobytes()[:9].decode(errors="ignore").encode()
                self.assertEqual(batch["caption"][at].tobytes(), caption)
                self.assert_equal(batch["tokens"][at], values["tokens"][:3])
                self.assert_equal(batch["boxes"][at], values["boxes"][:2])
                self.assert_equal(batch["vectors"][at], values["vectors"][:2])
        self.assertEqual(seen, len(self.values))

    def test_what_is_too_long_is_left_out(self):
        short = [sample for sample, values in enumerate(self.values) if len(values["tokens"]) <= 20]
        self.assertTrue(10 < len(short) < len(self.values) - 10)
        tokens = out("tokens", "ids", "parse-list", "int64", **ragged(20, too_long="leave-out"))
        masked = self.lists(tokens, on_bad="mask", bad_max=0)
        good = []
        for batch in masked:
            for at, sample in enumerate(batch["sample_id"].tolist()):
                is_good = bool(batch["mask"][at])
                self.assertEqual(is_good, sample in short)
                self.assert_equal(batch["tokens"][at], self.values[sample]["tokens"] if is_good else np.zeros(0, np.int64))
                good += [sample] * is_good
        self.assertEqual(sorted(good), short)

    def test_another_sample_takes_the_place_of_one_that_is_too_long(self):
        tokens = out("tokens", "ids", "parse-list", "int64", **ragged(20, too_long="leave-out"))
        seen = []
        for batch in self.lists(tokens, bad_max=0):
            for at, sample in enumerate(batch["sample_id"].tolist()):
                self.assert_equal(batch["tokens"][at], self.values[sample]["tokens"])
                self.assertLessEqual(len(batch["tokens"][at]), 20)
                seen.append(sample)
        self.assertEqual(len(seen), len(self.values))

    def test_what_is_too_long_is_bad_otherwise(self):
        loader = self.lists(out("tokens", "ids", "parse-list", "int64", **ragged(20)), bad_max=0)
        with self.assertRaisesRegex(spdld.Error, "length_max = 20"):
            list(loader)


class Damaged(ListsCase):
    """One member of each kind is damaged in one sample each."""

    damaged = {3: {"txt": b"caf\xe9 latin-1"}, 20: {"ids": b"1 2 cat"}, 21: {"ids": b"1, 2.5"},
               40: {"json": b'{"meta": {"boxes": [[1, 2, 3]]}}'}, 41: {"json": b'{"meta": {"boxes": [[1, 2, NaN, 4]]}}'},
               60: {"npy": npy_of(np.zeros((4, 3), np.float32))[:-1]}, 61: {"npy": npy_of(np.zeros((4, 3)))},
               62: {"npy": b"\x93NUMPY\x01\x00\xff\xff{'descr': '<f4'"}, 99: {"pts": b"1 2\n3\n"}}
    outputs = Epochs.all_ragged

    def check(self, batch, at, sample):
        for name in ("caption", "tokens", "boxes", "points", "vectors"):
            self.assert_equal(batch[name][at], self.values[sample][name])

    def test_damaged_members_are_masked(self):
        masked = set()
        for batch in self.outputs(on_bad="mask"):
            for at, sample in enumerate(batch["sample_id"].tolist()):
                if batch["mask"][at]:
                    self.check(batch, at, sample)
                    continue
                masked.add(sample)
                for name in ("caption", "tokens", "boxes", "points", "vectors"):
                    self.assertEqual(len(batch[name][at]), 0)
        self.assertEqual(masked, set(self.damaged))

    def test_other_samples_take_the_place_of_damaged_ones(self):
        seen, substituted = [], 0
        with self.assertWarns(spdld.DataWarning):
            for batch in self.outputs(on_bad="substitute"):
                substituted += batch.substituted
                for at, sample in enumerate(batch["sample_id"].tolist()):
                    self.assertNotIn(sample, self.damaged)
                    self.check(batch, at, sample)
                    seen.append(sample)
        self.assertEqual((len(seen), substituted), (len(self.values), len(self.damaged)))

    def test_the_reason_is_told(self):
        """Of the samples up to the damaged one: its neighbour is damaged too, and may be found first."""
        loader = self.lists(out("tokens", "ids", "parse-list", "int64", **ragged(TOKENS_MAX)), on_bad="fail",
                            order={"shuffle": False, "first": 21})
        with self.assertRaisesRegex(spdld.Error, r"output 'tokens': element \[2\]: 'cat' is no decimal number"):
            list(loader)


if __name__ == "__main__":
    unittest.main()
