import os
import torch
import torchvision
from torchvision import transforms


class CFG:
    seed = 42
    size = 256
    bs = 24
    root = "../input/leaves"


train_transforms = transforms.Compose([
    transforms.RandomResizedCrop(CFG.size, scale=(0.8, 1.0)),
    transforms.RandomVerticalFlip(p=0.3),
    transforms.ToTensor(),
])
dataset = torchvision.datasets.ImageFolder(os.path.join(CFG.root, "train"), train_transforms)
loader = torch.utils.data.DataLoader(dataset, batch_size=CFG.bs, shuffle=True, pin_memory=True)
