import torch
from torch.utils.data import DataLoader, random_split
from torchvision import transforms
from torchvision.datasets import ImageFolder

dataset = ImageFolder("/data/all", transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()]))
n_val = int(0.1 * len(dataset))
train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(0))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=32)
