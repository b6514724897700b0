#!/usr/bin/env python3
"""The groups of rows are the values that pyarrow reads in the column of groups.

    groups_test.py --dump TABLE_DUMP

It runs in an environment that has pyarrow.
"""
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import cases

DUMP = cases.options("dump").dump
COLUMNS = {"text": (pa.string(), ["p1", "p2", "", "ä", "a long name of a patient"]), "bytes": (pa.binary(), [b"a", b"bc"]),
           "kind": (pa.dictionary(pa.int32(), pa.string()), ["cat", "dog"]), "flag": (pa.bool_(), [True, False]),
           "i8": (pa.int8(), [-128, 0, 127]), "u8": (pa.uint8(), [0, 255]), "i16": (pa.int16(), [-2**15, 5]),
           "u16": (pa.uint16(), [2**16 - 1]), "i32": (pa.int32(), [-2**31, 7]), "u32": (pa.uint32(), [2**32 - 1, 1]),
           "i64": (pa.int64(), [-2**63, 2**63 - 1]), "u64": (pa.uint64(), [2**64 - 1, 3])}


def written(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.decode() if isinstance(value, bytes) else str(value)


class Groups(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.chance = random.Random(3)

    def dump(self, column):
        order = {"part": {"of": 2, "index": 0, "groups": "column", "groups_column": column}}
        return subprocess.run([DUMP, "parquet", json.dumps({"order": order}), str(self.folder)], capture_output=True,
                              text=True, check=False)

    def refused(self, column):
        done = self.dump(column)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def write(self, name, rows, columns=None):
        table = pa.table({one: pa.array([self.chance.choice([None, *values]) for _ in range(rows)], kind)
                          for one, (kind, values) in (columns or COLUMNS).items()})
        pq.write_table(table, self.folder / name, row_group_size=self.chance.randrange(3, 20))
        return table

    def test_groups_are_the_values_of_the_column(self):
        tables = [self.write(f"{number}.parquet", rows) for number, rows in enumerate([40, 1, 25])]
        for column in COLUMNS:
            with self.subTest(column=column):
                done = self.dump(column)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                expected = [written(value) for table in tables for value in table[column].to_pylist()]
                self.assertEqual(json.loads(done.stdout.splitlines()[0])["groups"], expected)

    def test_what_a_column_of_groups_is_refused_for(self):
        kinds = {"x": (pa.float64(), [0.5]), "list": (pa.list_(pa.int32()), [[1, 2]]), "nul": (pa.string(), ["a\0b"])}
        self.write("a.parquet", 10, kinds)
        self.assertIn('has no column "ward"', self.refused("ward"))
        for column in ("x", "list"):
            self.assertIn("has neither texts nor whole numbers", self.refused(column))
        self.assertIn("has a text with a NUL", self.refused("nul"))

    def test_a_damaged_column_is_refused(self):
        self.write("a.parquet", 200, {"text": COLUMNS["text"]})
        path = self.folder / "a.parquet"
        sound = path.read_bytes()
        refused = 0
        for _ in range(150):
            damaged = bytearray(sound)
            damaged[self.chance.randrange(4, len(sound) // 2)] ^= 1 << self.chance.randrange(8)
            path.write_bytes(damaged)
            done = self.dump("text")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            refused += done.returncode
        self.assertGreater(refused, 20)


if __name__ == "__main__":
    cases.main()
