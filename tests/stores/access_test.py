#!/usr/bin/env python3
"""Who may read what, and which servers are never asked; and that no credential is told anywhere."""
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import unittest

from remote_case import REFUSED_WITHIN_S, StoreCase, picture_spec, shard_spec, store_table  # first: it makes the others known

import cases
import children
import corpus
import spdld
import web

OTHER_UID = 12345
AS_OTHER = """
import json, os, sys
import spdld
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
for spec in json.loads(sys.argv[3]):
    try:
        with spdld.attach(spec, socket=sys.argv[2], framework="numpy", group="other", private=False, timeout=30) as loader:
            print(json.dumps([sum(batch.valid for batch in loader), ""]))
    except spdld.Error as error:
        print(json.dumps([0, type(error).__name__ + ": " + str(error)]))
"""


class Access(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = corpus.Corpus(cls.folder / "set")
        for prefix in ("prefix/", "prefix2/"):
            cls.corpus.upload(cls.client, prefix)
        cls.corpus.upload(cls.weed.make_bucket("other"), "prefix/")
        cls.web, cls.elsewhere = web.Web(cls.folder / "set"), web.Web(cls.folder / "set")
        for server in (cls.web, cls.elsewhere):
            cls.addClassCleanup(server.close)
        cls.samples = len(cls.corpus.labels)

    def setUp(self):
        super().setUp()
        self.web.forget()

    def as_other(self, daemon, specs):
        os.chmod(daemon.folder, 0o755)
        os.chmod(daemon.socket, 0o666)
        done = subprocess.run([sys.executable, "-c", AS_OTHER, str(OTHER_UID), daemon.socket, json.dumps(specs)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(map(json.loads, done.stdout.splitlines()))

    def assert_refused(self, daemon, spec, *words, wait_s=REFUSED_WITHIN_S):
        """The attach is refused, with a sentence that has these words, in time; returns the sentence."""
        began = time.monotonic()
        with self.assertRaises(spdld.Error) as caught:
            self.attach(daemon, spec)
        self.assertLess(time.monotonic() - began, wait_s)
        for word in words:
            self.assertIn(word, str(caught.exception))
        return str(caught.exception)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_another_user_reads_what_is_open_to_that_user(self):
        keys = {"endpoint": self.proxy.endpoint}
        config = (store_table("s3://data/prefix", users=[str(OTHER_UID)], **keys) + store_table("s3://data", **keys) +
                  store_table("s3://other", **keys) + store_table(self.web.endpoint, users=[str(OTHER_UID)])
                  + store_table(self.elsewhere.endpoint))
        daemon = self.daemon(config + '\n[socket]\nmode = "666"\n')
        shards = "/shards/{00000..00002}.tar"
        allowed = [picture_spec("s3://data/prefix/pictures"), shard_spec("s3://data/prefix/shards"),
                   shard_spec(self.web.endpoint + shards)]
        refused = [picture_spec("s3://data/prefix2/pictures"), picture_spec("s3://data"),
                   picture_spec("s3://other/prefix/pictures"),
                   shard_spec(self.elsewhere.endpoint + shards), picture_spec(str(self.corpus.pictures)),
                   picture_spec("s3://nowhere/x"), shard_spec(["s3://data/prefix/shards", "s3://data/prefix2/shards"])]
        for spec, (count, error) in zip(allowed, self.as_other(daemon, allowed)):
            self.assertEqual((count, error), (self.samples, ""), spec["source"])
        self.proxy.counts(forget=True)
        for spec, (count, error) in zip(refused, self.as_other(daemon, refused)):
            self.assertEqual(count, 0, spec["source"])
            self.assertIn("may not send specs over", error)
        self.assertEqual(self.proxy.counts()["requests"], 0, "a refused spec asks no store")
        for spec in (picture_spec("s3://data/prefix2/pictures"), picture_spec("s3://other/prefix/pictures")):
            with self.attach(daemon, spec, group="owner") as loader:
                self.assertEqual(loader.info.samples, self.samples)

    def test_places_outside_of_all_stores(self):
        daemon = self.daemon(store_table("s3://data/prefix", endpoint=self.proxy.endpoint)
                             + store_table(self.web.endpoint + "/shards"))
        for uri in ("s3://data/prefix2/pictures", "s3://data/pref", "s3://other/prefix/pictures", "s3://datas/prefix"):
            self.assert_refused(daemon, picture_spec(uri), uri, "outside the data roots and stores")
        for uri in (self.web.endpoint + "/shards2/x.tar", self.web.endpoint + "1/shards/x.tar"):
            self.assert_refused(daemon, shard_spec(uri), "outside the data roots and stores")
        self.assertEqual(self.proxy.counts()["requests"], 0)

    def test_uris_that_climb_or_carry_credentials(self):
        daemon = self.daemon(store_table(self.web.endpoint + "/shards")
                             + store_table("s3://data/prefix", endpoint=self.proxy.endpoint))
        for step in ("..", "%2e%2e", ".%2E", "%2E%2e"):
            self.assert_refused(daemon, shard_spec(f"{self.web.endpoint}/shards/{step}/x.tar"), "\"..\"")
            self.assert_refused(daemon, shard_spec(f"{self.web.endpoint}/shards/{{a,{step}}}/x.tar"), "\"..\"")
        host = self.web.endpoint.removeprefix("http://")
        said = self.assert_refused(daemon, shard_spec(f"http://user:sesame@{host}/shards/x.tar"), "user or a password")
        self.assertNotIn("sesame", daemon.said())
        self.assertNotIn("sesame", said)
        self.assert_refused(daemon, picture_spec("s3://user:sesame@data/prefix"), "user or a password")
        # In a bucket ".." is a name like others, and leads nowhere.
        self.assert_refused(daemon, picture_spec("s3://data/prefix/../prefix2/pictures"))
        self.assertEqual([path for path in self.requests() if "prefix2" in path and ".." not in path], [])
        self.assertEqual(self.web.log(), [])

    def test_a_spec_sets_no_endpoint(self):
        daemon = self.daemon()
        for key, value in (("endpoint", "http://127.0.0.1:1"), ("credentials", "anonymous"), ("region", "x")):
            spec = picture_spec("s3://data/prefix/pictures")
            spec["source"][key] = value
            self.assert_refused(daemon, spec, key)
        self.assertEqual(self.proxy.counts()["requests"], 0)

    def test_redirects(self):
        redirects = store_table(self.web.endpoint)
        spec = shard_spec(self.web.endpoint + "/elsewhere/shards/00000.tar")  # to https on another port
        daemon = self.daemon(redirects)
        self.assert_refused(daemon, spec, self.web.endpoint, "redirect")
        self.assert_refused(daemon, shard_spec(self.web.endpoint + "/loop/00000.tar"), "redirect")
        self.assertFalse(any(scheme == "https" for scheme, *_ in self.web.wait_for_requests(2)))
        within = shard_spec(self.web.endpoint + "/redirect/shards/00000.tar")
        follows = self.daemon(store_table(self.web.endpoint, follows_redirects=True, ca_file=str(self.web.ca)))
        expected = self.read(follows, shard_spec(self.web.endpoint + "/shards/00000.tar"), group="direct")
        for one in (spec, within):
            self.assertEqual(self.read(follows, one, group=one["source"]["uri"]), expected)
        self.assert_refused(follows, shard_spec(self.web.endpoint + "/loop/00000.tar"), "redirect")

    def test_certificates_are_those_that_the_environment_names(self):
        spec = shard_spec(self.web.tls_endpoint + "/shards/00000.tar")
        expected = self.read(self.daemon(store_table(self.web.tls_endpoint, ca_file=str(self.web.ca))), spec)
        none = self.folder / "none.pem"
        for name, other in (("SSL_CERT_FILE", "CURL_CA_BUNDLE"), ("CURL_CA_BUNDLE", "SSL_CERT_FILE")):
            for file, is_there in ((self.web.ca, True), (none, False)):
                daemon = self.daemon(store_table(self.web.tls_endpoint), {name: str(file), other: ""})
                if is_there:
                    self.assertEqual(self.read(daemon, spec), expected)
                else:
                    self.assert_refused(daemon, spec, str(none))

    def test_a_link_local_address_is_not_asked(self):
        for uri in ("http://169.254.169.254/latest.tar", "http://[fe80::1]/x.tar", "http://[::ffff:169.254.169.254]/x.tar"):
            daemon = self.daemon(store_table(uri.rpartition("/")[0]))
            self.assert_refused(daemon, shard_spec(uri), "link-local")
        # A server that sends there is not followed either.
        self.proxy.point_at(self.web.endpoint)
        self.addCleanup(self.proxy.point_at, self.weed.endpoint)
        self.proxy.set({"kind": "redirect", "location": "http://169.254.169.254/latest.tar"})
        daemon = self.daemon(store_table(self.proxy.endpoint, follows_redirects=True))
        self.assert_refused(daemon, shard_spec(self.proxy.endpoint + "/x.tar"), "link-local")


class Credentials(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = corpus.Corpus(cls.folder / "set")
        cls.corpus.upload(cls.client, "set/")

    spec = staticmethod(lambda **changes: picture_spec("s3://data/set/pictures", cache="off", **changes))

    def bare(self, **changes):
        """An environment without credentials."""
        return {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", **changes}

    def test_nothing_tells_a_credential(self):
        daemon = self.daemon(store_table("s3://data", endpoint=self.proxy.endpoint,
                                         attempts_max=2) + '\n[log]\nlevel = "trace"\n')
        loader = self.attach(daemon, self.spec(epochs=2))
        told = [str(loader.state_dict())]
        self.proxy.set({"kind": "status", "status": 403, "match": "00005"}, {"kind": "status", "status": 503, "probability": 0.3},
                       {"kind": "reset", "at": 0.5, "probability": 0.2})
        try:
            for batch in loader:
                told.append(str(loader.state_dict()))
        except spdld.Error as error:
            told.append(str(error))
        self.proxy.set()
        for words in (["status"], ["status", "-o", "json"], ["describe", "pictures"], ["describe", "pictures", "-o", "json"],
                      ["errors"],
                      ["errors", "-o", "json"], ["ls"]):
            told.append(daemon.ctl(*words))
        told.append(daemon.said())
        self.assertIn("s3://data", "".join(told))
        for text in told:
            for secret in (self.weed.secret_key, self.weed.access_key, "Signature=", "Credential="):
                self.assertNotIn(secret, text)

    def test_wrong_credentials_are_a_sentence(self):
        daemon = self.daemon(environment={"AWS_SECRET_ACCESS_KEY": "wrong" * 8})
        began = time.monotonic()
        with self.assertRaises(spdld.Error) as caught:
            self.attach(daemon, self.spec())
        self.assertLess(time.monotonic() - began, REFUSED_WITHIN_S)
        self.assertIn("s3://data", str(caught.exception))
        self.assertRegex(str(caught.exception), "403|credentials|SignatureDoesNotMatch")
        self.assertNotIn("wrongwrong", str(caught.exception) + daemon.said())

    def test_no_credentials_are_a_sentence(self):
        daemon = self.daemon(store_table("s3://data", endpoint=self.proxy.endpoint, credentials="environment"),
                             environment=self.bare())
        began = time.monotonic()
        with self.assertRaisesRegex(spdld.Error, "AWS_ACCESS_KEY_ID"):
            self.attach(daemon, self.spec())
        self.assertLess(time.monotonic() - began, REFUSED_WITHIN_S)

    def test_a_profile(self):
        file = self.folder / "credentials"
        file.write_text(f"[default]\naws_access_key_id = none\naws_secret_access_key = none\n[training]\n"
                        f"aws_access_key_id = {self.weed.access_key}\naws_secret_access_key = {self.weed.secret_key}\n")
        daemon = self.daemon(store_table("s3://data", endpoint=self.proxy.endpoint, credentials="profile:training"),
                             environment=self.bare(AWS_SHARED_CREDENTIALS_FILE=str(file)))
        self.assertEqual(len(self.read(daemon, self.spec())), 6)

    def test_credentials_that_expire_are_renewed(self):
        """A container's service gives keys that end in some seconds, and others after that."""
        given = []

        class Service(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                given.append(self.headers.get("Authorization"))
                ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + (4 if len(given) == 1 else 3600)))
                body = json.dumps({"AccessKeyId": case.weed.access_key, "SecretAccessKey": case.weed.secret_key, "Token": "",
                                   "Expiration": ends}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        case = self
        port = children.free_ports(1)[0]
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Service)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            daemon = self.daemon(store_table("s3://data", endpoint=self.proxy.endpoint, credentials="container"),
                                 environment=self.bare(AWS_CONTAINER_CREDENTIALS_FULL_URI=f"http://127.0.0.1:{port}/keys",
                                                       AWS_CONTAINER_AUTHORIZATION_TOKEN="sesame"))
            self.proxy.set({"kind": "delay", "ms": 300})
            with self.attach(daemon, self.spec(epochs=8)) as loader:
                began = time.monotonic()
                count = 0
                for _ in range(8):
                    for batch in loader:
                        count += batch.valid
                        time.sleep(0.12)
            self.assertGreater(time.monotonic() - began, 4, "the first keys have ended meanwhile")
            self.assertEqual(count, 8 * len(self.corpus.labels))
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        self.assertGreaterEqual(len(given), 2)
        self.assertEqual(set(given), {"sesame"})
        self.assertNotIn("sesame", daemon.said())


if __name__ == "__main__":
    cases.main()
