"""Jobs that share a stream."""
import unittest

import spdld
from case import STEPS, DaemonCase


def seen(batch):
    return batch.epoch, batch.step, batch["sample_id"].tolist(), batch["image"].tobytes()


class Shared(DaemonCase):
    def spec(self, **changes):
        return super().spec(**{"share": "stream", "order": {"epochs": 0}, "seed": 5, **changes})

    def job(self, name, **options):
        return self.attach(group=f"{self.id()}-{name}", **options)

    def test_jobs_get_the_same_batches(self):
        a, b = self.job("a"), self.job("b")
        self.assertTrue(a.shared and b.shared)
        for _ in range(3 * STEPS):
            one, other = a.next() or a.next(), b.next() or b.next()
            self.assertEqual(seen(one), seen(other))

    def test_where_one_comes_in(self):
        early = self.job("early")
        state = early.state_dict()
        for _ in range(40):
            early.next()
        self.assertEqual(self.job("epoch", join="epoch").position[1], 0)
        self.assertGreater(self.job("epoch2", join="epoch").position[0], 0)
        now, exact, alone = self.job("now"), self.job("state", state=state), self.job("alone", join="alone")
        self.assertGreater(now.position, (1, 0))
        self.assertEqual([exact.position, alone.position], [(0, 0), (0, 0)])
        self.assertEqual([now.shared, exact.shared, alone.shared], [True, False, False])
        with self.assertRaisesRegex(spdld.InvalidError, '"now", "exact", "epoch" or "alone"'):
            self.job("x", join="later")

    def test_other_batch_sizes(self):
        one, other = self.job("one"), self.job("other", batch_size=3)
        self.assertTrue(one.shared and other.shared)
        self.assertEqual([one.info.batch_size, other.info.batch_size], [4, 3])
        ids = {one: [], other: []}
        for _ in range(20):
            behind = min(ids, key=lambda loader: len(ids[loader]))
            batch = behind.next() or behind.next()
            ids[behind] += batch["sample_id"].tolist()
        common = min(map(len, ids.values()))
        self.assertGreater(common, 30)
        self.assertEqual(ids[one][:common], ids[other][:common])
        with self.assertRaisesRegex(spdld.InvalidError, "batch_size"):
            self.job("wrong", batch_size=-1)

    def test_seeking_leaves_the_stream(self):
        stays, goes = self.job("stays"), self.job("goes")
        first = seen(goes.next())
        self.assertEqual(seen(stays.next()), first)
        held = goes.next()
        before = seen(held)
        goes.seek(5, 2)
        self.assertEqual(goes.next().step, 2)
        self.assertFalse(goes.shared)
        self.assertEqual(seen(held), before)
        self.assertEqual(seen(stays.next()), before)
        self.assertTrue(stays.shared)
        goes.close()
        with self.assertRaises(spdld.InvalidError):
            goes.shared


if __name__ == "__main__":
    unittest.main()
