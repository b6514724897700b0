from timm.data import create_transform
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

transform = create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25)
train_dataset = ImageFolder("/data/imagenet/train", transform=transform)
train_loader = DataLoader(train_dataset, batch_size=128, shuffle=True)
