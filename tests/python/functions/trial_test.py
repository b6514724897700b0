"""spdld.try_sample: what it shows of one sample."""
import gc
import importlib.util
import re
import unittest
import weakref
from pathlib import Path

import numpy as np
from crew_case import needs_cloudpickle
from functions_test import NUMBERS, python, tensor
from trial_case import CROPPED, NOISY, TrialCase

import spdld

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Values(TrialCase):
    def test_the_values_are_those_of_a_run_in_each_epoch(self):
        spec = self.chain(*CROPPED, NOISY, {"op": "random-erasing", "p": 1.0},
                          python("own_functions:noisy", tensor("uint8", 32, 32, 3)), seed=5)
        first, second = self.assert_same(spec), self.assert_same(spec, epoch=1)
        self.assertFalse(np.array_equal(first.outputs["image"], second.outputs["image"]))

    def test_each_step_is_what_the_next_one_takes(self):
        """A chain that ends at an operation gives, in a run, what the trial shows of that operation."""
        trial = self.trial(self.chain(*CROPPED, NOISY, python("own_functions:negative", tensor("uint8", 32, 32, 3))))
        self.assertEqual([step.operation for step in trial.steps],
                         ["field image", "decode-image", "random-resized-crop", "horizontal-flip", "own_functions:noisy",
                          "own_functions:negative", "field class"])
        for end in (2, 3):
            run = self.in_a_run(self.chain(*CROPPED[:end]))
            self.assertTrue(np.array_equal(trial.step("image", end - 1).value, run["image"]), end)
        self.assertEqual(trial.step("image", -1).value, Path(self.pictures, trial.name).read_bytes())
        self.assertTrue(np.array_equal(trial.step("image", 4).value, 255 - trial.step("image", 3).value))
        self.assertEqual(trial.step("label", -1).value, 2)

    def test_a_step_is_described(self):
        step = self.trial(self.number_spec(call="own_functions:faulty"), 7).step("number", 1)
        self.assertEqual((step.output, step.place, step.kind, step.dtype, step.shape, step.minimum, step.maximum, step.mean),
                         ("number", 1, "tensor", "int64", (), 7, 7, 7.0))
        self.assertGreater(step.seconds, 0)

    def test_a_table_for_people(self):
        text = str(self.trial(self.chain(*CROPPED, NOISY, seed=3), epoch=1))
        lines = [re.split(r"\s\s+", line.strip()) for line in text.splitlines()]
        self.assertEqual(lines[0], ["sample 17 (class-2/1.jpg), epoch 1, seed 3"])
        self.assertEqual(lines[2], ["OUTPUT", "STEP", "TYPE", "SHAPE", "LEAST", "LARGEST", "MEAN", "TIME"])
        self.assertEqual(lines[4][:4], ["image", "0 decode-image", "uint8", "[64, 96, 3]"])
        self.assertEqual(lines[7][:4], ["image", "3 own_functions:noisy", "uint8", "[32, 32, 3]"])
        self.assertRegex(lines[7][-1], r"^[0-9.]+ (ms|us)$")
        self.assertEqual(lines[-1], ["label", "field class", "int64", "[]", "2", "2", "2"])

    def test_a_function_is_called_once_with_steps_behind_it(self):
        called = []

        def seen(data):
            called.append(len(data))
            return data

        spec = self.chain(python("seen", "bytes"), *CROPPED)
        trial = self.trial(spec, ops={"seen": seen})
        self.assertEqual(len(called), 1)
        self.assertEqual([step.shape for step in trial.steps[2:4]], [(64, 96, 3), (32, 32, 3)])
        plain = self.trial(self.chain(*CROPPED))
        self.assertTrue(np.array_equal(trial.outputs["image"], plain.outputs["image"]))

    def test_a_pipeline_without_functions(self):
        trial = self.assert_same(self.chain(*CROPPED))
        self.assertEqual(trial.step("image", 2).shape, (32, 32, 3))
        self.assertEqual(trial.notes, [])

    def test_ragged_rows_and_copies_and_views(self):
        ragged = self.number_spec()
        ragged["output"] = [{"name": "counts", "from": "array", "ragged": True, "length_max": NUMBERS,
                             "ops": [{"op": "raw-int"}, python("own_functions:count_up", tensor("int64", -1))]}]
        self.assertEqual(self.trial(ragged, 5).outputs["counts"].tolist(), [0, 1, 2, 3, 4])
        copies = self.spec(output=[{"name": "two", "from": "image", "copies": 2, "ops": [*CROPPED, NOISY]}])
        trial = self.assert_same(copies)
        self.assertEqual(set(trial.outputs), {"two-1", "two-2"})
        self.assertEqual({step.output for step in trial.steps}, {"two-1", "two-2"})
        view = self.spec(output=[{"name": "image", "from": "image", "view": "all", "ops": CROPPED}])
        self.assertEqual([step.place for step in self.assert_same(view).steps], [2])

    def test_a_sample_by_its_name_and_one_that_the_order_leaves_out(self):
        spec = self.chain(*CROPPED, order={"exclude": ["class-2/1.jpg"]})
        self.assertEqual((self.trial(spec, "class-2/1.jpg").sample, self.trial(spec, 17).name), (17, "class-2/1.jpg"))

    def test_a_loader_tries_its_own_pipeline_and_stays_where_it_is(self):
        scale = 2

        def darker(picture):
            return picture // scale

        spec = self.chain(*CROPPED, python("darker", tensor("uint8", 32, 32, 3)), python={"processes": 1})
        loader = self.attach(spec, ops={"darker": darker})
        loader.next()
        trial = loader.try_sample(17)
        self.assertEqual((trial.epoch, loader.position), (0, (0, 1)))
        self.assertTrue(np.array_equal(trial.step("image", 3).value, trial.step("image", 2).value // 2))
        self.assertEqual(loader.try_sample(17, 1).epoch, 1)
        self.assertEqual(loader.next(20).step, 1)

    @unittest.skipUnless(HAS_TORCH, "torch is not installed")
    def test_a_loader_for_torch(self):
        import spdld.torch
        loader = spdld.torch.Loader(self.chain(*CROPPED), socket=self.daemon.socket, group=self.id())
        self.addCleanup(loader.close)
        self.assertEqual(loader.try_sample(3).sample, 3)

    @unittest.skipUnless(HAS_TORCH, "torch is not installed")
    def test_the_draws_of_torch(self):
        import torch
        before = torch.get_rng_state()
        self.assert_same(self.chain(*CROPPED, python("own_functions:drawn_by_torch", tensor("uint8", 32, 32, 3))))
        self.assertTrue(torch.equal(torch.get_rng_state(), before))

    def test_draws_that_no_run_has_are_told(self):
        client = self.chain(*CROPPED, order={"shuffle": "client"})
        self.assertIn("place", self.trial(client).notes[0])
        self.assertIn("place", str(self.trial(client)))
        repeats = self.chain(*CROPPED, order={"repeats": 2})
        self.assertIn("first time", self.trial(repeats).notes[0])
        weighted = self.chain(*CROPPED, order={"weights": "class"})
        self.assertIn("replacement", self.trial(weighted).notes[0])
        partly = self.chain(*CROPPED, order={"epoch_samples": 10, "epochs": 4})
        self.assertIn("pass", self.trial(partly).notes[0])
        mixed = self.chain(*CROPPED, batch={"size": 4, "ops": [{"op": "mixup"}]})
        mixed["output"][1]["ops"] = [{"op": "one-hot", "classes": 3}]
        self.assertIn("mix", self.trial(mixed).notes[0])

    @needs_cloudpickle
    def test_a_loader_that_its_own_function_refers_to_is_let_go(self):
        def closed_loader():
            held = {}

            def refers(picture):
                return picture if held is not None else None

            spec = self.picture_spec(python("refers", tensor("uint8", 32, 32, 3)))
            held["loader"] = spdld.attach(spec, ops={"refers": refers}, socket=self.daemon.socket, group=self.id())
            held["loader"].close()
            return weakref.ref(refers)

        known = closed_loader()
        gc.collect()
        self.assertIsNone(known())


if __name__ == "__main__":
    unittest.main()
