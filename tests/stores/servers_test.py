#!/usr/bin/python3
"""The servers that tests of remote stores read from do what they say, and nothing of them is left behind."""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import cases
import children
import corpus
import moto_store
import s3_client
import seaweed
import web

GONE_S = 10


def made_corpus(test_class):
    folder = tempfile.TemporaryDirectory(prefix="spdld-stores-test-")
    test_class.addClassCleanup(folder.cleanup)
    return corpus.Corpus(Path(folder.name) / "corpus")


class OfEachStore:
    """Cases that every store passes. `store` and `corpus` are made by the class that takes them."""

    def fresh_bucket(self):
        return self.store.make_bucket(self.id().rpartition(".")[2].replace("_", "-")[:60])

    def test_an_object_comes_back_with_the_etag_of_its_listing(self):
        bucket, body = self.fresh_bucket(), os.urandom(5000)
        put = bucket.put("a folder/ü+x.bin", body)
        answer, head = bucket.get("a folder/ü+x.bin").ok(), bucket.head("a folder/ü+x.bin").ok()
        self.assertEqual(answer.body, body)
        self.assertEqual(bucket.list_all(), {"a folder/ü+x.bin": (5000, put.headers["etag"])})
        self.assertEqual((head.headers["etag"], answer.headers["etag"]), (put.headers["etag"],) * 2)

    def test_ranges_and_conditions(self):
        bucket, body = self.fresh_bucket(), os.urandom(1000)
        etag = bucket.put("x", body).headers["etag"]
        for text, wanted in (("bytes=10-19", body[10:20]), ("bytes=990-", body[990:]), ("bytes=-5", body[-5:]),
                             ("bytes=995-2000", body[995:])):
            answer = bucket.get("x", {"Range": text, "If-Match": etag})
            self.assertEqual((answer.status, answer.body), (206, wanted), text)
        self.assertEqual(bucket.get("x", {"Range": "bytes=1000-1001"}).status, 416)
        bucket.put("x", b"other")
        self.assertEqual(bucket.get("x", {"Range": "bytes=0-1", "If-Match": etag}).status, 412)
        self.assertEqual(bucket.get("none").status, 404)

    def test_a_listing_goes_on_from_page_to_page(self):
        bucket = self.fresh_bucket()
        keys = [f"{folder}/{number:03d}" for folder in "ab" for number in range(30)]
        self.assertEqual(bucket.put_all((key, key.encode()) for key in keys), 60)
        pages, token = [], None
        while True:
            objects, _, token = bucket.list_page(token=token, page=25)
            pages.append(list(objects))
            if token is None:
                break
        self.assertEqual([len(page) for page in pages], [25, 25, 10])
        self.assertEqual(sum(pages, []), keys)
        self.assertEqual(bucket.list_page(delimiter="/")[:2], ({}, ["a/", "b/"]))
        self.assertEqual(len(bucket.list_all("b/0", page=7)), 30)

    def test_the_corpus(self):
        bucket = self.fresh_bucket()
        wanted = self.corpus.objects()
        self.assertEqual(self.corpus.upload(bucket, "set/"), len(wanted))
        self.assertEqual({key: bucket.get(key).body for key in bucket.list_all("set/")},
                         {"set/" + key: body for key, body in wanted.items()})

    def test_a_url_that_is_signed(self):
        bucket = self.fresh_bucket()
        bucket.put("x", b"content")
        url = urllib.parse.urlsplit(bucket.presigned("x"))
        connection = http.client.HTTPConnection(url.netloc)
        self.addCleanup(connection.close)
        connection.request("GET", f"{url.path}?{url.query}")
        self.assertEqual(connection.getresponse().read(), b"content")


