"""Lists of batches, kept rows and itertools.cycle, as docs/trainers.md tells of them, with both kinds of loaders."""
import itertools
import unittest

import numpy as np

import spdld
from case import STEPS
from torch_case import TorchCase

SHORT = {"size": 4}  # an epoch of 6 batches, which is what a trainer may hold
LONG = {"size": 2}


class Kept(TorchCase):
    def loaders(self, batch, **order):
        """Of both kinds; each gives an image by its name."""
        spec = self.spec(order={"epochs": 0, **order}, batch=batch)
        for kind, make in (("attach", self.attach), ("torch", self.torch_loader)):
            loader = make(spec, group=f"{self.id()} {kind}", held_wait=0)
            with self.subTest(kind):
                yield loader
            loader.close()

    def test_a_list_holds_all_batches_of_an_epoch(self):
        for loader in self.loaders(SHORT):
            batches = list(loader)
            self.assertEqual((len(batches), len(loader)), (STEPS, STEPS))
            images = [np.array(batch["image"]) for batch in batches]
            self.assertEqual(len({image.tobytes() for image in images}), STEPS)  # none was written over by a later one
            del batches

    def test_a_list_of_a_longer_epoch_is_refused_and_copies_are_not(self):
        for loader in self.loaders(LONG):
            with self.assertRaisesRegex(spdld.LimitError, "held"):
                list(loader)
        loader = self.attach(self.spec(batch=LONG), group="copies")
        kept = [batch.copy() for batch in loader]
        self.assertEqual(len({batch["image"].tobytes() for batch in kept}), 2 * STEPS)

    def test_a_kept_row_holds_its_batch_and_a_copy_does_not(self):
        loader = self.attach(self.spec(order={"epochs": 0}))
        for keep, held in ((lambda batch: batch["image"][0], 1), (lambda batch: batch["image"][1:3, ::2], 1),
                           (lambda batch: batch["image"][0].copy(), 0), (lambda batch: batch["label"][0:1], 0)):
            loader.set_epoch(0)
            kept = keep(loader.next())
            before = np.array(kept)
            for _ in range(STEPS):  # each slot is filled anew, but for a held one
                loader.next()
            np.testing.assert_array_equal(kept, before)
            self.await_held(held)
            del kept
            self.await_held(0)
        loader.close()

    def test_a_clone_of_torch_holds_nothing(self):
        loader = self.torch_loader(self.spec(order={"epochs": 0}))
        batches = iter(loader)
        row = next(batches)["image"][0]
        next(batches)
        self.await_held(1)
        row = row.clone()
        next(batches)
        self.await_held(0)
        self.assertEqual(tuple(row.shape), (32, 32, 3))

    def test_cycle_gives_the_first_round_again_and_holds_it(self):
        for loader in self.loaders(SHORT, shuffle=True):
            rounds = list(itertools.islice(itertools.cycle(loader), 2 * STEPS + 1))
            for first, again in zip(rounds, rounds[STEPS:]):
                self.assertIs(first, again)
            del rounds, first, again
        for loader in self.loaders(LONG):
            with self.assertRaises(spdld.LimitError):
                for _ in itertools.islice(itertools.cycle(loader), 2 * STEPS):
                    pass

    def test_a_generator_gives_rounds_of_an_order_of_their_own(self):
        def rounds(loader):
            while True:
                yield from loader

        for loader in self.loaders(LONG, shuffle=True):
            seen = [batch["sample_id"].tolist() for batch in itertools.islice(rounds(loader), 6 * STEPS)]
            each = [seen[start:start + 2 * STEPS] for start in range(0, 6 * STEPS, 2 * STEPS)]
            self.assertEqual([sorted(itertools.chain(*one)) for one in each], [sorted(itertools.chain(*each[0]))] * 3)
            self.assertEqual(len({str(one) for one in each}), 3)


if __name__ == "__main__":
    unittest.main()
