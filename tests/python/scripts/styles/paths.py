from pathlib import Path
import torch
from torchvision import datasets
from torchvision.transforms import v2

root = Path("/data") / "tiles"
augment = v2.Compose([
    v2.ToImage(), v2.RandomResizedCrop(size=(80, 80), antialias=True), v2.RandomRotation(10),
    v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean=[0.5] * 3, std=[0.25] * 3),
])
train_data = datasets.ImageFolder(root=root / "train", transform=augment)
train_dataloader = torch.utils.data.DataLoader(train_data, batch_size=2 ** 5, shuffle=True)
