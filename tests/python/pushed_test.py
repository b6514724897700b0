"""spdld.torch with samplers: the daemon follows the order that torch gives."""
import random
import unittest

import torch
from torch.utils.data import (BatchSampler, DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler,
                              WeightedRandomSampler)

import spdld
import spdld.torch
from case import BATCH, SAMPLES, DaemonCase
from torch_case import TorchCase, ids

FLIPS = [{"op": "decode-image"}, {"op": "random-resized-crop", "size": 32}]


class Uneven:
    """A batch sampler whose batches have any sizes; another order in each epoch."""

    def __init__(self, steps=9):
        self.steps = steps
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        draw = random.Random(self.epoch)
        return iter([[draw.randrange(SAMPLES) for _ in range(draw.randint(1, BATCH))] for _ in range(self.steps)])

    def __len__(self):
        return self.steps


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def batches_of(sampler, epochs=1, drop_last=False):
    """What torch's DataLoader would load, by epoch."""
    return [list(BatchSampler(sampler, BATCH, drop_last)) for _ in range(epochs)]


class PushedCase(TorchCase):
    def spec(self, **changes):
        return super().spec(**{"order": {}, **changes})

    def random_crops(self, **changes):
        return self.spec(output=[{"name": "image", "from": "image", "ops": FLIPS}], **changes)


