"""Functions that are defined by async def, with a real daemon and real processes."""
from pathlib import Path

import numpy as np
from case import until
from functions_test import FunctionsCase, python, tensor

import spdld

MANY = 512


def later(call, gives, **more):
    return {**python(f"own_bunches:{call}", gives), **more}


class FlightsCase(FunctionsCase):
    def numbers_later(self, call, faults="", gives=None, in_flight=None, **changes):
        spec = self.number_spec(faults, **changes)
        more = {} if in_flight is None else {"in_flight": in_flight}
        spec["output"][0]["ops"][1] = later(call, gives or tensor("int64"), **more)
        return spec

    def many_levels(self, in_flight):
        """The most calls that were under way at once."""
        folder = Path(self.folder.name) / "many"
        if not folder.exists():
            folder.mkdir()
            np.save(folder / "x.npy", np.arange(MANY, dtype=np.int64))
        spec = self.numbers_later("levels", gives=tensor("int64", 2), in_flight=in_flight, batch={"size": 64},
                                  python={"processes": 1}, source={"type": "npy", "uri": str(folder)})
        loader = self.attach(spec, group=f"{self.id()}{in_flight}")
        pairs = np.concatenate([np.asarray(batch["number"]).copy() for batch in loader])
        loader.close()
        self.assertEqual(sorted(pairs[:, 0].tolist()), list(range(MANY)))
        return pairs[:, 1].max()


class Values(FlightsCase):
    def test_as_many_calls_are_under_way_as_may_be(self):
        self.assertEqual([self.many_levels(in_flight) for in_flight in (32, 1, None)], [32, 1, 16])

    def test_draws_from_rng_are_the_sample_s_own_however_many_are_under_way(self):
        def images(in_flight, processes):
            op = later("noisy_later", tensor("uint8", 32, 32, 3), in_flight=in_flight)
            spec = self.picture_spec(op, python={"processes": processes})
            loader = self.attach(spec, group=f"{self.id()}{in_flight}{processes}")
            found = {sample: image.copy() for batch in loader for sample, image in
                     zip(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["image"]), strict=True)}
            loader.close()
            return found

        one = images(1, 1)
        for in_flight, processes in ((32, 1), (8, 3)):
            many = images(in_flight, processes)
            self.assertEqual(one.keys(), many.keys())
            self.assertTrue(all(np.array_equal(one[sample], many[sample]) for sample in one))

    def test_other_functions_run_between(self):
        spec = self.numbers_later("levels", gives=tensor("int64", 2), python={"processes": 1})
        plain = python("own_functions:faulty", tensor("int64"))
        spec["output"] += [{"name": "plain", "from": "array", "ops": [{"op": "raw-int"}, plain]},
                           {"name": "twice", "from": "array", "ops": [
                               {"op": "raw-int"}, {**python("own_bunches:twice", tensor("int64")), "batch": 4}]}]
        for batch in self.attach(spec):
            samples = np.asarray(batch["sample_id"])
            self.assertEqual(np.asarray(batch["plain"]).tolist(), samples.tolist())
            self.assertEqual(np.asarray(batch["twice"]).tolist(), (2 * samples).tolist())
            self.assertEqual(np.asarray(batch["number"])[:, 0].tolist(), samples.tolist())

    def test_several_async_functions_of_one_chain_and_an_object_that_is_called(self):
        spec = self.number_spec()
        spec["output"][0]["ops"][1:] = [later("later", tensor("int64")), python("own_functions:faulty", tensor("int64")),
                                        later("faulty_later", tensor("int64"))]
        self.assertEqual(self.taken(self.attach(spec))[1], [])


class Faults(FlightsCase):
    def check_later(self, faults, left_out, reason="", **changes):
        spec = self.numbers_later("faulty_later", faults, **changes)
        return self.check_left_out(faults, left_out, reason, **{**spec, **changes})

    def test_an_exception_is_its_samples_fault(self):
        reasons = self.check_later("7:raises 8:cancels", [7, 8],
                                   "own_bunches:faulty_later raised ValueError: this one can't be used")
        self.assertIn("raised asyncio.exceptions.CancelledError", reasons)
        self.assertIn("own_functions.py:", reasons)

    def test_a_process_that_ends_costs_the_culprit_alone(self):
        self.check_later("3:leaves_process 9:crashes", [3, 9], "its process")

    def test_a_call_that_waits_too_long_is_cancelled_and_its_process_lives(self):
        pids = set()
        spec = self.numbers_later("faulty_later", "11:waits", python={"call_limit_s": 0.3, "processes": 1})
        loader = self.attach(spec)
        until(lambda: len(self.crew()) == 3, "the crew")
        pids = set(self.crew())
        good, left_out = self.taken(loader)
        self.assertEqual(left_out, [11])
        self.assertIn("own_bunches:faulty_later did not return within 0.3 s (call_limit_s of [python]), and was cancelled",
                      str(loader.stats()["reasons"]))
        self.assertEqual(set(self.crew()), pids)

    def test_a_call_that_can_t_be_cancelled_costs_its_process_and_its_sample_alone(self):
        self.check_later("11:waits_on", [11], "call_limit_s", python={"call_limit_s": 0.3})

    def test_a_call_that_keeps_the_loop_costs_its_process_and_its_sample_alone(self):
        self.check_later("11:hangs", [11], "call_limit_s", python={"call_limit_s": 0.3})

    def test_nothing_that_was_forked_in_a_call_comes_back(self):
        self.check_later("2:leaves 17:leaves", [])

    def test_in_flight_is_for_async_functions(self):
        spec = self.numbers_later("twice", in_flight=4)
        with self.assertRaises(spdld.Error) as raised:
            next(iter(self.attach(spec)))
        self.assertIn('calls "own_bunches:twice" with in_flight, which is for async functions', str(raised.exception))

    def test_in_flight_and_batch_do_not_stand_together(self):
        spec = self.numbers_later("twice", in_flight=4)
        spec["output"][0]["ops"][1]["batch"] = 4
        with self.assertRaises(spdld.Error) as raised:
            self.attach(spec)
        self.assertIn("leave one of the two out", str(raised.exception))
