#!/usr/bin/env python3
"""A training of Lightning's by two processes, which the trainer starts itself, or torchrun did; for lightning_test.py.

    lightning_script.py PICTURES [--folder FOLDER] [--resume CHECKPOINT] [--early]

--folder: a checkpoint after each step goes there. --early: the loader is made before the processes know their ranks.
"""
import argparse
import sys

import pytorch_lightning as lightning
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

import spdld.torch
from case import spec_of


class Model(lightning.LightningModule):
    def __init__(self, make):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.make = make

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        pass  # torch 1.13's module of sharded tensors, of which there are none here, cannot be imported by Python 3.11

    def train_dataloader(self):
        return self.make()

    def on_train_start(self):
        try:
            spdld.torch.check_ranks(self.trainer.train_dataloader)
        except spdld.InvalidError as refused:
            # Lightning kills this process once it sees that the other process has ended, maybe before there is a traceback.
            print(f"InvalidError: {refused}", file=sys.stderr, flush=True)
            raise
        assert type(self.trainer.train_dataloader) is spdld.torch.Loader
        assert self.trainer.world_size == 2

    def training_step(self, batch, number):
        samples = " ".join(map(str, batch["sample_id"].tolist()))
        print(f"rank {self.global_rank} epoch {self.current_epoch} samples {samples}\n", end="", flush=True)
        return self.layer(batch["label"].float()[:, None]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures")
    parser.add_argument("--folder")
    parser.add_argument("--resume")
    parser.add_argument("--early", action="store_true")
    arguments = parser.parse_args()

    def make():
        return spdld.torch.Loader(spec_of(arguments.pictures, order={"epochs": 0}))

    early = make() if arguments.early else None
    saving = [ModelCheckpoint(arguments.folder, filename="{step}", save_top_k=-1, every_n_train_steps=1)]
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, logger=False,
                                enable_progress_bar=False, enable_model_summary=False,
                                enable_checkpointing=bool(arguments.folder), callbacks=saving if arguments.folder else None)
    trainer.fit(Model((lambda: early) if early else make), ckpt_path=arguments.resume)


if __name__ == "__main__":
    main()
