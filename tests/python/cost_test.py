"""Batches that are bounded by their cost, against a model of the promises and over every rank."""
import unittest
from pathlib import Path

import numpy as np
from case import DaemonCase, spec_of
from PIL import Image

import spdld

EPOCHS, LARGEST = 2, 70 * 50


class Buckets(DaemonCase):
    """Pictures of many sizes. The listing is in the order of their names, so that a sample's id is its number."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.varied = Path(cls.folder.name) / "varied"
        (cls.varied / "one").mkdir(parents=True)
        random = np.random.default_rng(4)
        cls.pixels = []
        for number in range(60):
            width, height = (int(n) for n in random.integers(8, (70, 50)))
            if number == 17:
                width, height = 70, 50
            cls.picture(number, width, height)
            cls.pixels.append(width * height)
        cls.bytes = [cls.file(number).stat().st_size for number in range(60)]

    @classmethod
    def file(cls, number):
        return cls.varied / "one" / f"{number:03}.jpg"

    @classmethod
    def picture(cls, number, width, height):
        colours = np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(colours).save(cls.file(number))

    def costly(self, order=None, **batch):
        return spec_of(self.varied, name="costly", order={"epochs": EPOCHS, **(order or {})},
                       batch={"cost_max": 9000, "cost": "pixels", "buckets": 6, **batch})

    def epochs(self, loader, costs, cost_max):
        """The ids of each step of what is left; each batch is within its bound."""
        steps = []
        while not steps or steps[-1][0][0] < EPOCHS - 1:
            for batch in loader:
                ids = batch["sample_id"].tolist()
                self.assertEqual(len(ids), batch.valid)
                self.assertLessEqual(batch.valid, loader.info.batch_size)
                self.assertLessEqual(len(ids) * max((costs[i] for i in ids), default=0), cost_max)
                steps.append(((batch.epoch, batch.step), ids, batch["image"].tobytes()))
                batch.release()
        return steps

    def check(self, spec, costs, cost_max, last="short"):
        for world_size in (1, 2, 3, 5):
            with self.subTest(world_size=world_size, last=last):
                loaders = [self.attach(spec, rank=rank, world_size=world_size, group=f"{self.id()}-{world_size}-{last}")
                           for rank in range(world_size)]
                of_ranks = [self.epochs(loader, costs, cost_max) for loader in loaders]
                steps = len(loaders[0])
                self.assertGreater(steps, 2)
                for loader, seen in zip(loaders, of_ranks):
                    self.assertEqual(len(loader), steps)
                    self.assertEqual([place for place, _, _ in seen],
                                     [(e, s) for e in range(EPOCHS) for s in range(steps)])
                for epoch in range(EPOCHS):
                    ids = [i for seen in of_ranks for (e, _), step, _ in seen if e == epoch for i in step]
                    if last == "short":
                        self.assertEqual(sorted(ids), list(range(60)))
                    elif last == "drop":
                        self.assertEqual(len(ids), len(set(ids)))
                    else:
                        self.assertEqual(set(ids), set(range(60)))
                for loader in loaders:
                    loader.close()

    def test_every_sample_comes_once_within_the_bound_and_in_as_many_steps_on_each_rank(self):
        self.check(self.costly(), self.pixels, 9000)
        self.check(self.costly(order={"shuffle": False}), self.pixels, 9000)
        self.check(self.costly(last="pad"), self.pixels, 9000, "pad")
        self.check(self.costly(last="drop", buckets=1), self.pixels, 9000, "drop")

    def test_bytes_are_a_cost_too(self):
        self.check(self.costly(cost="bytes", cost_max=12000, size_max=9), self.bytes, 12000)

    def test_it_goes_on_at_every_step(self):
        spec = self.costly()
        for rank in range(2):
            def attach(**options):
                return self.attach(spec, rank=rank, world_size=2, **options)

            undisturbed = self.epochs(loader := attach(), self.pixels, 9000)
            steps = len(loader)
            loader.close()
            for at in range(0, len(undisturbed), 3):
                loader = attach()
                taken = 0
                while taken < at:
                    batch = loader.next()  # None where an epoch ends
                    if batch is not None:
                        batch.release()
                        taken += 1
                state = loader.state_dict()
                loader.close()
                loader = attach(state=state)
                self.assertEqual(self.epochs(loader, self.pixels, 9000), undisturbed[at:])
                loader.close()
            loader = attach()
            loader.seek(1, 2)
            self.assertEqual(self.epochs(loader, self.pixels, 9000), undisturbed[steps + 2:])

    def test_jobs_share_a_stream(self):
        spec = {**self.costly(), "share": "stream", "name": "shared"}
        one, other = (self.attach(spec, group=f"{self.id()}-{job}") for job in "ab")
        rings = spdld.query("describe", "shared", socket=self.daemon.socket)["rings"]
        self.assertEqual([len(ring["jobs"]) for ring in rings if ring["shared"]], [2])
        for step in range(len(one)):
            a, b = one.next(), other.next()
            self.assertEqual(a["sample_id"].tolist(), b["sample_id"].tolist(), step)
            a.release()
            b.release()

    def test_another_size_of_one_file_is_another_run(self):
        loader = self.attach(self.costly())
        loader.next().release()
        state = loader.state_dict()
        loader.close()
        before = self.file(30).read_bytes()
        self.addCleanup(lambda: self.file(30).write_bytes(before))
        self.picture(30, 33, 33)
        with self.assertRaises(spdld.ChangedError):
            self.attach({**self.costly(), "name": "costly-again"}, state=state, group=self.id() + "-again")

    def test_samples_that_cost_too_much(self):
        with self.assertRaisesRegex(spdld.Error, r"1 sample costs more than the 3499 pixels .*017.jpg with 3500"):
            self.attach(self.costly(cost_max=LARGEST - 1))
        loader = self.attach({**self.costly(cost_max=LARGEST - 1, cost_over="leave-out"), "name": "left-out"})
        seen = self.epochs(loader, self.pixels, LARGEST - 1)
        ids = [i for (epoch, _), step, _ in seen if epoch == 0 for i in step]
        self.assertEqual(sorted(ids), [i for i in range(60) if i != 17])
        described = spdld.query("describe", "left-out", socket=self.daemon.socket)
        self.assertIn("left out, as batch.cost_over says", str(described["listing"]["remarks"]))
        with self.assertRaisesRegex(spdld.Error, "no sample is left"):
            self.attach({**self.costly(cost_max=1, cost_over="leave-out"), "name": "none-left"})

    def test_a_batch_size_is_refused(self):
        with self.assertRaisesRegex(spdld.Error, "bounded by batch.cost_max"):
            self.attach(self.costly(), batch_size=4)

    def test_describe_shows_the_buckets(self):
        loader = self.attach(self.costly())
        described = spdld.query("describe", "costly", socket=self.daemon.socket)
        buckets = described["buckets"]
        self.assertLessEqual(len(buckets), 6)
        self.assertEqual(sum(bucket["samples"] for bucket in buckets), 60)
        self.assertEqual(buckets[-1]["edge"], LARGEST)
        below, steps = -1, 0
        for bucket in buckets:
            inside = [p for p in self.pixels if below < p <= bucket["edge"]]
            self.assertEqual(bucket["samples"], len(inside))
            self.assertEqual(bucket["batch_size"], 9000 // bucket["edge"])
            self.assertAlmostEqual(bucket["padding"], 1 - sum(inside) / (len(inside) * bucket["edge"]))
            steps += -(-len(inside) // bucket["batch_size"])
            below = bucket["edge"]
        self.assertEqual(len(loader), steps)
        self.assertLess(described["padding"]["of_buckets"], described["padding"]["of_one_bucket"])


if __name__ == "__main__":
    unittest.main()
