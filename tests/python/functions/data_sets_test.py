"""Data sets of the user's own, with a real daemon, real processes, and torch's DataLoader beside them."""
import collections
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import own_data_sets
import torch
from case import CLASSES, OF_EACH, SAMPLES, WAIT_S
from crew_case import needs_cloudpickle
from functions_test import FunctionsCase
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, Subset, TensorDataset
from torch_case import SameBatches

import spdld
import spdld.torch


class DataSetsCase(SameBatches, FunctionsCase):
    def loader(self, dataset, **options):
        options = {"socket": self.daemon.socket, "group": self.id(), "timeout": WAIT_S, **options}
        loader = spdld.torch.Loader(dataset=dataset, **options)
        self.addCleanup(loader.close)
        return loader

    def assert_as_dataloader(self, dataset, options=None, **more):
        loader = self.loader(dataset, **more, **(options or {}))
        theirs = list(DataLoader(dataset, **more))
        count = 0
        for ours, their in zip(loader, theirs, strict=True):
            self.assert_same(ours, their)
            count += 1
        self.assertEqual(count, len(loader))
        return loader


class Batches(DataSetsCase):
    def test_an_image_folder_of_torchvision_gives_what_a_dataloader_gives(self):
        from torchvision.datasets import ImageFolder
        from torchvision.transforms import CenterCrop, Compose, ToTensor

        folder = ImageFolder(self.pictures, Compose([CenterCrop(24), ToTensor()]))
        loader = self.assert_as_dataloader(folder, batch_size=5)
        self.assertEqual((len(loader.dataset), loader.dataset.classes), (SAMPLES, folder.classes))
        self.assert_same(loader.dataset[3], folder[3])
        self.assertEqual(loader.batch_size, 5)

    def test_items_of_many_kinds(self):
        self.assert_as_dataloader(own_data_sets.Nested(), batch_size=6)
        tensors = TensorDataset(torch.arange(30.0).reshape(10, 3), torch.arange(10))
        self.assert_as_dataloader(tensors, batch_size=4, drop_last=True)
        self.assert_as_dataloader(Subset(own_data_sets.Nested(), [3, 1, 7]))
        self.assert_as_dataloader(own_data_sets.ImageFolder(self.pictures, own_data_sets.middle), batch_size=3)

    def test_a_class_and_a_function_make_a_data_set_in_the_processes(self):
        items = [row for batch in self.loader(own_data_sets.Nested, batch_size=4) for row in batch["meta"]["id"].tolist()]
        self.assertEqual(items, list(range(20)))

    def test_random_transforms_follow_from_the_sample_and_the_epoch(self):
        folder = own_data_sets.ImageFolder(self.pictures, own_data_sets.random_crop)

        def epochs(processes):
            loader = self.loader(folder, batch_size=4, shuffle=True, seed=3, group=f"{self.id()}-{processes}",
                                 pipeline={"python": {"processes": processes}})
            seen = [[(images.clone(), labels) for images, labels in loader] for _ in range(2)]
            loader.close()
            return seen

        one, four = epochs(1), epochs(4)
        self.assert_same(one, four)
        first, second = (sorted((image.sum().item() for images, _ in epoch for image in images)) for epoch in one)
        self.assertNotEqual(first, second)
        for epoch in one:
            labels = sorted(label for _, labels in epoch for label in labels.tolist())
            self.assertEqual(labels, sorted(list(range(CLASSES)) * OF_EACH))

    def test_all_three_libraries_draw_the_same_in_any_process_and_anew_in_each_epoch(self):
        def draws(processes):
            loader = self.loader(own_data_sets.Draws(), batch_size=4, group=f"{self.id()}-{processes}",
                                 pipeline={"python": {"processes": processes}})
            return [[[part.clone() for part in batch] for batch in loader] for _ in range(2)]

        one = draws(1)
        self.assert_same(one, draws(3))
        for place in (1, 2, 3):
            drawn = [value for epoch in one for batch in epoch for value in batch[place].flatten().tolist()]
            self.assertEqual(len(set(drawn)), 48)

    def test_tokens_of_a_memmap_with_one_process_and_four(self):
        path = Path(self.folder.name) / "tokens"
        np.arange(4000, dtype=np.uint16).tofile(path)
        dataset = own_data_sets.Tokens(str(path), 50)
        self.assert_as_dataloader(dataset, {"pipeline": {"python": {"processes": 1}}}, batch_size=8)
        self.assert_as_dataloader(dataset, {"pipeline": {"python": {"processes": 4}}, "group": self.id() + "four"}, batch_size=8)

    def test_tokens_that_are_mapped_when_the_data_set_is_made(self):
        path = Path(self.folder.name) / "mapped"
        tokens = np.arange(4000, dtype=np.int16)
        tokens.tofile(path)
        dataset = own_data_sets.MappedTokens(str(path), 50)
        for options in ({}, {"collate_fn": np.stack, "group": self.id() + "collated"}):
            batches = [np.asarray(batch) for batch in self.loader(dataset, batch_size=8, **options)]
            self.assertTrue(np.array_equal(np.concatenate(batches).ravel(), tokens))

    def test_a_data_set_that_opens_its_file_when_it_is_first_called(self):
        path = Path(self.folder.name) / "lazy"
        np.arange(60, dtype=np.int32).tofile(path)
        lazy = own_data_sets.Lazy(str(path))
        loader = self.loader(lazy, batch_size=10, pipeline={"python": {"processes": 2}})
        values, processes = zip(*list(loader), strict=True)
        self.assertEqual(torch.cat(values).tolist(), list(range(60)))
        self.assertNotIn(os.getpid(), torch.cat(processes).tolist())
        self.assertIsNone(lazy.file)

    def test_boxes_of_different_numbers_where_the_pipeline_says_so(self):
        class Boxes(own_data_sets.Detection):
            def __getitem__(self, index):
                _, target = super().__getitem__(index + 1)
                return {"boxes": target["boxes"], "name": target["name"]}

        gives = {"boxes": {"dtype": "float32", "shape": [-1, 4]}}
        for number, batch in enumerate(self.loader(Boxes(), batch_size=5, pipeline={"source": {"gives": gives}})):
            self.assertEqual([len(boxes) for boxes in batch["boxes"]], [(5 * number + row + 1) % 4 for row in range(5)])
            self.assertEqual(batch["name"], [f"{5 * number + row + 1}.jpg" for row in range(5)])

    def test_a_data_set_in_memory_that_is_larger_than_a_message(self):
        self.assert_as_dataloader(TensorDataset(torch.randn(10, 2**19)), batch_size=5)

    def test_arrays_of_another_framework(self):
        for options in ({}, {"collate_fn": list}):
            loader = self.loader(own_data_sets.Nested(), batch_size=20, framework="numpy", group=self.id() + str(len(options)),
                                 **options)
            for batch in loader:
                if options:
                    self.assert_same([item["text"] for item in batch], ["ü" * (index % 4) for index in range(20)])
                else:
                    self.assertIs(type(batch["image"]), np.ndarray)
                    self.assertEqual(batch["text"][3], "üüü")

    def test_items_that_the_cache_keeps_are_made_once(self):
        loader = self.loader(own_data_sets.Draws(), batch_size=4, pipeline={"cache": "encoded"})
        first, second = ([[part.clone() for part in batch] for batch in loader] for _ in range(2))
        self.assert_same(first, second)

    def test_a_data_set_comes_along_for_a_source(self):
        spec = {"name": "along", "source": {"type": "python", "call": "train"}, "batch": {"size": 5}, "order": {"shuffle": False},
                "output": [{"name": "score", "from": "score", "ops": [{"op": "raw", "dtype": "float32"}]}]}
        loader = self.attach(spec, ops={"train": own_data_sets.Nested()})
        self.assertEqual([value for batch in loader for value in np.asarray(batch["score"]).tolist()], list(range(20)))

    def test_convert_and_own_outputs(self):
        for batch in self.loader(own_data_sets.Nested(), batch_size=20, convert=dict):
            self.assertEqual(list(batch), ["image", "flags.0", "flags.1", "score", "text", "meta.id", "meta.raw", "sample_id"])
        for batch in self.loader(own_data_sets.Draws(), batch_size=20, convert=dict, group=self.id() + "tuple"):
            self.assertEqual(list(batch), ["_0", "_1", "_2", "_3", "sample_id"])
        pairs = list(self.loader(own_data_sets.Nested(), batch_size=20, convert=("meta.id", "score"), group=self.id() + "two"))
        self.assertEqual([len(pair) for pair in pairs], [2])
        own = {"output": [{"name": "picture", "from": "image", "ops": [{"op": "raw", "dtype": "uint8", "shape": [2, 3]}]}]}
        for batch in self.loader(own_data_sets.Nested(), batch_size=20, pipeline=own, group=self.id() + "three"):
            self.assertEqual(sorted(batch), ["picture", "sample_id"])


