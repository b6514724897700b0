#!/usr/bin/env python3
"""`where` of a manifest takes the rows that an evaluation in Python takes, for random tables and random conditions.

    where_test.py --dump TABLE_DUMP
"""
import csv
import io
import json
import operator
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import cases

DUMP = cases.options("dump").dump
SIGNS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
         "=": operator.eq, "<>": operator.ne}
TEXTS = ["", "a", "b", "it's", "a,b", 'say "x"', "ä", "10", "9"]
NUMBERS = [-3, 0, 1, 2.5, 9007199254740993, 1e3]


class Conditions:
    """Random conditions: each is its text, and a function that gives True, False or None for a row.

    The columns: n has numbers, f truth values, and `a text` texts. In CSV an empty text is a text beside texts alone.
    """

    def __init__(self, chance, empty_is_text):
        self.chance = chance
        self.empty_is_null = empty_is_text

    def value(self, name):
        return self.chance.choice({"n": NUMBERS, "f": [True, False], "a text": TEXTS}[name])

    def shown(self, value):
        if isinstance(value, bool):
            return self.chance.choice(["true", "TRUE"]) if value else "false"
        if isinstance(value, str):
            quote = self.chance.choice("'\"")
            return quote + value.replace(quote, quote * 2) + quote
        return repr(value)

    def comparison(self):
        name = self.chance.choice(["n", "f", "a text"])
        shown = "`a text`" if name == "a text" else name
        kind = self.chance.randrange(4)
        if kind == 0:
            is_null = (lambda row: row[name] is None or self.empty_is_null and row[name] == "")
            return self.chance.choice([(f"{shown} is null", is_null), (f"{shown} IS NOT NULL", lambda row: not is_null(row))])
        if kind == 1:
            values = [self.value(name) for _ in range(self.chance.randrange(1, 4))]
            text = "(" + ", ".join(map(self.shown, values)) + ")"
            if self.chance.random() < 0.5:
                return f"{shown} in {text}", lambda row: None if row[name] is None else row[name] in values
            return f"{shown} not in {text}", lambda row: None if row[name] is None else row[name] not in values
        sign, value = self.chance.choice(list(SIGNS)), self.value(name)
        return (f"{shown} {sign} {self.shown(value)}",
                lambda row: None if row[name] is None else SIGNS[sign](order(row[name]), order(value)))

    def condition(self, depth=3):
        kind = self.chance.randrange(4) if depth else 0
        if kind == 0:
            return self.comparison()
        text, value = self.condition(depth - 1)
        if kind == 1:
            return f"not ({text})", lambda row: None if value(row) is None else not value(row)
        other_text, other = self.condition(depth - 1)
        if kind == 2:
            return f"({text}) and ({other_text})", lambda row: (False if value(row) is False or other(row) is False else
                                                               None if value(row) is None or other(row) is None else True)
        return f"({text}) OR ({other_text})", lambda row: (True if value(row) is True or other(row) is True else
                                                          None if value(row) is None or other(row) is None else False)


def order(value):
    return value.encode() if isinstance(value, str) else value


