import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

DATA_ROOT = "/data/flowers"
IMG_SIZE = 128
BATCH_SIZE = 48
MEAN, STD = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)

train_tf = transforms.Compose([
    transforms.Resize(int(IMG_SIZE * 1.25)),
    transforms.RandomCrop(IMG_SIZE),
    transforms.ToTensor(),
    transforms.Normalize(MEAN, STD),
])
train_ds = ImageFolder(f"{DATA_ROOT}/train_{IMG_SIZE}", transform=train_tf)
train_dl = DataLoader(train_ds, BATCH_SIZE, shuffle=True, num_workers=2)
for xb, yb in train_dl:
    print(xb.shape, yb.shape)
