"""What programs bring along that used a DataLoader: its arguments, a data set's methods, and specs of other types."""
import collections
import enum
import inspect
import json
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from omegaconf import OmegaConf
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import spdld
import spdld.torch
from case import BATCH, SAMPLES, STEPS, DaemonCase
from torch_case import TorchCase


class Arguments(unittest.TestCase):
    def refused(self, function, **arguments):
        """The lines of its sentence."""
        with self.assertRaises(spdld.InvalidError) as refusal:
            function("no/such.toml", **arguments)
        return str(refusal.exception).split("\n")

    def test_each_of_a_data_loader_s_is_known_or_says_what_to_write_instead(self):
        names = set(inspect.signature(DataLoader.__init__).parameters) | {"in_order"}
        names |= set(inspect.signature(DistributedSampler.__init__).parameters) | {"transform", "target_transform", "root"}
        taken = {"self", "rank", "sampler", "batch_sampler", "drop_last", "batch_size", "timeout"}
        self.assertLessEqual(taken, names)
        for name in sorted(names - taken):
            for function, words in ((spdld.torch.Loader, "spdld.torch.Loader"), (spdld.attach, "spdld.attach")):
                if (name, function) == ("dataset", spdld.torch.Loader):
                    continue
                line, = self.refused(function, **{name: 1})
                self.assertRegex(line, f"^{words} has no {name}=: .+")

    def test_what_they_say(self):
        for name, words in (("shuffle", r"shuffle = true or false under \[order\]"),
                            ("num_workers", "leave the argument out"),
                            ("transform", "ops = "), ("collate_fn", r"convert=\(\"image\", \"label\"\)"),
                            ("pin_memory", 'device="pinned"'), ("generator", "seed = 17"),
                            ("prefetch_factor", "prefetch_depth")):
            self.assertRegex(self.refused(spdld.torch.Loader, **{name: 1})[0], words)
        self.assertEqual([line.split("=")[0].split()[-1] for line in self.refused(
            spdld.torch.Loader, shuffle=True, num_workers=4, pin_memory=True)], ["shuffle", "num_workers", "pin_memory"])

    def test_of_a_loader_of_a_data_set(self):
        names = set(inspect.signature(DataLoader.__init__).parameters) | {"in_order", "transform"}
        taken = {"self", "dataset", "sampler", "batch_sampler", "drop_last", "batch_size", "timeout", "shuffle", "collate_fn"}
        self.assertLessEqual(taken, names)

        def loader(_, **arguments):
            spdld.torch.Loader(dataset=TensorDataset(torch.zeros(3)), **arguments)

        for name in sorted(names - taken):
            line, = self.refused(loader, **{name: 1})
            self.assertRegex(line, f"^spdld.torch.Loader has no {name}=: .+")
        for name, words in (("num_workers", 'pipeline={"python": {"processes": 4}}$'), ("generator", "give seed=17$"),
                            ("worker_init_fn", "in __getitem__ at its first call$"), ("pin_memory", 'device="pinned" here'),
                            ("prefetch_factor", 'pipeline={"batch": {"prefetch_depth": 4}}'),
                            ("multiprocessing_context", "processes beside the daemon call the data set"),
                            ("persistent_workers", "processes beside the daemon call the data set"),
                            ("epochs", 'pipeline={"order": {"epochs": 1}}$')):
            self.assertRegex(self.refused(loader, **{name: 1})[0], words)

    def test_of_the_loader_for_torch_alone(self):
        for name in ("sampler", "batch_sampler", "drop_last", "convert"):
            self.assertEqual(self.refused(spdld.attach, **{name: 1}),
                             [f"spdld.attach has no {name}=: spdld.torch.Loader takes it"])

    def test_of_nobody(self):
        for function in (spdld.torch.Loader, spdld.attach):
            with self.assertRaisesRegex(TypeError, "no argument 'helmax', did you mean 'held_max'?"):
                function("no/such.toml", helmax=1)
            with self.assertRaisesRegex(TypeError, "no argument 'quux'$"):
                function("no/such.toml", quux=1)

    def test_numbers(self):
        for name, value in (("batch_size", None), ("batch_size", 8.0), ("rank", "0"), ("epoch", "1")):
            given = {name: value, **({"world_size": 1} if name == "rank" else {})}
            self.assertEqual(self.refused(spdld.attach, **given), [f"{name} is {value!r}, and must be a whole number"])

    def test_what_is_no_pipeline(self):
        class ImageFolder:
            root = "/data/train"

        self.assertIn('"uri": "/data/train"', self.refused(lambda _: spdld.attach(ImageFolder()))[0])
        for given in (TensorDataset(torch.zeros(3)), 5, None, [1], b"train.toml"):
            line, = self.refused(lambda _, given=given: spdld.torch.Loader(given))
            hint = ""
            if isinstance(given, TensorDataset):
                hint = ": a data set of your own goes to spdld.torch.Loader\\(dataset=...\\)"
            self.assertRegex(line, f"^a pipeline is a dict, .*, and not a value of the type {type(given).__name__}{hint}$")
        with tempfile.TemporaryDirectory() as folder:
            for given in (folder, Path(folder)):
                self.assertIn(json.dumps(folder), self.refused(lambda _, given=given: spdld.attach(given))[0])
        for given in (Path("train"), "data/train", Path("train.yaml")):
            self.assertEqual(self.refused(lambda _, given=given: spdld.attach(given)),
                             [f"a pipeline's file ends in .toml or .json, unlike {given}"])


