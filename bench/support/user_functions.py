"""The functions that bench/functions.py has pipelines call, as a user would write them."""
import functools


def nothing(value):
    return value


@functools.cache
def _jitter():
    from torchvision.transforms import ColorJitter

    return ColorJitter(0.4, 0.4, 0.4, 0.1)


@functools.cache
def _augment():
    from torchvision import transforms

    return transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), _jitter()])


def jitter(picture):
    from PIL import Image

    return _jitter()(Image.fromarray(picture))


def augment(picture):
    from PIL import Image

    return _augment()(Image.fromarray(picture))


class Pictures:
    """The same work for torch's DataLoader: <class>/<name>.jpg, decoded by PIL."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        import numpy
        import torch
        from PIL import Image

        with Image.open(self.paths[index]) as picture:
            return torch.from_numpy(numpy.asarray(_augment()(picture.convert("RGB"))))


class SmallArrays:
    """Items without work."""

    def __init__(self, count, side=8):
        import numpy

        self.count, self.array = count, numpy.zeros((3, side, side), numpy.float32)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.array, index