class Orders(PushedCase):
    def test_a_samplers_own_order_over_epochs(self):
        data = range(SAMPLES)
        weights = [1.0 + number % 5 for number in data]
        for name, make in {
                "random": lambda: RandomSampler(data, generator=seeded(3)),
                "replaced": lambda: RandomSampler(data, replacement=True, num_samples=50, generator=seeded(4)),
                "weighted": lambda: WeightedRandomSampler(weights, 37, generator=seeded(5)),
                "subset": lambda: SubsetRandomSampler([1, 5, 9, 13, 21], generator=seeded(6)),
                "sequential": lambda: SequentialSampler(data)}.items():
            with self.subTest(name):
                loader = self.torch_loader(sampler=make(), group=name)
                expected = batches_of(make(), 3)
                self.assertEqual(len(loader), len(expected[0]))
                self.assertEqual([ids(loader) for _ in range(3)], expected)
                loader.close()

    def test_the_same_pictures_as_in_the_daemons_order(self):
        plain = {sample: image.copy() for batch in self.attach(group="plain", framework="numpy")
                 for sample, image in zip(batch["sample_id"].tolist(), batch["image"])}
        for batch in self.torch_loader(sampler=RandomSampler(range(SAMPLES))):
            for sample, image in zip(batch["sample_id"].tolist(), batch["image"]):
                self.assertTrue((image.numpy() == plain[sample]).all())

    def attach(self, pipeline=None, **options):
        return super().attach(DaemonCase.spec(self) if pipeline is None else pipeline, **options)

    def test_a_batch_sampler_of_uneven_sizes(self):
        loader = self.torch_loader(batch_sampler=Uneven())
        expected = Uneven()
        self.assertEqual(len(loader), len(expected))
        for epoch in range(3):
            expected.set_epoch(epoch)
            self.assertEqual(loader.epoch, epoch)
            self.assertEqual(ids(loader), list(expected))

    def test_drop_last(self):
        loader = self.torch_loader(self.spec(batch={"size": 5}), sampler=SequentialSampler(range(SAMPLES)), drop_last=True)
        self.assertEqual(len(loader), SAMPLES // 5)
        self.assertEqual(sum(ids(loader), []), list(range(SAMPLES // 5 * 5)))

    def test_an_iterator_that_is_dropped_at_its_beginning(self):
        class Anew:
            """Another order each time that it is iterated."""
            times = 0

            def __iter__(self):
                self.times += 1
                return iter([[self.times, number] for number in range(12)])
        loader = self.torch_loader(batch_sampler=Anew())
        iter(loader)  # pushes, and takes nothing
        self.assertEqual(ids(loader, 2), [[2, 0], [2, 1]])
        self.assertEqual(ids(loader), [[3, number] for number in range(12)])
        self.assertEqual(loader.epoch, 2)

    def test_two_ranks_share_an_epoch_by_a_distributed_sampler(self):
        for last in (SAMPLES, SAMPLES - 1):
            data = range(last)
            loaders = [self.torch_loader(sampler=DistributedSampler(data, 2, rank, seed=9), rank=rank, world_size=2,
                                         group=f"{self.id()}-{last}") for rank in range(2)]
            orders = []
            for epoch in range(2):
                seen = [sum(ids(loader), []) for loader in loaders]
                self.assertEqual(len(seen[0]), len(seen[1]))
                both = sorted(seen[0] + seen[1])
                self.assertEqual(sorted(set(both)), list(data))
                self.assertEqual(len(both), SAMPLES)  # every sample once, but for the one that evens the ranks out
                orders.append(seen)
            self.assertNotEqual(orders[0], orders[1])
            for loader in loaders:
                loader.close()

    def test_copies_of_a_sample_look_different_and_a_replay_is_the_same(self):
        def pictures(group):
            loader = self.torch_loader(self.random_crops(), batch_sampler=[[3, 3, 3], [3]], group=group)
            return [batch["image"].clone() for _ in range(2) for batch in loader]
        first, again = pictures("first"), pictures("again")
        self.assertTrue(all(torch.equal(one, other) for one, other in zip(first, again)))
        every = [image.numpy().tobytes() for batch in first for image in batch]
        self.assertEqual(len(every), 8)
        self.assertEqual(len(set(every)), 8)


class Places(PushedCase):
    def test_going_on_in_the_middle(self):
        loader = self.torch_loader(self.random_crops(), batch_sampler=Uneven())
        whole = [[(batch["sample_id"].tolist(), batch["image"].clone()) for batch in loader] for _ in range(2)]
        for taken in (1, 4, 8, 9):
            loader.set_epoch(0)
            ids(loader, taken)
            state = loader.state_dict()
            other = self.torch_loader(self.random_crops(), batch_sampler=Uneven(), group=f"other-{taken}", state=state)
            rest = [(batch["sample_id"].tolist(), batch["image"].clone()) for batch in other]
            expected = whole[0][taken:] if taken < 9 else whole[1]
            self.assertEqual([one[0] for one in rest], [one[0] for one in expected])
            self.assertTrue(all(torch.equal(one[1], same[1]) for one, same in zip(rest, expected)))
            other.load_state_dict(state)
            self.assertEqual(ids(other), [one[0] for one in expected])
            other.close()

    def test_another_sampler_than_that_of_the_place(self):
        loader = self.torch_loader(batch_sampler=Uneven())
        ids(loader, 7)
        other = self.torch_loader(batch_sampler=Uneven(steps=5), group="other", state=loader.state_dict())
        with self.assertRaisesRegex(spdld.InvalidError, "gives 5 batches, and the place is step 7"):
            iter(other)

    def test_the_state_of_the_daemons_order_is_refused(self):
        state = self.attach(DaemonCase.spec(self), group="plain").state_dict()
        with self.assertRaisesRegex(spdld.ChangedError, "the pipeline's spec differs"):
            self.torch_loader(batch_sampler=Uneven(), state=state)

    def test_a_daemon_that_is_killed_and_comes_back(self):
        expected = []
        for epoch in range(4):
            sampler = Uneven(20)
            sampler.set_epoch(epoch)
            expected.append(list(sampler))
        loader = self.torch_loader(batch_sampler=Uneven(20), reconnect=20)
        seen = []
        for epoch in range(4):
            seen.append([])
            for number, batch in enumerate(loader):
                seen[-1].append(batch["sample_id"].tolist())
                if number in (3 * epoch, 11, 19):
                    self.daemon.kill()
                    self.daemon.start_again()
        self.assertEqual(seen, expected)

    def test_a_trainer_that_is_killed(self):
        text = """
            import json, random
            import spdld.torch
            from case import spec_of
            from pushed_test import Uneven, ids
            folder, state, kill_after = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
            loader = spdld.torch.Loader(spec_of(folder, order={}), batch_sampler=Uneven(), socket=sys.argv[4],
                                        group="killed", **({"state": state} if state else {}))
            done = 0
            while loader.epoch < 2:
                for batch in loader:
                    print(json.dumps([batch["sample_id"].tolist(), loader.state_dict()]), flush=True)
                    done += 1
                    if done == kill_after:
                        os.kill(os.getpid(), signal.SIGKILL)
            """
        import json
        expected = []
        for epoch in range(2):
            sampler = Uneven()
            sampler.set_epoch(epoch)
            expected += list(sampler)
        seen, state = [], None
        for kill_after in (3, 5, 1, 2, 0):
            with self.script(text, self.pictures, json.dumps(state), kill_after, self.daemon.socket) as process:
                output, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (-9 if kill_after else 0, ""))
            for line in output.splitlines():
                told, state = json.loads(line)
                seen.append(told)
        self.assertEqual(seen, expected)


class Mistakes(PushedCase):
    def test_what_does_not_fit_together(self):
        sampler = SequentialSampler(range(SAMPLES))
        for sentence, pipeline, options in (
                ("give one of them", None, {"sampler": sampler, "batch_sampler": Uneven()}),
                ("has its own order, and a sampler is given", self.spec(order={"shuffle": True}), {"sampler": sampler}),
                ("give sampler or batch_sampler", self.spec(order={"shuffle": "client"}), {}),
                ("drop_last belongs to a sampler", None, {"drop_last": True}),
                ("by its one reader", None, {"sampler": sampler, "replica": 0, "replicas": 2})):
            with self.subTest(sentence), self.assertRaisesRegex(spdld.InvalidError, sentence):
                self.torch_loader(pipeline, **options)

    def test_samples_and_batches_that_are_none(self):
        for sentence, batches in (("names sample 24, and the data set has 24", [[0], [SAMPLES]]),
                                  ("from 0, and not as -1", [[-1]]),
                                  ("has 5 samples, and a batch of this rank at most 4", [[1, 2, 3, 4, 5]]),
                                  ("has no samples", [[]]),
                                  ("an epoch at least one step", [])):
            loader = self.torch_loader(batch_sampler=batches, group=sentence[:40])
            with self.subTest(sentence), self.assertRaisesRegex(spdld.InvalidError, sentence):
                ids(loader)

    def test_without_a_length(self):
        class Endless:
            def __iter__(self):
                while True:
                    yield [1, 2]
        loader = self.torch_loader(batch_sampler=Endless())
        with self.assertRaises(TypeError):
            len(loader)
        self.assertEqual(ids(loader, 50), [[1, 2]] * 50)


class ByHand(PushedCase):
    def loader(self, **options):
        return self.attach(self.spec(order={"shuffle": "client", **options}))

    def test_push_and_next(self):
        loader = self.attach(self.spec(name="by-hand", order={"shuffle": "client"}))
        self.assertTrue(loader.info.pushed)
        self.assertEqual((loader.info.steps_per_epoch, loader.epochs), (0, 0))
        with self.assertRaises(TypeError):
            len(loader)
        with self.assertRaisesRegex(spdld.InvalidError, "no samples were pushed"):
            loader.next()
        loader.push(0, 0, [5, 5])
        loader.push(0, 1, torch.tensor([7]), last=True)
        loader.push(1, 0, range(3))
        self.assertEqual([batch["sample_id"].tolist() for batch in loader], [[5, 5], [7]])
        self.assertEqual(loader.position, (1, 0))
        self.assertEqual(loader.next()["sample_id"].tolist(), [0, 1, 2])
        loader.push(1, 1, (), last=True)
        self.assertEqual(loader.position, (2, 0))
        self.assertIsNone(loader.next())
        described = spdld.query("describe", "by-hand", socket=self.daemon.socket)
        self.assertEqual([ring["steps_per_epoch"] for ring in described["rings"]], [0])
        self.assertEqual(described["spec"]["order"]["shuffle"], "client")

    def test_only_the_bound_is_pushed_ahead(self):
        loader = self.loader()
        for step in range(256):
            loader.push(0, step, [step % SAMPLES])
        with self.assertRaisesRegex(spdld.LimitError, "256 steps of 256 samples are pushed ahead"):
            loader.push(0, 256, [1])
        for step in range(256):
            self.assertEqual(loader.next()["sample_id"].tolist(), [step % SAMPLES])

    def test_one_epoch_again(self):
        loader = self.loader(epochs=1)
        for _ in range(2):
            loader.seek(0)
            loader.push(0, 0, [1, 2], last=True)
            self.assertEqual([batch["sample_id"].tolist() for batch in loader], [[1, 2]])


if __name__ == "__main__":
    unittest.main()
