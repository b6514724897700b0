#!/usr/bin/env python3
"""Parquet gives what pyarrow reads, for columns of many types; files that do not fit are refused with a sentence.

    parquet_test.py --dump TABLE_DUMP

It runs in an environment that has pyarrow.
"""
import base64
import datetime
import decimal
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import cases
import make_file

DUMP = cases.options("dump").dump
EPOCH = datetime.datetime(1970, 1, 1)
PACKED = {pa.int8(): "b", pa.uint8(): "B", pa.int16(): "h", pa.uint16(): "H", pa.int32(): "i", pa.uint32(): "I", pa.int64(): "q",
          pa.uint64(): "Q", pa.float16(): "e", pa.float32(): "f", pa.float64(): "d", pa.bool_(): "B"}


def number(value, kind):
    """The bytes of a number of this type."""
    if isinstance(value, decimal.Decimal):
        return struct.pack("<d", float(value))
    if isinstance(value, datetime.datetime):
        return struct.pack("<q", (value - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return struct.pack("<i", (value - EPOCH.date()).days)
    if isinstance(value, datetime.time):
        return struct.pack("<q", ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond)
    return struct.pack("<" + PACKED[kind], value)


def np_bytes(values):
    """Of numbers of 32 bits."""
    return struct.pack(f"<{len(values)}i", *values)


def flat(value):
    """The values of a list of lists, one after the other."""
    return [inner for one in value for inner in flat(one)] if isinstance(value, list) else [value]


def element_of(kind):
    while pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return kind


def wanted(value, kind):
    """The bytes of a value that has no null in it."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if not isinstance(value, list):
        return number(value, kind)
    values = flat(value)
    if pa.types.is_string(element_of(kind)):
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join(number(one, element_of(kind)) for one in values)


class Parquet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_dump(self, *uris, **parameters):
        return subprocess.run([DUMP, "parquet", json.dumps(parameters), *map(str, uris)], capture_output=True,
                              text=True, check=False)

    def dump(self, *uris, **parameters):
        done = self.run_dump(*uris, **parameters)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, *samples = map(json.loads, done.stdout.splitlines())
        self.assertEqual(head["size"], len(samples))
        return head, samples

    def refused(self, *uris, **parameters):
        done = self.run_dump(*uris, **parameters)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def write(self, table, name="a.parquet", **options):
        path = self.folder / name
        pq.write_table(table, path, **options)
        return path

    def columns(self, table):
        """The columns as fields: name, type, values."""
        for name in table.column_names:
            column = table[name]
            if name == "point":
                yield "point.x", pa.float32(), [value and value["x"] for value in column.to_pylist()]
                yield "point.name", pa.string(), [value and value["name"] for value in column.to_pylist()]
            elif name == "points":
                for part, kind in (("x", pa.float32()), ("name", pa.string())):
                    yield f"points.{part}", pa.list_(kind), [value and [one[part] for one in value]
                                                             for value in column.to_pylist()]
            elif name == "map":
                for place, (part, kind) in enumerate((("key", pa.string()), ("value", pa.int32()))):
                    yield (f"map.{part}", pa.list_(kind),
                           [None if value is None else [one[place] for one in value] for value in column.to_pylist()])
            else:
                yield name, column.type, column.to_pylist()

    def compare(self, table, samples):
        for name, kind, values in self.columns(table):
            for row, value in enumerate(values):
                with self.subTest(column=name, row=row):
                    got = samples[row][name]
                    if value is None or isinstance(value, list) and None in flat(value):
                        self.assertIn(f"row {row}, column {name}: it is null", got)
                    else:
                        self.assertEqual(bytes.fromhex(got), wanted(value, kind))

    def test_columns_of_many_types(self):
        table = make_file.make_table()
        head, samples = self.dump(self.write(table, row_group_size=17))
        self.assertEqual(samples[18]["__key__"], "a.parquet:18")
        self.compare(table, samples)
        self.assertEqual(head["remarks"], [])

    def test_codecs_encodings_and_page_versions(self):
        table = make_file.make_table()
        for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
            for version in ("1.0", "2.0"):
                for dictionary in (True, False):
                    path = self.write(table, compression=codec, data_page_version=version, use_dictionary=dictionary,
                                      data_page_size=200)
                    self.compare(table, self.dump(path)[1])

    def test_times_of_impala(self):
        moments = [datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2024, 2, 29, 12, 0, 0, 1)]
        path = self.write(pa.table({"t": pa.array(moments, pa.timestamp("ns"))}), use_deprecated_int96_timestamps=True)
        samples = self.dump(path)[1]
        for sample, moment in zip(samples, moments):
            ns = (moment - EPOCH) // datetime.timedelta(microseconds=1) * 1000
            self.assertEqual(bytes.fromhex(sample["t"]), struct.pack("<q", ns))

    def test_times_of_impala_beyond_64_bits_are_bad_samples(self):
        """pyarrow writes them rightly out of microseconds, and lets them wrap round as it reads."""
        least, most = -(1 << 63) // 1000 + 1, ((1 << 63) - 1) // 1000  # microseconds
        values = [0, most, most + 1, least, least - 1, 253402225200000000, None, -62135596800000000, 1704141296123456]
        table = pa.table({"t": pa.array(values, pa.timestamp("us")),
                          "l": pa.array([[0, value] for value in values], pa.list_(pa.timestamp("us")))})
        for nulls in ("bad", "default"):
            samples = self.dump(self.write(table, use_deprecated_int96_timestamps=True), nulls=nulls)[1]
            for row, value in enumerate(values):
                for name in "tl":
                    with self.subTest(row=row, column=name, nulls=nulls):
                        got = samples[row][name]
                        if value is not None and not -(1 << 63) <= value * 1000 < 1 << 63:
                            self.assertIn(f"row {row}, column {name}: its time lies beyond the 64-bit nanoseconds since 1970",
                                          got)
                        elif value is not None:
                            self.assertEqual(bytes.fromhex(got)[-8:], struct.pack("<q", value * 1000))
                        elif nulls == "bad":
                            self.assertIn("it is null", got)

    def test_pages_with_another_checksum_are_bad_samples(self):
        table = pa.table({"a": pa.array([f"value {row % 50}" for row in range(2000)]), "b": list(range(2000))})
        for version in ("1.0", "2.0"):
            for dictionary in (True, False):
                for codec in ("none", "snappy", "zstd"):
                    path = self.write(table, write_page_checksum=True, write_statistics=False, data_page_version=version,
                                      use_dictionary=dictionary, compression=codec)
                    sound = self.dump(path)[1]
                    self.compare(table, sound)
                    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
                    start = chunk.dictionary_page_offset if dictionary else chunk.data_page_offset
                    content = bytearray(path.read_bytes())
                    end = start + chunk.total_compressed_size
                    for at in (content.index(b"value", start) if codec == "none" else start + 60, end - 1):
                        changed = bytearray(content)
                        changed[at] ^= 1
                        path.write_bytes(changed)
                        with self.subTest(version=version, dictionary=dictionary, codec=codec, at=at):
                            samples = self.dump(path)[1]
                            self.assertIn("a page has another checksum than its header says", samples[7]["a"])
                            self.assertEqual(samples[7]["b"], sound[7]["b"])

    def test_nulls_have_values_and_a_mask(self):
        table = pa.table({"n": pa.array([1, None, 3], pa.int16()), "t": ["a", None, "c"], "l": [[1], None, [None, 2]]})
        samples = self.dump(self.write(table), nulls="default", null_number=-1, null_text="none")[1]
        self.assertEqual([bytes.fromhex(one["n"]) for one in samples], [struct.pack("<h", value) for value in (1, -1, 3)])
        self.assertEqual([bytes.fromhex(one["t"]) for one in samples], [b"a", b"none", b"c"])
        self.assertEqual([bytes.fromhex(one["l"]) for one in samples], [struct.pack("<q", 1), b"", struct.pack("<2q", -1, 2)])
        for name in "nt":
            self.assertEqual([one[f"{name}.is_null"] for one in samples], ["00", "01", "00"])

    def test_files_follow_one_another(self):
        for number in range(3):
            self.write(pa.table({"a": [number * 10 + i for i in range(4)]}), f"p{number}.parquet", row_group_size=2)
        head, samples = self.dump(self.folder)
        self.assertEqual([struct.unpack("<q", bytes.fromhex(one["a"]))[0] for one in samples],
                         [number * 10 + i for number in range(3) for i in range(4)])
        self.assertEqual(samples[5]["__key__"], "p1.parquet:1")
        again = self.dump(self.folder / "p{0..2}.parquet")[0]
        self.assertEqual(head["fingerprint"], again["fingerprint"])

    def test_columns_in_another_order_or_missing(self):
        self.write(pa.table({"a": [1], "b": ["x"]}), "0.parquet")
        self.write(pa.table({"b": ["y"], "a": [2]}), "1.parquet")
        self.write(pa.table({"a": [3], "c": [0.5]}), "2.parquet")
        head, samples = self.dump(self.folder)
        self.assertEqual([bytes.fromhex(one["a"])[0] for one in samples], [1, 2, 3])
        self.assertEqual([bytes.fromhex(one["b"]) for one in samples[:2]], [b"x", b"y"])
        self.assertIn("row 0, column b: it is null", samples[2]["b"])
        self.assertIn("lacks the column b of the first file", head["remarks"][0])

    def test_columns_of_another_type_are_refused(self):
        self.write(pa.table({"a": [1]}), "0.parquet")
        self.write(pa.table({"a": ["x"]}), "1.parquet")
        self.assertIn("its column a has another type than in the first file", self.refused(self.folder))

    def test_refusals(self):
        (self.folder / "text.parquet").write_text("no Parquet file, but a text")
        self.assertIn("is no Parquet file", self.refused(self.folder / "text.parquet"))
        self.assertIn("has no row", self.refused(self.write(pa.table({"a": pa.array([], pa.int32())}))))
        self.assertIn("column __key__", self.refused(self.write(pa.table({"__key__": [1]}))))

    def test_lists_of_binary_values_are_lists_of_texts_in_base64(self):
        rows = [[b"x", b"\x00\xff"], [], None, [b""]]
        images = [[{"bytes": b"\xff\xd8", "path": "a.jpg"}, {"bytes": b"GIF", "path": None}], [], None,
                  [{"bytes": None, "path": "c"}]]
        kind = pa.list_(pa.struct({"bytes": pa.binary(), "path": pa.string()}))
        fixed = pa.array([[b"12"], [], None, [b"34", b"56"]], pa.list_(pa.binary(2)))
        head, samples = self.dump(self.write(pa.table({"a": rows, "images": pa.array(images, kind), "fixed": fixed})))
        self.assertEqual(head["remarks"], [])
        self.assertIn("images.bytes", head["fields"])

        def texts(*values):
            return json.dumps([base64.b64encode(value).decode() for value in values], separators=(",", ":")).encode().hex()
        self.assertEqual([sample["a"] for sample in samples[:2]], [texts(*rows[0]), texts()])
        self.assertIn("it is null", samples[2]["a"])
        self.assertEqual(samples[3]["a"], texts(b""))
        self.assertEqual([sample["images.bytes"] for sample in samples[:2]], [texts(b"\xff\xd8", b"GIF"), texts()])
        self.assertIn("it is null", samples[3]["images.bytes"])
        self.assertEqual(samples[3]["fixed"], texts(b"34", b"56"))

    def test_list_views_have_the_names_of_lists(self):
        rows = [[1, 2], [], [3]]
        table = pa.table({"lv": pa.array(rows, pa.list_view(pa.int32())), "llv": pa.array(rows, pa.large_list_view(pa.int32()))})
        head, samples = self.dump(self.write(table))
        self.assertEqual([name for name in head["fields"] if "null" not in name], ["lv", "llv", "__key__"])
        for name in ("lv", "llv"):
            self.assertEqual([bytes.fromhex(sample[name]) for sample in samples], [np_bytes(row) for row in rows])

    def test_names_of_class_labels_are_the_classes(self):
        def with_features(features, name="a.parquet", columns=("label",)):
            table = pa.table({column: [0, 1] for column in columns})
            return self.write(table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})}), name)
        label = {"names": ["cat", "d\u00f6g"], "_type": "ClassLabel"}
        value = {"dtype": "int64", "_type": "Value"}
        self.assertEqual(self.dump(with_features({"x": value, "label": label}))[0]["classes"], ["cat", "d\u00f6g"])
        for lists in ({"feature": label, "_type": "Sequence"}, [label],
                      {"feature": {"feature": label, "_type": "List"}, "_type": "List"}):
            self.assertEqual(self.dump(with_features({"objects": {"cat": lists, "x": value}}))[0]["classes"], ["cat", "d\u00f6g"])
        head, _ = self.dump(with_features({"label": label, "other": label}, columns=("label", "other")))
        self.assertEqual(head["classes"], [])
        self.assertIn("label and other both have names of classes", head["remarks"][0])
        for wrong in ({"label": {"names": "cat", "_type": "ClassLabel"}}, {"label": {"names": [1], "_type": "ClassLabel"}}, [],
                      "x", None):
            self.assertEqual(self.dump(with_features(wrong))[0]["classes"], [])
        with_features({"label": {"names": ["dog", "cat"], "_type": "ClassLabel"}}, "b.parquet")
        with_features({"label": label})
        self.assertIn("the classes of its column label have other names", self.refused(self.folder))

    def test_damage_is_of_its_row_group_and_column(self):
        path = self.write(pa.table({"a": list(range(1000)), "b": list(range(1000))}), row_group_size=500, use_dictionary=False)
        chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
        with path.open("r+b") as file:
            file.seek(chunk.data_page_offset)
            file.write(b"\xff" * 60)
        samples = self.dump(path)[1]
        self.assertIn("row group 1, column a: can't be decoded", samples[700]["a"])
        for row in (0, 499):
            self.assertEqual(bytes.fromhex(samples[row]["a"]), struct.pack("<q", row))
        self.assertEqual(bytes.fromhex(samples[999]["b"]), struct.pack("<q", 999))


if __name__ == "__main__":
    cases.main()
