"""A replay: a training loop runs to its end over its first batches, in every framework and without the daemon."""
import importlib.util
import os
import resource
import sys
import unittest
import warnings

import spdld
from case import SAMPLES, STEPS, DaemonCase


def rss_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Replays(DaemonCase):
    def attach(self, *arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", spdld.SpdldWarning)
            return super().attach(*arguments, **{"replay": 2, **options})

    def test_two_batches_fill_two_epochs(self):
        loader = self.attach()
        self.assertEqual(loader.info.replay, 2)
        seen = [(batch.epoch, batch.step, batch["sample_id"].tolist(), batch["image"].tobytes())
                for _ in range(loader.epochs) for batch in loader]
        self.assertEqual([place[:2] for place in seen], [(epoch, step) for epoch in range(2) for step in range(STEPS)])
        for number, (_, _, ids, pixels) in enumerate(seen):
            self.assertEqual((ids, pixels), seen[number % 2][2:])
        self.assertNotEqual(seen[0][2:], seen[1][2:])
        self.assertEqual(list(loader), [])
        self.assertEqual(loader.stats()["samples"], 2 * SAMPLES)
        self.assertNotIn("replay_step_ms", self.attach(replay=1, group="short").stats())

    def test_the_pace_of_the_program_is_told(self):
        loader = self.attach(self.spec(order={"epochs": 4}))
        for _ in range(loader.epochs):
            for _ in loader:
                pass
        self.assertGreater(loader.stats()["replay_step_ms"], 0)

    def test_every_framework_gets_the_same_memory_again(self):
        for framework in ("numpy", "raw", "torch", "jax"):
            if framework in ("torch", "jax") and importlib.util.find_spec(framework) is None:
                continue
            with self.subTest(framework=framework):
                with self.attach(replay=1, framework=framework, group=framework) as loader:
                    addresses, sums = set(), set()
                    for _ in range(2 * STEPS - 1):
                        batch = loader.next()
                        if batch is None:
                            continue
                        tensor = batch.tensor("image")
                        addresses.add(tensor.__array_interface__["data"][0])
                        if framework != "raw":
                            sums.add(int(batch["image"].sum()))
                        del tensor, batch
                    self.assertEqual(len(addresses), 1)
                    self.assertEqual(len(sums), framework != "raw")

    def test_memory_stays_flat_however_many_batches_are_kept(self):
        loader = self.attach(self.spec(order={"epochs": 0}), replay=1)
        kept = [loader.next()["image"]]
        before = rss_bytes()
        for _ in range(5000):
            batch = loader.next()
            if batch is not None:
                kept.append(batch["image"])
        self.assertGreater(len(kept), 4000)  # a run may hold six
        self.assertLess(rss_bytes() - before, 64 << 20)
        loader.close()
        self.assertEqual(kept[0].sum(), kept[-1].sum())

    def test_what_the_program_writes_is_there_again(self):
        loader = self.attach(replay=1)
        image = loader.next()["image"]
        image[...] = 7
        self.assertTrue((loader.next()["image"] == 7).all())

    def test_it_needs_no_daemon_any_more(self):
        loader = self.attach()
        taken = [loader.next() for _ in range(3)]
        self.daemon.kill()
        self.addCleanup(self.daemon.start_again)
        self.assertEqual(len(list(loader)), STEPS - 3)
        self.assertEqual(len(list(loader)), STEPS)
        self.assertEqual(taken[0]["sample_id"].tolist(), taken[2]["sample_id"].tolist())

    def test_nobody_goes_on_from_its_state(self):
        loader = self.attach()
        loader.next()
        state = loader.state_dict()
        self.assertEqual(state["replay"], 1)
        plain = self.attach(group="plain", replay=0)
        for strict in (True, False):
            with self.assertRaisesRegex(spdld.InvalidError, "SPDLD_REPLAY"):
                plain.load_state_dict(state, strict=strict)
        with self.assertRaisesRegex(spdld.InvalidError, "SPDLD_REPLAY"):
            self.attach(state=state, group="resumed")

    def test_it_leaves_a_shared_stream_alone(self):
        shared = self.spec(share="stream")
        trainer = self.attach(shared, group="trainer", replay=0)
        self.assertFalse(self.attach(shared, group="replay").shared)
        self.assertEqual(sum(1 for _ in trainer), STEPS)

    def test_wrong_numbers(self):
        for number in (33, -1, 1.5, "two"):
            with self.assertRaises(spdld.InvalidError):
                self.attach(replay=number)

    def test_the_environment_makes_any_program_replay_and_tells_its_pace(self):
        program = """
            loader = attach(changes={"order": {"epochs": 4}})
            ids = [batch["sample_id"].tolist() for _ in range(loader.epochs) for batch in loader]
            print(len(ids), len(set(map(tuple, ids))))
        """
        with self.script(program, env={**os.environ, "SPDLD_REPLAY": "1"}) as process:
            output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (0, f"{4 * STEPS} 1\n"), errors)
        self.assertIn("SpdldWarning: this loader replays its first batch", errors)
        self.assertRegex(errors, r"spdld: the replay has ended: this trainer takes \d+\.\d{3} ms a batch")
        self.assertRegex(errors, r"--headspace --trainer-ms \d+\.\d{3}")


if __name__ == "__main__":
    sys.exit(unittest.main())
