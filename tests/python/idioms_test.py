"""What programs do with a DataLoader, done with spdld.torch.Loader: it works, or is refused with a sentence at once."""
import io
import json
import tempfile
import unittest
import warnings
from pathlib import Path

import accelerate
from accelerate.state import AcceleratorState, GradientState
from omegaconf import OmegaConf
from torch.utils.data import ConcatDataset, DataLoader, Subset, random_split
from tqdm.auto import tqdm

import spdld
from case import BATCH, SAMPLES, STEPS
from daemon import pipeline_text
from torch_case import ShuffledCase, ids


class Around(ShuffledCase):
    def test_its_length_in_samples(self):
        loader = self.torch_loader()
        self.assertEqual((len(loader.dataset), loader.batch_size, len(loader.batch_sampler)), (SAMPLES, BATCH, STEPS))

    def test_a_with_block_closes_it(self):
        with self.torch_loader() as loader:
            self.assertEqual(len(ids(loader)), STEPS)
        self.assertRegex(repr(loader), r"^<spdld.torch.Loader small rank 0 of 1, closed>$")
        with self.torch_loader() as loader:  # the rank is free
            self.assertRegex(repr(loader), r"at epoch 0 step 0 of 6>$")
            ids(loader, 2)
            self.assertEqual((loader.epoch, loader.step), (0, 2))

    def test_a_batch_by_its_names(self):
        loader = self.torch_loader(convert=("image", "label"))
        for images, labels in loader:
            self.assertEqual((images.shape, labels.shape), ((BATCH, 32, 32, 3), (BATCH,)))
        loader.close()
        loader = self.torch_loader(convert={"pixel_values": "image", "labels": "label"})
        self.assertEqual([list(batch) for batch in loader], [["pixel_values", "labels"]] * STEPS)
        loader.close()
        with self.assertRaisesRegex(KeyError, 'no tensor "labels", only image, label, sample_id'):
            next(iter(self.torch_loader(convert=["labels"])))
        for given in ("image", 5):
            with self.assertRaisesRegex(spdld.InvalidError, f"^convert is .*, and not {given!r}$"):
                self.torch_loader(convert=given, group="refused")

    def test_a_data_loader_that_would_make_one_batch_of_several(self):
        loader = self.torch_loader()
        for options in ({}, {"batch_size": 8}, {"batch_size": 1, "collate_fn": lambda batches: batches[0]}):
            with self.assertRaisesRegex(spdld.InvalidError, r"one batch of several: .* DataLoader\(loader, batch_size=None\)"):
                next(iter(DataLoader(loader, **options)))
        self.assertEqual((loader.epoch, loader.step), (0, 0))
        self.assertEqual(len(ids(DataLoader(loader, batch_size=None))), STEPS)


class Repeating(ShuffledCase):
    """A pipeline that does not say its epochs has one, and the same crops in each `for`."""

    def warned(self, run):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run()
        return [(entry.category, Path(entry.filename).name) for entry in caught]

    def test_it_is_said_once_where_nobody_said_that_it_is_meant(self):
        with tempfile.TemporaryDirectory(prefix="spdld-idioms-") as folder:
            paths = {}
            for name, epochs in (("open", None), ("one", 1)):
                paths[name] = Path(folder) / f"{name}.json"
                paths[name].write_text(json.dumps(self.spec(order={} if epochs is None else {"epochs": epochs})))
            toml = Path(folder) / "open.toml"
            toml.write_text(pipeline_text(self.pictures).replace("epochs = 2", ""))
            for number, (given, count) in enumerate((
                    (self.spec(order={}), 1), (self.spec(order={"shuffle": True}), 1), (self.spec(order={"shuffle": False}), 0),
                    (self.spec(order={"epochs": 1}), 0), (self.spec(), 0), (paths["open"], 1), (str(paths["one"]), 0),
                    (toml, 1), (OmegaConf.create(self.spec(order={})), 1))):
                loader = self.torch_loader(given, group=str(number))
                self.assertEqual(self.warned(lambda: ids(loader)), [])
                told = self.warned(lambda: [ids(loader) for _ in range(3)])
                self.assertEqual(len(told), count, given)
                again = self.torch_loader(given, group=f"{number} told")
                self.assertEqual(self.warned(lambda: again.set_epoch(0)), [])
                told = self.warned(lambda: [again.set_epoch(epoch) for epoch in range(3)])
                self.assertEqual(told, [(UserWarning, "idioms_test.py")] * count)  # where the program called