class Collated(DataSetsCase):
    def test_a_padding_collate_fn_of_a_detection_program(self):
        self.assert_as_dataloader(own_data_sets.Detection(), batch_size=4, collate_fn=own_data_sets.pad)

    def test_items_of_any_kind_come_as_they_are(self):
        dataset = own_data_sets.Detection()
        seen = [item for batch in self.loader(dataset, batch_size=7, collate_fn=list) for item in batch]
        self.assert_same(seen, [dataset[index] for index in range(len(dataset))])

    def test_a_tensor_of_an_old_batch_stays_as_it_is(self):
        loader = self.loader(TensorDataset(torch.arange(400.0).reshape(100, 4).repeat(1, 50)), batch_size=2, collate_fn=list)
        kept = next(iter(loader))[1][0]
        before = kept.clone()
        address = kept.data_ptr()
        self.assertEqual(address % 64, 0)
        for _ in range(3):
            for batch in loader:
                self.assertNotEqual(batch[0][0].data_ptr(), address)
        self.assertTrue(torch.equal(kept, before))

    def test_an_item_that_is_larger_than_there_is_room_for(self):
        class Growing(own_data_sets.Detection):
            def __getitem__(self, index):
                return np.zeros(100_000 if index == 17 else 10)

        loader = self.loader(Growing(), batch_size=5, collate_fn=len, item_bytes_max=4096, pipeline={"on_bad": "mask"})
        self.assertEqual(list(loader), [5, 5, 5, 4, 5, 5])
        self.assertIn("4096", str(loader.stats()["reasons"]))


