#!/usr/bin/env python3
"""One pipeline over a local folder, file://, http://, https:// and s3:// gives the same batches, byte for byte."""
import gzip
import io
import subprocess
import tarfile

import remote_case  # first: it makes the folders of the others known
from remote_case import StoreCase, picture_spec, shard_spec, store_table

import cases
import corpus
import moto_store
import spdld
import web

ODD_NAMES = ("with blank", "a+b", "50%", "%41", "ünï-日本", "q?x#y&z=1", "c;d,e'f", "~tilde")
TEXTS = 23


def make_texts(folder):
    """Two shards with a text in each sample, of different lengths, one of them empty."""
    folder.mkdir()
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as archive:
            for number in range(shard, TEXTS, 2):
                body = bytes((number * 7 + i) % 251 for i in range(number * 37 % 400))
                member = tarfile.TarInfo(f"{number:04d}.txt")
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))


def pack_shards(shards, folder):
    """The shards once more, compressed, in two folders."""
    for name in ("gzip", "zstd"):
        (folder / name).mkdir()
    for shard in shards.glob("*.tar"):
        (folder / "gzip" / f"{shard.name}.gz").write_bytes(gzip.compress(shard.read_bytes()))
        subprocess.run(["zstd", "-q", shard, "-o", folder / "zstd" / f"{shard.name}.zst"], check=True)


