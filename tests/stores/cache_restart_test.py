#!/usr/bin/env python3
"""What the cache and the kept listings spare a store: the requests are counted at a proxy before it."""
import os
import threading
import unittest

import remote_case  # first: it makes the folders of the others known
from remote_case import StoreCase, digests, picture_spec

import cases
import corpus

SAMPLES = 60


class Caches(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = corpus.Corpus(cls.folder / "set", classes=3, of_each=SAMPLES // 3)
        cls.corpus.upload(cls.client, "set/")

    def objects(self):
        """How often each object was asked for."""
        return sorted(self.requests("GET /data/set/pictures/").values())

    def spec(self, uri="s3://data/set/pictures", name="one", **changes):
        return picture_spec(uri, name, **changes)

    def folders(self, **cache):
        """A cache on disk and a folder for listings, as text of the daemon's file."""
        text = "".join(f"{key} = {value}\n" for key, value in cache.items())
        return self.stores() + (f'\n[cache]\nfolder = "{self.fresh("cache")}"\nram_bytes_max = 0\n{text}'
                                f'[state]\nfolder = "{self.fresh("state")}"\n')

    def fresh(self, name):
        folder = self.folder / f"{self.id().rpartition('.')[2]}-{name}"
        folder.mkdir(exist_ok=True)
        return folder

    def both(self, daemon, at_once, cache="encoded"):
        """Two pipelines that differ in batch size and seed; returns the samples of each."""
        specs = [self.spec(name="one", batch=4, epochs=2, seed=1, cache=cache),
                 self.spec(name="two", batch=7, epochs=2, seed=2, cache=cache)]
        loaders = [self.attach(daemon, spec, group=f"{self.id()} {number}")
                   for number, spec in enumerate(specs)] if at_once else []
        found = [None, None]

        def read(number):
            loader = loaders[number] if at_once else self.attach(daemon, specs[number], group=f"{self.id()} {number}")
            found[number] = [pair for _ in range(2) for pair in digests(loader)]

        threads = [threading.Thread(target=read, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
            if not at_once:
                thread.join()
        for thread in threads:
            thread.join()
        return found

    def assert_each_twice(self, found):
        self.assertEqual(sorted(found[0]), sorted(found[1]))
        self.assertNotEqual(found[0], found[1])
        self.assertEqual(sorted(number for number, _ in found[0]), sorted(2 * list(range(SAMPLES))))

    def assert_each_once(self, more=0):
        """Each object was asked for once, but for `more` requests."""
        self.assertEqual(len(self.objects()), SAMPLES)
        self.assertLessEqual(sum(self.objects()), SAMPLES + more, self.objects())

    def test_two_pipelines_fetch_each_object_once(self):
        self.assert_each_twice(self.both(self.daemon(), at_once=False))
        self.assert_each_once()

    def test_two_pipelines_that_begin_together_fetch_each_object_once(self):
        self.proxy.set({"kind": "delay", "ms": 30})
        daemon = self.daemon()
        self.assert_each_twice(self.both(daemon, at_once=True))
        # An object is asked for again where one pipeline has looked for it in the cache in vain, and waits with its request until
        # the other one has put the object there and let go of it.
        self.assert_each_once(more=2)

    def test_decoded_samples_cost_a_few_requests_more(self):
        """A pipeline looks at 16 pictures, to know how large their decoded form is, before it reads the first epoch."""
        daemon = self.daemon()
        self.assert_each_twice(self.both(daemon, at_once=False, cache="auto"))
        self.assertEqual(daemon.describe("one")["cache"]["form"], "decoded")
        self.assert_each_once(more=2 * 16)

    def test_after_a_restart_nothing_is_fetched_again(self):
        daemon = self.daemon(self.folders())
        with self.attach(daemon, self.spec()) as loader:
            expected = digests(loader)
        daemon.end()
        self.assert_each_once()
        self.proxy.counts(forget=True)
        daemon.start()
        with self.attach(daemon, self.spec()) as loader:
            self.assertEqual(digests(loader), expected)
        self.assertEqual(self.objects(), [])
        self.assertGreater(self.lists(), 0)

    def test_after_a_restart_shards_are_not_fetched_again(self):
        spec = remote_case.shard_spec("s3://data/set/shards")
        daemon = self.daemon(self.folders())
        with self.attach(daemon, spec) as loader:
            expected = digests(loader)
        daemon.end()
        self.proxy.counts(forget=True)
        daemon.start()
        with self.attach(daemon, spec) as loader:
            self.assertEqual(digests(loader), expected)
        self.assertEqual(self.requests("GET /data/set/shards/"), {})

    def test_a_damaged_cache_is_passed_by(self):
        daemon = self.daemon(self.folders())
        with self.attach(daemon, self.spec()) as loader:
            expected = digests(loader)
        daemon.end()
        files = [path for path in self.fresh("cache").rglob("*") if path.is_file() and path.stat().st_size > 10_000]
        self.assertTrue(files)
        for path in files:
            with open(path, "r+b") as file:
                for at in range(3000, os.path.getsize(path), 1500):
                    file.seek(at)
                    file.write(b"damaged")
        daemon.start()
        self.proxy.counts(forget=True)
        with self.attach(daemon, self.spec()) as loader:
            self.assertEqual(digests(loader), expected)
        self.assertGreater(len(self.objects()), SAMPLES // 3)
        self.assertGreater(daemon.status()["cache"]["damaged"], 0)

    def test_a_small_cache_is_no_limit_of_the_data(self):
        for number in range(40):
            self.client.put(f"wide/c/{number:02d}.bin", os.urandom(100_000))
        spec = self.spec("s3://data/wide", output=[{"name": "image", "from": "image", "ops": [{"op": "bytes"}], "pad": "longest",
                                                    "length_max": 100_000}])
        spec["source"]["extensions"] = "bin"
        daemon, found = self.daemon(self.folders(disk_bytes_max=1_500_000)), []
        for number in range(2):
            with self.attach(daemon, spec, group=f"{number}") as loader:
                found.append(digests(loader))
        self.assertEqual((len(found[0]), found[0]), (40, found[1]))
        fetched = sum(self.requests("GET /data/wide/").values())
        self.assertTrue(40 < fetched < 80, fetched)
        self.assertLess(sum(path.stat().st_blocks * 512 for path in self.fresh("cache").rglob("*")), 2_000_000)

    @unittest.skipUnless(os.geteuid() == 0, "a file system can be mounted by root alone")
    def test_a_full_disk_is_passed_by(self):
        folder = self.fresh("cache")
        if os.system(f"mount -t tmpfs -o size=64k spdld-test {folder} 2>/dev/null") != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(os.system, f"umount {folder}")
        daemon = self.daemon(self.folders(disk_bytes_max=10_000_000))
        with self.attach(daemon, self.spec(epochs=2)) as loader:
            self.assertEqual(len(digests(loader)) + len(digests(loader)), 2 * SAMPLES)
        self.assertNotEqual(daemon.status()["cache"]["disk_trouble"], "")
        self.assertIn(daemon.state("one")[0], ("running", "ready"))


OF_PAGE = 1000  # a page of a listing has at most 1,000 objects


class Listings(StoreCase):
    """Listings that were kept, checked as a whole or by a sample of their pages."""

    inline = 100

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Twenty-four pages, in two classes. Nothing reads the objects.
        cls.weed.load("data", ((f"{prefix}/c{label}/{number:06d}.jpg", b"x") for prefix in ("large", "small")
                               for label in range(2) for number in range(12 * OF_PAGE if prefix == "large" else OF_PAGE)))

    def restarted(self, prefix, check, change=None):
        """Lists, changes the store, starts the daemon anew, and lists again; returns (samples, list requests) of both."""
        state = self.folder / f"state-{prefix}-{check}-{bool(change)}"
        daemon = self.daemon(self.stores() + f'\n[state]\nfolder = "{state}"\n')
        spec = picture_spec(f"s3://data/{prefix}")
        spec["source"]["check_listing"] = check
        found = []
        for number in range(2):
            self.proxy.counts(forget=True)
            with self.attach(daemon, spec, group=f"{number}") as loader:
                found.append((loader.info.samples, self.lists()))
            daemon.end()
            if number == 0:
                if change:
                    change()
                daemon.start()
        return found

    def test_a_whole_check_lists_all_pages(self):
        (samples, before), (again, after) = self.restarted("large", "whole")
        self.assertEqual((samples, again), (24 * OF_PAGE, 24 * OF_PAGE))
        self.assertGreaterEqual(min(before, after), 24)

    def test_a_sample_lists_a_few_pages(self):
        (samples, before), (again, after) = self.restarted("large", "sample")
        self.assertEqual((samples, again), (24 * OF_PAGE, 24 * OF_PAGE))
        self.assertGreaterEqual(before, 24)
        self.assertTrue(1 <= after <= 1 + 2 + 16, after)

    def test_an_added_class_leads_to_a_new_listing(self):
        """The pages of the sample are the same as before: the new class lies between them."""
        (samples, before), (again, after) = self.restarted(
            "large", "sample", lambda: self.client.put("large/c00/000000.jpg", b"x"))
        self.addCleanup(self.client.delete, "large/c00/000000.jpg")
        self.assertEqual(again, samples + 1)
        self.assertGreaterEqual(after, before)

    def test_an_added_object_in_a_sampled_page_leads_to_a_new_listing(self):
        (samples, _), (again, _) = self.restarted("small", "sample", lambda: self.client.put("small/c0/000500a.jpg", b"x"))
        self.addCleanup(self.client.delete, "small/c0/000500a.jpg")
        self.assertEqual(again, samples + 1)

    def test_a_replaced_object_in_a_sampled_page_leads_to_a_new_listing(self):
        (samples, before), (again, after) = self.restarted(
            "small", "sample", lambda: self.client.put("small/c1/000007.jpg", b"other"))
        self.assertEqual(again, samples)
        self.assertGreaterEqual(after, before)


if __name__ == "__main__":
    cases.main()
