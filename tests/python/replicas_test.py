"""Replicas of a data-parallel rank: processes that must all see the same batches, decoded once on their node."""
import os
import sys
import time
import unittest
from unittest import mock

import spdld
from case import BATCH, STEPS, WAIT_S, DaemonCase


def taken(loader, count):
    """(place, bytes) of the next batches, ends of epochs passed over."""
    found = []
    while len(found) < count:
        batch = loader.next(timeout=WAIT_S)
        if batch is not None:
            found.append((batch.epoch, batch.step, batch["sample_id"].tolist(), batch["image"].tobytes()))
    return found


class Replicas(DaemonCase):
    def spec(self, **changes):
        return super().spec(**{"order": {"epochs": 0}, "seed": 3, **changes})

    def pair(self, *, pipeline=None, **options):
        """The two replicas of a tensor-parallel pair, which is one data-parallel rank."""
        return [self.attach(pipeline, replica=replica, replicas=2, dp_rank=0, dp_size=1, **options) for replica in range(2)]

    def decoded(self):
        stages = spdld.query("describe", "small", socket=self.daemon.socket)["stages"]
        return next(stage["samples"] for stage in stages if stage["name"] == "decode")

    def test_a_pair_goes_on_from_a_state(self):
        alone = self.attach(group="alone")
        undisturbed = taken(alone, 2 * STEPS)
        alone.seek(0, 2)
        state = alone.state_dict()
        alone.close()
        before = self.decoded()
        pair = self.pair(state=state)
        self.assertEqual([loader.position for loader in pair], [(0, 2)] * 2)
        steps = 2 * STEPS - 2
        for step in range(2, 2 * STEPS):
            for loader in pair:
                self.assertEqual(taken(loader, 1), undisturbed[step:step + 1])
        self.assertEqual(pair[0].state_dict(), pair[1].state_dict())
        self.assertEqual(self.ring()["readers"], 2)
        # Once, with what was made ahead; twice would be 2 * steps * BATCH at least.
        ahead = self.ring()["slots"] * BATCH
        self.assertLessEqual(self.decoded() - before, steps * BATCH + ahead)
        self.assertGreater(2 * steps * BATCH, steps * BATCH + ahead)

    def test_several_epochs_of_a_training_loop(self):
        pair = self.pair()
        before = self.decoded()
        for epoch in range(3):
            for loader in pair:
                loader.set_epoch(epoch)  # they stand there already
            batches = [iter(loader) for loader in pair]
            for step in range(STEPS):
                one, other = (next(each) for each in batches)
                self.assertEqual((one.epoch, one.step), (epoch, step))
                self.assertEqual(one["image"].tobytes(), other["image"].tobytes())
                one = other = None
            for each in batches:
                self.assertIsNone(next(each, None))
        # Nothing was thrown away on the way.
        self.assertLessEqual(self.decoded() - before, 3 * STEPS * BATCH + self.ring()["slots"] * BATCH)

    def test_a_state_is_loaded_in_each(self):
        alone = self.attach(group="alone")
        undisturbed = taken(alone, 2 * STEPS)
        alone.seek(0, 3)
        state = alone.state_dict()
        pair = self.pair()
        for first in (0, STEPS + 1):  # before the first batch, and in the middle
            if first:
                taken(pair[0], 2), taken(pair[1], 1)
            for loader in pair:
                loader.load_state_dict(state)
                self.assertEqual(loader.position, (0, 3))
            for step in range(3, 2 * STEPS - 2):
                for loader in pair:
                    self.assertEqual(taken(loader, 1), undisturbed[step:step + 1])
            self.assertEqual(pair[0].state_dict(), pair[1].state_dict())

    def test_an_epoch_left_at_different_batches(self):
        undisturbed = taken(self.attach(group="alone"), 3 * STEPS)
        pair = self.pair()
        for epoch, left_after in ((1, (1, 3)), (2, (STEPS, 4)), (0, (4, 4)), (0, (0, 0))):
            for loader in pair:
                loader.set_epoch(epoch)
            for step in range(max(left_after)):
                for loader, count in zip(pair, left_after):
                    if step < count:
                        self.assertEqual(taken(loader, 1), undisturbed[epoch * STEPS + step:epoch * STEPS + step + 1])

    def test_the_only_epoch_again(self):
        pair = self.pair(pipeline=self.spec(name="once", order={"epochs": 1}))
        whole = taken(self.attach(group="alone"), STEPS)
        for _ in range(3):
            batches = [iter(loader) for loader in pair]
            for step in range(STEPS):
                for each in batches:
                    batch = next(each)
                    self.assertEqual((batch.step, batch["image"].tobytes()), (step, whole[step][3]))
                    batch = None
            self.assertEqual([next(each, None) for each in batches], [None, None])

    def test_those_that_part_are_told(self):
        pair = self.pair()
        taken(pair[0], 1), taken(pair[1], 1)
        pair[0].seek(1, 2)
        pair[1].set_epoch(2)
        told = {}
        end = time.monotonic() + WAIT_S
        while len(told) < 2 and time.monotonic() < end:
            for number, loader in enumerate(pair):
                if number not in told:
                    try:
                        loader.next(timeout=0.02)
                        self.fail("a batch of which place?")
                    except spdld.TimeoutError as error:
                        self.assertIn("other replicas", str(error))
                    except spdld.InvalidError as error:
                        told[number] = str(error)
        self.assertRegex(told[0], "replica 0 goes to epoch 1, step 2, and replica 1 goes to epoch 2, step 0")
        self.assertEqual(told[0], told[1])
        for loader in pair:
            loader.set_epoch(2)
        self.assertEqual(taken(pair[0], 2), taken(pair[1], 2))

    def test_ranks_each_with_replicas(self):
        spec = self.spec(batch={"global_size": 2 * BATCH})
        ranks = [[self.attach(spec, dp_rank=rank, dp_size=2, replica=replica, replicas=2) for replica in range(2)]
                 for rank in range(2)]
        seen = [[taken(replica, 3) for replica in replicas] for replicas in ranks]
        for one, other in seen:
            self.assertEqual(one, other)
        self.assertNotEqual(seen[0][0], seen[1][0])
        self.assertEqual([replica.info.world_size for replicas in ranks for replica in replicas], [2] * 4)

    def test_a_doubled_replica_names_the_holder(self):
        first = self.attach(replica=0, replicas=2)
        with self.assertRaisesRegex(spdld.ConflictError, f"replica 0 of 2 .*pid {os.getpid()} "):
            self.attach(replica=0, replicas=2)
        with self.assertRaisesRegex(spdld.ConflictError, f"2 replicas on this node, as .*pid {os.getpid()} .*said, and not 3"):
            self.attach(replica=1, replicas=3)
        with self.assertRaisesRegex(spdld.ConflictError, "2 replicas .* not 1"):
            self.attach()
        first.close()
        self.attach()

    def test_replicas_that_load_different_states_are_told(self):
        alone = self.attach(group="alone")
        states = []
        for step in (1, 2):
            alone.seek(0, step)
            states.append(alone.state_dict())
        for behind, ahead in ((0, 1), (1, 0)):
            loaders = {}
            with self.assertRaisesRegex(spdld.InvalidError, "are at epoch 0, step 1, .*epoch 0, step 2.*same state"):
                for replica in (0, 1):
                    state = states[0 if replica == behind else 1]
                    loaders[replica] = self.attach(replica=replica, replicas=2, state=state, group=f"{self.id()} {behind}")
                loaders[ahead].next(timeout=WAIT_S)
            for loader in loaders.values():
                loader.close()

    def test_they_survive_the_daemon(self):
        undisturbed = taken(self.attach(group="alone"), 3 * STEPS)
        pair = self.pair()
        seen = [taken(pair[0], 2), taken(pair[1], 1)]
        self.daemon.kill()
        self.daemon.start_again()
        with self.assertRaises(spdld.TimeoutError):  # what it had received comes yet; then it waits for the other
            while True:
                seen[0] += [(batch.epoch, batch.step, batch["sample_id"].tolist(), batch["image"].tobytes())
                            for batch in [pair[0].next(timeout=0.5)] if batch is not None]
        seen[1] += taken(pair[1], len(seen[0]) - 1)
        for _ in range(STEPS):
            for loader, batches in zip(reversed(pair), reversed(seen)):  # the second comes back with this
                batches += taken(loader, 1)
        self.assertEqual(seen[0], undisturbed[:len(seen[0])])
        self.assertEqual(seen[1], seen[0])

    def test_what_does_not_fit(self):
        for options, words in (({"dp_rank": 0}, "dp_rank and dp_size belong together"),
                               ({"dp_rank": 2, "dp_size": 2}, r"dp_rank is 2, and must be below dp_size \(2\)"),
                               ({"dp_rank": 0, "dp_size": 0}, "dp_size is 0"),
                               ({"dp_rank": 0, "dp_size": 2, "rank": 0, "world_size": 2}, "in place of rank"),
                               ({"replica": 1}, "replica and replicas belong together"),
                               ({"replica": 2, "replicas": 2}, r"replica is 2, and must be below replicas \(2\)"),
                               ({"replica": 0, "replicas": 2, "group": None}, "the same group")):
            names = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "OMPI_COMM_WORLD_RANK")
            with self.subTest(options), mock.patch.dict(os.environ):
                for name in names:
                    os.environ.pop(name, None)
                with self.assertRaisesRegex(spdld.InvalidError, words):
                    self.attach(**options)

    def test_the_local_rank_is_the_launchers(self):
        with mock.patch.dict(os.environ, {"LOCAL_RANK": "x"}):
            with self.assertRaisesRegex(spdld.InvalidError, "LOCAL_RANK"):
                self.attach(dp_rank=0, dp_size=1)
            self.attach(dp_rank=0, dp_size=1, local_rank=0)
        with mock.patch.dict(os.environ, {"LOCAL_RANK": "3"}), mock.patch("spdld._spdld.attach") as attach:
            spdld.attach(self.spec(), dp_rank=1, dp_size=2, framework="numpy")
            self.assertEqual((attach.call_args[1]["rank"], attach.call_args[1]["local_rank"]), (1, 3))


if __name__ == "__main__":
    sys.exit(unittest.main())