class Order(DataSetsCase):
    def ids(self, loader):
        return [batch["meta"]["id"].tolist() for batch in loader]

    def test_two_ranks_are_disjoint_and_complete(self):
        ranks = [self.loader(own_data_sets.Nested(), batch_size=3, shuffle=True, rank=rank, world_size=2) for rank in range(2)]
        seen = [sum(self.ids(loader), []) for loader in ranks]
        self.assertEqual(sorted(seen[0] + seen[1]), list(range(20)))
        self.assertFalse(set(seen[0]) & set(seen[1]))

    def test_resuming_at_a_state(self):
        dataset = own_data_sets.Draws()
        whole = self.loader(dataset, batch_size=4, shuffle=True, seed=7)
        batches = []
        for step, batch in enumerate(whole):
            batches.append([part.clone() for part in batch])
            if step == 2:
                state = whole.state_dict()
        batches += [[part.clone() for part in batch] for batch in whole]
        later = self.loader(own_data_sets.Draws(), batch_size=4, shuffle=True, seed=7, state=state, group=self.id() + "later")
        rest = [[part.clone() for part in batch] for _ in range(2) for batch in later]
        self.assert_same(rest, batches[3:])

    def test_each_epoch_has_another_order_and_a_seed_the_same(self):
        def orders(name, **options):
            loader = self.loader(own_data_sets.Nested(), batch_size=20, group=self.id() + name, **options)
            return [self.ids(loader) for _ in range(2)]

        first = orders("a", shuffle=True, seed=1)
        self.assertNotEqual(first[0], first[1])
        self.assertEqual(first, orders("b", shuffle=True, seed=1))
        self.assertNotEqual(first, orders("c", shuffle=True, seed=2))
        self.assertEqual(orders("d"), [[list(range(20))]] * 2)

    def test_samplers_of_torch(self):
        dataset = own_data_sets.Nested()
        theirs = [batch["meta"]["id"].tolist() for batch in
                  DataLoader(dataset, batch_size=6, sampler=RandomSampler(dataset, generator=torch.Generator().manual_seed(3)))]
        loader = self.loader(dataset, batch_size=6, sampler=RandomSampler(dataset, generator=torch.Generator().manual_seed(3)))
        self.assertEqual(self.ids(loader), theirs)
        sampler = torch.utils.data.BatchSampler(range(0, 20, 3), 4, drop_last=False)
        self.assertEqual(self.ids(self.loader(dataset, batch_sampler=sampler, group=self.id() + "batches")), list(sampler))
        sampler = DistributedSampler(dataset, num_replicas=2, rank=1, shuffle=True)
        loader = self.loader(dataset, batch_size=5, sampler=sampler, group=self.id() + "ranks")
        loader.set_epoch(1)
        self.assertEqual(sum(self.ids(loader), []), list(sampler))

    def test_two_trainers_share_one_pipeline(self):
        options = {"batch_size": 4, "pipeline": {"share": "stream", "name": "shared"}, "convert": dict}
        first = self.loader(own_data_sets.Draws(), **options)
        second = self.loader(own_data_sets.Draws(), **options, group=self.id() + "other")
        self.assertTrue(first.loader.shared and second.loader.shared)
        for one, other in zip(first, second, strict=True):
            self.assertTrue(all(torch.equal(one[name], other[name]) for name in one))


