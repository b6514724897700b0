"""The state_dict protocol: spdld.torch.Loader beside torchdata's StatefulDataLoader, each in the same steps."""
import copy
import io
import itertools
import json
import pickle
import unittest

import torch
from torchdata.stateful_dataloader import StatefulDataLoader

from case import BATCH, SAMPLES, STEPS
from torch_case import TorchCase


def batches_of(loader):
    return [batch["sample_id"].tolist() if isinstance(batch, dict) else batch for batch in loader]


class Protocol(TorchCase):
    """An order that is each epoch's, so that both have the same batches."""

    groups = itertools.count()

    def makers(self):
        def ours():
            group = f"{self.id()}-{next(self.groups)}"
            return self.torch_loader(self.spec(order={"epochs": 0, "shuffle": False}), group=group)

        def theirs():
            return StatefulDataLoader(range(SAMPLES), batch_size=BATCH, collate_fn=list)
        return {"spdld": ours, "torchdata": theirs}

    def in_both(self, steps, **arguments):
        """What `steps(make)` gives: the same of both."""
        given = {name: steps(make, **arguments) for name, make in self.makers().items()}
        self.assertEqual(given["spdld"], given["torchdata"])
        return given["spdld"]

    def test_a_state_of_the_middle_goes_on(self):
        def steps(make, taken):
            loader = make()
            batches = iter(loader)
            batches_of(next(batches) for _ in range(taken))
            state = loader.state_dict()
            kept = copy.deepcopy(state)
            batches_of(batches)
            self.assertEqual(state, kept)  # of the moment
            other = make()
            other.load_state_dict(state)
            loader.load_state_dict(state)
            return [(batches_of(each), batches_of(each), len(each)) for each in (other, loader)]

        whole = [list(range(at, at + BATCH)) for at in range(0, SAMPLES, BATCH)]
        for taken in range(STEPS):
            with self.subTest(taken=taken):
                self.assertEqual(self.in_both(steps, taken=taken), [(whole[taken:], whole, STEPS)] * 2)

    def test_a_state_of_after_an_epoch_begins_the_next(self):
        def steps(make):
            loader, other = make(), make()
            batches_of(loader)
            other.load_state_dict(loader.state_dict())
            return batches_of(other), batches_of(loader)

        rest, following = self.in_both(steps)
        self.assertEqual((len(rest), rest), (STEPS, following))

    def test_the_rest_after_the_last_batch_is_empty_once(self):
        """theirs: until the `for` has seen the epoch's end; ours: for a program that says which epoch it is in, since
        ours ends with its last batch, whether or not another is asked for."""
        def steps(make):
            loader, other = make(), make()
            batches = iter(loader)
            batches_of(next(batches) for _ in range(STEPS))
            other.load_state_dict(loader.state_dict())
            if hasattr(other, "set_epoch"):
                other.set_epoch(0)
            return batches_of(other), len(batches_of(other))

        self.assertEqual(self.in_both(steps), ([], STEPS))

    def test_a_state_before_the_first_batch(self):
        def steps(make):
            loader, other = make(), make()
            other.load_state_dict(loader.state_dict())
            return len(batches_of(other))

        self.assertEqual(self.in_both(steps), STEPS)

    def test_a_state_that_was_loaded_is_the_state(self):
        def steps(make):
            loader, other = make(), make()
            next(iter(loader))
            state = loader.state_dict()
            other.load_state_dict(state)
            again = other.state_dict()
            third = make()
            third.load_state_dict(again)
            return again == state, batches_of(third), batches_of(other)

        alike, third, other = self.in_both(steps)
        self.assertTrue(alike)
        self.assertEqual((len(third), third), (STEPS - 1, other))

    def test_a_state_can_be_kept_anywhere(self):
        def through_torch(state):
            file = io.BytesIO()
            torch.save(state, file)
            file.seek(0)
            return torch.load(file)

        def steps(make, kept):
            loader, other = make(), make()
            next(iter(loader))
            other.load_state_dict(kept(loader.state_dict()))
            return batches_of(other)

        ways = {"pickle": lambda state: pickle.loads(pickle.dumps(state)), "torch": through_torch,
                "json": lambda state: json.loads(json.dumps(state)), "copy": copy.deepcopy}
        for name, kept in ways.items():
            with self.subTest(name):
                self.assertEqual(len(self.in_both(steps, kept=kept)), STEPS - 1)


if __name__ == "__main__":
    unittest.main()
