"""spdld.torch.Loader in PyTorch Lightning: Trainer.fit, its checkpoints, and its processes."""
import logging
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import pytorch_lightning as lightning
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from case import BATCH, SAMPLES, STEPS
from torch_case import ProcessesCase, ShuffledCase, ids

SCRIPT = Path(__file__).resolve().parent / "lightning_script.py"
EPOCHS = 3
COUNTING = {"max_epochs": -1, "max_steps": EPOCHS * STEPS}


class Model(lightning.LightningModule):
    """Notes what it sees, and learns something that depends on the batches' order."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.layer = torch.nn.Linear(1, 1)
        self.seen, self.validated = [], []

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        pass  # torch 1.13's module of sharded tensors, of which there are none here, cannot be imported by Python 3.11

    def training_step(self, batch, number):
        self.seen.append((self.current_epoch, number, batch["sample_id"].tolist()))
        return (self.layer(batch["sample_id"].float()[:, None] / SAMPLES) - batch["label"][:, None]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class ValidatedModel(Model):
    def validation_step(self, batch, number):
        if not self.trainer.sanity_checking:
            self.validated.append((self.current_epoch, batch["sample_id"].tolist()))


class LightningCase(ShuffledCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="spdld-lightning-")
        self.addCleanup(self.folder.cleanup)
        self.checkpoints = Path(self.folder.name)
        loader = self.torch_loader(group="plain")
        self.whole = [ids(loader) for _ in range(EPOCHS)]
        loader.close()

    def trainer(self, **options):
        logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
        return lightning.Trainer(**{"accelerator": "cpu", "devices": 1, "max_epochs": EPOCHS, "logger": False,
                                    "enable_progress_bar": False, "enable_model_summary": False,
                                    "enable_checkpointing": "callbacks" in options, **options})

    def fit(self, loader, checkpoint=None, validation=None, **options):
        model, trainer = ValidatedModel() if validation else Model(), self.trainer(**options)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore")
            warnings.filterwarnings("error", "(?s).*([Ll]oader|resum|Iterable|sampler)")  # it thinks little of the loader
            trainer.fit(model, loader, validation, ckpt_path=checkpoint)
        return model, trainer

    def expected(self, epochs=range(EPOCHS), steps=STEPS):
        return [(epoch, number, self.whole[epoch][number]) for epoch in epochs for number in range(steps)]


class Fit(LightningCase):
    def test_epochs(self):
        for epochs in (1, EPOCHS):
            loader = self.torch_loader(group=f"{epochs} epochs")
            model, trainer = self.fit(loader, max_epochs=epochs)
            self.assertEqual(model.seen, self.expected(range(epochs)))
            self.assertEqual((trainer.num_training_batches, trainer.current_epoch), (STEPS, epochs))
            self.assertIs(trainer.train_dataloader, loader)
            self.assertEqual(loader.epoch, epochs)

    def test_validation_beside(self):
        every = [(epoch, list(range(at, at + BATCH))) for epoch in range(EPOCHS) for at in range(0, SAMPLES, BATCH)]
        for order in ({"epochs": 1, "shuffle": False}, {"epochs": 0, "shuffle": False}):
            with self.subTest(order=order):
                group = f"{self.id()} {order['epochs']}"
                loader = self.torch_loader(group=group)
                validation = self.torch_loader(self.spec(name=f"val{order['epochs']}", order=order), group=group)
                model, trainer = self.fit(loader, validation=validation)
                self.assertEqual((model.seen, model.validated), (self.expected(), every))
                self.assertIs(trainer.val_dataloaders, validation)
                model, _ = self.fit(loader, validation=validation, val_check_interval=0.5, max_epochs=1)
                self.assertEqual(model.seen, self.expected([0]))
                self.assertEqual(model.validated, every[:STEPS] * 2)
                told = self.trainer().validate(ValidatedModel(), validation, verbose=False)
                self.assertEqual(told, [{}])

    def test_a_part_of_each_epoch(self):
        model, _ = self.fit(self.torch_loader(), limit_train_batches=4)
        self.assertEqual(model.seen, self.expected(steps=4))

    def test_by_a_sampler(self):
        order = torch.utils.data.RandomSampler(range(SAMPLES), generator=torch.Generator().manual_seed(3))
        loader = self.torch_loader(self.spec(order={"epochs": 0}), sampler=order)
        model, _ = self.fit(loader)
        for epoch in range(EPOCHS):
            seen = [sample for at, _, batch in model.seen if at == epoch for sample in batch]
            self.assertEqual(sorted(seen), list(range(SAMPLES)))

    def test_a_module_that_makes_its_loader(self):
        made = []

        class Making(Model):
            def train_dataloader(module):
                made.append(self.torch_loader())
                return made[-1]

        model = Making()
        self.trainer().fit(model)
        self.assertEqual((model.seen, len(made)), (self.expected(), 1))


class Resuming(LightningCase):
    def saved(self, counting=False, **options):
        """The model of an undisturbed run, and its checkpoints: (steps done, path)."""
        callback = ModelCheckpoint(self.checkpoints, filename="{step}", save_top_k=-1, **options)
        loader = self.torch_loader(group=f"undisturbed {self.checkpoints}")
        model, _ = self.fit(loader, callbacks=[callback], **(COUNTING if counting else {}))
        self.assertEqual(model.seen, self.expected())
        paths = {int(path.stem.split("=")[1]): path for path in self.checkpoints.iterdir()}
        return model, sorted(paths.items())

    def check_goes_on(self, undisturbed, steps, path, **options):
        loader = self.torch_loader(group=f"from {path}")
        model, trainer = self.fit(loader, path, **options)
        # Not the batch's number, which Lightning 2.2 gives as one less when it goes on in the middle.
        self.assertEqual([(epoch, batch) for epoch, _, batch in model.seen],
                         [(epoch, batch) for epoch, _, batch in undisturbed.seen[steps:]])
        self.assertEqual(trainer.global_step, EPOCHS * STEPS)
        for mine, theirs in zip(model.parameters(), undisturbed.parameters()):
            self.assertTrue(torch.equal(mine, theirs))

    def test_in_the_middle_of_an_epoch(self):
        undisturbed, saved = self.saved(every_n_train_steps=1)
        self.assertEqual([steps for steps, _ in saved], list(range(1, EPOCHS * STEPS + 1)))
        for steps, path in saved[:-1]:
            with self.subTest(steps=steps):
                self.check_goes_on(undisturbed, steps, path)

    def test_between_epochs(self):
        undisturbed, saved = self.saved(every_n_epochs=1, save_on_train_epoch_end=True)
        self.assertEqual([steps for steps, _ in saved], [STEPS, 2 * STEPS, 3 * STEPS])
        for steps, path in saved[:-1]:
            with self.subTest(steps=steps):
                self.check_goes_on(undisturbed, steps, path)

    def test_a_run_that_counts_steps(self):
        for when in ({"every_n_train_steps": 1}, {"every_n_epochs": 1, "save_on_train_epoch_end": True}):
            self.checkpoints = Path(self.folder.name) / str(len(when))
            undisturbed, saved = self.saved(**when, counting=True)
            for steps, path in saved[:-1]:
                with self.subTest(steps=steps, when=when):
                    self.check_goes_on(undisturbed, steps, path, **COUNTING)

    def test_a_loader_that_was_attached_with_a_state(self):
        loader = self.torch_loader()
        ids(loader, 2)
        again = self.torch_loader(group="again", state=loader.state_dict())
        model, _ = self.fit(again, max_epochs=1)
        self.assertEqual([batch for _, _, batch in model.seen], self.whole[0][2:])


class Processes(ProcessesCase):
    """Two processes, distributed data parallel by gloo: Lightning's own, and torchrun's."""

    def told(self, output):
        """The samples of each step of each rank: (epoch, samples)."""
        told = [[], []]
        for rank, epoch, samples in re.findall(r"^rank (\d) epoch (\d) samples ([\d ]+)$", output, re.MULTILINE):
            told[int(rank)].append((int(epoch), [int(sample) for sample in samples.split()]))
        return told

    def by_lightning(self, *arguments):
        done = subprocess.run([sys.executable, SCRIPT, self.pictures, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, env={**self.daemon.environment(), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"})
        return done.returncode, done.stdout, done.stderr

    def test_each_rank_has_its_own_part_and_goes_on(self):
        with tempfile.TemporaryDirectory(prefix="spdld-lightning-") as folder:
            code, output, errors = self.by_lightning("--folder", folder)
            self.assertEqual(code, 0, errors)
            whole = self.told(output)
            steps = SAMPLES // 2 // BATCH
            self.assertEqual([[epoch for epoch, _ in rank] for rank in whole], [[0] * steps + [1] * steps] * 2)
            orders = [[sample for rank in whole for at, part in rank if at == epoch for sample in part] for epoch in range(2)]
            self.assertEqual([sorted(order) for order in orders], [list(range(SAMPLES))] * 2)
            self.assertNotEqual(*orders)

            code, output, errors = self.torchrun(2, SCRIPT, self.pictures, "--resume", f"{folder}/step=2.ckpt")
            self.assertEqual(code, 0, errors)
            self.assertEqual(self.told(output), [rank[2:] for rank in whole])

    def test_a_loader_of_before_the_processes_is_refused(self):
        code, _, errors = self.by_lightning("--early")
        self.assertNotEqual(code, 0)
        self.assertRegex(errors, "InvalidError: this loader was made before the process group")


if __name__ == "__main__":
    unittest.main()