class Faults(DataSetsCase):
    def taken(self, dataset, **options):
        loader = self.loader(dataset, batch_size=4, pipeline={"on_bad": "mask", **options}, convert=dict)
        bad = [sample for batch in loader
               for sample, good in zip(batch["sample_id"].tolist(), batch["mask"].tolist(), strict=True) if not good]
        return bad, " ".join(str(entry) for entry in loader.stats()["reasons"])

    def test_an_item_that_raises_is_bad_content(self):
        bad, reasons = self.taken(own_data_sets.Faulty({17: "raises"}))
        self.assertEqual(bad, [17])
        self.assertRegex(reasons, r"dataset\[17\] raised ValueError: this one is broken "
                                  r"\(.*own_data_sets.py:\d+, in __getitem__\)")

    def test_an_item_that_ends_its_process_or_never_comes_costs_that_sample_alone(self):
        bad, reasons = self.taken(own_data_sets.Faulty({9: "exits", 30: "hangs"}), python={"call_limit_s": 0.5})
        self.assertEqual(bad, [9, 30])
        self.assertRegex(reasons, "exit code 3")
        self.assertRegex(reasons, "call_limit_s")

    def test_an_item_of_another_shape_is_bad_content(self):
        bad, reasons = self.taken(own_data_sets.Faulty({17: "long"}))
        self.assertEqual(bad, [17])
        self.assertIn('dataset[17] gave as "value" int64 [5], and `gives` says int64 [4]', reasons)

    def test_a_changed_data_set_is_another_run(self):
        state = self.loader(own_data_sets.Faulty()).state_dict()
        self.loader(own_data_sets.Faulty(), state=state, group=self.id() + "same")
        with self.assertRaisesRegex(spdld.ChangedError, "code"):
            self.loader(own_data_sets.Faulty({1: "raises"}), state=state, group=self.id() + "other")

    @needs_cloudpickle
    def test_a_program_of_its_own_with_a_class_of_its_own(self):
        program = Path(self.folder.name) / "program.py"
        program.write_text(textwrap.dedent("""
            import collections, sys
            import spdld.torch, torch
            Item = collections.namedtuple("Item", "square name")
            class Squares(torch.utils.data.Dataset):
                def __len__(self):
                    return 10
                def __getitem__(self, index):
                    return Item(index ** 2, str(index))
            for options in ({}, {"collate_fn": list}):
                with spdld.torch.Loader(dataset=Squares(), batch_size=4, socket=sys.argv[1], **options) as loader:
                    for batch in loader:
                        assert type(batch if "collate_fn" not in options else batch[0]) is Item, batch
                        print([item.square for item in batch] if options else batch.square.tolist())
            """))
        done = subprocess.run([sys.executable, program, self.daemon.socket], capture_output=True, text=True, timeout=60,
                              env=self.daemon.environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.split("\n")[:6], ["[0, 1, 4, 9]", "[16, 25, 36, 49]", "[64, 81]"] * 2)

    def test_a_data_set_by_its_path(self):
        spec = {"name": "by_path", "source": {"type": "python", "call": "own_data_sets:Nested"}, "batch": {"size": 5},
                "order": {"shuffle": False},
                "output": [{"name": "score", "from": "score", "ops": [{"op": "raw", "dtype": "float32"}]}]}
        values = [value for batch in self.attach(spec) for value in np.asarray(batch["score"]).tolist()]
        self.assertEqual(values, list(range(20)))
        collections.deque(self.attach({**spec, "cache": "encoded"}, group=self.id() + "kept"), 0)
