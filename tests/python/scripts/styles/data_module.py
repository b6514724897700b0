import argparse
from pathlib import Path
import lightning.pytorch as pl
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder


class FoodData(pl.LightningDataModule):
    def __init__(self, data_dir: str = "./data", batch_size: int = 32, num_workers: int = 8, size=224):
        super().__init__()
        self.data_dir = Path(data_dir)
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.size = size
        self.normalize = T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))

    def train_transform(self):
        return T.Compose([T.RandomResizedCrop(self.size), T.RandomHorizontalFlip(), T.ToTensor(), self.normalize])

    def val_transform(self):
        return T.Compose([T.Resize(self.size + 32), T.CenterCrop(self.size), T.ToTensor(), self.normalize])

    def setup(self, stage=None):
        if stage in ("fit", None):
            self.train_set = ImageFolder(self.data_dir / "train", transform=self.train_transform())
            self.val_set = ImageFolder(self.data_dir / "val", transform=self.val_transform())

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True, num_workers=self.num_workers, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.batch_size, num_workers=self.num_workers)


def cli():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=str, default="/data/food")
    parser.add_argument("--bs", type=int, default=64)
    return parser.parse_args()


if __name__ == "__main__":
    args = cli()
    data = FoodData(args.root, batch_size=args.bs)
    trainer = pl.Trainer(max_epochs=3)
    trainer.fit(pl.LightningModule(), data)
