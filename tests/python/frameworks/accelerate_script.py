#!/usr/bin/env python3
"""A training with Accelerate by the two processes of a torchrun, two batches to a round; for accelerate_test.py.

    accelerate_script.py PICTURES --folder FOLDER [--resume]

After two steps a checkpoint is left in the folder, with which --resume begins.
"""
import argparse
import os

import accelerate
import torch
from torch.utils.data import DataLoader

import spdld.torch
from case import spec_of


def refused(accelerator, loader):
    """A DataLoader around it, which the first process alone would read, for all."""
    try:
        next(iter(accelerator.prepare(DataLoader(loader, batch_size=None))))
    except spdld.InvalidError as error:
        print("refused:", type(error).__name__, " ".join(str(error).split()[:3]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()

    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"  # or it asks torch for more of CPUs than torch 1.13 knows
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    loader = spdld.torch.Loader(spec_of(arguments.pictures, order={"epochs": 0}))
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer, prepared = accelerator.prepare(model, optimizer, loader)
    assert prepared is loader and loader.info.world_size == accelerator.num_processes == 2
    accelerator.register_for_checkpointing(loader)
    if arguments.resume:
        accelerator.load_state(arguments.folder)
    spdld.torch.check_ranks(loader)
    done = 0
    for epoch in range(loader.epoch, 2):
        loader.set_epoch(epoch)
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(batch["label"].float()[:, None]).mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            every = accelerator.gather_for_metrics(batch["sample_id"])
            assert sorted(every.tolist()) == sorted(set(every.tolist())) and len(every) == 2 * len(batch["sample_id"]), every
            samples = " ".join(map(str, batch["sample_id"].tolist()))
            print(f"rank {accelerator.process_index} epoch {epoch} synced {accelerator.sync_gradients} samples {samples}",
                  flush=True)
            done += 1
            if done == 2 and not arguments.resume:
                accelerator.save_state(arguments.folder)
    if accelerator.is_main_process:
        refused(accelerator, loader)
    accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
