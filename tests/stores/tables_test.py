#!/usr/bin/env python3
"""Tables in stores, manifests whose rows name objects of stores, and weights that a column of a manifest has."""
import collections
import threading
import time

import numpy as np
from remote_case import StoreCase, content, store_table, until  # first: it makes the others known

import cases
import spdld
import table_corpus
import web
from table_corpus import PLACES, WEB_PLACES, table_spec


class TableCase(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = table_corpus.TableCorpus(cls.folder / "set")
        cls.corpus.upload(cls.client, "deep/set/")
        cls.other = cls.weed.make_bucket("other")
        cls.corpus.upload(cls.other, "open/")
        cls.other.put("closed/1.jpg", cls.corpus.pictures[1])
        cls.web = web.Web(cls.folder / "set")
        cls.addClassCleanup(cls.web.close)

    def setUp(self):
        super().setUp()
        self.web.forget()

    def all_stores(self, **keys):
        return (self.stores(**keys) + store_table("s3://other/open", endpoint=self.weed.endpoint) +
                store_table(self.web.tls_endpoint, ca_file=str(self.web.ca)))

    def uris(self, kind):
        local = self.corpus.folder / PLACES[kind]
        uris = [f"file://{local}", f"s3://data/deep/set/{PLACES[kind]}"]
        return uris + [f"{self.web.tls_endpoint}/{WEB_PLACES[kind]}"] if kind in WEB_PLACES else uris

    def fresh(self, name):
        folder = self.folder / f"{self.id().rpartition('.')[2]}-{name}"
        folder.mkdir(exist_ok=True)
        return folder

    def manifest(self, rows, columns=("file", "label")):
        """A manifest on the local disk; returns its path."""
        return self.corpus.write_csv(f"m/{self.id().rpartition('.')[2]}.csv", columns, rows)


class Tables(TableCase):
    def test_the_same_bytes_from_everywhere(self):
        daemon = self.daemon(self.all_stores())
        for kind in PLACES:
            uris = self.uris(kind)
            expected = self.read(daemon, table_spec(kind, uris[0], epochs=2), group=f"{kind} local")
            self.assertEqual(sum(len(batch["sample_id"]) // 8 for batch in expected), 2 * self.corpus.rows)
            for uri in uris[1:]:
                with self.subTest(uri=uri):
                    self.assertEqual(self.read(daemon, table_spec(kind, uri, epochs=2), group=uri), expected)

    def test_rows_come_by_exact_ranges(self):
        daemon = self.daemon(self.all_stores())
        for kind, row_bytes in (("npy", 24), ("records", 24)):
            with self.attach(daemon, table_spec(kind, self.uris(kind)[2], cache="off")) as loader:
                listed = len(self.web.wait_for_requests(1))
                self.assertEqual(sum(batch.valid for batch in loader), self.corpus.rows)
            rows = [entry for entry in self.web.wait_for_requests(listed + self.corpus.rows) if entry[2] == "GET"
                    and entry[5] == row_bytes]
            self.assertEqual(len(rows), self.corpus.rows, kind)
            self.web.forget()
        # The fields of a packed row come with one request, of the row's bytes.
        with self.attach(daemon, table_spec("tfrecord", self.uris("tfrecord")[2], cache="off")) as loader:
            self.assertEqual(sum(batch.valid for batch in loader), self.corpus.rows)
        found = [entry[5] for entry in self.web.wait_for_requests(4 + self.corpus.rows) if entry[2] == "GET"]
        for name in ("a", "b"):
            found.remove((self.corpus.folder / f"r/{name}.tfrecord").stat().st_size)  # the index
        self.assertEqual(sorted(found), sorted(map(len, self.corpus.records)))

    def test_a_second_start_asks_whether_tables_changed_and_nothing_else(self):
        state = self.fresh("state")
        daemon = self.daemon(self.all_stores() + f'\n[state]\nfolder = "{state}"\n')
        specs = {kind: table_spec(kind, self.uris(kind)[1], name=kind, cache="off", order={"shuffle": "client"})
                 for kind in PLACES}
        expected = {kind: self.attach(daemon, spec, group=kind).info for kind, spec in specs.items()}
        self.assertTrue(self.requests("GET /data/deep/set/m/"))
        daemon.end()
        daemon.start()
        for kind, spec in specs.items():
            with self.subTest(kind=kind):
                self.proxy.counts(forget=True)
                loader = self.attach(daemon, spec, group=kind)
                self.assertEqual(loader.info.samples, expected[kind].samples)
                self.assertEqual(self.requests("GET /data/deep"), {})
                self.assertLessEqual(self.proxy.counts()["requests"], 6)
                loader.close()

    def test_a_state_of_a_local_table_goes_on_in_a_store(self):
        daemon = self.daemon(self.all_stores())
        for kind in ("inside", "mds", "npy", "coco", "voc", "yolo"):
            uris = self.uris(kind)
            with self.subTest(kind=kind):
                loader = self.attach(daemon, table_spec(kind, uris[0]), group=f"{kind} first")
                for _ in range(3):
                    loader.next().release()
                state = loader.state_dict()
                rest = list(map(content, loader))
                loader.close()
                for uri in uris[1:]:
                    self.assertEqual(list(map(content, self.attach(daemon, table_spec(kind, uri), group=uri, state=state))), rest)

    def test_annotations_reach_the_trainer(self):
        daemon = self.daemon(self.all_stores())
        by_path = [label for _, label in sorted(zip(self.corpus.names, self.corpus.labels))]
        for kind, counts, box_of in (("coco", self.corpus.labels, lambda box: [box, 1, 8, 9]),
                                     ("voc", self.corpus.labels, lambda box: [box, 1, box + 8, 10]),
                                     ("yolo", by_path, lambda box: [0.5, 0.5, 0.25, float(np.float32(box / 10))])):
            for uri in self.uris(kind):
                with self.subTest(uri=uri):
                    self.check_annotations(daemon, kind, uri, counts, box_of)

    def check_annotations(self, daemon, kind, uri, counts, box_of):
        """Each picture has so many boxes, of the classes from 0 on."""
        present = {"name": "present", "from": "labels", "ops": [{"op": "multi-hot", "classes": 5}]}
        spec = table_spec(kind, uri, order={"shuffle": False}, batch=1)
        with self.attach(daemon, {**spec, "output": [*spec["output"], present]}, group=f"{kind} {uri}") as loader:
            self.assertEqual(loader.info.classes, [f"category {number}" for number in range(5)])
            for count, batch in zip(counts, loader, strict=True):
                self.assertEqual(batch["boxes"].tolist(), [list(map(box_of, range(count)))])
                self.assertEqual(batch["labels"].tolist(), [list(range(count))])
                self.assertEqual(batch["present"].tolist(), [[1] * count + [0] * (5 - count)])

    def test_a_table_that_is_replaced_while_it_is_read_is_bad_content(self):
        daemon = self.daemon(self.all_stores())
        key = "deep/set/" + PLACES["records"]
        body = (self.corpus.folder / PLACES["records"]).read_bytes()
        loader = self.attach(daemon, table_spec("records", f"s3://data/{key}", cache="off", on_bad="mask"))
        self.client.put(key, bytes(len(body)))
        self.addCleanup(self.client.put, key, body)
        masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertFalse(all(masks))
        self.assertIn(f"s3://data/{key}", daemon.ctl("errors"))

    def test_damaged_tables(self):
        daemon = self.daemon(self.all_stores())
        broken = bytearray((self.corpus.folder / "r/a.tfrecord").read_bytes())
        broken[60] ^= 1  # within the first message
        self.client.put("damaged/a.tfrecord", bytes(broken))
        with self.attach(daemon, table_spec("tfrecord", "s3://data/damaged", name="damaged", on_bad="mask",
                                            order={"shuffle": False})) as loader:
            masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertEqual(masks, [False] + [True] * 19)
        self.assertIn("checksum is wrong", " ".join(daemon.ctl("errors").split()))
        for kind, name, body, words in (("tfrecord", "x.tfrecord", bytes(100), "is no TFRecord file"),
                                        ("npy", "x.npy", b"\x93NUMPY\x01\x00", "x.npy"),
                                        ("mds", "index.json", b"{", "is no index of MDS shards"),
                                        ("files", "x.csv", b"", "is empty"), ("records", "none", None, "does not exist")):
            if body is not None:
                self.client.put(f"damaged/{name}", body)
            uri = "s3://data/damaged" if kind == "mds" else f"s3://data/damaged/{name}"
            with self.subTest(kind=kind), self.assertRaises(spdld.Error) as caught:
                self.attach(daemon, table_spec(kind, uri, name=f"damaged-{kind}"))
            self.assertIn(words, str(caught.exception))


class NamedFiles(TableCase):
    def mixed(self):
        """Rows of two stores and of the local disk, in turn."""
        names = self.corpus.names[:-1]
        places = [lambda name: f"s3://data/deep/set/{name}", lambda name: f"{self.web.tls_endpoint}/{name}",
                  lambda name: f"../{name}", lambda name: f"s3://other/open/{name}", lambda name: str(self.corpus.folder / name)]
        return self.manifest([[places[number % 5](name),
                               label] for number, (name, label) in enumerate(zip(names, self.corpus.labels))])

    def test_a_manifest_of_two_stores_and_local_files_is_read_and_resumed(self):
        daemon = self.daemon(self.all_stores())
        plain = self.corpus.write_csv("m/plain.csv", ["file", "label"],
                                      [[f"../{name}", label] for name, label in zip(self.corpus.names[:-1], self.corpus.labels)])
        expected = self.read(daemon, table_spec("files", str(plain), epochs=2), group="plain")
        self.proxy.counts(forget=True)
        self.web.forget()
        spec = table_spec("files", str(self.mixed()), epochs=2, cache="off")
        with self.attach(daemon, spec, group="whole") as loader:
            heads = self.requests("HEAD ")
            self.assertEqual(heads, {}, "no row is asked for when it is listed")
            self.assertEqual([content(batch) for _ in range(2) for batch in loader], expected)
        self.assertEqual(sum(self.requests("GET /data/deep/set/pictures").values()), 2 * 6)
        self.assertEqual({entry[2] for entry in self.web.wait_for_requests(12)}, {"GET"})
        loader = self.attach(daemon, spec, group="first")
        found = [content(loader.next()) for _ in range(5)]
        state = loader.state_dict()
        loader.close()
        daemon.end()
        daemon.start()
        with self.attach(daemon, spec, group="resumed", state=state) as loader:
            found += [content(batch) for batch in loader]
            found += [content(batch) for batch in loader]
        self.assertEqual(found, expected)

    def test_rows_that_lead_where_they_may_not(self):
        secret = self.folder / "secret.jpg"
        secret.write_bytes(self.corpus.pictures[0])
        link = self.corpus.folder / "pictures/link.jpg"
        link.symlink_to(secret)
        self.addCleanup(link.unlink)
        daemon = self.daemon(store_table("s3://data/deep", endpoint=self.proxy.endpoint)
                             + store_table("s3://other/open", endpoint=self.weed.endpoint) +
                             store_table(self.web.endpoint + "/pictures") + f'\n[[data.roots]]\npath = "{self.corpus.folder}"\n')
        server = self.web.endpoint.removeprefix("http://")
        for url, words in (("s3://other/closed/1.jpg", "no store that the operator allows"),
                           ("s3://elsewhere/1.jpg", "no store that the operator allows"),
                           ("s3://data/1.jpg", "no store that the operator allows"),
                           ("s3://data/deeper/1.jpg", "no store that the operator allows"),
                           (f"{self.web.endpoint}/m/files.csv", "no store that the operator allows"),
                           (f"{self.web.tls_endpoint}/pictures/1.jpg", "no store that the operator allows"),
                           ("http://169.254.169.254/latest", "no store that the operator allows"),
                           (f"{self.web.endpoint}/pictures/../m/files.csv", '".."'),
                           (f"{self.web.endpoint}/pictures/%2e%2e/m/files.csv", '".."'),
                           (f"http://user:sesame@{server}/pictures/1.jpg", "user or a password"),
                           ("gs://data/deep/1.jpg", "not supported")):
            with self.subTest(url=url), self.assertRaises(spdld.Error) as caught:
                self.attach(daemon, table_spec("files", str(self.manifest([["../pictures/1.jpg", 0], [url, 1]]))))
            self.assertIn(words, str(caught.exception))
            self.assertIn("row 1", str(caught.exception))
        self.assertEqual((self.proxy.counts()["requests"], self.web.log()), (0, []), "a refused row asks no store")
        # A manifest in a store leads to no local file, and steps lead out of nothing.
        for url, words in (("/etc/passwd", "a local file"), ("file:///etc/passwd", "a local file"), (str(secret), "a local file"),
                           ("../../../../x.jpg", "climbs out"), ("../../../x.jpg", "no store that the operator allows")):
            self.client.put("deep/set/m/led.csv", f"file,label\n../pictures/1.jpg,0\n{url},1\n".encode())
            with self.subTest(url=url), self.assertRaises(spdld.Error) as caught:
                self.attach(daemon, table_spec("files", "s3://data/deep/set/m/led.csv"))
            self.assertIn(words, str(caught.exception))
            self.assertIn("row 1", str(caught.exception))
        # Links and steps of local paths are looked at when they are read, as those of other sources are.
        rows = [["../pictures/1.jpg", 1], ["../pictures/link.jpg", 2], [f"../../{secret.name}", 3], [str(secret), 4]]
        with self.attach(daemon, table_spec("files", str(self.manifest(rows)), on_bad="mask",
                                            order={"shuffle": False})) as loader:
            masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertEqual(masks, [True, False, False, False])

    def test_a_link_local_address_is_not_asked(self):
        """Without data.stores all servers may be named, and a link-local address is refused where it would be asked."""
        daemon = self.daemon("")
        rows = [["http://169.254.169.254/latest", 0], ["../pictures/1.jpg", 1]]
        with self.attach(daemon, table_spec("files", str(self.manifest(rows)), on_bad="mask",
                                            order={"shuffle": False})) as loader:
            began = time.monotonic()
            try:
                masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
                self.assertEqual(masks, [False, True])
            except spdld.Error as error:
                self.assertIn("link-local", str(error))
            self.assertLess(time.monotonic() - began, 10)

    def test_a_row_that_is_not_there_is_a_bad_sample(self):
        daemon = self.daemon(self.all_stores())
        rows = [["s3://data/deep/set/pictures/1.jpg", 1], ["s3://data/deep/set/pictures/none.jpg", 2],
                [f"{self.web.tls_endpoint}/none.jpg", 3],
                ["../pictures/2.jpg", 4]]
        spec = table_spec("files", str(self.manifest(rows)), on_bad="mask", order={"shuffle": False})
        with self.attach(daemon, spec) as loader:
            masks = [value for batch in loader for value in batch["mask"][:batch.valid].tolist()]
        self.assertEqual(masks, [True, False, False, True])
        self.assertEqual(daemon.describe("table")["bad"]["masked"], 2)
        errors = daemon.ctl("errors")
        self.assertIn("s3://data/deep/set/pictures/none.jpg", errors)
        self.assertIn(f"{self.web.tls_endpoint}/none.jpg", errors)

    def test_a_store_that_is_down_is_waited_for(self):
        daemon = self.daemon(self.all_stores(attempts_max=2))
        spec = table_spec("files", str(self.mixed()), cache="off")
        expected = self.read(daemon, spec, group="before")
        self.proxy.set({"kind": "status", "status": 503})
        loader = self.attach(daemon, spec, group="during")
        rest = []
        reader = threading.Thread(target=lambda: rest.extend(map(content, loader)))
        reader.start()
        until(lambda: daemon.state("table")[0] == "degraded", "the pipeline is degraded")
        self.assertTrue(reader.is_alive())
        self.proxy.set()
        reader.join(30)
        self.assertEqual(rest, expected)
        bad = daemon.describe("table")["bad"]
        self.assertEqual((bad["substituted"], bad["masked"]), (0, 0))

    def test_tiles_of_pictures_in_stores(self):
        """Rows that are cut need the pictures' sizes, which are asked for when they are measured."""
        def spec(path):
            tiles = table_spec("files", str(path), rows={"kind": "tiles", "from": "file", "size": [16, 16]})
            tiles["output"][0]["ops"] = [{"op": "decode-image"}, {"op": "tile"}]
            return tiles

        daemon = self.daemon(self.all_stores())
        places = {"local": "../", "urls": "s3://data/deep/set/"}
        found = {where: self.read(daemon, spec(self.corpus.write_csv(f"m/tiles-{where}.csv", ["file", "label"],
                                                                     [[beginning + name, 1] for name in self.corpus.names[:6]])),
                                  group=where)
                 for where, beginning in places.items()}
        self.assertEqual(sum(len(batch["sample_id"]) // 8 for batch in found["local"]), 6 * 6)
        self.assertEqual(found["urls"], found["local"])

    def test_a_cached_row_is_not_asked_for_again(self):
        daemon = self.daemon(self.all_stores())
        rows = [[f"s3://data/deep/set/pictures/{number}.jpg", number] for number in range(12)]
        path = str(self.manifest(rows))
        first = self.attach(daemon, table_spec("files", path, cache="encoded"), group="first")
        expected = sorted(number for batch in first for number in batch["label"].tolist())
        with self.attach(daemon, table_spec("files", path, cache="encoded", seed=2), group="second") as second:
            self.assertEqual(sorted(number for batch in second for number in batch["label"].tolist()), expected)
        self.assertEqual(sorted(self.requests("GET /data/deep/set/pictures/").values()), [1] * 12)


class Weights(TableCase):
    def drawn(self, loader, epochs):
        return [int(number) for _ in range(epochs) for batch in loader for number in batch["sample_id"][:batch.valid].tolist()]

    def test_a_column_of_weights_is_honoured_and_stable(self):
        daemon = self.daemon(self.all_stores())
        order = {"weights": "column", "weights_column": "w", "epoch_samples": 3000}
        spec = table_spec("files", self.uris("files")[1], batch=50, order=order)
        with self.attach(daemon, spec, group="whole") as loader:
            whole = self.drawn(loader, 1)
        counts = collections.Counter(number % 3 for number in whole)
        self.assertEqual(counts[0], 0)
        self.assertAlmostEqual(counts[2] / counts[1], 2, delta=0.4)
        weights = self.folder / "weights"
        weights.write_text("".join(f"{number}\t{number % 3}\n" for number in range(self.corpus.rows)))
        by_file = table_spec("files", self.uris("files")[0], batch=50, order={"weights": str(weights), "epoch_samples": 3000})
        with self.attach(daemon, by_file, group="by file") as loader:
            self.assertEqual(self.drawn(loader, 1), whole)
        loader = self.attach(daemon, spec, group="first")
        found = [int(number) for _ in range(7) for number in loader.next()["sample_id"].tolist()]
        state = loader.state_dict()
        loader.close()
        # The same rows on a local disk go on where the store was left.
        local = table_spec("files", self.uris("files")[0], batch=50, order=order)
        with self.attach(daemon, local, group="resumed", state=state) as loader:
            self.assertEqual(found + self.drawn(loader, 1), whole)
        changed = self.corpus.write_csv("m/changed.csv", ["file", "label", "w"],
                                        [[f"../{name}", label, 1] for name, label in zip(self.corpus.names, self.corpus.labels)])
        with self.assertRaises(spdld.ChangedError):
            self.attach(daemon, table_spec("files", str(changed), batch=50, order=order), group="changed", state=state)

    def test_bad_weights_are_a_sentence(self):
        daemon = self.daemon(self.all_stores())
        order = {"weights": "column", "weights_column": "w"}
        for text, words in (("-1", "row 1"), ("nan", "row 1"), ("many", "row 1"), ("", "has no weight for 1 sample of 3")):
            path = self.manifest([["../pictures/0.jpg", 0, 1], ["../pictures/1.jpg", 1, text], ["../pictures/2.jpg", 2, 3]],
                                 ["file", "label", "w"])
            with self.subTest(text=text), self.assertRaises(spdld.Error) as caught:
                self.attach(daemon, table_spec("files", str(path), order=order))
            self.assertIn(words, str(caught.exception))
            self.assertIn("row 1", str(caught.exception))
        loader = self.attach(daemon, table_spec("files", str(path), order={**order, "weights_default": 2}))
        self.assertEqual(loader.info.samples, 3)
        with self.assertRaisesRegex(spdld.Error, "no column"):
            self.attach(daemon, table_spec("files", str(path), order={**order, "weights_column": "x"}))
        with self.assertRaisesRegex(spdld.Error, "weights_column"):
            self.attach(daemon, table_spec("files", str(path), order={"weights": "column"}))
        with self.assertRaisesRegex(spdld.Error, "manifest"):
            self.attach(daemon, table_spec("npy", self.uris("npy")[0], order=order))


if __name__ == "__main__":
    cases.main()
