"""A usual training program: a train and a val loader in one process, epochs, validation after each, an epoch that is left
and gone on with; and what the daemon says of it: nothing is attached or listed again."""
import unittest

import spdld
import spdld.torch
from case import SAMPLES, STEPS, WAIT_S, DaemonCase


def ids(batches, epoch, count=None):
    """Of so many batches, or of all; they must be of this epoch, in its order."""
    seen = []
    for batch in batches:
        assert (batch.epoch, batch.step) == (epoch, len(seen)), (batch.epoch, batch.step, epoch, len(seen))
        seen.append(batch["sample_id"].tolist())
        if len(seen) == count:
            break
    return seen


class Training(DaemonCase):
    TRAIN, VAL = {"name": "train", "order": {"epochs": 0}}, {"name": "val", "order": {"shuffle": False}}

    def options(self):
        return {"socket": self.daemon.socket, "group": self.id(), "timeout": WAIT_S}

    def told(self):
        """Which sessions are attached, which pipelines are open, and how each was listed."""
        sessions = spdld.query("status", socket=self.daemon.socket)["sessions"]
        open_ones = spdld.query("list", socket=self.daemon.socket)["pipelines"]
        return ([(session["id"], session["attachments"]) for session in sessions if session["attachments"]],
                sorted(pipeline["name"] for pipeline in open_ones),
                [spdld.query("describe", pipeline["name"], socket=self.daemon.socket)["listing"] for pipeline in open_ones])

    def torch_loader(self, **changes):
        loader = spdld.torch.Loader(self.spec(**changes), convert=lambda batch: batch, **self.options())
        self.addCleanup(loader.close)
        return loader

    def test_by_spdld_torch(self):
        train, val = self.torch_loader(**self.TRAIN), self.torch_loader(**self.VAL)
        before = self.told()
        self.assertEqual(len(before[0]), 2)
        self.assertLessEqual({"train", "val"}, set(before[1]))
        whole = []
        for epoch in range(4):
            train.set_epoch(epoch)
            whole.append(ids(train, epoch))
            self.assertEqual(sorted(sum(whole[-1], [])), list(range(SAMPLES)))
            self.assertEqual(sum(ids(val, 0), []), list(range(SAMPLES)))
        self.assertEqual(len({str(order) for order in whole}), 4)

        train.set_epoch(1)  # validation in the middle of an epoch that then goes on
        halves = iter(train)
        seen = [next(halves)["sample_id"].tolist() for _ in range(2)]
        self.assertEqual(sum(ids(val, 0), []), list(range(SAMPLES)))
        seen += [batch["sample_id"].tolist() for batch in halves]
        self.assertEqual(seen, whole[1])

        train.set_epoch(2)  # left for good, and the next one is whole
        self.assertEqual(ids(train, 2, 3), whole[2][:3])
        self.assertEqual(ids(val, 0, 2), [[0, 1, 2, 3], [4, 5, 6, 7]])  # a look at a part, and again at all
        self.assertEqual(ids(train, 3), whole[3])
        self.assertEqual(sum(ids(val, 0), []), list(range(SAMPLES)))

        train.set_epoch(0)  # left, and gone on with by its state
        self.assertEqual(ids(train, 0, 4), whole[0][:4])
        state = train.state_dict()
        train.set_epoch(3)
        self.assertEqual(ids(train, 3), whole[3])
        train.load_state_dict(state)
        self.assertEqual([batch["sample_id"].tolist() for batch in train], whole[0][4:])
        self.assertEqual(train.epoch, 1)
        self.assertEqual(self.told(), before)

    def test_by_spdld(self):
        train, val = (self.attach(self.spec(**changes)) for changes in (self.TRAIN, self.VAL))
        before = self.told()
        whole = []
        for epoch in range(3):
            whole.append(ids(train, epoch))
            self.assertEqual(sum(ids(val, 0), []), list(range(SAMPLES)))
        train.set_epoch(1)
        self.assertEqual(ids(train, 1, 2), whole[1][:2])
        self.assertEqual(sum(ids(val, 0), []), list(range(SAMPLES)))
        self.assertEqual([batch["sample_id"].tolist() for batch in train], whole[1][2:])  # the rest, as its `for` says
        self.assertEqual(ids(train, 2), whole[2])
        self.assertEqual(self.told(), before)

    def test_a_run_of_one_epoch_that_had_ended_is_not_begun_anew(self):
        val = self.attach(self.spec(**self.VAL))
        self.assertEqual(len(ids(val, 0)), STEPS)
        other = self.attach(self.spec(**self.VAL), group="other", state=val.state_dict())
        self.assertEqual(ids(other, 0), [])
        self.assertIsNone(val.next())
        self.assertEqual(len(ids(val, 0)), STEPS)
        val.seek(1)
        self.assertEqual(ids(val, 0), [])
        with self.attach(self.spec(name="two", order={"epochs": 2})) as two:
            self.assertEqual([len(list(two)) for _ in range(4)], [STEPS, STEPS, 0, 0])


if __name__ == "__main__":
    unittest.main()
