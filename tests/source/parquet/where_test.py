#!/usr/bin/env python3
"""`where` of Parquet files takes the rows that pyarrow's filters take, and reads no row group that statistics decide.

    where_test.py --dump TABLE_DUMP

It runs in an environment that has pyarrow.
"""
import json
import operator
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import cases

DUMP = cases.options("dump").dump
SIGNS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
NAN = float("nan")
# Values by column; conditions name the values as well.
COLUMNS = {"i8": (pa.int8(), [-128, -1, 0, 5, 127]), "i32": (pa.int32(), [-2**31, -1, 0, 7, 2**31 - 1]),
           "u32": (pa.uint32(), [0, 1, 2**31, 2**32 - 1]), "i64": (pa.int64(), [-2**63, 2**53, 2**53 + 1, 2**63 - 1]),
           "u64": (pa.uint64(), [0, 2**63, 2**64 - 1]), "f16": (pa.float16(), [-1.5, 0.0, 2.0, 65504.0]),
           "f32": (pa.float32(), [-0.1, 0.0, 0.1, 1e30]), "f64": (pa.float64(), [-0.1, -0.0, 0.1, 1e300]),
           "flag": (pa.bool_(), [True, False]), "text": (pa.string(), ["", "a", "ab", "b", "ä", "it's"]),
           "kind": (pa.dictionary(pa.int32(), pa.string()), ["cat", "dog"]), "day": (pa.date32(), [0, 19000, -3])}


