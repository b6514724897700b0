#!/usr/bin/env python3
"""Tables give what the usual readers of their formats give: Python's csv and json, numpy.

    tables_test.py --dump TABLE_DUMP
"""
import base64
import csv
import io
import json
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import cases
from table_writers import example, masked, mds_shard, record

DUMP = cases.options("dump").dump


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.random = random.Random(7)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def dump(self, kind, *uris, **parameters):
        """The head of the listing, and the samples, whose bytes are bytes again."""
        done = subprocess.run([DUMP, kind, json.dumps(parameters), *map(str, uris)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, *samples = map(json.loads, done.stdout.splitlines())
        self.assertEqual(head["size"], len(samples))
        keep = ("__key__", "class") if parameters.get("class") else ("__key__",)
        for sample in samples:
            for name, value in sample.items():
                if name not in keep and value is not None:
                    sample[name] = value if value.startswith("bad: ") else bytes.fromhex(value)
        return head, samples

    def refused(self, kind, *uris, **parameters):
        done = subprocess.run([DUMP, kind, json.dumps(parameters), *map(str, uris)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def any_text(self, alphabet):
        return "".join(self.random.choices(alphabet, k=self.random.randrange(12)))


class Manifests(Table):
    def test_csv_as_pythons(self):
        for ends, quoting in (("\n", csv.QUOTE_MINIMAL), ("\r\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_NONNUMERIC)):
            # Python writes a CR without quotes where rows end in LF, and does not read it so.
            alphabet = 'ab ,;"\'\n\té😀\\' + ("\r" if ends == "\r\n" else "")
            rows = [{name: self.any_text(alphabet) for name in ("one", 'tw"o', "th,ree")} for _ in range(2000)]
            path = self.folder / "a.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator=ends, quoting=quoting)
                writer.writeheader()
                writer.writerows(rows)
            with path.open(newline="", encoding="utf-8") as file:
                read = list(csv.DictReader(file))
            head, samples = self.dump("manifest", path)
            self.assertEqual(head["fields"], ["one", 'tw"o', "th,ree", "__key__"])
            self.assertEqual(head["remarks"], [])
            self.assertEqual([{name: sample[name].decode() for name in rows[0]} for sample in samples], read)
            self.assertEqual(samples[1999]["__key__"], "a.csv:1999")

    def test_random_text_as_pythons(self):
        """Text that nobody wrote as CSV: what Python takes as a row of the header's length is a sample."""
        for round in range(200):
            text = "a,b\n" + "".join(self.random.choices('xy,"\n\r', k=60))
            path = self.write("a.csv", text)
            with path.open(newline="", encoding="utf-8") as file:
                try:
                    rows = [row for row in csv.reader(file, strict=True) if row][1:]
                except csv.Error:
                    continue
            wanted = [row for row in rows if len(row) == 2]
            if not wanted:
                continue
            head, samples = self.dump("manifest", path)
            self.assertEqual([[s["a"].decode(), s["b"].decode()] for s in samples], wanted, repr(text))
            self.assertEqual(len(head["remarks"]), len(rows) - len(wanted), repr(text))

    def test_json_as_pythons(self):
        alphabet = 'ab"\\/\n\x01é😀\u2028'
        rows = []
        for number in range(2000):
            row = {"id": number, "text": self.any_text(alphabet), 'k"é': self.random.random(), "flag": number % 2 == 0,
                   "deep": {"a": [1, {"b": self.any_text(alphabet)}]}}
            if number % 3 == 0:
                row["sometimes"] = None if number % 2 else "x"
            rows.append(row)
        for ascii_only in (True, False):
            lines = [json.dumps(row, ensure_ascii=ascii_only, indent=None) for row in rows]
            head, samples = self.dump("manifest", self.write("a.jsonl", "\n\n".join(lines)))
            self.assertEqual(head["remarks"], [])
            self.assertEqual(set(head["fields"]), {*rows[0], "sometimes", "__key__"})
            for row, sample in zip(rows, samples, strict=True):
                self.assertEqual(sample["text"].decode(), row["text"])
                for name in ("id", 'k"é', "flag", "deep"):
                    self.assertEqual(json.loads(sample[name]), row[name])
                wanted = row.get("sometimes")
                self.assertEqual(sample["sometimes"], wanted and wanted.encode())

    def test_base64(self):
        contents = [self.random.randbytes(self.random.randrange(50)) for _ in range(300)]
        for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes,
                       lambda b: base64.b64encode(b).rstrip(b"=")):
            texts = [encode(content).decode() for content in contents]
            lines = "".join(json.dumps({"i": i, "b": text}).replace("/", "\\/") + "\n" for i, text in enumerate(texts))
            _, samples = self.dump("manifest", self.write("a.jsonl", lines), base64="b")
            self.assertEqual([sample["b"] for sample in samples], contents)
            table = "i,b\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts))
            _, samples = self.dump("manifest", self.write("a.csv", table), base64=["b"])
            self.assertEqual([sample["b"] for sample in samples], [content or None if not text else content
                                                                   for content, text in zip(contents, texts)])

    def test_files_classes_and_keys(self):
        for name in ("cat", "dog"):
            for i in range(3):
                self.write(f"data/{name}/{i}.jpg", f"{name} {i}")
        rows = [("cat/2.jpg", "cat", "c2"), ("dog/1.jpg", "dog", "12"), (str(self.folder / "data/cat/0.jpg"), "cat", "c0")]
        table = "file,label,id\n" + "".join(",".join(row) + "\n" for row in rows)
        path = self.write("data/train.csv", table)
        head, samples = self.dump("manifest", path, **{"files": "file", "class": "label", "key": "id"})
        self.assertEqual(head["classes"], ["cat", "dog"])
        self.assertEqual([sample["file"] for sample in samples], [b"cat 2", b"dog 1", b"cat 0"])
        self.assertEqual([sample["class"] for sample in samples], [0, 1, 0])
        self.assertEqual([sample["label"] for sample in samples], [b"cat", b"dog", b"cat"])
        self.assertEqual([sample["__key__"] for sample in samples], ["c2", "train.csv:12", "c0"])

    def test_several_files_follow_one_another(self):
        first = self.write("1.csv", "a,b\n1,2\n")
        second = self.write("2.tsv", "b\tc\n3\t4\n")
        third = self.write("3.jsonl", '{"a": 5}\n')
        head, samples = self.dump("manifest", first, second, third)
        self.assertEqual(head["fields"], ["a", "b", "c", "__key__"])
        self.assertEqual([[sample[name] for name in "abc"] for sample in samples],
                         [[b"1", b"2", None], [None, b"3", b"4"], [b"5", None, None]])
        self.assertEqual([sample["__key__"] for sample in samples], ["1.csv:0", "2.tsv:0", "3.jsonl:0"])


class Arrays(Table):
    def test_rows_of_npy_files(self):
        for dtype in ("uint8", "int16", "float16", "float32", "float64", "complex64", "bool"):
            for shape in ((), (3,), (2, 3, 4)):
                arrays = [np.frombuffer(self.random.randbytes(4096 * 16), np.uint8) for _ in range(2)]
                arrays = [(a % 2 if dtype == "bool" else a).astype(dtype) for a in arrays]
                size = int(np.prod(shape))
                arrays = [a[:rows * size].reshape(rows, *shape) for a, rows in zip(arrays, (5, 0))]
                for i, array in enumerate(arrays):
                    np.save(self.folder / f"{i}.npy", array)
                head, samples = self.dump("npy", self.folder)
                self.assertEqual(head["fields"], ["array", "__key__"])
                self.assertEqual([s["array"] for s in samples], [row.tobytes() for row in arrays[0]])
                self.assertEqual(samples[4]["__key__"], "0.npy:4")

    def test_arrays_that_have_no_rows_to_take(self):
        def saved(array):
            np.save(self.folder / "a.npy", array)
            return self.folder / "a.npy"
        self.assertIn("big-endian", self.refused("npy", saved(np.zeros((2, 2), ">f4"))))
        self.assertIn("Fortran's order", self.refused("npy", saved(np.asfortranarray(np.zeros((2, 2))))))
        self.assertIn("a single number", self.refused("npy", saved(np.float32(1))))
        self.assertIn("has no row", self.refused("npy", saved(np.zeros((0, 2)))))
        self.assertIn("no values", self.refused("npy", saved(np.zeros((2, 0)))))
        path = saved(np.arange(12, dtype="<i8").reshape(6, 2))
        content = path.read_bytes()
        path.write_bytes(content[:-20])
        head, samples = self.dump("npy", path)
        self.assertEqual(head["remarks"], ["a.npy is cut: it has 4 of its 6 rows."])
        self.assertEqual(len(samples), 4)
        path.write_bytes(content + b"more")
        self.assertIn("4 bytes behind its array", self.refused("npy", path))
        self.assertIn("no .npy file", self.refused("npy", self.write("b.npy", "text")))
        np.save(self.folder / "c.npy", np.zeros((2, 3), "<i8"))
        path.write_bytes(content)
        self.assertIn("another dtype or shape", self.refused("npy", path, self.folder / "c.npy"))

    def test_records(self):
        contents = [self.random.randbytes(10 + 7 * 5), self.random.randbytes(10 + 7 * 2 + 3), b"short"]
        paths = [self.write(f"{i}.bin", content) for i, content in enumerate(contents)]
        head, samples = self.dump("records", *paths, record_bytes=7, header_bytes=10)
        wanted = [content[at:at + 7] for content in contents for at in range(10, len(content) - 6, 7)]
        self.assertEqual([sample["record"] for sample in samples], wanted)
        self.assertEqual(head["remarks"], [
            "1.bin: its last 3 bytes are a part of a record: it was cut, or its records have other sizes.",
            "2.bin has 5 bytes, fewer than its header."])
        self.assertIn("is missing", self.refused("records", paths[0]))


def raw(values):
    if isinstance(values, bytes):
        return values
    return np.array(values, "<f4" if values and isinstance(values[0], float) else "<i8").tobytes()


class Records(Table):
    """TFRecord files, by a writer of the test's own."""

    def rows(self, count):
        return [{"image/encoded": self.random.randbytes(self.random.randrange(300)),
                 "label": [self.random.getrandbits(62) - (1 << 61)],
                 "boxes": [self.random.random() * 8 for _ in range(4 * self.random.randrange(1, 3))], "text": b"caf\xc3\xa9"}
                for _ in range(count)]

    def test_examples(self):
        rows = self.rows(200)
        for packed in (True, False):
            self.write("a-00.tfrecord", b"".join(record(example(row, packed)) for row in rows[:150]))
            self.write("a-01.tfrecord", b"".join(record(example(row, packed)) for row in rows[150:]))
            for uris in ([self.folder], [self.folder / "a-*.tfrecord"], sorted(self.folder.iterdir())):
                head, samples = self.dump("tfrecord", *uris)
                self.assertEqual(head["fields"], ["boxes", "image/encoded", "label", "text", "__key__"])
                self.assertEqual(head["remarks"], [])
                for row, sample in zip(rows, samples, strict=True):
                    self.assertEqual({name: sample[name] for name in row}, {name: raw(values) for name, values in row.items()})
            self.assertEqual(samples[150]["__key__"], "a-01.tfrecord:0")

    def test_what_records_lack(self):
        rows = [{"a": b"x", "b": [1]}, {"a": b"y"}, {"a": [1.5], "b": [2]}]
        path = self.write("a.tfrecord", b"".join(record(example(row)) for row in rows))
        head, samples = self.dump("tfrecord", path)
        self.assertIn('a.tfrecord: the feature "a" is of several kinds in the first records.', head["remarks"])
        self.assertTrue(any('"b" is missing in 1 of the first 3' in remark for remark in head["remarks"]))
        # numbers: an empty list, as in TensorFlow
        self.assertEqual([sample["b"] for sample in samples], [raw([1]), b"", raw([2])])
        self.assertEqual(samples[1]["a"], b"y")
        rows = [{"a": b"x", "b": [1.5]}, {"b": [], "a": b"y"}, {"b": [2.5, 3.5]}]
        _, samples = self.dump("tfrecord", self.write("b.tfrecord", b"".join(record(example(row)) for row in rows)))
        self.assertEqual([sample["b"] for sample in samples], [raw([1.5]), b"", raw([2.5, 3.5])])
        head, samples = self.dump("tfrecord", path, features="b,c")
        self.assertEqual(head["fields"], ["b", "c", "__key__"])
        self.assertTrue(any('no feature "c"' in remark for remark in head["remarks"]))

    def test_damage_is_found(self):
        rows = self.rows(20)
        records = [record(example(row)) for row in rows]
        broken = bytearray(b"".join(records))
        broken[len(records[0]) + 40] ^= 1  # within the second message
        head, samples = self.dump("tfrecord", self.write("a.tfrecord", bytes(broken)))
        self.assertEqual(len(samples), 20)
        self.assertIn("the record's checksum is wrong", samples[1]["label"])
        self.assertEqual(samples[2]["text"], rows[2]["text"])
        broken = bytearray(b"".join(records))
        broken[sum(map(len, records[:10])) + 1] ^= 1  # the eleventh length
        head, samples = self.dump("tfrecord", self.write("a.tfrecord", bytes(broken)))
        self.assertEqual(len(samples), 10)
        self.assertIn("has a length whose checksum is wrong behind row 10", head["remarks"][0])
        head, samples = self.dump("tfrecord", self.write("a.tfrecord", b"".join(records)[:-1]))
        self.assertEqual(len(samples), 19)
        self.assertIn("ends within a record behind row 19", head["remarks"][0])
        self.assertIn("is no TFRecord file", self.refused("tfrecord", self.write("b.tfrecord", bytes(100))))
        huge = struct.pack("<Q", 1 << 40)
        head, samples = self.dump("tfrecord", self.write("c.tfrecord", records[0] + huge + masked(huge)))
        self.assertIn("more than the limit", head["remarks"][0])
        self.assertIn("has no row", self.refused("tfrecord", self.write("d.tfrecord", b"")))


class Shards(Table):
    """MosaicML Streaming's shards, by a writer of the test's own that follows MDSWriter."""

    COLUMNS = {"image": ("jpeg", None), "label": ("int", 8), "text": ("str", None), "point": ("ndarray:float32:3", 12),
               "small": ("uint8", 1)}

    def shard(self, name, rows):
        samples = [{"image": row["image"], "label": struct.pack("<q", row["label"]), "text": row["text"].encode(),
                    "point": row["point"].tobytes(), "small": bytes([row["small"]])} for row in rows]
        content, entry = mds_shard(name.rpartition("/")[2], self.COLUMNS, samples)
        self.write(name, content)
        return entry

    def rows(self, count):
        return [{"image": self.random.randbytes(self.random.randrange(100)), "label": self.random.getrandbits(62) - (1 << 61),
                 "text": self.any_text("aé\n"), "point": np.array([self.random.random() for _ in range(3)], "<f4"),
                 "small": self.random.randrange(256)} for _ in range(count)]

    def index(self, folder, shards):
        self.write(f"{folder}/index.json", json.dumps({"version": 2, "shards": shards}))

    def test_shards(self):
        rows = self.rows(100)
        self.index("a", [self.shard("a/shard.00000.mds", rows[:60]), self.shard("a/shard.00001.mds", rows[60:90])])
        self.index("b", [self.shard("b/shard.00000.mds", rows[90:])])
        head, samples = self.dump("mds", self.folder / "a", self.folder / "b")
        self.assertEqual(head["fields"], [*self.COLUMNS, "__key__"])
        for row, sample in zip(rows, samples, strict=True):
            self.assertEqual(sample["image"], row["image"])
            self.assertEqual(struct.unpack("<q", sample["label"])[0], row["label"])
            self.assertEqual(sample["text"].decode(), row["text"])
            self.assertEqual(sample["point"], row["point"].tobytes())
            self.assertEqual(sample["small"], bytes([row["small"]]))
        self.assertEqual(samples[60]["__key__"], "a/shard.00001.mds:0")

    @staticmethod
    def open_array(array, has_dtype):
        """An array with its shape, and maybe its type, before its values (streaming/base/format/mds/encodings.py)."""
        numbers = {"uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "float16": 18, "uint32": 32, "int32": 33,
                   "float32": 34, "uint64": 64, "int64": 65, "float64": 66}
        bits = next(bits for bits in range(4) if max(array.shape) < 1 << (8 << bits))
        head = bytes([] if has_dtype else [numbers[array.dtype.name]]) + bytes([array.ndim << 2 | bits])
        return head + np.array(array.shape, f"<u{1 << bits}").tobytes() + array.tobytes()

    def test_arrays_without_a_shape_are_npy_files(self):
        for dtype in ("uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32", "uint64", "int64", "float64"):
            for encoding in ("ndarray", f"ndarray:{dtype}"):
                rows = [(np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape)
                        for shape in ((1,), (3, 2), (300,), (2, 70000), (1, 2, 3, 1), (1,) * 8)]
                values = [{"a": self.open_array(row, ":" in encoding), "n": bytes(8)} for row in rows]
                values += [{**values[1], "a": cut} for cut in (values[1]["a"][:-1], values[1]["a"] + b"x", b"", b"\x01")]
                content, entry = mds_shard("shard.00000.mds", {"a": (encoding, None), "n": ("int", 8)}, values)
                self.write("a/shard.00000.mds", content)
                self.index("a", [entry])
                _, samples = self.dump("mds", self.folder / "a")
                with self.subTest(encoding=encoding, dtype=dtype):
                    for row, sample in zip(rows, samples):
                        read = np.load(io.BytesIO(sample["a"]), allow_pickle=False)
                        self.assertEqual((read.dtype, read.shape), (row.dtype, row.shape))
                        self.assertTrue((read == row).all())
                    for sample in samples[len(rows):]:
                        self.assertIn("its array is damaged", sample["a"])

    def test_arrays_of_other_programs(self):
        """By mosaicml-streaming 0.13: NDArray().encode and NDArray("float32").encode of [[1.5, -2.0]]."""
        values = [{"a": bytes.fromhex("22080102" "0000c03f000000c0"), "b": bytes.fromhex("080102" "0000c03f000000c0")}]
        content, entry = mds_shard("shard.00000.mds", {"a": ("ndarray", None), "b": ("ndarray:float32", None)}, values)
        self.write("a/shard.00000.mds", content)
        self.index("a", [entry])
        for value in (self.dump("mds", self.folder / "a")[1][0][name] for name in "ab"):
            self.assertEqual(np.load(io.BytesIO(value)).tolist(), [[1.5, -2.0]])

    def test_shards_that_are_not_read(self):
        shard = self.shard("a/shard.00000.mds", self.rows(3))
        content = (self.folder / "a/shard.00000.mds").read_bytes()
        for change, words in (({"compression": "bz2:9"}, "compressed by bz2, and shards are read that zstd or gz"),
                              ({"format": "xsv"}, "of the format xsv"),
                              ({"version": 1}, "of version 1"), ({"samples": 4}, "and its index says 4"),
                              ({"raw_data": {"basename": "../x", "bytes": 1}}, "described in no way"),
                              ({"raw_data": {"basename": "none.mds", "bytes": 1}}, "none.mds does not exist"),
                              ({"column_names": ["a"]}, "lacks raw_data, samples"),
                              ({"samples": 1 << 40}, "ends within the places")):
            self.index("a", [{**shard, **change}])
            self.assertIn(words, self.refused("mds", self.folder / "a"))
        self.index("a", [shard])
        self.write("a/shard.00000.mds", content[:-1])
        self.assertIn("and its index says", self.refused("mds", self.folder / "a"))
        lying = bytearray(content)
        lying[8:12] = struct.pack("<I", len(content) + 1)
        self.write("a/shard.00000.mds", bytes(lying))
        self.assertIn("its sample 0 lies beyond it", self.refused("mds", self.folder / "a"))
        at = struct.unpack("<I", content[4:8])[0]
        lying = bytearray(content)
        lying[at:at + 4] = struct.pack("<I", 1 << 30)  # the size of the first image
        self.write("a/shard.00000.mds", bytes(lying))
        _, samples = self.dump("mds", self.folder / "a")
        self.assertIn("other sizes than the sample", samples[0]["label"])
        self.write("a/index.json", '{"version": 2}')
        self.assertIn("has no shard", self.refused("mds", self.folder / "a"))
        self.write("a/index.json", "[]")
        self.assertIn("is no index of MDS shards", self.refused("mds", self.folder / "a"))
        (self.folder / "c").mkdir()
        self.assertIn("holds no file named *index.json", self.refused("mds", self.folder / "c"))


class FilesOfOtherPrograms(Table):
    """Small files that other programs wrote, taken down once."""

    def test_tfrecord(self):
        """By TFRecordWriter of the package tfrecord 1.14 of PyPI."""
        content = ("PwAAAAAAAABRZXZhCj0KFwoFbGFiZWwSDhoMCgr5//////////8BCg8KBWltYWdlEgYKBAoC/9gKEQoBdhIMEgoKCAAAAD8AAIA/uwc/8w==")
        _, samples = self.dump("tfrecord", self.write("a.tfrecord", base64.b64decode(content)))
        self.assertEqual(samples, [{"__key__": "a.tfrecord:0", "image": b"\xff\xd8", "label": struct.pack("<q", -7),
                                    "v": struct.pack("<2f", 0.5, 1)}])

    def test_mds(self):
        """By MDSWriter of mosaicml-streaming 0.13."""
        self.write("index.json", '''{"shards": [{"column_encodings": ["uint8", "int", "str", "ndarray:float32:2"],
            "column_names": ["h", "n", "text", "v"], "column_sizes": [1, 8, null, 8], "compression": null, "format": "mds",
            "hashes": [], "raw_data": {"basename": "shard.00000.mds", "bytes": 290, "hashes": {}}, "samples": 2,
            "size_limit": 67108864, "version": 2, "zip_data": null}], "version": 2}''')
        content = ("AgAAAPYAAAANAQAAIgEAAHsiY29sdW1uX2VuY29kaW5ncyI6IFsidWludDgiLCAiaW50IiwgInN0ciIsICJuZGFycmF5OmZsb2F0"
                   "MzI6MiJdLCAiY29sdW1uX25hbWVzIjogWyJoIiwgIm4iLCAidGV4dCIsICJ2Il0sICJjb2x1bW5fc2l6ZXMiOiBbMSwgOCwgbnVs"
                   "bCwgOF0sICJjb21wcmVzc2lvbiI6IG51bGwsICJmb3JtYXQiOiAibWRzIiwgImhhc2hlcyI6IFtdLCAic2l6ZV9saW1pdCI6IDY3"
                   "MTA4ODY0LCAidmVyc2lvbiI6IDJ9AgAAAAf+/////////8OpAACAPwAAIEAAAAAA/wMAAAAAAAAAAAAAAAAAgL8=")
        self.write("shard.00000.mds", base64.b64decode(content))
        _, samples = self.dump("mds", self.folder)
        self.assertEqual([[s["text"].decode(), *struct.unpack("<q", s["n"]), *struct.unpack("<2f", s["v"]),
                           s["h"][0]] for s in samples],
                         [["é", -2, 1, 2.5, 7], ["", 3, 0, -1, 255]])
        self.assertEqual(samples[1]["__key__"], "shard.00000.mds:1")


if __name__ == "__main__":
    cases.main()
