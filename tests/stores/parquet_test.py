#!/usr/bin/env python3
"""Parquet files in stores: the same batches from everywhere, and no more bytes than the columns that are asked for."""
import os
import subprocess
from pathlib import Path

from remote_case import StoreCase, content, store_table  # first: it makes the others known

import cases
import numpy as np
import spdld
import web

ROOT = Path(__file__).resolve().parents[2]
ROWS = 120
WIDE_ROWS, WIDE_GROUPS = 6000, 3


def make_files(folder):
    """Returns the bytes of each column of the wide file."""
    made = subprocess.run([os.environ["SPDLD_PYARROW_PYTHON"], Path(__file__).with_name("make_parquet.py"), folder],
                          env={**os.environ, "PYTHONPATH": os.environ["SPDLD_PYARROW"]}, capture_output=True,
                          text=True, check=False)
    if made.returncode != 0:
        raise AssertionError(made.stderr)
    return list(map(int, made.stdout.split()))


def rows_spec(uri, name="rows", batch=8, epochs=1, order=None, source=None, **changes):
    return {"name": name, "source": {"type": "parquet", "uri": uri, **(source or {})},
            "order": {"epochs": epochs, **(order or {})},
            "output": [{"name": "label", "from": "label", "ops": [{"op": "raw-int", "dtype": "int64"}]},
                       {"name": "text", "from": "text", "length_max": 64, "pad": "longest", "lengths": "text_bytes",
                        "ops": [{"op": "bytes"}]},
                       {"name": "vector", "from": "vector", "ops": [{"op": "raw", "dtype": "float32", "shape": [4]}]}],
            "batch": {"size": batch}, **changes}


def wide_spec(uri, columns=("c07", "c31"), **changes):
    return {"name": "wide", "source": {"type": "parquet", "uri": uri},
            "order": {"epochs": 1, "shuffle": "window", "window": 2000},
            "output": [{"name": name, "from": name, "ops": [{"op": "raw-int", "dtype": "int64"}]} for name in columns],
            "batch": {"size": 100}, **changes}