class Dtype(str, enum.Enum):
    HALF = "float16"


class Specs(DaemonCase):
    def spec(self, size=(32, 32), mean=(0.5, 0.25, 0.125), dtype="float16", batch=BATCH, uri=None):
        ops = [{"op": "decode-image"}, {"op": "resize", "size": size},
               {"op": "normalize", "mean": mean, "std": [0.5, 0.5, 0.5], "dtype": dtype}]
        return {"name": "moved", "source": {"type": "image-folder", "uri": uri or str(self.pictures)},
                "output": [{"name": "image", "from": "image", "ops": ops}], "batch": {"size": batch}}

    def fingerprint(self, given):
        with self.attach(given) as loader:
            return loader.info.fingerprint

    def test_the_same_in_other_clothes(self):
        plain = self.fingerprint({**self.spec(), "output": json.loads(json.dumps(self.spec()["output"]))})
        mean, size = [0.5, 0.25, 0.125], [32, 32]
        for given in (self.spec(),
                      self.spec(size=np.array(size), mean=np.array(mean, np.float32), dtype=np.float16, batch=np.int64(BATCH)),
                      self.spec(size=torch.Size(size), mean=torch.tensor(mean), dtype=torch.float16, batch=torch.tensor(BATCH)),
                      self.spec(size=(np.uint8(32), np.int32(32)), mean=[np.float32(each) for each in mean],
                                dtype=np.dtype("float16"), batch=np.array(BATCH)),
                      self.spec(size=collections.deque(size), dtype=Dtype.HALF, uri=self.pictures),
                      collections.OrderedDict(self.spec(uri=np.str_(self.pictures))),
                      OmegaConf.create(self.spec())):
            self.assertEqual(self.fingerprint(given), plain)

    def test_of_omegaconf(self):
        config = OmegaConf.create({"data": {**self.spec(), "batch": {"size": "${samples}"}}, "samples": BATCH})
        with self.attach(config.data) as loader:
            self.assertEqual((loader.info.batch_size, loader.info.steps_per_epoch), (BATCH, STEPS))
        loader = spdld.torch.Loader(config.data, socket=self.daemon.socket, group=self.id(), sampler=[3, 1])
        self.addCleanup(loader.close)
        self.assertEqual(next(iter(loader))["sample_id"].tolist(), [3, 1])

    def test_what_a_spec_cannot_hold_is_said_with_its_place(self):
        itself = self.spec()
        itself["source"]["more"] = itself
        for given, words in ((self.spec(mean=float("nan")), r"^output\[0\].ops\[2\].mean is nan: write a finite"),
                             (self.spec(mean=np.array([0, np.inf, 0])), r"^output\[0\].ops\[2\].mean\[1\] is inf: "),
                             (self.spec(size=lambda: 32), r"^output\[0\].ops\[1\].size is a function, .* a pipeline holds no "
                              "functions: .*give ops="),
                             (self.spec(size={32}), r"^output\[0\].ops\[1\].size is a set, \{32\}: .*write a list"),
                             (self.spec(size=b"32"), r"^output\[0\].ops\[1\].size is a bytes, b'32': a pipeline holds "),
                             ({**self.spec(), "batch": {4: 5}}, "^batch has the key 4: keys are texts$"),
                             ({**self.spec(), 4: 5}, "^the pipeline has the key 4: keys are texts$"),
                             (itself, "more than 32 deep, or a value that holds itself: 'source.more.source")):
            with self.assertRaisesRegex(spdld.InvalidError, words):
                self.attach(given)


