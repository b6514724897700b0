"""Batches that the processes of functions and data sets write themselves, with a real daemon: sharing, attaching, leaving."""
import os
from pathlib import Path

import numpy as np
import own_data_sets
import spdld
import spdld.torch
from case import WAIT_S, until
from functions_test import FunctionsCase, python, tensor

SLOT = "memfd:spdld-slot"


def slots_of(pid):
    """The slots that a process has mapped: their inodes."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    return {int(line.split()[4]) for line in lines if SLOT in line}


class WrittenSlots(FunctionsCase):
    def slots_of_crew(self):
        return set().union(*(slots_of(pid) for pid in self.crew()))

    def doubled_spec(self, **changes):
        return self.number_spec(call="own_functions:doubled", **{"order": {"epochs": 0, "shuffle": False}, **changes})

    def assert_doubled(self, loader, batches=20):
        for _ in range(batches):
            batch = loader.next() or loader.next()
            self.assertEqual(batch["number"].tolist(), [2 * number for number in batch["sample_id"].tolist()])

    def test_a_process_maps_the_slots_that_it_writes_into_until_their_trainer_leaves(self):
        first = self.attach(self.doubled_spec(), group=self.id() + "a")
        self.assert_doubled(first)
        own = slots_of(os.getpid())
        mapped = self.slots_of_crew()
        self.assertTrue(mapped)
        self.assertLessEqual(mapped, own)
        second = self.attach(self.doubled_spec(), group=self.id() + "b")
        self.assert_doubled(second)
        self.assertGreater(self.slots_of_crew() - mapped, set())
        second.close()
        until(lambda: self.slots_of_crew() <= own, "the slots of the second trainer are unmapped")
        self.assert_doubled(first)

    def test_jobs_that_share_batches_can_not_write_to_each_other(self):
        a, b = (self.attach(self.doubled_spec(share="stream"), group=self.id() + name) for name in "ab")
        self.assertTrue(a.shared and b.shared)
        for _ in range(20):
            one, other = a.next() or a.next(), b.next() or b.next()
            np.asarray(one["number"])[:] = -1
            self.assertEqual(other["number"].tolist(), [2 * number for number in other["sample_id"].tolist()])
        self.assertTrue(self.slots_of_crew())
        for line in Path("/proc/self/maps").read_text().splitlines():
            if SLOT in line:
                self.assertEqual(line.split()[1][3], "p", line)  # a page that a job writes to is its own

    def test_a_process_that_dies_in_its_function_costs_no_sample(self):
        self.set_env("OWN_ONCE", str(Path(self.folder.name) / self.id()))
        loader = self.attach(self.number_spec("7:once", order={"epochs": 3}))
        for _ in range(3):
            good, left_out = self.taken(loader)
            self.assertEqual((good, left_out), (list(range(40)), []))

    def test_a_seek_among_many_batches(self):
        loader = self.attach(self.doubled_spec(order={"epochs": 0}))
        for epoch in (3, 1, 7, 2):
            loader.set_epoch(epoch)
            self.assert_doubled(loader, 7)

    def test_items_of_one_shape_are_written_by_their_process(self):
        dataset = own_data_sets.Images(32)
        loader = spdld.torch.Loader(dataset=dataset, batch_size=4, shuffle=True, seed=1, socket=self.daemon.socket,
                                    group=self.id(), timeout=WAIT_S, pipeline={"python": {"processes": 2}})
        self.addCleanup(loader.close)
        for _ in range(3):
            labels = []
            for images, label in loader:
                for image, number in zip(images, label.tolist(), strict=True):
                    self.assertTrue((image == number).all())
                labels += label.tolist()
            self.assertEqual(sorted(labels), list(range(32)))
        self.assertTrue(self.slots_of_crew())

    def test_what_is_not_of_one_shape_comes_as_before(self):
        spec = self.doubled_spec(output=[{"name": "number", "from": "array", "ragged": True, "length_max": 40, "ops": [
            {"op": "raw-int"}, python("own_functions:count_up", tensor("int64", -1))]}])
        loader = self.attach(spec)
        batch = loader.next()
        self.assertEqual(batch["number"].values.tolist(), [n for count in batch["sample_id"].tolist() for n in range(count)])
        self.assertEqual(self.slots_of_crew(), set())

