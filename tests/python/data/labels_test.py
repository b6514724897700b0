"""What labels are: names of classes, numbers with a fraction, values in JSON; and a webdataset's fields and uris."""
import io
import json
import os
import tarfile
import tempfile
import unittest
from pathlib import Path

import numpy as np
from case import PROGRAM, WAIT_S, DaemonCase, spec_of
from daemon import Daemon

import spdld


def write_archive(path, members):
    """`members`: name -> bytes, in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


class Classes(DaemonCase):
    def test_an_image_folder_names_its_classes(self):
        info = self.attach().info
        self.assertEqual(info.classes, ["class-0", "class-1", "class-2"])
        self.assertEqual(info.class_to_idx, {"class-0": 0, "class-1": 1, "class-2": 2})

    def test_thousands_of_classes_and_names_that_are_no_utf8(self):
        folder = Path(self.folder.name) / "many"
        picture = next(self.pictures.glob("*/*.jpg")).read_bytes()
        names = sorted([b"class-%05d-%s" % (number, b"x" * 40) for number in range(3000)] + [b"\xff\xfe"])
        for name in names:
            os.makedirs(os.path.join(os.fsencode(folder), name))
            with open(os.path.join(os.fsencode(folder), name, b"1.jpg"), "wb") as file:
                file.write(picture)
        info = self.attach(spec_of(folder, name="many")).info
        self.assertEqual(info.classes, [os.fsdecode(name) for name in names])
        self.assertEqual(info.class_to_idx[os.fsdecode(b"\xff\xfe")], names.index(b"\xff\xfe"))
        self.assertEqual(len(info.class_to_idx), 3001)

    def test_a_list_says_the_numbers_of_classes(self):
        folder = Path(self.folder.name)
        (folder / "classes.txt").write_text("class-2\nclass-0\nclass-1\n")
        (folder / "index.json").write_text(json.dumps({"0": ["class-2", "crane"], "1": ["class-0", "tench"],
                                                       "2": ["class-1", "crane"]}))
        source = {"type": "image-folder", "uri": str(self.pictures)}
        names = ["class-2", "class-0", "class-1"]
        fingerprints = []
        for classes, shown in ((str(folder / "classes.txt"), names), (names, names),
                               (str(folder / "index.json"), ["crane (class-2)", "tench", "crane (class-1)"])):
            with self.subTest(classes=classes):
                loader = self.attach(spec_of(self.pictures, name="listed", source={**source, "classes": classes}))
                self.assertEqual(loader.info.classes, shown)
                self.assertEqual(loader.info.class_to_idx, {name: number for number, name in enumerate(shown)})
                fingerprints.append(loader.info.fingerprint)
                batches = list(loader)
                for batch in batches:
                    self.assertEqual(batch["label"].tolist(), [names.index(name.split("/")[0]) for name in batch.names])
                self.assertEqual(sum(len(batch["label"]) for batch in batches), 24)
        self.assertEqual(fingerprints[0], fingerprints[1])
        self.assertNotIn(fingerprints[2], (fingerprints[0], self.attach().info.fingerprint))
        with self.assertRaisesRegex(
            spdld.FailedError, r'(?s)one folder of the data set is not among the classes.*"class-1".*on_missing'):
            self.attach(spec_of(self.pictures, name="listed", source={**source, "classes": names[:2]}))
        with self.assertWarnsRegex(UserWarning, "one folder of the data set is not among the classes"):
            part = self.attach(spec_of(self.pictures, name="listed",
                                       source={**source, "classes": names[:2], "on_missing": "warn"}))
        self.assertEqual((part.info.samples, part.info.classes), (16, names[:2]))

    def test_hidden_folders_are_no_classes(self):
        folder = Path(self.folder.name) / "hidden"
        picture = next(self.pictures.glob("*/*.jpg")).read_bytes()
        for name in ("a/1.jpg", "b/1.jpg", "b/._1.jpg", ".ipynb_checkpoints/1.jpg", "a/.ipynb_checkpoints/1.jpg"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(picture)
        info = self.attach(spec_of(folder, name="hidden")).info
        self.assertEqual((info.classes, info.samples), (["a", "b"], 2))


class Labels(DaemonCase):
    """Two folders of archives; sample i of all has the score i + 0.1."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        picture = next(cls.pictures.glob("*/*.jpg")).read_bytes()
        cls.shards = Path(cls.folder.name) / "shards"
        number = 0
        for name in ("a/000.tar", "a/001.tar", "b/000.tar"):
            members = {}
            for _ in range(4):
                members[f"{number:04}.{('jpg', 'jpeg')[number % 2]}"] = picture
                members[f"{number:04}.json"] = json.dumps(
                    {"label": number, "meta": {"scores": [number + 0.1, -number]}, "name": f"n{number}"}).encode()
                members[f"{number:04}.score"] = f"{number}.5\n".encode()
                number += 1
            write_archive(cls.shards / name, members)
        cls.number = number

    def labels(self, *outputs, uri=None, **changes):
        spec = {"name": self._testMethodName.replace("_", "-"),
                "source": {"type": "webdataset", "uri": uri or [str(self.shards / "a"), str(self.shards / "b/*.tar")]},
                "order": {"shuffle": False}, "output": list(outputs), "batch": {"size": 4}}
        return self.attach({**spec, **changes})

    def column(self, loader, name):
        return np.concatenate([np.array(batch[name]) for batch in loader])

    def test_fields_values_and_types(self):
        image = {"name": "image", "from": "jpg;jpeg;png", "ops": [{"op": "decode-image"}, {"op": "center-crop", "size": 16}]}
        loader = self.labels(image, {"name": "label", "from": "json:label", "dtype": "int64"},
                             {"name": "score", "from": "json:meta.scores[0]", "dtype": "float32"},
                             {"name": "exact", "from": "json:meta.scores[0]", "dtype": "float64"},
                             {"name": "text", "from": "score", "dtype": "float64"},
                             {"name": "name", "from": "json:name", "ops": [{"op": "pad-bytes", "length": 4}]})
        self.assertEqual(loader.info.classes, [])
        seen = {"label": [], "score": [], "exact": [], "text": [], "name": []}
        for batch in loader:
            self.assertEqual(batch.substituted, 0)
            self.assertEqual((batch["score"].dtype, batch["exact"].dtype), (np.float32, np.float64))
            for name in seen:
                seen[name] += batch[name].tolist()
        numbers = list(range(self.number))
        self.assertEqual(seen["label"], numbers)
        self.assertEqual(seen["exact"], [number + 0.1 for number in numbers])
        self.assertEqual(seen["score"], np.float32([number + 0.1 for number in numbers]).tolist())
        self.assertEqual(seen["text"], [number + 0.5 for number in numbers])
        self.assertEqual(bytes(seen["name"][11]), b"n11\0")

    def test_float64_reaches_torch(self):
        import torch
        spec = {"name": "torch", "source": {"type": "webdataset", "uri": str(self.shards / "a/001.tar")},
                "order": {"shuffle": False}, "batch": {"size": 4},
                "output": [{"name": "y", "from": "json:meta.scores[0]", "dtype": "float64"}]}
        tensor = self.attach(spec, framework="torch").next()["y"]
        self.assertEqual(tensor.dtype, torch.float64)
        self.assertEqual(tensor.tolist(), [4.1, 5.1, 6.1, 7.1])

    def test_uris_follow_one_another_as_they_are_written(self):
        label = {"name": "label", "from": "json:label", "dtype": "int64"}
        a, b = str(self.shards / "a"), str(self.shards / "b")
        for uri, expected in (([b, a], [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7]),
                              (str(self.shards / "{b,a}/{000..000}.tar"), [8, 9, 10, 11, 0, 1, 2, 3]),
                              (str(self.shards / "*/00[1-9].tar"), [4, 5, 6, 7])):
            with self.subTest(uri=uri):
                loader = self.labels(label, uri=uri)
                self.assertEqual(self.column(loader, "label").tolist(), expected)
                loader.close()
        with self.assertRaisesRegex(spdld.InvalidError, "twice"):
            self.labels(label, uri=[a, a])

    def test_a_missing_key_is_bad_content_that_names_its_sample(self):
        folder = Path(self.folder.name) / "gaps"
        write_archive(folder / "1.tar", {"a.json": b'{"y": 1}', "b.json": b'{"x": 1}', "c.json": b'{"y": [1]}',
                                         "d.json": b'{"y": "1.5"}', "e.json": b'{"y": 1e99}', "f.json": b'{"y"'})
        loader = self.labels({"name": "y", "from": "json:y", "dtype": "float32"}, uri=str(folder), on_bad="mask",
                             batch={"size": 6})
        batch = loader.next()
        self.assertEqual((batch.masked, batch["mask"].tolist(), batch["y"].tolist()),
                         (4, [1, 0, 0, 1, 0, 0], [1, 0, 0, 1.5, 0, 0]))
        errors = spdld.query("errors", loader.info.pipeline, socket=self.daemon.socket)["errors"]
        reasons = {error["name"]: error["reason"] for error in errors}
        self.assertEqual(set(reasons), {f"1.tar:{key}" for key in "bcef"})
        self.assertIn("output 'y': the JSON has no \"y\"", reasons["1.tar:b"])
        self.assertIn("is a list, not a number or a text", reasons["1.tar:c"])
        self.assertIn("is no finite float32", reasons["1.tar:e"])
        self.assertIn("no sound JSON", reasons["1.tar:f"])