class SameBytes(StoreCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = corpus.Corpus(cls.folder / "set")
        pictures = sorted(cls.corpus.pictures.rglob("*.jpg"))
        cls.odd = cls.folder / "set/odd"
        for number, name in enumerate(ODD_NAMES):
            folder = cls.odd / f"class {number % 3} +%ü"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.jpg").write_bytes(pictures[number].read_bytes())
        make_texts(cls.folder / "set/texts")
        pack_shards(cls.corpus.shards, cls.folder / "set")
        cls.moto = moto_store.MotoStore()
        cls.addClassCleanup(cls.moto.close)
        moto = cls.moto.make_bucket("moto")
        for client in (cls.client, moto):
            cls.corpus.upload(client, "deep/set/")
        cls.web = web.Web(cls.folder / "set")
        cls.addClassCleanup(cls.web.close)
        config = (store_table("s3://data", endpoint=cls.weed.endpoint) + store_table("s3://moto", endpoint=cls.moto.endpoint) +
                  store_table(cls.web.endpoint) + store_table(cls.web.tls_endpoint,
                                                              ca_file=str(cls.web.ca)) + '\n[[data.roots]]\npath = "/"\n')
        cls.one = remote_case.StoreDaemon(config)
        cls.addClassCleanup(cls.one.close)

    def assert_same(self, spec_of, uris):
        expected = self.read(self.one, spec_of(uris[0]))
        self.assertTrue(expected)
        for uri in uris[1:]:
            with self.subTest(uri=uri):
                self.assertEqual(self.read(self.one, spec_of(uri), group=f"{self.id()} {uri}"), expected)

    def test_image_folder(self):
        local = self.corpus.pictures
        self.assert_same(lambda uri: picture_spec(uri, epochs=2),
                         [str(local), f"file://{local}", "s3://data/deep/set/pictures", "s3://data/deep/set/pictures/",
                          "s3://moto/deep/set/pictures"])

    def test_names_with_blanks_signs_and_other_letters(self):
        self.assert_same(lambda uri: picture_spec(uri, batch=3),
                         [str(self.odd), "s3://data/deep/set/odd", "s3://moto/deep/set/odd"])

    def test_webdataset(self):
        shards = "{00000..00002}.tar"
        web_uris = [f"{endpoint}/shards/{shards}" for endpoint in (self.web.endpoint, self.web.tls_endpoint)]
        self.assert_same(lambda uri: shard_spec(uri, epochs=2),
                         [str(self.corpus.shards), f"file://{self.corpus.shards}", f"s3://data/deep/set/shards/{shards}",
                          "s3://data/deep/set/shards",
                          "s3://data/deep/set/shards/*.tar", f"s3://moto/deep/set/shards/{shards}", *web_uris])
        spoken = {(scheme, protocol) for scheme, protocol, *_ in self.web.wait_for_requests(1)}
        self.assertEqual(spoken, {("http", "HTTP/1.1"), ("https", "HTTP/2.0")})

    def test_compressed_shards(self):
        shards = "{00000..00002}.tar"
        for order in ({"shuffle": "window", "window": 7}, {"shuffle": "off"}):
            uris = [str(self.corpus.shards)]
            for name, ending in (("gzip", "gz"), ("zstd", "zst")):
                uris += [f"{self.folder}/set/{name}", f"s3://data/deep/set/{name}", f"s3://moto/deep/set/{name}/*.{ending}",
                         f"{self.web.endpoint}/{name}/{shards}.{ending}", f"{self.web.tls_endpoint}/{name}/{shards}.{ending}"]
            with self.subTest(order=order):
                self.assert_same(lambda uri: shard_spec(uri, epochs=2, order=order), uris)
        with self.assertRaises(spdld.Error) as caught:
            self.read(self.one, shard_spec("s3://data/deep/set/zstd", name="any"), group="any")
        self.assertIn('write order.shuffle = "window"', str(caught.exception))

    def test_a_state_of_compressed_shards_goes_on(self):
        def spec(uri):
            return shard_spec(uri, order={"shuffle": "window", "window": 7}, epochs=2, batch=3)
        uris = [f"{self.folder}/set/gzip", "s3://data/deep/set/zstd", f"{self.web.endpoint}/gzip/{{00000..00002}}.tar.gz"]
        for uri in uris:
            with self.subTest(uri=uri):
                loader = self.attach(self.one, spec(uri), group=f"{uri}, begun")
                for _ in range(4):
                    loader.next().release()
                state = loader.state_dict()
                rest = list(map(remote_case.content, loader))
                loader.close()
                self.assertTrue(rest)
                resumed = self.attach(self.one, spec(uri), group=f"{uri}, resumed", state=state)
                self.assertEqual(list(map(remote_case.content, resumed)), rest)

    def test_rows_of_texts(self):
        def spec(kind, **rows):
            def of_uri(uri):
                return shard_spec(uri, "rows", rows={"kind": kind, "from": "txt", "length": 64, **rows},
                                  output=[{"name": "text", "from": "txt", "ops": [{"op": "bytes"}], "pad": "longest",
                                           "length_max": 64}])
            return of_uri

        for kind, rows in (("windows", {"stride": 48}), ("packed", {"separator": 10})):
            with self.subTest(kind=kind):
                self.assert_same(spec(kind, **rows), [str(self.folder / "set/texts"), "s3://data/deep/set/texts",
                                                      "s3://moto/deep/set/texts", self.web.tls_endpoint + "/texts/{0,1}.tar"])

    def test_a_mix_of_two_sources(self):
        def spec(uri):
            mixed = picture_spec(uri, "mix", order={"mix": "exact", "epoch_samples": 18}, epochs=2, batch=6)
            source = mixed.pop("source")
            mixed["sources"] = [{"name": "many", "weight": 2, **source},
                                {"name": "few", "weight": 1, "type": "image-folder", "uri": str(self.odd)}]
            mixed["output"] = [*mixed["output"], {"name": "origin", "from": "source"}]
            return mixed

        self.assert_same(spec, [str(self.corpus.pictures), "s3://data/deep/set/pictures"])

    def test_a_state_of_one_scheme_goes_on_over_another(self):
        for spec_of, uris in ((picture_spec, [str(self.corpus.pictures), "s3://data/deep/set/pictures"]),
                              (shard_spec, [str(self.corpus.shards), "s3://data/deep/set/shards",
                                            self.web.tls_endpoint + "/shards/{00000..00002}.tar"])):
            for first, second in zip(uris, uris[1:] + uris[:1]):
                with self.subTest(first=first, second=second):
                    loader = self.attach(self.one, spec_of(first), group=f"{first} then {second}")
                    for _ in range(2):
                        loader.next().release()
                    state = loader.state_dict()
                    rest = list(map(remote_case.content, loader))
                    loader.close()
                    self.assertNotIn(self.weed.secret_key, str(state))
                    resumed = self.attach(self.one, spec_of(second), group=f"{first} then {second}, resumed", state=state)
                    self.assertEqual(list(map(remote_case.content, resumed)), rest)
                    resumed.close()
        # Another set is another listing, wherever it lies.
        loader = self.attach(self.one, picture_spec(self.corpus.pictures), group="other")
        loader.next().release()
        with self.assertRaises(spdld.ChangedError):
            self.attach(self.one, picture_spec("s3://data/deep/set/odd"), group="other set", state=loader.state_dict())


if __name__ == "__main__":
    cases.main()
