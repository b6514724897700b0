#!/usr/bin/env python3
"""Objects that are deleted or replaced after they were listed are bad content: counted, told by their uri, and never mixed."""

from remote_case import StoreCase, digests, picture_spec, until  # first: it makes the others known

import cases
import corpus
import numpy as np
import spdld

SAMPLES = 24


class Changed(StoreCase):
    def setUp(self):
        super().setUp()
        prefix = self.id().rpartition(".")[2]
        self.uri = f"s3://data/{prefix}"
        self.corpus = corpus.Corpus(self.folder / prefix)
        self.keys = [f"{prefix}/{path}" for path in self.corpus.labels]  # by their samples' ids
        for key, path in zip(self.keys, self.corpus.labels):
            self.client.put(key, (self.corpus.pictures / path).read_bytes())
        self.one = self.daemon()

    def spec(self, on_bad, **changes):
        return picture_spec(self.uri, on_bad=on_bad, cache="off", order={"shuffle": False}, **changes)

    def opened(self, on_bad):
        """A loader that has read its set and stays: the pipeline keeps its listing, and the next loader reads anew."""
        self.held = self.attach(self.one, self.spec(on_bad), group="held")
        self.expected = dict(digests(self.held))

    def change(self, way):
        """Sample 5 is deleted, replaced by one of the same size, or by one of another size."""
        key, path = self.keys[5], self.corpus.pictures / list(self.corpus.labels)[5]
        body = path.read_bytes()
        if way == "deleted":
            self.client.delete(key)
        elif way == "replaced":
            self.client.put(key, body[:-2] + b"\0\0")
        else:
            self.client.put(key, (self.corpus.pictures / list(self.corpus.labels)[6]).read_bytes() + b"\0")
        return f"s3://data/{key}"

    def restore(self):
        self.client.put(self.keys[5], (self.corpus.pictures / list(self.corpus.labels)[5]).read_bytes())

    def errors(self, uri):
        found = spdld.query("errors", "pictures", socket=str(self.one.socket))
        self.assertTrue(any(uri in error["reason"] for error in found["errors"]), found["errors"])
        self.assertIn(uri, self.one.ctl("errors"))
        return found

    def test_substituted(self):
        self.opened("substitute")
        for number, way in enumerate(("deleted", "replaced", "resized")):
            with self.subTest(way=way):
                uri = self.change(way)
                found = digests(self.attach(self.one, self.spec("substitute"), group=way))
                self.assertEqual(len(found), SAMPLES)
                self.assertNotIn(5, [sample for sample, _ in found])
                for sample, digest in found:
                    self.assertEqual(digest, self.expected[sample])
                self.assertEqual(self.one.describe("pictures")["bad"]["substituted"], number + 1)
                self.errors(uri)
                self.restore()

    def test_masked(self):
        self.opened("mask")
        for way in ("deleted", "replaced"):
            with self.subTest(way=way):
                uri = self.change(way)
                loader = self.attach(self.one, self.spec("mask"), group=way)
                masked = 0
                for batch in loader:
                    masked += batch.masked
                    for image, sample in zip(batch["image"], batch["sample_id"]):
                        if sample == 5:
                            self.assertFalse(np.any(image))
                self.assertEqual(masked, 1)
                self.errors(uri)
                self.restore()

    def test_fatal(self):
        self.opened("fail")
        uri = self.change("deleted")
        loader = self.attach(self.one, self.spec("fail"), group="fails")
        with self.assertRaises(spdld.Error) as caught:
            digests(loader)
        self.assertIn(uri, str(caught.exception))

    def test_an_object_that_is_replaced_between_two_attempts_is_not_mixed(self):
        """The first attempt breaks off in the body, and the second one finds another object."""
        self.opened("substitute")
        self.proxy.set({"kind": "stall", "at": 0.5, "match": self.keys[5], "first": 1})
        loader = self.attach(self.one, self.spec("substitute"), group="late")
        until(lambda: self.proxy.counts()["faults"], "the read has begun")
        self.change("replaced")
        self.proxy.drop()
        for sample, digest in digests(loader):
            self.assertEqual(digest, self.expected[sample])
        self.assertEqual(self.one.describe("pictures")["bad"]["substituted"], 1)

    def test_another_etag_of_one_reply_is_not_taken(self):
        self.opened("substitute")
        self.proxy.set({"kind": "etag", "etag": "0123456789abcdef0123456789abcdef", "match": self.keys[5]})
        found = digests(self.attach(self.one, self.spec("substitute"), group="other"))
        self.assertNotIn(5, [sample for sample, _ in found])


if __name__ == "__main__":
    cases.main()
