import argparse
from accelerate import Accelerator
import torch
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms as tt


def training_function(config, args):
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    train_tfm = tt.Compose([tt.RandomResizedCrop(config["image_size"]), tt.ToTensor()])
    train_ds = datasets.ImageFolder(args.data_dir, train_tfm)
    sampler = DistributedSampler(train_ds) if torch.distributed.is_initialized() else None
    train_dl = DataLoader(train_ds, shuffle=sampler is None, sampler=sampler, batch_size=config["batch_size"], num_workers=4)
    train_dl = accelerator.prepare(train_dl)
    for epoch in range(config["num_epochs"]):
        for batch in train_dl:
            accelerator.print(len(batch))


def main():
    parser = argparse.ArgumentParser(description="example")
    parser.add_argument("--data_dir", required=True, help="the folder of pictures")
    parser.add_argument("--mixed_precision", type=str, default=None, choices=["no", "fp16", "bf16"])
    args = parser.parse_args()
    config = {"lr": 3e-2, "num_epochs": 3, "batch_size": 64, "image_size": 176}
    training_function(config, args)


if __name__ == "__main__":
    main()
