"""PyTorch's DataLoader with torchvision. It has one process for each thread of the others.

`way` of the job: "" is torchvision's first transforms on Pillow's pictures, "v2" the second ones, and "tensors" the second
ones on tensors that torchvision decodes.
"""
import torch
from PIL import Image
from torchvision import io, transforms
from torchvision.transforms import v2

from own_daemon import MEAN, SHORTER, SIDE, STD

torch.set_num_threads(1)  # of each process


class Pictures(torch.utils.data.Dataset):
    def __init__(self, paths, classes, change, as_tensors):
        self.paths, self.classes, self.change, self.as_tensors = paths, classes, change, as_tensors

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if self.as_tensors:
            return self.change(io.decode_image(io.read_file(self.paths[index]), io.ImageReadMode.RGB)), self.classes[index]
        with open(self.paths[index], "rb") as file:
            return self.change(Image.open(file).convert("RGB")), self.classes[index]


class TenCrops:
    """DINOv2's views of a picture, as config/examples/multi-crop.toml has them."""

    def __init__(self, normalized):
        self.views = [self.view(normalized, SIDE, (0.32, 1), 1, 0), self.view(normalized, SIDE, (0.32, 1), 0.1, 0.2),
                      *[self.view(normalized, 98, (0.05, 0.32), 0.5, 0)] * 8]

    @staticmethod
    def view(normalized, side, scale, blur, solarize):
        steps = [v2.RandomResizedCrop(side, scale, interpolation=v2.InterpolationMode.BICUBIC), v2.RandomHorizontalFlip(),
                 v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), v2.RandomGrayscale(0.2),
                 v2.RandomApply([v2.GaussianBlur(9, (0.1, 2))], blur)]
        return v2.Compose(steps + [v2.RandomSolarize(128, solarize)] * (solarize > 0) + normalized)

    def __call__(self, picture):
        return [view(picture) for view in self.views]


def change_of(job):
    if not job.way:
        crop = [transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip()]
        normalized = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
        return transforms.Compose({"train": crop + normalized,
                                   "validate": [transforms.Resize(SHORTER), transforms.CenterCrop(SIDE), *normalized],
                                   "crop8": crop + [transforms.PILToTensor()],
                                   "resize": [transforms.Resize((SIDE, SIDE)), transforms.PILToTensor()]}[job.work])
    normalized = [v2.PILToTensor()] * (job.way == "v2") + [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    if job.work == "multi-crop":
        return TenCrops(normalized)
    policy = [v2.RandAugment(interpolation=v2.InterpolationMode.BILINEAR)] * (job.work == "rand-augment")
    return v2.Compose([v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), *policy, *normalized])


def batches(job):
    pictures = Pictures(job.paths, job.classes, change_of(job), job.way == "tensors")
    loader = torch.utils.data.DataLoader(pictures, job.batch, shuffle=True, num_workers=job.threads, persistent_workers=True)
    for _ in range(job.epochs):
        for images, classes in loader:
            yield images[0] if isinstance(images, list) else images, len(classes)
