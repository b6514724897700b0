"""Operations of the user's own whose `gives` is left out."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
from crew_case import needs_cloudpickle
from functions_test import NUMBERS, FunctionsCase, batches_of, python, tensor

import spdld
import spdld.torch


def unsaid(call):
    return {"op": "python", "call": call}


class LearningCase(FunctionsCase):
    def learned(self, call, *behind, ops=None, **output):
        spec = self.number_spec(on_bad="substitute")
        spec["output"] = [{"name": "number", "from": "array", "ops": [{"op": "raw-int"}, unsaid(call), *behind], **output}]
        return self.attach(spec, ops=ops, group=f"{self.id()}-{call}")

    def refused(self, spec, kind=spdld.InvalidError, **options):
        with self.assertRaises(kind) as raised:
            self.attach(spec, **options)
        return str(raised.exception)

class Learning(LearningCase):
    def test_a_picture(self):
        learned = self.attach(self.picture_spec(unsaid("own_functions:negative")))
        for batch in learned:
            self.assertTrue(np.array_equal(np.asarray(batch["image"]), 255 - np.asarray(batch["plain"])))
        told = self.attach(self.picture_spec(python("own_functions:negative", tensor("uint8", 32, 32, 3))), group="told")
        self.assertEqual(learned.info.fingerprint, told.info.fingerprint)

    def test_samples_that_differ_in_length_and_bytes(self):
        for batch in self.learned("own_functions:count_up", ragged=True, length_max=NUMBERS):
            for row, sample in enumerate(np.asarray(batch["sample_id"]).tolist()):
                self.assertEqual(np.asarray(batch["number"][row]).tolist(), list(range(sample)))
        for batch in self.learned("own_functions:as_bytes", {"op": "bytes"}, ragged=True, length_max=NUMBERS):
            for row, sample in enumerate(np.asarray(batch["sample_id"]).tolist()):
                self.assertEqual(bytes(batch["number"][row]), b"x%d" % sample)

    @needs_cloudpickle
    def test_numbers_and_tensors_of_a_closure(self):
        import torch

        kinds = {"int64": lambda number: int(number), "float64": lambda number: float(number) / 2,
                 "bool": lambda number: bool(number), "float32": lambda number: torch.full((2, 3), float(number)),
                 "uint16": lambda number: np.uint16(number)}
        for dtype, function in kinds.items():
            with self.subTest(dtype):
                batch = next(iter(self.learned("it", ops={"it": function})))
                self.assertEqual(np.asarray(batch["number"]).dtype.name, dtype)
                for row, sample in enumerate(np.asarray(batch["sample_id"]).tolist()):
                    self.assertTrue(np.array_equal(np.asarray(batch["number"][row]), np.asarray(function(sample))))

    @needs_cloudpickle
    def test_functions_of_several_samples_and_async_ones(self):
        async def later(number):
            return np.float32(number) / 2

        for operation, ops in (({**unsaid("it"), "batch": 8}, {"it": lambda numbers: numbers * np.float32(0.5)}),
                               ({**unsaid("it"), "in_flight": 8}, {"it": later})):
            spec = self.number_spec()
            spec["output"][0]["ops"][1] = operation
            for batch in self.attach(spec, ops=ops, group=f"{self.id()}-{len(operation)}-{'batch' in operation}"):
                self.assertEqual(np.asarray(batch["number"]).tolist(), [i / 2 for i in np.asarray(batch["sample_id"]).tolist()])

    def test_several_in_a_chain_and_in_several_outputs(self):
        spec = self.number_spec(on_bad="substitute")
        spec["output"] = [
            {"name": "bytes", "from": "array", "ragged": True, "length_max": NUMBERS,
             "ops": [{"op": "raw-int"}, unsaid("own_functions:faulty"), unsaid("own_functions:as_bytes"),
                     unsaid("own_functions:turned"), unsaid("own_functions:turned"), {"op": "bytes"}]},
            {"name": "length", "from": "array", "ops": [{"op": "raw-int"}, unsaid("own_functions:as_bytes"),
                                                        unsaid("own_functions:length")]}]
        for batch in self.attach(spec):
            for row, sample in enumerate(np.asarray(batch["sample_id"]).tolist()):
                self.assertEqual(bytes(batch["bytes"][row]), b"x%d" % sample)
                self.assertEqual(batch["length"][row], len(str(sample)) + 1)

    def test_a_run_that_is_resumed(self):
        spec = self.picture_spec(unsaid("own_functions:noisy"), order={"epochs": 2})
        first = self.attach(spec)
        batches = batches_of(first)
        next(batches)
        state, rest = first.state_dict(), np.asarray(next(batches)["image"]).copy()
        first.close()
        again = self.attach(spec, state=state)
        self.assertTrue(np.array_equal(np.asarray(next(batches_of(again))["image"]), rest))

    def test_behind_a_data_set_in_torch(self):
        class Items:
            def __len__(self):
                return 10

            def __getitem__(self, index):
                return {"x": np.float32([index, 2 * index])}

        loader = spdld.torch.Loader(dataset=Items(), batch_size=5, socket=self.daemon.socket, group=self.id(), pipeline={
            "output": [{"name": "x", "from": "x", "ops": [{"op": "raw", "dtype": "float32", "shape": [2]}, unsaid("add")]}]},
            ops={"add": sum_of})
        self.addCleanup(loader.close)
        self.assertEqual([value for batch in loader for value in batch["x"].tolist()], [3.0 * index for index in range(10)])

    @needs_cloudpickle
    def test_one_sample_in_the_foreground(self):
        spec = self.number_spec(call="own_functions:faulty")
        spec["output"][0]["ops"][1].pop("gives")
        trial = spdld.try_sample(spec, 7, socket=self.daemon.socket, timeout=20)
        self.assertEqual((trial.step("number", 1).value, trial.outputs["number"]), (7, 7))

    def test_the_command_that_tries_a_sample(self):
        file = Path(self.folder.name) / "unsaid.toml"
        file.write_text(f'name = "unsaid"\nsource = {{ type = "npy", uri = "{self.numbers}" }}\nbatch = {{ size = 4 }}\n'
                        '[[output]]\nname = "number"\nfrom = "array"\n'
                        'ops = [{ op = "raw-int" }, { op = "python", call = "own_functions:faulty" }]\n')
        words = [sys.executable, "-m", "spdld", "try", file, "--sample", "9", "--socket", self.daemon.socket]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("1 own_functions:faulty  int64", done.stdout, done.stderr)
        words = [os.environ["SPDLD_CTL"], "check", file]
        checked = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("gives: is missing", checked.stdout + checked.stderr)
        self.assertIn("they learn it from the first samples", checked.stdout + checked.stderr)


class Faults(LearningCase):
    def test_a_function_that_fails_for_some_samples(self):
        spec = self.number_spec("0:raises 2:raises", call="own_functions:faulty")
        spec["output"][0]["ops"][1].pop("gives")
        good, left_out = self.taken(self.attach(spec))
        self.assertEqual((left_out, len(good)), ([0, 2], NUMBERS - 2))

    def test_a_function_that_fails_for_all(self):
        spec = self.number_spec(" ".join(f"{number}:raises" for number in range(NUMBERS)))
        spec["output"][0]["ops"][1].pop("gives")
        self.assertRegex(self.refused(spec), "^operation 1 of output number: own_functions:faulty raised ValueError: this one "
                         r"can't be used \(.*own_functions.py:\d+, in fault_raises\)$")

    def test_a_function_that_ends_its_process(self):
        spec = self.number_spec(" ".join(f"{number}:exits" for number in range(NUMBERS)))
        spec["output"][0]["ops"][1].pop("gives")
        self.assertRegex(self.refused(spec, spdld.FailedError), "^what own_functions:faulty gives can't be learned from the "
                         "first samples: .*ended by itself with the exit code 3")

    @needs_cloudpickle
    def test_results_that_have_nothing_in_common(self):
        spec = self.number_spec(call="it")
        spec["output"][0]["ops"][1].pop("gives")
        cases = [(lambda number: np.zeros((2, int(number) + 1)), r"gave float64 \[2, \d\] for one sample and float64 \[2, \d\]"),
                 (lambda number: b"x" if number == 2 else 1, "for one sample and"),
                 (lambda number: {"a": 1}, "it gave a dict, and a function gives one value"),
                 (lambda number: (1, 2), "it gave a tuple, and a function gives one value"),
                 (lambda number: None, "it gave a value of the type NoneType")]
        for function, sentence in cases:
            with self.subTest(sentence):
                self.assertRegex(self.refused(spec, ops={"it": function}), f"^operation 1 of output number: .*{sentence}")

    @needs_cloudpickle
    def test_faults_of_functions_for_several_samples_have_their_own_names(self):
        async def later(number):
            return number

        for function, sentence in ((later, '"it" with batch, and it is an async function'),
                                   (lambda numbers: numbers[:0], "operation 1 of output number: it gave 0 values for 1 sample"),
                                   (lambda numbers: 1 / 0, "operation 1 of output number: it raised ZeroDivisionError"),
                                   (lambda numbers: int("\u4e00" * 3000), "operation 1 of output number: it raised ValueError")):
            spec = self.number_spec(call="it")
            spec["output"][0]["ops"][1] = {**unsaid("it"), "batch": 8}
            with self.subTest(sentence):
                self.assertIn(sentence, self.refused(spec, spdld.Error, ops={"it": function}))

    def test_a_fault_of_the_chain_before_it(self):
        spec = self.number_spec()
        ops = [{"op": "raw-int"}, {"op": "resize", "size": 3}, unsaid("own_functions:faulty")]
        spec["output"] = [*spec["output"], {"name": "other", "from": "array", "ops": ops}]
        self.assertRegex(self.refused(spec), r"output\[1\]\.ops\[1\]")
        spec["output"][1]["ops"] = [{"op": "raw-int"}, unsaid("no_such_module:x")]
        self.assertIn("no_such_module", self.refused(spec))

    @needs_cloudpickle
    def test_a_breakpoint_stops_nobody(self):
        def stops(number):
            breakpoint()
            return number

        spec = self.number_spec(call="stops")
        spec["output"][0]["ops"][1].pop("gives")
        self.attach(spec, ops={"stops": stops})


def sum_of(values):
    return values.sum()


if __name__ == "__main__":
    unittest.main()
