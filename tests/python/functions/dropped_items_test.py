"""Items that a data set of the user's own drops."""
import own_data_sets
import torch
from data_sets_test import DataSetsCase

import spdld


def kept_of(size, often):
    return [index for index in range(size) if index % often == 0]


class DroppedItems(DataSetsCase):
    shorter = {"on_drop": "shorter", "bad_max": 0}

    def test_items_that_are_kept_come_once(self):
        loader = self.loader(own_data_sets.Sieve(60, 3), batch_size=8, shuffle=True, seed=1, pipeline=self.shorter)
        seen = torch.cat(list(loader)).tolist()
        self.assertEqual(sorted(seen), kept_of(60, 3))
        self.assertEqual(loader.stats()["dropped"], 40)
        self.assertEqual(loader.stats()["reasons"][0]["reason"], "dataset dropped it")

    def test_other_items_take_their_places(self):
        def epoch(processes):
            loader = self.loader(own_data_sets.Sieve(60, 3), batch_size=8, shuffle=True, seed=1, group=f"{self.id()}-{processes}",
                                 pipeline={"python": {"processes": processes}})
            return [batch.tolist() for batch in loader]

        one = epoch(1)
        self.assertEqual([len(batch) for batch in one], [8] * 7 + [4])
        self.assertTrue(all(index % 3 == 0 for batch in one for index in batch))
        self.assertEqual(one, epoch(4))

    def test_a_collate_fn_gets_the_items_that_are_kept(self):
        loader = self.loader(own_data_sets.Sieve(60, 3), batch_size=8, collate_fn=list, pipeline=self.shorter)
        self.assertEqual([index for batch in loader for index in batch], kept_of(60, 3))
        loader = self.loader(own_data_sets.Sieve(60, 3), batch_size=8, collate_fn=list, group=self.id() + "substituted")
        self.assertEqual([len(batch) for batch in loader], [8] * 7 + [4])

    def test_an_order_of_the_programs_own(self):
        order = [9, 4, 30, 3, 6, 6, 5, 0]
        loader = self.loader(own_data_sets.Sieve(60, 3), batch_size=4, sampler=order, pipeline=self.shorter)
        self.assertEqual([batch.tolist() for batch in loader], [[9, 30, 3], [6, 6, 0]])

    def test_several_sources(self):
        spec = {"name": "two", "on_drop": "shorter", "order": {"epochs": 1, "shuffle": False}, "batch": {"size": 8},
                "sources": [{"name": name, "type": "python", "call": name} for name in ("few", "more")],
                "output": [{"name": "value", "from": "value", "ops": [{"op": "raw", "dtype": "int64"}]}]}
        loader = self.attach(spec, ops={"few": own_data_sets.Sieve(20, 5), "more": own_data_sets.Sieve(20, 2)})
        counts, values = {"few": 0, "more": 0}, []
        for batch in loader:
            self.assertEqual(sum(batch.sources.values()), batch.valid)
            for name, count in batch.sources.items():
                counts[name] += count
            values += batch["value"].tolist()
        self.assertEqual(counts, {"few": 4, "more": 10})
        self.assertEqual(sorted(values), sorted(kept_of(20, 5) + kept_of(20, 2)))

    def test_a_batch_without_items(self):
        dataset = own_data_sets.Sieve(60, 30)
        lists = list(self.loader(dataset, batch_size=10, collate_fn=list, pipeline=self.shorter))
        self.assertEqual(lists, [[0], [], [], [30], [], []])
        plain = self.loader(dataset, batch_size=10, pipeline=self.shorter, group=self.id() + "plain")
        self.assertEqual([batch.tolist() for batch in plain], lists)
        loader = iter(self.loader(dataset, batch_size=10, collate_fn=torch.tensor, pipeline=self.shorter, group=self.id() + "3"))
        self.assertEqual(next(loader).tolist(), [0])
        stacking = iter(self.loader(dataset, batch_size=10, collate_fn=lambda items: items[0], pipeline=self.shorter,
                                    group=self.id() + "4"))
        self.assertEqual(next(stacking), 0)
        with self.assertRaises(spdld.InvalidError) as raised:
            next(stacking)
        self.assertIn("collate_fn was given an empty list, since all items of step 1 in epoch 0 are left out, and raised "
                      "IndexError: list index out of range. Let it take an empty list", str(raised.exception))

    def test_what_is_learned_of_items_is_learned_of_one_that_is_kept(self):
        for options in ({}, {"collate_fn": list}):
            dataset = own_data_sets.Sieve(60, 3, start=20)
            loader = self.loader(dataset, batch_size=60, pipeline=self.shorter, group=self.id() + str(len(options)), **options)
            batch = next(iter(loader))
            self.assertEqual(list(batch) if options else batch.tolist(), list(range(21, 60, 3)))
        with self.assertRaises(spdld.InvalidError) as raised:
            self.loader(own_data_sets.Sieve(60, 3, start=60), batch_size=4, group=self.id() + "none")
        self.assertIn("dataset drops its first 60 items, and nothing can be learned of the others", str(raised.exception))