class Lists(DaemonCase):
    """order.include and order.exclude as lists, such as the indices of a subset."""

    def samples(self, **order):
        spec = self.spec(order={"epochs": 1, "shuffle": False, **order}, batch={"size": 1})
        with self.attach(spec) as loader:
            return [int(batch["sample_id"][0]) for batch in loader]

    def test_lists_of_numbers_and_names(self):
        wanted = [1, 4, 20]
        for given in (wanted, tuple(wanted), np.array(wanted), torch.tensor(wanted), range(1, 21, 1)):
            self.assertEqual(self.samples(include=given), sorted(map(int, given)))
        name = sorted(path.relative_to(self.pictures) for path in self.pictures.rglob("*.jpg"))[5]
        self.assertEqual(self.samples(include=[str(name), 7]), [5, 7])
        self.assertEqual(self.samples(exclude=list(range(2, SAMPLES))), [0, 1])

    def test_a_long_list(self):
        self.assertEqual(self.samples(include=[3, 8] * 5000), [3, 8])

    def test_what_no_sample_is_called(self):
        with self.assertRaisesRegex(spdld.InvalidError, "order.include"):
            self.samples(include=[SAMPLES])
        with self.assertRaisesRegex(spdld.InvalidError, "must hold samples' names or numbers alone"):
            self.samples(include=[-1])
        with self.assertRaisesRegex(spdld.InvalidError, "must name at least one sample"):
            self.samples(include=[])


class Files(DaemonCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spdld-moving-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "train.json"

    def test_json(self):
        uri = os.path.relpath(self.pictures, self.path.parent)
        self.path.write_text(json.dumps({**self.spec(), "source": {"type": "image-folder", "uri": uri}}))
        for given in (self.path, str(self.path)):
            with self.attach(given) as loader:
                self.assertEqual(len(loader), STEPS)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.path.parent)
        with self.attach("train.json") as loader:
            self.assertEqual(len(loader), STEPS)

    def test_what_is_wrong_with_it(self):
        with self.assertRaisesRegex(spdld.NotFoundError, f"{self.path}: No such file"):
            self.attach(self.path)
        for content, words in ((b'{"name":\n 5,}', "train.json:2:4: this is not JSON: "),
                               (b"[1]", "must hold a JSON object .*, and holds a list"),
                               (b"", "train.json:1:1: this is not JSON"),
                               (b'{"name": "a", "name": "b"}', "has the key 'name' twice in one object"),
                               (b'{"seed": NaN}', "seed is nan"), (b'"\xff"', "not written in UTF-8"),
                               (b"[" * 100_000, "too deep"), (b" " * (2**24 + 1), "larger than 16 MiB"),
                               (b'{"nam": 5}', "nam: is not a key")):
            self.path.write_bytes(content)
            with self.assertRaisesRegex(spdld.InvalidError, words):
                self.attach(self.path)


class Methods(TorchCase):
    def test_a_data_set_s(self):
        loader = self.torch_loader()
        for name, words in (("map", "ops = "), ("with_transform", "ops = "), ("filter", "order.include"),
                            ("take", "order.first"),
                            ("shuffle", r"under \[order\]"), ("shard", "launcher"), ("repeat", "epochs"),
                            ("batch", "size")):
            with self.assertRaisesRegex(AttributeError, rf"has no {name}\(\): .*{words}"):
                getattr(loader, name)
        self.assertFalse(hasattr(loader, "map"))
        with self.assertRaisesRegex(AttributeError, "^a spdld.torch.Loader has no sheep$"):
            loader.sheep


if __name__ == "__main__":
    unittest.main()
