#!/usr/bin/env python3
"""Trains a small model on pictures with DistributedDataParallel, and goes on exactly where it was stopped.

    torchrun --nproc_per_node 2 ddp.py FOLDER --checkpoint run.pt [--epochs 2] [--steps N]

FOLDER: holds one folder of pictures for each class.
--steps: the number of steps after which this run stops. When it is started again with the same checkpoint, the run
    continues with the next batch, as if it had never stopped.
--global-batch: the number of samples in a step, for all ranks together. As long as it stays the same, the run may
    continue with another number of ranks.

Each rank prints a line for each step with the samples that it saw.
"""
import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import spdld.torch


def pipeline(folder, global_batch):
    normalize = {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    return {
        "name": "ddp-example",
        "seed": 17,
        "source": {"type": "image-folder", "uri": str(folder.resolve())},
        "order": {"epochs": 0},  # the program counts the epochs
        "output": [{"name": "image", "from": "image",
                    "ops": [{"op": "decode-image"}, {"op": "random-resized-crop", "size": 32},
                            {"op": "horizontal-flip"}, normalize]},
                   {"name": "label", "from": "class"}],
        "batch": {"global_size": global_batch, "last": "drop"},
    }


def small_model(classes):
    torch.manual_seed(5)
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                         nn.Linear(8 * 16, classes))


def save(path, model, optimizer, loader):
    """Writes the checkpoint whole or not at all. The state of one rank's loader is enough, because all ranks have the same."""
    part = path.with_suffix(".part")
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                "loader": loader.state_dict()}, part)
    os.replace(part, path)


def train(arguments):
    classes = sum(entry.is_dir() for entry in arguments.folder.iterdir())
    loader = spdld.torch.Loader(pipeline(arguments.folder, arguments.global_batch), device="cpu")
    model = DistributedDataParallel(small_model(classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if arguments.checkpoint.exists():
        checkpoint = torch.load(arguments.checkpoint, map_location="cpu")
        model.module.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        loader.load_state_dict(checkpoint["loader"])
    spdld.torch.check_ranks(loader)

    done = 0
    for epoch in range(loader.epoch, arguments.epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            samples = " ".join(str(sample) for sample in batch["sample_id"].tolist())
            print(f"rank {dist.get_rank()} epoch {epoch} loss {loss.item()!r} samples {samples}", flush=True)
            if dist.get_rank() == 0:
                save(arguments.checkpoint, model, optimizer, loader)
            if done == arguments.steps:
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--global-batch", type=int, default=8)
    arguments = parser.parse_args()
    dist.init_process_group("gloo")
    try:
        train(arguments)
        dist.barrier()  # no rank ends before the checkpoint is written
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
