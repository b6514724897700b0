import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class Birds(pl.LightningDataModule):
    def __init__(self, root="birds", batch_size=16, image_size=160):
        super().__init__()
        self.save_hyperparameters()

    def _transforms(self, train):
        if train:
            return transforms.Compose([transforms.RandomResizedCrop(self.hparams.image_size), transforms.RandomHorizontalFlip(),
                                       transforms.ToTensor()])
        return transforms.Compose([transforms.Resize((self.hparams.image_size, self.hparams.image_size)), transforms.ToTensor()])

    def _loader(self, split, train):
        dataset = datasets.ImageFolder(f"{self.hparams.root}/{split}", self._transforms(train))
        return DataLoader(dataset, batch_size=self.hparams.batch_size, shuffle=train, drop_last=train)

    def train_dataloader(self):
        return self._loader("train", True)

    def val_dataloader(self):
        return self._loader("val", train=False)


module = Birds(root="/data/birds", image_size=192)
pl.Trainer(max_epochs=1).fit(torch.nn.Linear(1, 1), datamodule=module)
