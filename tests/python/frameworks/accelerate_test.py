"""spdld.torch.Loader in Hugging Face Accelerate: prepare, gradient accumulation, checkpoints, and two processes."""
import re
import tempfile
import unittest
from pathlib import Path

import accelerate
import torch
from accelerate.state import AcceleratorState, GradientState
from torch.utils.data import DataLoader

from case import BATCH, SAMPLES, STEPS
from torch_case import ProcessesCase, ShuffledCase, ids

SCRIPT = Path(__file__).resolve().parent / "accelerate_script.py"


class AccelerateCase(ShuffledCase):
    def accelerator(self, **options):
        AcceleratorState._reset_state(True)
        GradientState._reset_state()
        return accelerate.Accelerator(cpu=True, **options)


class Prepare(AccelerateCase):
    def test_it_stays_what_it_is(self):
        accelerator = self.accelerator()
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(2)]
        loader.set_epoch(0)
        model = torch.nn.Linear(1, 1)
        model, prepared = accelerator.prepare(model, loader)
        self.assertIs(prepared, loader)
        self.assertEqual((len(prepared), ids(prepared)), (STEPS, whole[0]))
        prepared.set_epoch(0)
        self.assertEqual(ids(prepared, 2), whole[0][:2])
        prepared.load_state_dict(prepared.state_dict())
        self.assertEqual(ids(prepared) + ids(prepared), whole[0][2:] + whole[1])

    def test_a_data_loader_around_one_is_a_batch_ahead_and_else_right(self):
        accelerator = self.accelerator()
        loader = self.torch_loader()
        wrapped = accelerator.prepare(DataLoader(loader, batch_size=None))
        ends = []
        for batch in wrapped:
            ends.append(accelerator.gradient_state.end_of_dataloader)
        self.assertEqual(ends, [False] * (STEPS - 1) + [True])
        self.assertFalse(accelerator.gradient_state.in_dataloader)


class Accumulation(AccelerateCase):
    def synced(self, accelerator, batches):
        """After which of the batches the optimizer took a step."""
        model = accelerator.prepare(torch.nn.Linear(1, 1))
        steps = []
        for _ in batches:
            with accelerator.accumulate(model):
                steps.append(accelerator.sync_gradients)
        return steps

    def test_a_round_ends_with_the_epoch_as_a_data_loader_s_does(self):
        for rounds in (1, 2, 4, 5, STEPS + 1):
            given = []
            for loader in (self.torch_loader(group=f"{self.id()} {rounds}"), DataLoader(range(SAMPLES), batch_size=BATCH)):
                accelerator = self.accelerator(gradient_accumulation_steps=rounds)
                loader = accelerator.prepare(loader)
                given.append([self.synced(accelerator, loader) for _ in range(3)])
                self.assertFalse(accelerator.gradient_state.in_dataloader)
            self.assertEqual(given[0], given[1])
            self.assertEqual(given[0], [[step % rounds == 0 or step == STEPS for step in range(1, STEPS + 1)]] * 3)

    def test_by_a_sampler(self):
        accelerator = self.accelerator(gradient_accumulation_steps=4)
        loader = self.torch_loader(self.spec(order={"epochs": 0}), sampler=range(SAMPLES))
        for _ in range(2):
            self.assertEqual(self.synced(accelerator, loader), [False, False, False, True, False, True])

    def test_validation_within_an_epoch(self):
        accelerator = self.accelerator()
        state = accelerator.gradient_state
        loader = self.torch_loader()
        validation = self.torch_loader(self.spec(name="validation", order={"epochs": 1}))
        for number, _ in enumerate(loader):
            inner = [state.end_of_dataloader for _ in validation]
            self.assertEqual(inner, [False] * (STEPS - 1) + [True])
            self.assertEqual((state.in_dataloader, state.end_of_dataloader), (True, number == STEPS - 1))
        self.assertFalse(state.in_dataloader)

    def test_an_epoch_that_is_left(self):
        accelerator = self.accelerator()
        loader = self.torch_loader()
        for taken in (1, STEPS):
            ids(loader, taken)
            self.assertFalse(accelerator.gradient_state.in_dataloader)
        batches = iter(loader)
        next(batches)
        GradientState._reset_state()
        del batches  # says nothing: what it would take back is gone


class Checkpoints(AccelerateCase):
    def test_save_state_and_load_state(self):
        loader = self.torch_loader()
        whole = [ids(loader) for _ in range(3)]
        for taken in range(STEPS + 1):
            accelerator = self.accelerator()
            accelerator.register_for_checkpointing(loader)
            loader.set_epoch(1)
            ids(loader, taken) if taken else None
            with tempfile.TemporaryDirectory(prefix="spdld-accelerate-") as folder:
                accelerator.save_state(folder)
                accelerator = self.accelerator()
                other = accelerator.prepare(self.torch_loader(group=f"{self.id()} {taken}"))
                accelerator.register_for_checkpointing(other)
                accelerator.load_state(folder)
            seen = []
            for epoch in range(1, 3):
                other.set_epoch(epoch)
                seen.append(ids(other))
            self.assertEqual(seen, [whole[1][taken:], whole[2]])


class Processes(ProcessesCase):
    def test_each_rank_has_its_own_part_and_goes_on(self):
        with tempfile.TemporaryDirectory(prefix="spdld-accelerate-") as folder:
            whole, parts = self.told("--folder", folder), self.told("--folder", folder, "--resume")
        steps = SAMPLES // 2 // BATCH
        for rank in whole:
            self.assertEqual([(epoch, synced) for epoch, synced, _ in rank],
                             [(epoch, step in (1, steps - 1)) for epoch in range(2) for step in range(steps)])
        for epoch in range(2):
            seen = [sample for rank in whole for at, _, samples in rank if at == epoch for sample in samples]
            self.assertEqual(sorted(seen), list(range(SAMPLES)))
        self.assertEqual([[step[2] for step in rank] for rank in parts], [[step[2] for step in rank[2:]] for rank in whole])

    def told(self, *arguments):
        """Of each rank's steps: the epoch, whether the gradients were reduced, the samples."""
        code, output, errors = self.torchrun(2, SCRIPT, self.pictures, *arguments)
        self.assertEqual(code, 0, errors)
        self.assertEqual(re.findall("^refused: (.*)$", output, re.MULTILINE), ["InvalidError Accelerate would divide"])
        told = [[], []]
        for rank, epoch, synced, samples in re.findall(r"^rank (\d) epoch (\d) synced (\w+) samples ([\d ]+)$", output,
                                                       re.MULTILINE):
            told[int(rank)].append((int(epoch), synced == "True", [int(sample) for sample in samples.split()]))
        return told


if __name__ == "__main__":
    unittest.main()
