"""albumentations in PyTorch's DataLoader, with OpenCV and pycocotools. It has one process for each thread of the others."""
import json
import math
import os

import albumentations
import cv2
import numpy
import torch
from pycocotools import mask as run_lengths

import objects
from own_daemon import COLOURS, MEAN, OBJECT_SIDE, SCALE, SIZE_MIN, STD

torch.set_num_threads(1)  # of each process


class Pictures(torch.utils.data.Dataset):
    """Pictures with the polygons of their objects. `index` follows the boxes, so that the masks of dropped boxes go."""

    def __init__(self, folder, listed):
        self.folder, self.images, self.of = folder, listed["images"], {}
        for each in listed["annotations"]:
            self.of.setdefault(each["image_id"], []).append(each)
        self.change = albumentations.Compose([
            albumentations.RandomResizedCrop((OBJECT_SIDE, OBJECT_SIDE), scale=SCALE),
            albumentations.HorizontalFlip(),
            albumentations.ColorJitter(**COLOURS, p=1),
            albumentations.Normalize(MEAN, STD),
            albumentations.ToTensorV2(),
        ], bbox_params=albumentations.BboxParams("coco", ["labels", "index"], min_width=SIZE_MIN, min_height=SIZE_MIN, clip=True))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, number):
        image = self.images[number]
        mine = self.of.get(image["id"], [])
        # The stored pixels, which is how COCO's polygons lie.
        pixels = cv2.imread(os.path.join(self.folder, image["file_name"]), cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION)
        masks = [numpy.ascontiguousarray(run_lengths.decode(run_lengths.merge(
            run_lengths.frPyObjects(each["segmentation"], *pixels.shape[:2])))) for each in mine]
        changed = self.change(image=pixels, masks=masks, bboxes=[each["bbox"] for each in mine],
                              labels=[each["category_id"] - 1 for each in mine], index=range(len(mine)))
        boxes = torch.as_tensor(numpy.array(changed["bboxes"], numpy.float32).reshape(-1, 4))
        boxes[:, 2:] += boxes[:, :2]
        return changed["image"], boxes, changed["labels"], [changed["masks"][int(index)] for index in changed["index"]]


def shared_zeros(shape, dtype):
    """Returns zeros in shared memory, which is where DataLoader's own collate lays tensors: they are copied no more."""
    storage = torch.UntypedStorage._new_shared(math.prod(shape) * dtype.itemsize)
    return torch.empty(0, dtype=dtype).set_(storage, 0, shape)


def padded(samples):
    """Lays samples into tensors that have as many rows as the batch's fullest sample has objects. Each row is written once."""
    count, most = len(samples), max(len(boxes) for _, boxes, _, _ in samples)
    images = shared_zeros((count, 3, OBJECT_SIDE, OBJECT_SIDE), torch.float32)
    boxes, labels = shared_zeros((count, most, 4), torch.float32), shared_zeros((count, most), torch.int64)
    masks = shared_zeros((count, most, OBJECT_SIDE, OBJECT_SIDE), torch.uint8)
    for row, (image, of_boxes, of_labels, of_masks) in enumerate(samples):
        images[row] = image
        boxes[row, :len(of_boxes)] = of_boxes
        labels[row, :len(of_labels)] = torch.as_tensor(numpy.array(of_labels, numpy.int64))
        for place, mask in enumerate(of_masks):
            masks[row, place] = torch.as_tensor(mask)
    return images, boxes, labels, masks


def loader_of(job):
    with open(objects.annotated(job.folder, job.scratch)) as file:
        pictures = Pictures(job.folder, json.load(file))
    return torch.utils.data.DataLoader(pictures, job.batch, shuffle=True, num_workers=job.threads, persistent_workers=True,
                                       collate_fn=padded, worker_init_fn=lambda _: cv2.setNumThreads(0))


def prepare(job):
    objects.annotated(job.folder, job.scratch)


def batches(job):
    loader = loader_of(job)
    for _ in range(job.epochs):
        for images, *_ in loader:
            yield images, len(images)


def told(job):
    return objects.told(dict(zip(objects.NEEDED, (tensor.numpy() for tensor in batch))) for batch in loader_of(job))
