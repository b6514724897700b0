"""Functions that drop samples, with a real daemon and real processes."""
import copy
import json
import os
import pickle
import subprocess
import warnings
from pathlib import Path

import numpy as np
from crew_case import needs_cloudpickle
from functions_test import FunctionsCase, python, tensor
from trial_case import TrialCase

import spdld
from spdld._trial.blocks import blocks_text
from spdld._trial.command import document_of

MANY = 1000


def ids_of(batch):
    return np.asarray(batch["sample_id"]).tolist()


class Drops(FunctionsCase):
    def setUp(self):
        super().setUp()
        self.numbers = Path(self.folder.name) / "many"
        if not self.numbers.exists():
            self.numbers.mkdir()
            np.save(self.numbers / "x.npy", np.arange(MANY, dtype=np.int64))

    def many(self, call="own_functions:thirds", size=16, **changes):
        return self.number_spec(call=call, **{"on_bad": "substitute", "bad_max": 0, "batch": {"global_size": size}, "seed": 3,
                                              **changes})

    def ctl(self, *words):
        command = [os.environ["SPDLD_CTL"], "--socket", str(self.daemon.socket), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "250"}).stdout

    def test_drop_is_one_object(self):
        self.assertEqual(repr(spdld.DROP), "spdld.DROP")
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.assertIs(pickle.loads(pickle.dumps(spdld.DROP, protocol)), spdld.DROP)
        self.assertIs(copy.copy(spdld.DROP), spdld.DROP)
        self.assertIs(copy.deepcopy([spdld.DROP])[0], spdld.DROP)
        self.assertIs(type(spdld.DROP)(), spdld.DROP)

    @needs_cloudpickle
    def test_a_closure_that_holds_it(self):
        value = spdld.DROP

        def even(number):
            return value if number % 2 else number

        loader = self.attach(self.many("even", on_drop="shorter"), ops={"even": even})
        self.assertEqual(sorted(sample for batch in loader for sample in ids_of(batch)), list(range(0, MANY, 2)))

    @needs_cloudpickle
    def test_groups_and_async_functions_drop_samples_too(self):
        DROP = spdld.DROP

        def some_of(numbers):
            return [DROP if number % 3 == 0 else number for number in numbers]

        def none_of(numbers):
            return DROP if len(numbers) > 1 or numbers[0] % 3 == 0 else numbers

        async def later(number):
            return DROP if number % 3 == 0 else number

        for function, more in ((some_of, {"batch": 8}), (later, {"in_flight": 4}), (later, {"in_flight": 4, "gives": None})):
            spec = self.many("it", on_drop="shorter", python={"processes": 2})
            operation = {**spec["output"][0]["ops"][1], **more}
            spec["output"][0]["ops"][1] = {key: value for key, value in operation.items() if value is not None}
            with self.subTest(str(more)):
                loader = self.attach(spec, ops={"it": function}, group=f"{self.id()}-{len(str(more))}")
                kept = sorted(number for batch in loader for number in np.asarray(batch["number"]).tolist())
                self.assertEqual(kept, [number for number in range(MANY) if number % 3])
        spec = self.many("it", on_drop="shorter")
        spec["output"][0]["ops"][1]["batch"] = 8
        counts = [len(batch["number"]) for batch in self.attach(spec, ops={"it": none_of}, group=f"{self.id()}-none")]
        self.assertLess(sum(counts), MANY * 2 // 3 + 1)

    def test_those_that_are_kept_come_once_in_an_epoch_of_shorter_batches(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader = self.attach(self.many(on_drop="shorter", order={"epochs": 2}))
            for _ in range(2):
                seen, dropped, batches = [], 0, 0
                for batch in loader:
                    self.assertEqual(np.asarray(batch["number"]).tolist(), ids_of(batch))
                    self.assertEqual((batch.valid, batch.dropped, batch.substituted), (len(ids_of(batch)), batch.absent, 0))
                    seen += ids_of(batch)
                    dropped += batch.dropped
                    batches += 1
                self.assertEqual(sorted(seen), list(range(0, MANY, 3)))
                self.assertNotEqual(seen, sorted(seen))
                self.assertEqual((dropped, batches, len(loader)), (MANY - len(seen), 63, 63))
        stats = loader.stats()
        self.assertEqual((stats["dropped"], stats["absent"], stats["samples"]), (2 * 666, 2 * 666, 2 * 334))
        self.assertEqual((stats["substituted"], stats["masked"], stats["unsupported"], stats["too_long"]), (0, 0, 0, 0))
        reason, = stats["reasons"]
        self.assertEqual((reason["kind"], reason["reason"], reason["count"]),
                         ("dropped", "own_functions:thirds dropped it", 2 * 666))
        bad = spdld.query("describe", "numbers", socket=self.daemon.socket)["bad"]
        self.assertEqual((bad["dropped"], bad["absent"], bad["damaged"]), (2 * 666, 2 * 666, 0))
        errors = spdld.query("errors", "numbers", socket=self.daemon.socket)
        self.assertEqual((errors["total"], errors["dropped"], errors["absent"]), (0, 2 * 666, 2 * 666))
        self.assertEqual({entry["kind"] for entry in errors["errors"]}, {"dropped"})
        self.assertIn("1,332 samples by user code", self.ctl("describe", "numbers"))
        self.assertNotIn("bad content", self.ctl("describe", "numbers"))
        self.assertIn("0 errors in all, newest last\nUser code dropped 1,332 samples, which are no errors.",
                      self.ctl("errors", "numbers"))
        self.assertIn("1,332 samples dropped by user code, 1,332 absent", self.ctl("top", "numbers", "-n", 1))
        metrics = spdld.query("metrics", "numbers", socket=self.daemon.socket)["now"]["pipelines"][0]
        self.assertEqual((metrics["dropped"], metrics["absent"]), (2 * 666, 2 * 666))

    def test_others_in_their_places_are_the_same_with_any_number_of_processes_and_ranks(self):
        def epoch(processes, **changes):
            loader = self.attach(self.many(python={"processes": processes}, **changes), group=f"{self.id()}-{processes}")
            steps = [ids_of(batch) for batch in loader]
            loader.close()
            return steps

        for changes in ({}, {"on_drop": "shorter"}):
            with self.subTest(**changes):
                one = epoch(1, **changes)
                self.assertEqual(one, epoch(4, **changes))
                self.assertTrue(all(sample % 3 == 0 for step in one for sample in step))
                if not changes:
                    self.assertEqual([len(step) for step in one], [16] * 62 + [8])
                first = self.attach(self.many(**changes), group=self.id() + "first" + str(changes))
                for _ in range(5):
                    first.next()
                state = first.state_dict()
                first.close()
                group = self.id() + "two" + str(changes)
                ranks = [self.attach(self.many(**changes), rank=rank, world_size=2, state=state, group=group)
                         for rank in range(2)]
                for step in range(5, 63):
                    halves = [ids_of(rank.next()) for rank in ranks]
                    self.assertEqual(halves[0] + halves[1], one[step], step)
                self.assertEqual([rank.next() for rank in ranks], [None, None])
                for rank in ranks:
                    rank.close()

    def test_shorter_batches_from_each_batch_on(self):
        spec = self.many("own_functions:some", size=100, on_drop="shorter", order={"epochs": 2})
        loader = self.attach(spec)
        epochs = [[(ids_of(batch), batch.absent) for batch in loader] for _ in range(2)]
        self.assertNotEqual(sorted(sum((ids for ids, _ in epochs[0]), [])), sorted(sum((ids for ids, _ in epochs[1]), [])))
        for epoch in range(2):
            for step in range(10):
                loader.seek(epoch, step)
                batch = loader.next()
                self.assertEqual((ids_of(batch), batch.absent), epochs[epoch][step])
                batch.release()

    def test_batches_of_which_nothing_is_kept(self):
        loader = self.attach(self.many("own_functions:none", size=100, on_drop="shorter"))
        seen = [(batch.valid, batch.dropped, np.asarray(batch["number"]).shape, batch.names) for batch in loader]
        self.assertEqual(seen, [(0, 100, (0,), [])] * 10)

    def test_a_filter_that_keeps_nothing_has_no_substitutes(self):
        with self.assertRaises(spdld.FailedError) as raised:
            list(self.attach(self.many("own_functions:none")))
        self.assertIn('and all 1024 substitutes were dropped: own_functions:none dropped it. Write on_drop = "shorter"',
                      str(raised.exception))

    def test_dropped_samples_are_masked_by_choice_and_beside_masked_bad_ones(self):
        for changes in ({"on_drop": "mask"}, {"on_bad": "mask"}):
            with self.subTest(**changes):
                loader = self.attach(self.many(**changes), group=self.id() + str(changes))
                for batch in loader:
                    mask = np.asarray(batch["mask"]).tolist()
                    self.assertEqual(mask, [int(sample % 3 == 0) for sample in ids_of(batch)])
                    self.assertEqual(np.asarray(batch["number"]).tolist(),
                                     [sample * good for sample, good in zip(ids_of(batch), mask, strict=True)])
                    self.assertEqual((batch.masked, batch.dropped), (mask.count(0), mask.count(0)))
                loader.close()

    def test_jobs_with_other_batch_sizes_on_one_stream(self):
        spec = self.many(batch={"size": 20}, on_drop="shorter", share="stream", order={"epochs": 0})
        one = self.attach(spec, group=self.id() + "one")
        other = self.attach(spec, group=self.id() + "other", batch_size=50)
        self.assertEqual((one.shared, other.shared), (True, True))
        taken = {one: [], other: []}
        covered = {one: 0, other: 0}
        while covered[other] < MANY:
            behind = min(covered, key=lambda loader: covered[loader])
            batch = behind.next() or behind.next()
            taken[behind] += ids_of(batch)
            covered[behind] += batch.valid + batch.absent
        first = taken[other][:334]
        self.assertEqual(sorted(first), list(range(0, MANY, 3)))
        self.assertEqual(taken[one][:300], first[:300])

    def test_a_value_that_holds_it_is_no_dropped_sample(self):
        loader = self.attach(self.number_spec(call="own_functions:nested"))
        _, left_out = self.taken(loader)
        self.assertEqual(len(left_out), MANY)
        self.assertEqual({reason["kind"] for reason in loader.stats()["reasons"]}, {"damaged"})

    def test_samples_that_are_too_long_follow_the_same_choice(self):
        spec = self.many(on_drop="shorter")
        spec["output"].append({"name": "counts", "from": "array", "ragged": True, "length_max": 300, "too_long": "leave-out",
                               "ops": [{"op": "raw-int"}, python("own_functions:count_up", tensor("int64", -1))]})
        loader = self.attach(spec)
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", spdld.DataWarning)
            for batch in loader:
                for row, sample in enumerate(ids_of(batch)):
                    self.assertEqual(len(batch["counts"][row]), sample)
                    seen.append(sample)
        self.assertEqual(sorted(seen), list(range(0, 301, 3)))
        stats = loader.stats()
        self.assertEqual(stats["dropped"] + stats["too_long"], stats["absent"])
        self.assertEqual(stats["absent"], MANY - len(seen))


class Trials(TrialCase):
    def test_a_sample_that_is_dropped_and_one_that_is_kept(self):
        spec = self.number_spec(call="own_functions:thirds")
        trial = self.trial(spec, 7)
        self.assertTrue(trial.dropped)
        self.assertEqual(trial.sample, 7)
        self.assertIs(trial.step("number", 1).value, spdld.DROP)
        self.assertEqual(trial.step("number", 1).kind, "dropped")
        self.assertIn("own_functions:thirds drops this sample: on_drop says what comes in its place.", str(trial))
        self.assertEqual(trial.outputs, {})
        self.assertTrue(json.loads(json.dumps(document_of(trial)))["dropped"])
        self.assertIsInstance(blocks_text(trial, 80), str)
        kept = self.trial(spec, 9)
        self.assertFalse(kept.dropped or document_of(kept)["dropped"])
        self.assertEqual(kept.outputs["number"], 9)

    def test_a_sample_that_is_left_out_as_too_long(self):
        spec = self.number_spec()
        spec["output"] = [{"name": "counts", "from": "array", "ragged": True, "length_max": 5, "too_long": "leave-out",
                           "ops": [{"op": "raw-int"}, python("own_functions:count_up", tensor("int64", -1))]}]
        error = self.assert_bad(spec, 6)
        self.assertIn("a length of 6 is above length_max = 5", str(error))
