import os
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

ROOT = "/data/signs"
SPLITS = ("train", "valid", "test")
transform = transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor()])
datasets, loaders = {}, {}
for split in SPLITS:
    folder = os.path.join(ROOT, split)
    datasets[split] = ImageFolder(folder, transform=transform)
    loaders[split] = DataLoader(datasets[split], batch_size=100, shuffle=(split == "train"))
print({split: len(loaders[split]) for split in SPLITS})
