"""FFCV. It reads a file of its own format, which holds the pictures encoded anew (quality 95), and first compiles its
pipeline."""
import os

import numpy
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import CenterCropRGBImageDecoder, IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from own_daemon import MEAN, SIDE, STD

# The first epoch compiles with numba, for seconds: in training that is nothing, in a short measurement it would be all.
EPOCHS_UNCOUNTED = 1
STORE = None


class Pictures:
    def __init__(self, job):
        self.of_all = list(zip(job.paths, job.classes))

    def __len__(self):
        return len(self.of_all)

    def __getitem__(self, index):
        path, label = self.of_all[index]
        return Image.open(path).convert("RGB"), label


def prepare(job):
    """Writes its file, in the first process that needs it, and brings it into the page cache."""
    global STORE
    STORE = os.path.join(job.scratch, "pictures.beton")
    if not os.path.exists(STORE):
        fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=95), "label": IntField()}
        DatasetWriter(STORE + ".part", fields, num_workers=1).from_indexed_dataset(Pictures(job))
        os.rename(STORE + ".part", STORE)
    with open(STORE, "rb") as file:
        while file.read(1 << 24):
            pass


def batches(job):
    mean, std = numpy.array(MEAN) * 255, numpy.array(STD) * 255
    steps = {"train": [RandomResizedCropRGBImageDecoder((SIDE, SIDE)), RandomHorizontalFlip(),
                       NormalizeImage(mean, std, numpy.float32), ToTensor(), ToTorchImage()],
             "crop8": [RandomResizedCropRGBImageDecoder((SIDE, SIDE)), RandomHorizontalFlip(), ToTensor()],
             "resize": [CenterCropRGBImageDecoder((SIDE, SIDE), ratio=1.0), ToTensor()]}[job.work]
    loader = Loader(STORE, batch_size=job.batch, num_workers=job.threads, order=OrderOption.RANDOM, os_cache=True,
                    drop_last=False, pipelines={"image": steps, "label": [IntDecoder(), ToTensor()]})
    for _ in range(EPOCHS_UNCOUNTED + job.epochs):
        for images, classes in loader:
            yield images, len(classes)
