from dataclasses import dataclass
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T


@dataclass
class TrainConfig:
    data: str = "/data/cats"
    image_size: int = 96
    batch_size: int = 32
    flip: bool = True


cfg = TrainConfig(batch_size=20)


def make_loader(cfg, split):
    steps = [T.Resize((cfg.image_size, cfg.image_size))]
    if cfg.flip and split == "train":
        steps.append(T.RandomHorizontalFlip())
    steps += [T.ToTensor()]
    dataset = datasets.ImageFolder(cfg.data + "/" + split, T.Compose(steps))
    return DataLoader(dataset, batch_size=cfg.batch_size, shuffle=split == "train")


train_loader = make_loader(cfg, "train")
val_loader = make_loader(cfg, "val")