class ParquetCase(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.set = cls.folder / "set"
        cls.column_bytes = make_files(cls.set)
        for path in sorted(cls.set.rglob("*.parquet")):
            cls.client.put(f"set/{path.relative_to(cls.set)}", path.read_bytes())
        cls.web = web.Web(cls.set)
        cls.addClassCleanup(cls.web.close)

    def all_stores(self, **keys):
        return self.stores(**keys) + store_table(self.web.tls_endpoint, ca_file=str(self.web.ca))

    def uris(self):
        return [f"file://{self.set}/rows", "s3://data/set/rows", f"{self.web.tls_endpoint}/rows/{{0,1}}.parquet"]

    def fetched(self, name):
        """(requests, bytes) that the proxy saw of an object."""
        return self.proxy.counts()["by_path"].get(f"GET /data/set/{name}", [0, 0])


class Parquet(ParquetCase):
    def test_the_same_bytes_from_everywhere(self):
        daemon = self.daemon(self.all_stores())
        for order in ({}, {"shuffle": "window", "window": 30}, {"shuffle": False}):
            local, *others = self.uris()
            expected = self.read(daemon, rows_spec(local, epochs=2, order=order), group=f"{order} local")
            labels = [int(label) for batch in expected for label in np.frombuffer(batch["label"], "<i8")]
            self.assertEqual(sorted(labels), sorted(2 * list(range(ROWS))))
            for uri in others:
                with self.subTest(uri=uri, order=order):
                    self.assertEqual(self.read(daemon, rows_spec(uri, epochs=2, order=order), group=f"{order} {uri}"), expected)

    def test_values_are_what_was_written(self):
        daemon = self.daemon(self.all_stores())
        with self.attach(daemon, rows_spec(self.uris()[1], order={"shuffle": False})) as loader:
            for batch in loader:
                for label, text, length, vector in zip(batch["label"].tolist(), batch["text"], batch["text_bytes"].tolist(),
                                                       batch["vector"].tolist()):
                    self.assertEqual(bytes(text[:length]).decode(), f"row {label} " + "é" * (label % 9))
                    self.assertEqual(vector, [label / 4 + i for i in range(4)])

    def test_two_of_fifty_columns_are_fetched_and_no_more(self):
        daemon = self.daemon(self.all_stores())
        with self.attach(daemon, wide_spec("s3://data/set/wide.parquet", cache="off")) as loader:
            self.assertEqual(sum(batch.valid for batch in loader), WIDE_ROWS)
        requests, fetched = self.fetched("wide.parquet")
        wanted = self.column_bytes[7] + self.column_bytes[31]
        self.assertGreaterEqual(fetched, wanted)
        # The footer is among them.
        footer = 64 << 10
        self.assertLessEqual(fetched, 1.1 * wanted + footer)
        self.assertLessEqual(fetched - footer, 1.001 * wanted)
        self.assertLessEqual(requests, 2 * WIDE_GROUPS + 1)

    def test_a_second_start_asks_whether_files_changed_and_nothing_else(self):
        state = self.folder / "state"
        state.mkdir()
        daemon = self.daemon(self.all_stores() + f'\n[state]\nfolder = "{state}"\n')
        spec = wide_spec("s3://data/set/wide.parquet", cache="off", order={"shuffle": "client"})
        self.assertEqual(self.attach(daemon, spec).info.samples, WIDE_ROWS)
        self.assertEqual(self.fetched("wide.parquet")[0], 1)
        daemon.end()
        daemon.start()
        self.proxy.counts(forget=True)
        self.assertEqual(self.attach(daemon, spec).info.samples, WIDE_ROWS)
        self.assertEqual(self.fetched("wide.parquet")[0], 0)
        self.assertLessEqual(self.proxy.counts()["requests"], 2)

    def test_a_state_of_a_local_set_goes_on_in_a_store(self):
        daemon = self.daemon(self.all_stores())
        local, *others = self.uris()
        order = {"shuffle": "window", "window": 50}
        loader = self.attach(daemon, rows_spec(local, order=order), group="first")
        for _ in range(5):
            loader.next().release()
        state = loader.state_dict()
        rest = list(map(content, loader))
        loader.close()
        for uri in others:
            self.assertEqual(list(map(content, self.attach(daemon, rows_spec(uri, order=order), group=uri, state=state))), rest)

    def test_nulls_are_bad_samples_or_have_a_value_and_a_mask(self):
        daemon = self.daemon(self.all_stores())
        output = [{"name": "maybe", "from": "maybe", "ops": [{"op": "raw-int", "dtype": "int32"}]}]
        spec = rows_spec(self.uris()[1], output=output, order={"shuffle": False}, on_bad="mask")
        with self.attach(daemon, spec) as loader:
            masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertEqual(masks, [row % 10 != 3 for row in range(ROWS)])
        self.assertIn("column maybe: it is null", " ".join(daemon.ctl("errors").split()))
        output = output + [{"name": "null", "from": "maybe.is_null", "ops": [{"op": "raw-int", "dtype": "uint8"}]}]
        spec = rows_spec(self.uris()[1], "lenient", output=output, order={"shuffle": False},
                         source={"nulls": "default", "null_number": -7})
        with self.attach(daemon, spec) as loader:
            found = [pair for batch in loader for pair in zip(batch["maybe"][:batch.valid].tolist(),
                                                              batch["null"][:batch.valid].tolist())]
        self.assertEqual(found, [(-7, 1) if row % 10 == 3 else (row, 0) for row in range(ROWS)])

    def test_an_outage_is_waited_for_and_no_row_is_lost(self):
        daemon = self.daemon(self.all_stores(attempt_ms_max=1000, total_ms_max=2000))
        loader = self.attach(daemon, wide_spec("s3://data/set/wide.parquet", cache="off"))
        loader.next().release()
        self.proxy.refuse(4)
        rows = 100 + sum(batch.valid for batch in loader)
        self.assertEqual(rows, WIDE_ROWS)

    def test_a_file_that_is_replaced_is_bad_content_and_never_mixed(self):
        daemon = self.daemon(self.all_stores())
        body = (self.set / "wide.parquet").read_bytes()
        self.client.put("set/other.parquet", body)
        loader = self.attach(daemon, wide_spec("s3://data/set/other.parquet", cache="off", on_bad="mask",
                                               order={"epochs": 1, "shuffle": False}))
        self.client.put("set/other.parquet", body[::-1])
        masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertFalse(all(masks))
        self.assertIn("s3://data/set/other.parquet", daemon.ctl("errors"))

    def test_a_local_file_that_is_replaced_is_bad_content(self):
        daemon = self.daemon(self.all_stores())
        path = self.folder / "replaced.parquet"
        path.write_bytes((self.set / "wide.parquet").read_bytes())
        spec = wide_spec(f"file://{path}", cache="off", on_bad="mask", order={"epochs": 1, "shuffle": False})
        loader = self.attach(daemon, spec)
        next(iter(loader)).release()
        path.write_bytes((self.set / "wide.parquet").read_bytes()[::-1])
        masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertFalse(all(masks))

    def test_what_is_no_parquet_is_refused(self):
        daemon = self.daemon(self.all_stores())
        self.client.put("bad/a.parquet", b"PAR1 this is no Parquet")
        for uri, words in (("s3://data/bad/a.parquet", "is no Parquet file"), ("s3://data/bad/none.parquet", "is neither"),
                           (f"file://{self.folder}/none", "does not exist")):
            with self.subTest(uri=uri), self.assertRaises(spdld.Error) as caught:
                self.attach(daemon, rows_spec(uri))
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    cases.main()