class Where(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.chance = random.Random(37)

    def run_dump(self, uri, where, **parameters):
        return subprocess.run([DUMP, "parquet", json.dumps({"where": where, **parameters}), str(uri)],
                              capture_output=True, text=True, check=False)

    def untaken(self, uri, where, rows):
        done = self.run_dump(uri, where)
        if done.returncode == 1 and f"takes none of the {rows} rows" in done.stdout:
            return list(range(rows))
        self.assertEqual(done.returncode, 0, where + "\n" + done.stdout + done.stderr)
        self.head = json.loads(done.stdout.splitlines()[0])
        self.assertEqual(self.head["size"], rows)
        return self.head["untaken"]

    def spared(self):
        """Row groups that statistics decided, and all."""
        return tuple(map(int, re.search(r"statistics decided on (\d+) of (\d+) row groups", self.head["remarks"][0]).groups()))

    def refused(self, uri, where):
        done = self.run_dump(uri, where)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def write(self, table, name="a.parquet", **options):
        path = self.folder / name
        pq.write_table(table, path, **options)
        return path

    def table(self, rows):
        columns = {}
        for name, (kind, values) in COLUMNS.items():
            few = self.chance.sample(values, self.chance.randrange(1, len(values) + 1))
            nulls = self.chance.choice([0, 0.2, 0.9])
            drawn = [None if self.chance.random() < nulls else self.chance.choice(few) for _ in range(rows)]
            if name.startswith("f") and name != "flag":
                drawn = [NAN if self.chance.random() < 0.1 else value for value in drawn]
            if self.chance.random() < 0.5:  # neighbouring rows are alike, so that statistics tell
                drawn.sort(key=lambda value: (value is None, value != value,
                                              values[0] if value is None or value != value else value))
            columns[name] = pa.array(drawn, kind)
        return pa.table(columns)

    def shown(self, value):
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return str(value).lower() if isinstance(value, bool) else repr(value)

    def comparison(self):
        name = self.chance.choice(list(COLUMNS))
        kind, values = COLUMNS[name]
        plain = {"kind": pa.string(), "f16": pa.float32()}.get(name, kind)  # what pyarrow compares
        field = pc.field(name) if plain == kind else pc.field(name).cast(plain)
        form = self.chance.randrange(4)
        if form == 0:
            return self.chance.choice([(f"{name} is null", field.is_null()), (f"{name} is not null", field.is_valid())])
        if form == 1:
            some = [self.chance.choice(values) for _ in range(self.chance.randrange(1, 4))]
            equal = None
            for value in some:
                one = field == pa.scalar(value, plain)
                equal = one if equal is None else equal | one
            text = "[" + ", ".join(map(self.shown, some)) + "]"
            return self.chance.choice([(f"{name} in {text}", equal), (f"{name} not in {text}", ~equal)])
        sign, value = self.chance.choice(list(SIGNS)), self.chance.choice(values)
        return f"{name} {sign} {self.shown(value)}", SIGNS[sign](field, pa.scalar(value, plain))

    def condition(self, depth=3):
        form = self.chance.randrange(4) if depth else 0
        if form == 0:
            return self.comparison()
        text, value = self.condition(depth - 1)
        if form == 1:
            return f"not ({text})", ~value
        other_text, other = self.condition(depth - 1)
        return (f"({text}) and ({other_text})", value & other) if form == 2 else (f"({text}) or ({other_text})", value | other)

    def test_rows_are_those_of_pyarrows_filters(self):
        decided = groups = 0
        for trial in range(25):
            rows = self.chance.randrange(1, 60)
            table = self.table(rows)
            path = self.write(table, f"{trial}.parquet", row_group_size=self.chance.choice([1, 5, 17, 100]),
                              write_statistics=self.chance.random() < 0.8)
            numbered = table.append_column("row", pa.array(range(rows)))
            for _ in range(6):
                text, value = self.condition()
                with self.subTest(where=text):
                    taken = set(numbered.filter(value)["row"].to_pylist())
                    self.assertEqual(self.untaken(path, text, rows), [row for row in range(rows) if row not in taken])
                    if taken:
                        spared, all_groups = self.spared()
                        decided, groups = decided + spared, groups + all_groups
        self.assertGreater(decided, groups // 10)

    def test_row_groups_that_statistics_decide_are_not_read(self):
        """Their pages are damaged: a read would lose them."""
        table = pa.table({"n": list(range(100)), "t": [f"{row:03}" for row in range(100)]})
        path = self.write(table, row_group_size=10, compression="none", use_dictionary=False, write_page_checksum=True)
        content = bytearray(path.read_bytes())
        meta = pq.ParquetFile(path).metadata
        for group in range(10):
            for column in range(2):
                chunk = meta.row_group(group).column(column)
                content[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 0xFF
        path.write_bytes(content)
        self.assertEqual(self.untaken(path, "n >= 40 and n < 60", 100), [*range(40), *range(60, 100)])
        self.assertEqual(self.spared(), (10, 10))
        self.assertEqual(self.untaken(path, "t >= '090' and t is not null", 100), list(range(90)))
        self.assertEqual(self.untaken(path, "n in (3, 4)", 100), list(range(100)))  # the one group that must be read is lost
        done = self.run_dump(path, "n in (3, 44) or n >= 50")
        head = json.loads(done.stdout.splitlines()[0])
        self.assertEqual(head["untaken"], list(range(50)))
        lost = [remark for remark in head["remarks"] if "so source.where can't be told: its 10 rows are left out" in remark]
        self.assertEqual([re.search(r"row group (\d+), column n", remark)[1] for remark in lost], ["0", "4"])

    def test_rows_keep_their_numbers_names_and_fingerprint(self):
        path = self.write(pa.table({"a": list(range(9))}), row_group_size=3)
        plain = self.run_dump(path, "").stdout.splitlines()
        chosen = self.run_dump(path, "a > 2 and a != 5").stdout.splitlines()
        self.assertEqual(plain[1:], chosen[1:])
        self.assertEqual(json.loads(chosen[0])["untaken"], [0, 1, 2, 5])
        self.assertEqual(json.loads(chosen[0])["fingerprint"], json.loads(plain[0])["fingerprint"])

    def test_a_file_without_the_column_has_no_value_there(self):
        self.write(pa.table({"a": [1, 2], "b": ["x", "y"]}), "0.parquet")
        self.write(pa.table({"a": [3, 4]}), "1.parquet")
        self.assertEqual(self.untaken(self.folder, "b is null or b == 'y'", 4), [0])
        self.assertEqual(self.untaken(self.folder, "not b == 'y'", 4), [1, 2, 3])
        self.assertIn('0.parquet has no column "c", which source.where names; it has a, b', self.refused(self.folder, "c == 1"))

    def test_columns_that_cannot_be_compared_are_refused_by_name_and_type(self):
        path = self.write(pa.table({"a": [1], "t": ["x"], "f": [True], "l": [[1]], "s": pa.array([{"x": 1.5}])}))
        self.assertIn('the column "a" has int64 numbers, and source.where compares it with a text (\'x\')',
                      self.refused(path, "a == 'x'"))
        self.assertIn('the column "t" has texts or binary values, and source.where compares it with a number (1)',
                      self.refused(path, "t < 1"))
        self.assertIn('the column "f" has truth values, and source.where compares it with a number (1)',
                      self.refused(path, "f == 1"))
        self.assertIn('the column "l" has lists', self.refused(path, "l == 1"))
        self.assertEqual(self.untaken(path, "s.x == 1.5", 1), [])


if __name__ == "__main__":
    unittest.main()
