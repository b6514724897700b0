"""Functions that take several samples a call, with a real daemon and real processes."""
import numpy as np
from functions_test import NUMBERS, FunctionsCase, python, tensor

import spdld


def bunched(call, gives, batch):
    return {**python(f"own_bunches:{call}", gives), "batch": batch}


class BunchesCase(FunctionsCase):
    def bunched_numbers(self, call, faults="", batch=8, gives=None, **changes):
        spec = self.number_spec(faults, **changes)
        spec["output"][0]["ops"][1] = bunched(call, gives or tensor("int64"), batch)
        return spec

    def check_bunched(self, call, faults, left_out, reason="", most=8, **changes):
        spec = self.bunched_numbers(call, faults, most, **changes)
        return self.check_left_out(faults, left_out, reason, **{**spec, **changes})


class Values(BunchesCase):
    attached = 0

    def images_of(self, *ops, **changes):
        self.attached += 1
        loader = self.attach(self.picture_spec(*ops, **changes), group=f"images {self.attached}")
        images = {}
        for batch in loader:
            for sample, image, plain in zip(np.asarray(batch["sample_id"]).tolist(), np.asarray(batch["image"]),
                                            np.asarray(batch["plain"]), strict=True):
                images[sample] = (image.copy(), plain.copy())
        loader.close()
        return images

    def test_a_bunch_is_one_array_that_the_function_may_write_into(self):
        for image, plain in self.images_of(bunched("negative_all", tensor("uint8", 32, 32, 3), 4)).values():
            self.assertTrue(np.array_equal(image, 255 - plain))

    def test_the_same_bytes_however_many_samples_a_call_has_and_processes_there_are(self):
        gives = tensor("uint8", 32, 32, 3)
        by_itself = self.images_of(python("own_bunches:noisy", gives))
        for batch, processes in ((1, 1), (8, 1), (8, 4), (64, 2)):
            with self.subTest(batch=batch, processes=processes):
                images = self.images_of(bunched("noisy_all", gives, batch), python={"processes": processes})
                self.assertEqual(images.keys(), by_itself.keys())
                for sample, (image, _) in by_itself.items():
                    self.assertTrue(np.array_equal(image, images[sample][0]))

    def test_no_call_has_more_samples_than_it_may_and_none_waits_for_more(self):
        for batch in (1, 3, 64):
            loader = self.attach(self.bunched_numbers("sizes", batch=batch), group=f"{self.id()}{batch}")
            sizes = [size for one in loader for size in np.asarray(one["number"]).tolist()]
            self.assertEqual(len(sizes), NUMBERS)
            self.assertLessEqual(max(sizes), batch)
            self.assertGreaterEqual(min(sizes), 1)
            loader.close()

    def test_values_of_different_lengths_are_lists(self):
        chain = [{"op": "raw-int"}, bunched("counts_up", tensor("int64", -1), 8), bunched("sums", tensor("int64"), 8)]
        spec = self.number_spec()
        spec["output"][0]["ops"] = chain
        for batch in self.attach(spec):
            samples = np.asarray(batch["sample_id"])
            self.assertEqual(np.asarray(batch["number"]).tolist(), (samples * (samples - 1) // 2).tolist())

    def test_bytes_are_lists(self):
        spec = self.number_spec()
        spec["output"][0]["ops"] = [{"op": "raw-int"}, bunched("as_bytes_all", "bytes", 8),
                                    bunched("lengths", tensor("int64"), 8)]
        for batch in self.attach(spec):
            self.assertEqual(np.asarray(batch["number"]).tolist(), np.asarray(batch["sample_id"]).tolist())

    def test_large_and_ragged_results(self):
        spec = self.number_spec()
        spec["output"] = [{"name": "counts", "from": "array", "ragged": True, "length_max": 3000, "ops": [
            {"op": "raw-int"}, bunched("twice", tensor("int64"), 5),
            bunched("counts_up", tensor("int64", -1), 8)]}]
        spec["on_bad"] = "substitute"
        for batch in self.attach(spec):
            for row, sample in enumerate(np.asarray(batch["sample_id"]).tolist()):
                self.assertEqual(np.asarray(batch["counts"][row]).tolist(), list(range(2 * sample)))

    def test_a_function_of_one_sample_stands_before_and_behind(self):
        spec = self.number_spec()
        spec["output"][0]["ops"] = [{"op": "raw-int"}, python("own_functions:faulty", tensor("int64")),
                                    bunched("twice", tensor("int64"), 4), python("own_functions:faulty", tensor("int64"))]
        for batch in self.attach(spec):
            self.assertEqual(np.asarray(batch["number"]).tolist(), (2 * np.asarray(batch["sample_id"])).tolist())

    def test_how_many_samples_a_call_has_is_no_part_of_the_run(self):
        state = self.attach(self.bunched_numbers("twice", batch=4)).state_dict()
        self.attach(self.bunched_numbers("twice", batch=16), state=state, group=self.id() + "other")


class Faults(BunchesCase):
    def test_one_exception_among_many_is_one_bad_sample(self):
        self.check_bunched("faulty_all", "7:raises", [7], "own_bunches:faulty_all raised ValueError: this one can't be used",
                           most=64)

    def test_one_crash_among_many_is_one_bad_sample(self):
        self.check_bunched("faulty_all", "7:crashes 20:exits", [7, 20], "its process", most=64)

    def test_an_endless_loop_among_many_is_one_bad_sample(self):
        self.check_bunched("faulty_all", "11:hangs", [11], "call_limit_s", most=64, python={"call_limit_s": 0.3})

    def test_all_faults_together_with_several_processes(self):
        faults = {4: "raises", 8: "exits", 12: "hangs", 16: "bursts", 20: "crashes", 24: "raises"}
        self.check_bunched("faulty_all", " ".join(f"{number}:{fault}" for number, fault in faults.items()), sorted(faults),
                           python={"call_limit_s": 0.3, "memory": "512 MiB", "processes": 3})

    def test_a_result_of_another_length_is_called_again_one_by_one(self):
        self.check_bunched("one_too_few", "", [7], "own_bunches:one_too_few gave 0 values for 1 samples: return one for each")

    def test_a_value_that_does_not_fit_is_its_samples_fault(self):
        self.check_bunched("all_but_text", "", [7], "own_bunches:all_but_text gave a value of the type str")

    def test_a_result_that_holds_no_values_is_told_in_a_sentence(self):
        spec = self.bunched_numbers("none_at_all")
        spec["output"][0]["ops"][1]["call"] = "builtins:len"
        loader = self.attach(spec)
        good, left_out = self.taken(loader)
        self.assertEqual((good, len(left_out)), ([], NUMBERS))
        self.assertIn("builtins:len gave a value of the type int for 1 samples, because batch is given",
                      str(loader.stats()["reasons"]))

    def test_an_async_function_is_refused(self):
        with self.assertRaises(spdld.Error) as raised:
            next(iter(self.attach(self.bunched_numbers("levels"))))
        self.assertIn('calls "own_bunches:levels" with batch, and it is an async function', str(raised.exception))