class OfSeaweed(OfEachStore, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.corpus = made_corpus(cls)
        cls.store = seaweed.Seaweed(anonymous=True)
        cls.addClassCleanup(cls.store.close)

    def test_who_may_do_what(self):
        bucket, nobody = self.fresh_bucket(), None
        bucket.put("x", b"1")
        nobody = self.store.client(bucket.bucket, signed=False)
        self.assertEqual((nobody.get("x").status, nobody.request("PUT", "y", body=b"2").status), (200, 403))
        for access, secret, code in ((self.store.access_key, "wrong", b"SignatureDoesNotMatch"),
                                     ("nobody", "wrong", b"InvalidAccessKeyId")):
            bucket.signer = s3_client.Signer(access, secret)
            answer = bucket.get("x")
            self.assertEqual(answer.status, 403)
            self.assertIn(code, answer.body)

    def test_many_objects_through_the_filer(self):
        bucket, body = self.fresh_bucket(), os.urandom(100_000)
        self.assertEqual(self.store.load(bucket.bucket, ((f"{number:05d}", body) for number in range(500))), 500)
        found = bucket.list_all()
        self.assertEqual((len(found), set(found.values())), (500, {found["00000"]}))
        answer = bucket.get("00499")
        self.assertEqual((answer.body, answer.headers["etag"]), (body, found["00499"][1]))
        # How evenly a store spreads its objects is its own business: each server has some of this bucket's, and together they
        # have all.
        on_disk = [sum(file.stat().st_size for file in (self.store.folder / f"volume-{number}").glob(f"{bucket.bucket}_*.dat"))
                   for number in range(2)]
        self.assertGreater(min(on_disk), len(body), on_disk)
        self.assertGreater(sum(on_disk), 500 * len(body), on_disk)

    def test_checksums(self):
        bucket = self.fresh_bucket()
        bucket.put("x", b"hello", {"x-amz-checksum-crc32": "NhCmhg=="})
        self.assertEqual(bucket.get("x", {"x-amz-checksum-mode": "ENABLED"}).headers["x-amz-checksum-crc32"], "NhCmhg==")
        self.assertNotIn("x-amz-checksum-crc32", bucket.get("x").headers)
        self.assertEqual(bucket.request("PUT", "y", headers={"x-amz-checksum-crc32": "AAAAAA=="}, body=b"hello").status, 400)


class OfMoto(OfEachStore, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.corpus = made_corpus(cls)
        cls.store = moto_store.MotoStore()
        cls.addClassCleanup(cls.store.close)


class OfWeb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.corpus = made_corpus(cls)
        cls.web = web.Web(cls.corpus.folder)
        cls.addClassCleanup(cls.web.close)
        cls.path = "/pictures/" + next(iter(cls.corpus.labels))
        cls.body = (cls.corpus.folder / cls.path[1:]).read_bytes()

    def ask(self, path, headers=None, tls=False):
        connection = (http.client.HTTPSConnection("127.0.0.1", self.web.tls_port, context=self.web.tls_context()) if tls else
                      http.client.HTTPConnection("127.0.0.1", self.web.port))
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=headers or {})
        return s3_client.Answer(connection.getresponse())

    def test_files_and_ranges(self):
        for tls in (False, True):
            answer = self.ask(self.path, tls=tls)
            self.assertEqual((answer.status, answer.body, answer.headers["content-type"]), (200, self.body, "image/jpeg"))
            part = self.ask(self.path, {"Range": "bytes=10-19", "If-Match": answer.headers["etag"]}, tls)
            self.assertEqual((part.status, part.body), (206, self.body[10:20]))
        self.assertEqual(self.ask(self.path, {"If-Match": '"other"'}).status, 412)
        self.assertEqual(self.ask("/none").status, 404)

    def test_https_needs_the_authority_and_speaks_http_2(self):
        for options, wanted in ((["--cacert", self.web.ca], (0, f"2 {len(self.body)}")), ([], (60, "0 0"))):
            done = subprocess.run(["curl", "--silent", "--http2", "--output", "/dev/null", "--write-out",
                                   "%{http_version} %{size_download}",
                                   *options, self.web.tls_endpoint + self.path], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), wanted)

    def test_other_ways(self):
        for path, status, location in (("/redirect", 302, self.path), ("/moved", 301, self.path),
                                       ("/elsewhere", 302, f"https://localhost:{self.web.tls_port}{self.path}")):
            answer = self.ask(path + self.path)
            self.assertEqual((answer.status, answer.headers["location"]), (status, location))
        whole = self.ask("/no-ranges" + self.path, {"Range": "bytes=0-1"})
        self.assertEqual((whole.status, whole.body), (200, self.body))
        plain = self.ask("/no-etag" + self.path)
        self.assertEqual((plain.body, plain.headers.keys() & {"etag", "last-modified"}), (self.body, set()))
        self.assertIn(b"class-0/", self.ask("/listed/pictures/").body)

    def test_the_log_counts(self):
        self.web.forget()
        self.ask("/none")
        self.assertEqual([line[2:5] for line in self.web.wait_for_requests(1) if line[3] == "/none"], [("GET", "/none", 404)])
        self.web.forget()
        for headers in ({}, {"Range": "bytes=0-9"}, {"Range": "bytes=5-5"}):
            self.ask(self.path + "?x=1", headers)
        self.assertEqual(len(self.web.wait_for_requests(3)), 3)
        self.assertEqual(self.web.requests(), {self.path: (3, len(self.body) + 11)})


