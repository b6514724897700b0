"""A pipeline with several sources, and what each batch says of them."""
import unittest

from case import CLASSES, OF_EACH, SAMPLES, DaemonCase

import spdld


class Mixes(DaemonCase):
    """Two samples of three are "many"; both have the same pictures."""

    def spec(self, **changes):
        spec = super().spec(name="mix", order={"epochs": 2, "mix": "exact", "epoch_samples": 18}, batch={"size": 6})
        source = spec.pop("source")
        spec["sources"] = [{"name": "many", "weight": 2, **source}, {"name": "few", "weight": 1, **source}]
        spec["output"] = [*spec["output"], {"name": "origin", "from": "source"}]
        return {**spec, **changes}

    def test_a_batch_says_how_many_samples_of_each_source_it_has(self):
        loader = self.attach()
        self.assertEqual(loader.info.sources, ("many", "few"))
        self.assertEqual((loader.info.samples, len(loader)), (18, 3))
        seen = []
        for _ in range(2):
            for batch in loader:
                self.assertEqual(batch.sources, {"many": 4, "few": 2})
                origins = batch["origin"].tolist()
                self.assertEqual([origins.count(0), origins.count(1)], [4, 2])
                seen += batch["sample_id"].tolist()
                batch.release()
                self.assertEqual(batch.sources, {"many": 4, "few": 2})
        many, few = [each for each in seen if each < SAMPLES], [each for each in seen if each >= SAMPLES]
        self.assertEqual((len(many), len(few)), (24, 12))
        self.assertEqual(sorted(many), list(range(CLASSES * OF_EACH)), "one pass, over the end of an epoch")
        self.assertEqual(len(set(few)), 12, "no sample comes again before all have come")

    def test_it_goes_on_in_its_middle(self):
        def batches(loader):
            return [(batch.epoch, batch.step, batch.sources, batch["sample_id"].tolist(), batch["image"].tobytes())
                    for _ in range(2) for batch in loader]

        loader = self.attach()
        undisturbed = batches(loader)
        loader.seek(0)
        for _ in range(2):
            loader.next()
        state = loader.state_dict()
        loader.close()
        self.assertEqual(batches(self.attach(state=state)), undisturbed[2:])
        spec = self.spec()
        spec["sources"][0]["weight"] = 3
        with self.assertRaises(spdld.ChangedError):
            self.attach(spec, state=state, group=self.id() + "-other")

    def test_one_source_has_no_counts(self):
        loader = self.attach(super().spec())
        self.assertEqual((loader.info.sources, loader.next().sources), ((), {}))


if __name__ == "__main__":
    unittest.main()