class Roots(unittest.TestCase):
    def test_what_braces_and_wildcards_name_lies_in_the_data_roots(self):
        with tempfile.TemporaryDirectory(prefix="spdld-python-") as folder:
            for name in ("inside/a.tar", "outside/a.tar"):
                write_archive(Path(folder) / name, {"1.cls": b"1"})
            daemon = Daemon(PROGRAM, f'[data]\nroots = ["{folder}/inside"]\n')
            self.addCleanup(daemon.close)
            spec = {"name": "roots", "output": [{"name": "y", "from": "cls", "dtype": "int64"}], "batch": {"size": 1}}

            def attach(uri):
                return spdld.attach({**spec, "source": {"type": "webdataset", "uri": uri}}, socket=daemon.socket,
                                    timeout=WAIT_S, framework="numpy")

            for uri in (f"{folder}/outside/*.tar", f"{folder}/{{in,out}}side/a.tar", f"{folder}/*/a.tar",
                        [f"{folder}/inside", f"{folder}/outside"]):
                with self.subTest(uri=uri), self.assertRaisesRegex(spdld.DeniedError, "outside the data roots"):
                    attach(uri)
            for uri in (f"{folder}/inside/{{.,x}}./outside/a.tar", f"{folder}/inside/{{../outside/a,b}}.tar"):
                with self.subTest(uri=uri), self.assertRaisesRegex(spdld.InvalidError, "may have no"):
                    attach(uri)
            with attach(f"{folder}/inside/[a-b]*.tar") as loader:
                self.assertEqual(loader.next()["y"].tolist(), [1])


if __name__ == "__main__":
    unittest.main()
