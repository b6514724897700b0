"""Batches whose samples differ in length, made by a daemon, beside a slow model of it.

SPDLD_RAGGED_CASES: how many random pipelines; SPDLD_RAGGED_SEED: the seed of the first one. SPDLD_DAEMON may be a daemon that was
built with a sanitizer: the trainers stay as they are.
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from random import Random
from unittest import mock

TESTS = Path(__file__).resolve().parents[1]
for folder in ("support", "python", "python/gpu"):
    sys.path.insert(0, str(TESTS / folder))
from daemon import Daemon
from fake_gpu import FakeGpu

import spdld
from data import RaggedArchives
from model import Model
from trainer import compare, content_of

PROGRAM = os.environ.get("SPDLD_DAEMON", "")
CASES = int(os.environ.get("SPDLD_RAGGED_CASES", "120"))
SEED = int(os.environ.get("SPDLD_RAGGED_SEED", "1"))
WAIT_S = 60
PARTS = 2  # processes that take the cases at the same time


class RandomPipelines(unittest.TestCase):
    def test_every_batch_is_the_models(self):
        gpus = FakeGpu(devices=1, copy_us=20)
        self.addCleanup(gpus.close)
        with mock.patch.dict(os.environ, gpus.environment):
            daemon = Daemon(PROGRAM)
        self.addCleanup(daemon.close)
        path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(TESTS / "python"), str(TESTS / "python/gpu")])
        environment = {**os.environ, **gpus.environment, "PYTHONPATH": path}
        each = -(-CASES // PARTS)
        trainers = [subprocess.Popen([sys.executable, Path(__file__).parent / "trainer.py", daemon.socket,
                                      str(SEED + part * each), str(each)], env=environment, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) for part in range(PARTS)]
        for trainer in trainers:
            output, errors = trainer.communicate(timeout=WAIT_S + 5 * CASES)
            if trainer.returncode != 0:
                self.fail(output + errors)
            self.assertEqual(errors, "", output)
            self.assertIn("cuda:0", output)
        self.assertEqual(gpus.violations(), [])


class Edges(unittest.TestCase):
    """Lengths at the bounds, and what cannot be made."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(PROGRAM, "[limits]\nslot_bytes_max = \"64 MiB\"\n")
        cls.addClassCleanup(cls.daemon.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spdld-ragged-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def data(self, *texts):
        return RaggedArchives(Random(3), self.folder, len(texts), damaged=False, texts=list(texts))

    def spec(self, data, output, batch=None, **changes):
        output = {"name": "v", "from": "json:text", "ops": [{"op": "bytes"}], **output}
        return {"name": "edge", "source": {"type": "webdataset", "uri": data.paths}, "order": {"shuffle": False},
                "output": [output], "batch": {"size": 4, "last": "short", **(batch or {})}, **changes}

    def attach(self, spec, **options):
        loader = spdld.attach(spec, socket=self.daemon.socket, group=self.id(), framework="numpy", timeout=WAIT_S, **options)
        self.addCleanup(loader.close)
        return loader

    def check(self, spec, data):
        """The content of all batches, which are as the model says."""
        loader, model, contents = self.attach(spec), Model(spec, data), []
        for batch in loader:
            contents.append(content_of(batch, False))
            compare(contents[-1], model.of([int(sample) for sample in contents[-1]["sample_id"]]), f"step {batch.step}")
        return contents, loader

    def test_a_batch_of_empty_samples(self):
        data = self.data("", "", "", "", "a", "")
        for output in ({"ragged": True, "length_max": 7},
                       {"pad": "longest", "pad_multiple": 4, "lengths": "n", "pad_mask": "m", "length_max": 7}):
            contents, _ = self.check(self.spec(data, output), data)
            first = contents[0]["v"]
            self.assertEqual((first[0] if isinstance(first, tuple) else first).size, 0)
            self.assertEqual(len(contents), 2)

    def test_exactly_the_bound_and_one_more(self):
        data = self.data("1234567", "12345678", "", "123456")
        for too_long in ("cut", "leave-out", "bad"):
            for output in ({"ragged": True}, {"pad": "longest", "pad_multiple": 5, "lengths": "n"}):
                for on_bad in ("mask", "substitute"):
                    spec = self.spec(data, {**output, "length_max": 7, "too_long": too_long}, on_bad=on_bad, bad_max=100)
                    with self.subTest(too_long=too_long, on_bad=on_bad):
                        contents, loader = self.check(spec, data)
                        ids = contents[0]["sample_id"].tolist()
                        self.assertEqual(ids.count(1), 0 if on_bad == "substitute" and too_long != "cut" else 1)
                        if "pad" in output:
                            self.assertEqual(contents[0]["v"].shape[1], 7)
                        loader.close()

    def test_a_batch_of_one_and_a_batch_that_is_filled_up(self):
        data = self.data("abc", "", "defgh", "i", "jk")
        for output in ({"ragged": True, "length_max": 9}, {"pad": "longest", "pad_mask": "m", "length_max": 9}):
            for batch in ({"size": 1}, {"size": 4, "last": "pad"}, {"size": 4, "last": "drop"}, {"size": 99}):
                self.check(self.spec(data, output, batch), data)[1].close()

    def test_samples_that_are_left_out_are_no_bad_samples(self):
        data = self.data(*(["short"] * 30 + ["much longer"] * 30))
        spec = self.spec(data, {"ragged": True, "length_max": 5, "too_long": "leave-out"}, bad_max=0)
        _, loader = self.check(spec, data)
        self.assertEqual(loader.stats()["substituted"], 30)
        kinds = {reason["kind"] for reason in loader.stats()["reasons"]}
        self.assertEqual(kinds, {"too_long"})
        loader.close()
        spec["output"][0].pop("too_long")
        with self.assertRaisesRegex(spdld.Error, "bad_max allows 0"):
            self.check(self.spec(data, {"ragged": True, "length_max": 5}, bad_max=0), data)
        fails = self.spec(data, {"ragged": True, "length_max": 5}, on_bad="fail")
        with self.assertRaisesRegex(spdld.Error, "a length of 11 is above length_max = 5"):
            self.check(fails, data)
        fails["output"][0]["too_long"] = "leave-out"
        self.check(fails, data)

    def test_a_data_set_that_is_too_long_altogether_is_refused(self):
        data = self.data(*["long"] * 9)
        with self.assertRaisesRegex(spdld.Error, "all 1024 substitutes can't be used.*length_max = 3"):
            self.check(self.spec(data, {"ragged": True, "length_max": 3, "too_long": "leave-out"}), data)

    def test_a_slot_that_is_too_large_is_refused_with_a_sentence(self):
        data = self.data("a")
        for output in ({"ragged": True}, {"pad": "longest"}):
            with self.assertRaisesRegex(spdld.Error, "64 MiB|67108864 bytes of slot memory.*'v'"):
                self.attach(self.spec(data, {**output, "length_max": 1 << 30}, {"size": 1 << 16}))
            with self.assertRaisesRegex(spdld.InvalidError, "length_max: must be an integer from 1"):
                self.attach(self.spec(data, {**output, "length_max": 1 << 62}))

    def test_a_value_that_no_json_has(self):
        data = self.data("a", "b", "c")
        spec = self.spec(data, {"ragged": True, "length_max": 99}, on_bad="mask")
        self.check(spec, data)[1].close()
        spec["output"][0]["from"] = "json:absent"
        batch = self.attach(spec).next()
        self.assertEqual((batch["mask"].tolist(), batch["v"].offsets.tolist()), ([0, 0, 0], [0, 0, 0, 0]))

    def test_torch_gets_a_nested_tensor(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        data = self.data("abc", "", "de")
        loader = spdld.attach(self.spec(data, {"ragged": True, "length_max": 9}), socket=self.daemon.socket, group=self.id(),
                              framework="torch", timeout=WAIT_S)
        self.addCleanup(loader.close)
        batch = loader.next()
        self.assertEqual([bytes(row.tolist()) for row in batch["v"]], [b"abc", b"", b"de"])
        if not hasattr(torch.nested, "nested_tensor_from_jagged"):
            with self.assertRaisesRegex(spdld.UnsupportedError, "install a later torch"):
                batch["v"].nested()
            return
        nested = batch["v"].nested()
        self.assertEqual([bytes(row.tolist()) for row in nested.unbind()], [b"abc", b"", b"de"])
        self.assertEqual(nested.dtype, torch.uint8)


if __name__ == "__main__":
    if not PROGRAM:
        raise SystemExit("SPDLD_DAEMON is not set: the path of the daemon to test with")
    result = unittest.main(exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    print(f"cases: {result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped",
          flush=True)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
