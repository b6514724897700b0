"""Objects on the pictures of a corpus: annotations in COCO's form, with numbers, sizes and outlines as COCO's.

The objects lie at random and show nothing: loaders do the same work on them. They are the same for the same file names and sizes.
"""
import json
import math
import os
import random
from pathlib import Path

import machine

OBJECTS_MAX = 30  # of a picture; COCO's pictures have 7 on average
CATEGORIES = 80
SIDE_MEDIAN, SIDE_SPREAD = 0.11, 0.95  # of an object beside the picture's side: a log-normal distribution
POINTS_MEDIAN, POINTS_SPREAD = 22, 0.6  # of an outline, as well
TWO_PARTS = 0.1  # of the objects
FRAME_MARKERS = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
NEEDED = ("image", "boxes", "labels", "masks")  # tensors of a batch: [B, 3, H, W], [B, N, 4], [B, N] and [B, N, H, W]


def jpeg_size(data):
    """Returns (width, height) of a JPEG as it is stored, from the header of its frame."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in FRAME_MARKERS:
            return int.from_bytes(data[at + 7:at + 9], "big"), int.from_bytes(data[at + 5:at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    raise ValueError("the header of the JPEG has no frame.")


def outline(draw, width, height, side):
    """Returns a polygon [x, y, x, y, ...] within the picture, whose radius changes from point to point."""
    stretch = math.exp(draw.gauss(0, 0.35))
    across, down = (min(side * stretch, 0.95 * width) / 2, min(side / stretch, 0.95 * height) / 2)
    x, y = draw.uniform(across, width - across), draw.uniform(down, height - down)
    count = min(120, max(5, round(draw.lognormvariate(math.log(POINTS_MEDIAN), POINTS_SPREAD))))
    points = []
    for number in range(count):
        angle, radius = 2 * math.pi * number / count, draw.uniform(0.7, 1)
        points += [round(x + across * radius * math.cos(angle), 2), round(y + down * radius * math.sin(angle), 2)]
    return points


def polygon_area(points):
    xs, ys = points[::2], points[1::2]
    return abs(sum(xs[i - 1] * ys[i] - xs[i] * ys[i - 1] for i in range(len(xs)))) / 2


def drawn_object(draw, width, height):
    side = math.sqrt(width * height) * min(0.9, max(0.015, draw.lognormvariate(math.log(SIDE_MEDIAN), SIDE_SPREAD)))
    parts = [outline(draw, width, height, side) for _ in range(1 + (draw.random() < TWO_PARTS))]
    xs, ys = [x for part in parts for x in part[::2]], [y for part in parts for y in part[1::2]]
    box = [min(xs), min(ys), round(max(xs) - min(xs), 2), round(max(ys) - min(ys), 2)]
    return {"category_id": draw.randint(1, CATEGORIES), "bbox": box, "area": sum(map(polygon_area, parts)), "iscrowd": 0,
            "segmentation": parts}


def annotate(folder, seed=0):
    """Returns annotations for every picture of a folder of classes. `file_name` starts at the folder. All of the
    pictures are JPEGs."""
    images, annotations = [], []
    for path in map(Path, machine.pictures_of(folder)[0]):
        name = str(path.relative_to(folder))
        draw = random.Random(f"{seed}/{name}")
        try:
            width, height = jpeg_size(path.read_bytes())
        except ValueError as error:
            raise SystemExit(f"{path}: {error} Objects can be drawn for JPEGs alone.") from None
        images.append({"id": len(images) + 1, "file_name": name, "width": width, "height": height})
        for _ in range(min(OBJECTS_MAX, 1 + int(draw.expovariate(1 / 6.8)))):
            annotations.append({"id": len(annotations) + 1, "image_id": len(images), **drawn_object(draw, width, height)})
    return {"images": images, "annotations": annotations,
            "categories": [{"id": number + 1, "name": f"thing {number + 1}"} for number in range(CATEGORIES)]}


def annotated(folder, scratch):
    """Returns the path of the file of annotations in the folder `scratch`. It is written where it does not exist."""
    path = os.path.join(scratch, "objects.json")
    if not os.path.exists(path):
        with open(path + ".part", "w") as file:
            json.dump(annotate(Path(folder).resolve()), file)
        os.rename(path + ".part", path)
    return path


def told(batches):
    """Counts what a loader gave, so that two loaders can be compared. `batches` has a dict of NumPy's arrays for each
    batch. Rows beyond a picture's objects are zeros. Areas are means over the objects, as parts of the picture."""
    pictures = objects = box_area = mask_area = 0
    for batch in batches:
        image, boxes, labels, masks = (batch[name] for name in NEEDED)
        if masks.shape[:2] != boxes.shape[:2] or labels.shape != boxes.shape[:2] or masks.shape[2:] != image.shape[2:]:
            raise ValueError(f"shapes differ: {image.shape}, {boxes.shape}, {labels.shape}, {masks.shape}")
        areas = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
        pixels = masks.shape[2] * masks.shape[3]
        pictures += len(image)
        objects += int((areas > 0).sum())
        box_area += float(areas.sum()) / pixels
        mask_area += float(masks.sum(dtype="int64")) / pixels
    return {"objects": objects / pictures, "box_area": box_area / objects, "mask_area": mask_area / objects}
