"""spdld.try_sample with functions that take several samples a call, and with async ones."""
import asyncio
import unittest.mock

import numpy as np
import own_functions
from crew_case import needs_cloudpickle
from functions_test import python, tensor
from trial_case import CROPPED, TrialCase

import spdld

PICTURE = tensor("uint8", 32, 32, 3)


class Values(TrialCase):
    def test_a_bunch_of_one_gives_what_a_run_gives(self):
        trial = self.assert_same(self.chain(*CROPPED, {**python("own_bunches:noisy_all", PICTURE), "batch": 8}, seed=5))
        self.assertEqual(trial.step("image", 3).shape, (32, 32, 3))
        self.assertEqual(trial.step("image", 2).shape, (32, 32, 3))

    def test_bunches_in_a_row_and_functions_of_one_between(self):
        chain = [*CROPPED, {**python("own_bunches:negative_all", PICTURE), "batch": 8}, python("own_functions:negative", PICTURE),
                 {**python("own_bunches:negative_all", PICTURE), "batch": 2}, {"op": "random-erasing", "p": 1.0}]
        trial = self.assert_same(self.chain(*chain))
        self.assertTrue(np.array_equal(trial.step("image", 3).value, 255 - trial.step("image", 2).value))
        self.assertTrue(np.array_equal(trial.step("image", 5).value, trial.step("image", 3).value))

    def test_a_list_of_one(self):
        spec = self.number_spec()
        spec["output"][0]["ops"] = [{"op": "raw-int"}, {**python("own_bunches:as_bytes_all", "bytes"), "batch": 8},
                                    {**python("own_bunches:lengths", tensor("int64")), "batch": 8}]
        trial = self.trial(spec, 7)
        self.assertEqual([step.value for step in trial.steps[2:]], [b"x" * 7, 7])

    def test_an_async_function(self):
        self.assert_same(self.chain(*CROPPED, python("own_bunches:noisy_later", PICTURE), seed=5))

    @needs_cloudpickle
    def test_an_async_function_where_a_loop_runs_already_as_in_a_notebook(self):
        async def later(number):
            await asyncio.sleep(0)
            return number + 1

        async def notebook():
            return self.trial(self.number_spec(call="later"), 7, ops={"later": later})

        self.assertEqual(asyncio.run(notebook()).step("number", 1).value, 8)


class Faults(TrialCase):
    def test_an_exception_comes_with_its_line(self):
        for call, more in (("own_bunches:faulty_all", {"batch": 8}), ("own_bunches:faulty_later", {})):
            with self.subTest(call=call), unittest.mock.patch.dict(own_functions.FAULTS, {"7": "raises"}):
                spec = self.number_spec()
                spec["output"][0]["ops"][1] = {**python(call, tensor("int64")), **more}
                text = str(self.assert_bad(spec, 7))
                self.assertRegex(text, f"{call} raised .*own_bunches.py|{call} raised .*own_functions.py")

    def test_a_call_that_a_function_is_not_written_for_is_refused(self):
        for call, more, words in (("own_bunches:twice", {"in_flight": 2}, "with in_flight, which is for async functions"),
                                  ("own_bunches:levels", {"batch": 2}, "with batch, and it is an async function")):
            spec = self.number_spec()
            spec["output"][0]["ops"][1] = {**python(call, tensor("int64")), **more}
            with self.subTest(call=call), self.assertRaises(spdld.Error) as raised:
                self.trial(spec, 7)
            self.assertIn(words, str(raised.exception))