PARENT = """\
import json, sys, time
sys.path.insert(0, {here!r})
import children
started = [children.HelperProgram({here!r} + "/" + script[0], *script[1:], python=sys.executable)
           for script in json.loads(sys.argv[1])]
print(json.dumps([[helper.process.pid, helper.addresses] for helper in started]), flush=True)
time.sleep(60)
"""


def of_tree(pids):
    """Returns `pids` with all processes below them."""
    found = list(pids)
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split() if int(child) not in found]
    return found


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


class NothingIsLeft(unittest.TestCase):
    def gone(self, pids):
        until = time.monotonic() + GONE_S
        while (left := [pid for pid in pids if lives(pid)]) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(left, [], "these processes still run")

    def test_after_the_parent_was_killed(self):
        scripts = [["seaweed.py", "--bucket", "one"], ["moto_store.py"], ["web.py", "/usr/share/doc"],
                   ["fault_proxy.py", "127.0.0.1:9"]]
        parent = subprocess.Popen([sys.executable, "-B", "-c", PARENT.format(here=str(HERE)), json.dumps(scripts)],
                                  stdout=subprocess.PIPE, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(parent.stdout.close)
        started = json.loads(parent.stdout.readline())
        pids = of_tree([pid for pid, _ in started])
        folders = [Path(started[0][1]["folder"]), Path(started[2][1]["ca"]).parent]
        self.assertTrue(all(folder.exists() for folder in folders))
        # The helpers, five processes of SeaweedFS, and two processes of nginx.
        self.assertGreaterEqual(len(pids), 4 + 5 + 2)
        self.assertTrue(all(map(lives, pids)))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        self.gone(pids)
        self.assertFalse(any(folder.exists() for folder in folders))

    def test_after_the_helper_was_killed(self):
        helper = children.HelperProgram(HERE / "web.py", "/usr/share/doc")
        self.addCleanup(helper.process.stdout.close)
        self.addCleanup(helper.process.stdin.close)
        pids = of_tree([helper.process.pid])
        self.assertEqual(len(pids), 3)
        helper.process.kill()
        helper.process.wait()
        self.gone(pids)
        left = Path(helper.addresses["ca"]).parent
        self.assertTrue(left.exists())
        web.Web("/usr/share/doc").close()
        self.assertFalse(left.exists(), "the next server removes the folder")

    def test_after_standard_input_ended(self):
        helper = children.HelperProgram(HERE / "web.py", "/usr/share/doc")
        pids = of_tree([helper.process.pid])
        self.assertEqual(helper.close(), 0)
        self.gone(pids)
        self.assertFalse(Path(helper.addresses["ca"]).exists())


if __name__ == "__main__":
    cases.main()