class Parts(ShuffledCase):
    def test_a_split_and_a_subset(self):
        loader = self.torch_loader()
        for whole in (loader, loader.dataset):
            for part in (lambda: Subset(whole, [0, 1]), lambda: Subset(indices=[0], dataset=whole),
                         lambda: random_split(whole, [0.5, 0.5])):
                with self.assertRaisesRegex(spdld.UnsupportedError, "order.include or order.exclude"):
                    part()
        with self.assertRaisesRegex(spdld.UnsupportedError, "cannot be split"):
            random_split(loader, [20, 4])  # by samples, which is not its length

    def test_several_as_one(self):
        one, two = self.torch_loader(), self.torch_loader(group="two")
        for several in ([one, two], iter([one, two]), [range(3), two.dataset]):
            with self.assertRaisesRegex(spdld.UnsupportedError, r"\[\[sources\]\]"):
                ConcatDataset(several)
        self.assertEqual(len(ids(one + two)), 2 * STEPS)  # one after the other, as torch has it

    def test_one_by_its_number(self):
        loader = self.torch_loader()
        for pick in (lambda: loader[0], lambda: loader.dataset[0],
                     lambda: next(iter(DataLoader(loader.dataset, shuffle=True)))):
            with self.assertRaisesRegex(spdld.UnsupportedError, "sampler="):
                pick()

    def test_other_data_sets_are_as_before(self):
        self.assertEqual(list(Subset(dataset=range(5), indices=[3, 1])), [3, 1])
        self.assertEqual(list(ConcatDataset(iter([range(2), range(3)]))), [0, 1, 0, 1, 2])
        self.assertEqual([len(part) for part in random_split(range(5), [2, 3])], [2, 3])
        self.assertEqual(Subset.__init__.__name__, "__init__")


