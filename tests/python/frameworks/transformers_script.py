#!/usr/bin/env python3
"""A training with Hugging Face's Trainer by the two processes of a torchrun; for transformers_test.py.

    transformers_script.py PICTURES --folder FOLDER [--resume STEP]

It evaluates and leaves a checkpoint in the folder after each second step; --resume goes on with that step's checkpoint.
"""
import argparse
import os

import torch
import transformers

import spdld.torch
from case import SAMPLES, spec_of


class Model(torch.nn.Module):
    """Notes what it sees, and learns something that depends on the batches' order."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.layer = torch.nn.Linear(1, 1)
        self.seen, self.validated = [], []

    def forward(self, sample_id, labels, **others):
        (self.seen if self.training else self.validated).append(sample_id.tolist())
        found = self.layer(sample_id.float()[:, None] / SAMPLES)
        return {"loss": (found - labels[:, None]).square().mean(), "logits": found, "samples": sample_id}


class Trainer(transformers.Trainer):
    """Written as the docstring of spdld.torch says."""

    def __init__(self, model, arguments, train, validation=None, **options):
        super().__init__(model, arguments, eval_dataset=validation, **options)
        self.remove_callback(transformers.PrinterCallback)
        self.train_loader = train

    def get_train_dataloader(self):
        return self.train_loader

    def get_eval_dataloader(self, eval_dataset=None):
        return self.eval_dataset if eval_dataset is None else eval_dataset


def arguments_of(folder, **options):
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"  # or it asks torch for more of CPUs than torch 1.13 knows
    return transformers.TrainingArguments(str(folder), **{
        "use_cpu": True, "report_to": [], "disable_tqdm": True, "save_strategy": "no", "learning_rate": 0.05,
        "dataloader_pin_memory": False, **options})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--resume", type=int)
    arguments = parser.parse_args()

    options = arguments_of(arguments.folder, ddp_backend="gloo", num_train_epochs=2, save_strategy="steps", save_steps=2,
                           eval_strategy="steps", eval_steps=2)
    names = {"sample_id": "sample_id", "labels": "label"}
    train = spdld.torch.Loader(spec_of(arguments.pictures, order={"epochs": 0, "shuffle": True}), convert=names)
    validation = spdld.torch.Loader(spec_of(arguments.pictures, name="validation", order={"epochs": 1, "shuffle": False},
                                            batch={"size": 5, "last": "pad"}), convert=names)
    assert train.info.world_size == options.world_size == 2

    def metrics(prediction):
        samples = " ".join(map(str, prediction.predictions[1].tolist()))
        print(f"rank {options.process_index} gathered {samples}\n", end="", flush=True)
        return {}

    trainer = Trainer(Model(), options, train, validation, compute_metrics=metrics)
    trainer.train(resume_from_checkpoint=arguments.resume and f"{arguments.folder}/checkpoint-{arguments.resume}")
    for kind, steps in (("seen", trainer.model.seen), ("validated", trainer.model.validated)):
        for samples in steps:
            print(f"rank {options.process_index} {kind} {' '.join(map(str, samples))}\n", end="", flush=True)
    weights = [value.hex() for parameter in trainer.model.parameters() for value in parameter.flatten().tolist()]
    print(f"rank {options.process_index} weights {' '.join(weights)}\n", end="", flush=True)
    train.close()
    validation.close()
    # Python is not taken down: threads of gloo still run, and one that then wants Python ends the process as if it had failed. To
    # end the group before waits for its other processes, and now and then for ever.
    torch.distributed.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
