"""PyTorch's DataLoader with torchvision on Pillow. It has one process for each thread of the others."""
import torch
from PIL import Image
from torchvision import transforms

from own_daemon import MEAN, SIDE, STD


class Pictures(torch.utils.data.Dataset):
    def __init__(self, paths, classes, steps):
        self.paths, self.classes, self.steps = paths, classes, transforms.Compose(steps)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return self.steps(Image.open(file).convert("RGB")), self.classes[index]


def batches(job):
    crop = [transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip()]
    steps = {"train": crop + [transforms.ToTensor(), transforms.Normalize(MEAN, STD)],
             "crop8": crop + [transforms.PILToTensor()],
             "resize": [transforms.Resize((SIDE, SIDE)), transforms.PILToTensor()]}[job.work]
    loader = torch.utils.data.DataLoader(Pictures(job.paths, job.classes, steps), job.batch, shuffle=True,
                                         num_workers=job.threads, persistent_workers=True)
    for _ in range(job.epochs):
        for images, classes in loader:
            yield images, len(classes)
