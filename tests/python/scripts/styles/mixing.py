import torch
from torch.utils.data import DataLoader, default_collate
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

NUM_CLASSES = 7
preprocess = v2.Compose([v2.RandomResizedCrop(48), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
cutmix = v2.CutMix(num_classes=NUM_CLASSES)
mixup = v2.MixUp(num_classes=NUM_CLASSES, alpha=0.4)
either = v2.RandomChoice([cutmix, mixup])


def collate_fn(batch):
    return either(*default_collate(batch))


dataloader = DataLoader(ImageFolder("/data/food/train", preprocess), batch_size=16, shuffle=True, collate_fn=collate_fn)
