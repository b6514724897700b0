"""What reaches the trainer's process of data with faults: warnings, counts and reasons, and no batch is lost by them."""
import json
import unittest
import warnings
from pathlib import Path

import spdld
import spdld.torch
from case import BATCH, CLASSES, SAMPLES, STEPS, DaemonCase

PHOTOSHOP = b"8BPS and so on"


def data_warnings(caught):
    return [warning for warning in caught if warning.category is spdld.DataWarning]


class LastStep(DaemonCase):
    """Ranks share the last step of an epoch evenly, and are told where that cannot be done."""

    def epoch(self, world_size, **changes):
        loaders = [self.attach(self.spec(**changes), rank=rank, world_size=world_size) for rank in range(world_size)]
        return loaders, [[batch["sample_id"].tolist() for batch in loader] for loader in loaders]

    def test_a_step_of_fewer_samples_than_ranks_shares_with_the_step_before(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", spdld.DataWarning)
            loaders, ids = self.epoch(4, batch={"size": 2}, order={"first": 17})
        self.assertEqual([[len(step) for step in rank] for rank in ids], [[2, 2, 1], [2, 1, 1], [2, 1, 1], [2, 1, 1]])
        self.assertEqual(sorted(sum((step for rank in ids for step in rank), [])), list(range(17)))
        self.assertEqual([(loader.info.last_samples, loader.info.empty_steps) for loader in loaders], 4 * [(4, 0)])

    def test_a_state_tells_how_many_samples_came_before_an_evened_step(self):
        loader = self.attach(self.spec(batch={"global_size": 8}, order={"first": 17, "epochs": 2}), rank=0, world_size=4)
        states = [loader.state_dict() for _ in iter(loader.next, None)]
        self.assertEqual([state["samples"] for state in states[:3]], [8, 13, 0])
        again = self.attach(self.spec(batch={"global_size": 8}, order={"first": 17, "epochs": 2}), state=states[0],
                            group="other ranks")
        self.assertEqual(len(again.next()["sample_id"]), 8)
        with self.assertRaisesRegex(spdld.ChangedError, "the division of an epoch's last steps among the ranks differs"):
            again.load_state_dict(states[1])

    def test_attach_warns_where_ranks_get_no_samples(self):
        expected = (r"pipeline small: in 1 of the 2 steps of an epoch there are fewer samples than the 3 ranks, .*"
                    r"last = \"pad\" or last = \"drop\"")
        with self.assertWarnsRegex(spdld.DataWarning, expected):
            loaders, ids = self.epoch(3, batch={"size": 1}, order={"first": 4})
        self.assertEqual([[len(step) for step in rank] for rank in ids], [[1, 1], [1, 0], [1, 0]])
        self.assertEqual([loader.info.empty_steps for loader in loaders], 3 * [1])


class BadSamples(DaemonCase):
    """Of the first class's pictures one is a text, and one is Photoshop's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.pictures / "class-0/0.jpg").write_bytes(b"no picture at all")
        (cls.pictures / "class-0/1.jpg").write_bytes(PHOTOSHOP)

    def test_each_reason_warns_once_and_is_counted(self):
        loader = self.attach()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                for batch in loader:
                    here = batch  # noqa: F841
        told = data_warnings(caught)
        self.assertEqual(len(told), 2, [str(warning.message) for warning in told])
        texts = sorted(str(warning.message) for warning in told)
        self.assertRegex(texts[0] + texts[1], r"pipeline small, epoch 0, step \d: the sample class-0/[01].jpg was replaced")
        self.assertTrue(any("a Photoshop picture: this build decodes JPEG" in text for text in texts))
        self.assertTrue(any("no picture but text" in text for text in texts))
        for warning in told:
            self.assertEqual(Path(warning.filename).name, "data_test.py")  # the line of the program's own loop
        stats = loader.stats()
        self.assertEqual((stats["batches"], stats["samples"]), (2 * STEPS, 2 * SAMPLES))
        self.assertEqual((stats["substituted"], stats["masked"], stats["unsupported"]), (4, 0, 2))
        self.assertEqual((stats["missing"], stats["missing_count"]), ([], 0))
        by_kind = {reason["kind"]: reason for reason in stats["reasons"]}
        self.assertEqual((by_kind["damaged"]["count"], by_kind["damaged"]["name"]), (2, "class-0/0.jpg"))
        self.assertEqual((by_kind["unsupported"]["count"], by_kind["unsupported"]["sample"]), (2, 1))
        json.dumps(stats)  # plain values

    def test_a_warning_that_is_an_error_loses_no_batch(self):
        taken, raised = [], 0
        with warnings.catch_warnings():
            warnings.simplefilter("error", spdld.DataWarning)
            loader = self.attach()
            states = [loader.state_dict()]
            while True:
                try:
                    batch = loader.next()
                except spdld.DataWarning:
                    raised += 1
                    self.assertEqual(loader.state_dict(), states[-1])  # nothing was handed out
                    self.assertEqual(loader.position, (states[-1]["epoch"], states[-1]["step"]))
                    continue
                if batch is None:
                    break
                taken.append((batch.step, batch["sample_id"].tolist()))
                states.append(loader.state_dict())
        self.assertIn(raised, (1, 2))  # two, unless both are in one batch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = [(batch.step, batch["sample_id"].tolist()) for batch in self.attach(group=self.id() + " plain")]
        self.assertEqual(taken, plain)
        self.assertEqual(len(states), STEPS + 1)

    def test_a_seek_drops_what_was_kept(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", spdld.DataWarning)
            loader = self.attach()
            with self.assertRaises(spdld.DataWarning):
                while True:
                    loader.next()
            loader.seek(1, 2)
            batch = loader.next()
            self.assertEqual((batch.epoch, batch.step), (1, 2))

    def test_masked_ones_warn_too(self):
        loader = self.attach(self.spec(on_bad="mask"))
        with self.assertWarnsRegex(spdld.DataWarning, "was left zero"):
            for _ in loader:
                pass
        self.assertEqual(loader.stats()["masked"], 2)

    def test_torchs_dict_has_the_count_when_asked(self):
        options = {"socket": self.daemon.socket, "group": self.id(), "rank": 0, "world_size": 1, "device": "cpu"}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = spdld.torch.Loader(self.spec(), substituted=True, **options)
            self.addCleanup(loader.close)
            counts = [batch["substituted"] for batch in loader]
        self.assertEqual((len(counts), sum(counts)), (STEPS, 2))
        self.assertEqual({Path(warning.filename).name for warning in data_warnings(caught)}, {"data_test.py"})
        self.assertEqual(loader.stats()["substituted"], 2)
        loader.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = spdld.torch.Loader(self.spec(), **options)
            self.addCleanup(plain.close)
            self.assertNotIn("substituted", next(iter(plain)))
        with self.assertRaisesRegex(spdld.InvalidError, "batch.substituted"):
            spdld.torch.Loader(self.spec(), substituted=True, convert=dict, **options)

    def test_the_ceiling_ends_the_run_with_the_first_reasons(self):
        loader = self.attach(self.spec(bad_max=1))
        with warnings.catch_warnings(), self.assertRaisesRegex(spdld.FailedError, "bad_max allows 1.*class-0/[01].jpg: "):
            warnings.simplefilter("ignore")
            for _ in loader:
                pass


class Missing(DaemonCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.pictures / "class-9").mkdir()

    def source(self, **changes):
        return self.spec(source={"type": "image-folder", "uri": str(self.pictures), **changes})

    def test_a_data_set_that_is_not_whole_is_refused_with_how_to_go_on(self):
        with self.assertRaisesRegex(spdld.FailedError, r"(?s)is not whole.*class folder class-9.*on_missing = .warn."):
            self.attach()

    def test_with_on_missing_warn_the_client_warns_once_and_knows(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = self.attach(self.source(on_missing="warn"))
            seen = sum(len(batch["label"]) for batch in loader)
        self.assertEqual(seen, SAMPLES)
        told = data_warnings(caught)
        self.assertEqual(len(told), 1)
        self.assertIn("class folder class-9", str(told[0].message))
        self.assertEqual(Path(told[0].filename).name, "case.py")  # which attaches
        stats = loader.stats()
        self.assertEqual(stats["missing_count"], 1)
        self.assertIn("class-9", stats["missing"][0])
        errors = spdld.query("errors", "small", socket=self.daemon.socket)
        self.assertEqual([entry["what"] for entry in errors["missing"]], stats["missing"])
        with open(self.daemon.folder / "log") as log:
            self.assertIn("missing: the class folder class-9", log.read())

    def test_a_warning_that_is_an_error_leaves_no_rank_behind(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", spdld.DataWarning)
            for _ in range(2):
                with self.assertRaises(spdld.DataWarning):
                    self.attach(self.source(on_missing="warn"))


if __name__ == "__main__":
    assert CLASSES and BATCH
    unittest.main()
