#!/usr/bin/env python3
"""Tables give what the usual readers of their formats give: Python's csv and json, numpy.

    tables_test.py --dump TABLE_DUMP
"""
import base64
import csv
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import cases  # noqa: E402

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
                    self.assertFalse(value.startswith("bad: "), value)
                    sample[name] = bytes.fromhex(value)
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
        for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes, lambda b: base64.b64encode(b).rstrip(b"=")):
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


if __name__ == "__main__":
    cases.main()