class Where(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.chance = random.Random(37)

    def run_dump(self, path, where, **parameters):
        return subprocess.run([DUMP, "manifest", json.dumps({"where": where, **parameters}), str(path)], capture_output=True,
                              text=True, check=False)

    def untaken(self, path, where, rows):
        """The rows that are left out, as the listing says; all where it says that none is taken."""
        done = self.run_dump(path, where)
        if done.returncode == 1 and f"takes none of the {rows} rows" in done.stdout:
            return list(range(rows))
        self.assertEqual(done.returncode, 0, where + "\n" + done.stdout + done.stderr)
        head = json.loads(done.stdout.splitlines()[0])
        self.assertEqual(head["size"], rows)
        self.assertIn(f"source.where takes {rows - len(head['untaken'])} of {rows} rows, and leaves {len(head['untaken'])} out",
                      head["remarks"][0])
        return head["untaken"]

    def refused(self, path, where, **parameters):
        done = self.run_dump(path, where, **parameters)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def rows(self, count):
        return [{"n": self.chance.choice([None, *NUMBERS]), "f": self.chance.choice([None, True, False]),
                 "a text": self.chance.choice(TEXTS)} for _ in range(count)]

    def test_csv_is_as_an_evaluation_in_python(self):
        for trial in range(30):
            rows = self.rows(self.chance.randrange(1, 20))
            out = io.StringIO()
            writer = csv.writer(out, quoting=self.chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
            writer.writerow(["n", "a text", "f"])
            for row in rows:
                flag = "" if row["f"] is None else self.chance.choice([str(row["f"]), str(int(row["f"]))])
                writer.writerow(["" if row["n"] is None else f" {row['n']!r} ", row["a text"], flag])
            path = self.write(f"{trial}.csv", out.getvalue())
            for _ in range(6):
                text, value = Conditions(self.chance, True).condition()
                with self.subTest(where=text):
                    self.assertEqual(self.untaken(path, text, len(rows)),
                                     [i for i, row in enumerate(rows) if value(row) is not True])

    def test_json_lines_are_as_an_evaluation_in_python(self):
        for trial in range(30):
            rows = self.rows(self.chance.randrange(1, 20))
            for row in rows:
                if self.chance.random() < 0.1:
                    row["a text"] = None
            lines = []
            for i, row in enumerate(rows):  # a value that is null may also be missing, but for a column that no row has
                kept = {name: value for name, value in row.items() if value is not None or i == 0 or self.chance.random() < 0.5}
                lines.append(json.dumps(kept, ensure_ascii=self.chance.random() < 0.5))
            path = self.write(f"{trial}.jsonl", "\n".join(lines) + "\n")
            for _ in range(6):
                text, value = Conditions(self.chance, False).condition()
                with self.subTest(where=text):
                    self.assertEqual(self.untaken(path, text, len(rows)),
                                     [i for i, row in enumerate(rows) if value(row) is not True])

    def test_rows_keep_their_numbers_names_classes_and_fingerprint(self):
        path = self.write("a.csv", "split,label\ntrain,b\nval,a\ntrain,c\n")
        plain = self.run_dump(path, "", **{"class": "label"}).stdout.splitlines()
        chosen = self.run_dump(path, "split == 'train'", **{"class": "label"}).stdout.splitlines()
        self.assertEqual(plain[1:], chosen[1:])
        head, whole = json.loads(chosen[0]), json.loads(plain[0])
        self.assertEqual(head["untaken"], [1])
        self.assertEqual(whole["untaken"], [])
        self.assertEqual(head["fingerprint"], whole["fingerprint"])
        self.assertEqual(head["classes"], ["a", "b", "c"])

    def test_values_that_cannot_be_compared_are_refused_by_row_column_and_kind(self):
        path = self.write("a.csv", "w,t\n1,x\nwide,y\n")
        said = self.refused(path, "w > 5")
        self.assertIn('a.csv, row 1: the column "w" has "wide", and source.where compares it with a number (5)', said)
        self.assertIn("write the value in quotes", said)
        self.assertIn('has "x", and source.where compares it with a truth value (true)', self.refused(path, "t == true"))
        self.assertEqual(self.untaken(path, "t == 'x' and w > 0", 2), [1])  # not asked for where it does not count
        self.assertIn('has no column "z"; it has w, t', self.refused(path, "z == 1"))
        lines = self.write("a.jsonl", '{"a": 1, "b": "x", "c": [1], "d": {"e": 1}}\n')
        self.assertIn('the column "a" has a number, and source.where compares it with a text (\'1\')',
                      self.refused(lines, "a == '1'"))
        self.assertIn('the column "b" has a text, and source.where compares it with a number (1)', self.refused(lines, "b < 1"))
        self.assertIn('the column "c" has a list', self.refused(lines, "c == 1"))
        self.assertIn('the column "d" has a table', self.refused(lines, "d == true"))
        self.assertEqual(self.untaken(lines, "c is not null and d is not null", 1), [])
        self.assertIn('has no column "z"; it has a, b, c, d', self.refused(lines, "z == 1"))
        self.assertIn("is no condition", self.refused(lines, "a = "))

    def test_several_files_are_filtered_each(self):
        for number in range(3):
            self.write(f"{number}.csv", "a\n" + "".join(f"{number * 10 + i}\n" for i in range(10)))
        done = self.run_dump(self.folder / "*.csv", "a >= 5 and a not in (11, 29)")
        self.assertEqual(json.loads(done.stdout.splitlines()[0])["untaken"], [0, 1, 2, 3, 4, 11, 29])


if __name__ == "__main__":
    unittest.main()
