"""A loader's place as a dict: what follows it is what would have followed."""
import copy
import json
import pickle
import threading
import unittest

import spdld
from case import BATCH, SAMPLES, STEPS, DaemonCase


def ids(batches):
    return [(batch.epoch, batch.step, batch["sample_id"].tolist(), batch["image"].tobytes()) for batch in batches]


def whole(loader):
    """Every batch to the end."""
    return [each for _ in range(2) for each in ids(loader)]


class States(DaemonCase):
    def spec(self, **changes):
        return super().spec(**{"order": {"epochs": 2, "shuffle": True}, "seed": 3, **changes})

    def other(self, loader, **options):
        loader.close()
        return self.attach(**options)

    def test_it_is_small_and_says_where(self):
        loader = self.attach()
        for _ in range(2):
            loader.next()
        state = loader.state_dict()
        keys = state.pop("keys")
        self.assertLess(len(keys), 4097)
        self.assertEqual(state, {"format": 1, "pipeline": "small", "fingerprint": loader.info.fingerprint, "seed": 3,
                                 "epoch": 0, "step": 2, "samples": 2 * BATCH, "global_size": BATCH, "world_size": 1})
        self.assertTrue(all(type(value) in (int, str) for value in [*state.values(), keys]))

    def test_what_follows_is_what_would_have_followed(self):
        loader = self.attach()
        undisturbed = whole(loader)
        for taken in range(2 * STEPS + 1):
            loader.seek(0)
            states = [loader.state_dict()]
            for _ in range(taken):
                batch = None
                while batch is None:  # the end of an epoch is no batch
                    batch = loader.next()
                states.append(loader.state_dict())  # with the batch in hand
            state = pickle.loads(pickle.dumps(json.loads(json.dumps(states[-1]))))
            with self.subTest(state=state):
                self.assertEqual(loader.position, (taken // STEPS, taken % STEPS))
                loader = self.other(loader, state=state)
                self.assertEqual(whole(loader), undisturbed[taken:])
                loader.load_state_dict(state)
                self.assertEqual(whole(loader), undisturbed[taken:])

    def test_another_world_size_at_the_same_global_batch(self):
        spec = self.spec(batch={"global_size": 12})

        def steps(loaders):
            return [sorted(sum((batch["sample_id"].tolist() for batch in step), [])) for step in zip(*loaders)]

        def ranks(world_size, **options):
            return [self.attach(spec, group=f"{self.id()} {world_size}", rank=rank, world_size=world_size, **options)
                    for rank in range(world_size)]

        alone, = ranks(1)
        expected = steps([alone]) + steps([alone])
        three = ranks(3)
        for loader in three:
            loader.next()
        state = three[2].state_dict()
        self.assertEqual((state["samples"], state["world_size"]), (12, 3))
        for world_size in (2, 4):
            again = ranks(world_size, state=state)
            self.assertEqual(steps(again) + steps(again), expected[1:])

    def test_another_run_is_refused_with_what_differs(self):
        state = self.attach().state_dict()
        flipped = [{**self.spec()["output"][0], "ops": [{"op": "decode-image"}, {"op": "resize", "size": [16, 32]},
                                                        {"op": "horizontal-flip", "p": 0.5}]}]
        for name, changes, words in (("seed", {"seed": 4}, r"the pipeline's spec differs \(seed has another value\)"),
                                     ("ops", {"output": flipped},
                                      r"the code that makes the samples and the pipeline's spec differ \(output, "
                                      r"output.image.ops and output.image.ops.resize.size have "
                                      r"other values; output.image.ops.horizontal-flip is new; output.label is gone\)"),
                                     ("part", {"order": {**self.spec()["order"], "part": {"of": 2, "index": 1}}},
                                      r"the data set's listing differs \(order.part is new\)"),
                                     ("batch", {"batch": {"size": 6}}, "the global batch size")):
            spec = self.spec(name=name, **changes)
            with self.assertRaisesRegex(spdld.ChangedError, words + ".*strict=False"):
                self.attach(spec, state=state)
            loader = self.attach(spec)
            with self.assertRaisesRegex(spdld.ChangedError, words + ".*strict=False"):
                loader.load_state_dict(state)

    def test_another_run_by_force(self):
        state = self.attach().state_dict()
        loader = self.attach(self.spec(name="six", batch={"size": 6}), group="six")
        loader.load_state_dict({**state, "step": 4, "samples": 16}, strict=False)
        self.assertEqual(loader.position, (0, 2))  # 16 samples are two steps of 6 and a part
        loader.load_state_dict({**state, "step": SAMPLES, "samples": SAMPLES * BATCH}, strict=False)
        self.assertEqual(loader.position, (1, 0))
        with self.assertRaisesRegex(spdld.InvalidError, "2 epochs"):
            loader.load_state_dict({**state, "epoch": 3}, strict=False)

    def test_what_is_no_state(self):
        loader = self.attach()
        state = loader.state_dict()
        for wrong, words in (("x", "str"), ({}, "format"), ({**state, "step": -1}, "whole number"),
                             ({**state, "step": 1.0}, "not whole"), ({**state, "step": True}, "whole number"),
                             ({**state, "step": object()}, "object"),
                             ({**state, "step": float("nan")}, "did not give this state"),
                             ({**state, "step": 2**64}, "too large"), ({**state, "format": 2}, "update it"),
                             ({**state, "keys": "seed"}, "no digests of keys"), ({**state, "format": 0}, "format"),
                             ({**state, "more": 1}, "more"), ({**state, 5: 1}, '"5"')):
            with self.subTest(wrong), self.assertRaisesRegex(spdld.InvalidError, words):
                loader.load_state_dict(wrong)
            with self.subTest(wrong), self.assertRaisesRegex(spdld.InvalidError, words):
                self.attach(group="other", state=wrong)
        with self.assertRaisesRegex(spdld.InvalidError, "not both"):
            self.attach(group="other", state=state, epoch=1)
        self.assertEqual(loader.position, (0, 0))

    def test_it_survives_the_daemon(self):
        loader = self.attach()
        undisturbed = whole(loader)
        loader.seek(0, 2)
        state = loader.state_dict()
        loader.close()
        self.daemon.kill()
        self.daemon.start_again()
        self.assertEqual(whole(self.attach(state=copy.deepcopy(state))), undisturbed[2:])

    def test_while_another_thread_waits_for_a_batch(self):
        loader = self.attach(held_max=1)
        held, errors = loader.next(), []

        def wait():
            try:
                loader.next(timeout=20)
            except spdld.Error as error:
                errors.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        state = loader.state_dict()
        self.assertIn(state["step"], (1, 2))
        held.release()
        thread.join(20)
        self.assertFalse(thread.is_alive())
        loader.close()
        with self.assertRaisesRegex(spdld.InvalidError, "closed"):
            loader.state_dict()


if __name__ == "__main__":
    unittest.main()