class Skipping(ShuffledCase):
    """accelerate.skip_first_batches, with which Hugging Face's Trainer goes on."""

    def setUp(self):
        AcceleratorState._reset_state(True)
        GradientState._reset_state()
        self.accelerator = accelerate.Accelerator(cpu=True)
        self.handed = []

    def loader(self, *arguments, **options):
        def convert(batch):
            self.handed.append(batch["sample_id"].tolist())
            return dict(batch)
        return self.torch_loader(*arguments, convert=convert, **options)

    def test_the_rest_of_an_epoch(self):
        loader = self.loader()
        whole = [ids(loader) for _ in range(2)]
        for skipped in range(STEPS):
            loader.set_epoch(0)
            self.handed.clear()
            rest = accelerate.skip_first_batches(loader, skipped)
            self.assertEqual(len(rest), STEPS - skipped)
            self.assertEqual(ids(rest), whole[0][skipped:])
            self.assertEqual(self.handed, whole[0][skipped:])  # nothing was made to be skipped
            self.assertEqual(loader.epoch, 1)
            self.assertEqual(ids(loader), whole[1])

    def test_of_the_only_epoch_and_of_the_last(self):
        for epochs, ended in ((1, (1, 0)), (2, (2, 0))):
            loader = self.loader(self.spec(name=f"epochs{epochs}", order={"epochs": epochs}), group=f"{epochs}")
            whole = [ids(loader) for _ in range(epochs)]
            for skipped in (2, STEPS - 1):
                loader.set_epoch(epochs - 1)
                self.assertEqual(ids(accelerate.skip_first_batches(loader, skipped)), whole[-1][skipped:])
                self.assertEqual((loader.epoch, loader.step), ended)

    def test_by_a_sampler(self):
        loader = self.loader(self.spec(order={"epochs": 0}), sampler=range(SAMPLES))
        whole = ids(loader)
        loader.set_epoch(0)
        self.assertEqual(ids(accelerate.skip_first_batches(loader, 2)), whole[2:])

    def test_after_a_state_it_counts_from_the_epoch_s_beginning(self):
        loader = self.loader()
        whole = ids(loader)
        loader.set_epoch(0)
        ids(loader, 2)
        state = loader.state_dict()
        for skipped, first in ((0, 2), (2, 2), (3, 3), (1, 1)):
            loader.load_state_dict(state)
            loader.set_epoch(0)
            self.assertEqual(ids(accelerate.skip_first_batches(loader, skipped)), whole[first:])

    def test_no_sampler_may_divide_the_steps(self):
        loader = self.loader()
        halved = list(loader.batch_sampler)[::2]
        with self.assertRaisesRegex(spdld.InvalidError, "step 2 of the epoch was asked for after step 0"):
            ids(DataLoader(loader.dataset, batch_sampler=halved, collate_fn=loader.collate_fn))

    def test_accumulation_ends_with_the_epoch(self):
        loader = self.loader()
        ends = []
        for _ in accelerate.skip_first_batches(loader, 3):
            ends.append(self.accelerator.gradient_state.end_of_dataloader)
        self.assertEqual(ends, [False] * (STEPS - 4) + [True])
        prepared = self.accelerator.prepare(accelerate.skip_first_batches(loader, 3))
        ends = []
        for _ in prepared:
            ends.append(self.accelerator.gradient_state.end_of_dataloader)
        self.assertEqual(ends, [False] * (STEPS - 4) + [True])
        self.assertFalse(self.accelerator.gradient_state.in_dataloader)


class Progress(ShuffledCase):
    def bar(self, batches, **options):
        """The real tqdm, which draws into self.screen."""
        self.screen = io.StringIO()
        return tqdm(batches, file=self.screen, mininterval=0, ascii=True, **options)

    def test_a_bar(self):
        loader = self.torch_loader(held_max=2)
        for wrapped in (loader, loader.loader, DataLoader(loader, batch_size=None)):
            bar = self.bar(wrapped, desc="train")
            self.assertEqual((bar.total, len(bar)), (STEPS, STEPS))
            for number, batch in enumerate(bar):
                bar.set_description(f"epoch {loader.epoch}")
                bar.set_postfix(loss=float(len(batch["label"])))
            self.assertEqual((number, bar.n), (STEPS - 1, STEPS))
            self.assertRegex(self.screen.getvalue(), rf"epoch \d: 100%\|#+\| {STEPS}/{STEPS} .*loss=4")

    def test_a_bar_in_a_bar(self):
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(2)]
        seen = []
        for epoch in self.bar(range(2)):
            loader.set_epoch(epoch)
            inner = tqdm(loader, file=self.screen, leave=False, position=1)
            seen.append(ids(inner))
            self.assertEqual(inner.n, STEPS)
        self.assertEqual(seen, whole)

    def test_a_bar_that_is_left_and_one_that_goes_on(self):
        loader = self.torch_loader()
        whole = ids(loader)
        loader.set_epoch(0)
        with self.bar(loader) as bar:
            self.assertEqual(ids(bar, 2), whole[:2])
        loader.load_state_dict(loader.state_dict())
        bar = self.bar(loader, initial=loader.step)
        self.assertEqual(ids(bar), whole[2:])
        self.assertEqual((bar.n, bar.total), (STEPS, STEPS))

    def test_without_a_length(self):
        class Sampler:
            def __iter__(self):
                return iter(range(8))

        bar = self.bar(self.torch_loader(self.spec(order={"epochs": 0}), sampler=Sampler()))
        self.assertIsNone(bar.total)
        self.assertEqual(ids(bar), [[0, 1, 2, 3], [4, 5, 6, 7]])


if __name__ == "__main__":
    unittest.main()
