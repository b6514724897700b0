"""Published recipes of detection and segmentation: each file of config/examples, beside its reference with the same draws."""
import json
import unittest

import numpy as np
import torch
from PIL import Image
from recipe_case import RecipeCase, as_png, drawn, is_flipped, recipe, rows_of, smooth, uniform

import spdld


def nearest(mask, height, width):
    """torchvision v2's resize of masks."""
    tensor = torch.from_numpy(mask.astype(np.float32))[None, None]
    return torch.nn.functional.interpolate(tensor, size=(height, width), mode="nearest")[0, 0].numpy().astype(mask.dtype)


def padded(array, height, width, fill):
    """FixedSizeCrop's and PadIfSmaller's border: on the right and below."""
    border = [(0, max(0, height - array.shape[0])), (0, max(0, width - array.shape[1]))]
    if array.ndim == 2:
        return np.pad(array, border, constant_values=fill)
    return np.stack([np.pad(array[..., c], border, constant_values=fill[c]) for c in range(3)], 2)


def crop_place(sample, height, width, size):
    draw = drawn(sample, "random-crop")
    top = draw.below(height - size + 1)
    return top, draw.below(width - size + 1)


class DetectionAndSegmentation(RecipeCase):
    def coco(self, count, name):
        """Pictures with four boxes each, whose polygons are the boxes."""
        folder, random = self.folder_for(name), np.random.default_rng(4)
        pictures, objects = [], []
        for number in range(count):
            width, height = (int(length) for length in random.integers(200, 700, 2))
            pictures.append(smooth(random, width, height))
            pictures[-1].save(folder / f"{number}.png")
            objects.append([])
            for _ in range(4):
                x, y = int(random.integers(0, width - 40)), int(random.integers(0, height - 40))
                objects[-1].append([x, y, int(random.integers(x + 20, width)), int(random.integers(y + 20, height))])
        annotations = [{"id": 4 * image + place, "image_id": image, "category_id": 10 + (image + place) % 3, "iscrowd": 0,
                        "area": (r - x) * (b - y), "bbox": [x, y, r - x, b - y], "segmentation": [[x, y, r, y, r, b, x, b]]}
                       for image, boxes in enumerate(objects) for place, (x, y, r, b) in enumerate(boxes)]
        (folder / "train.json").write_text(json.dumps({
            "images": [{"id": n, "file_name": f"{n}.png", "width": p.width, "height": p.height} for n, p in enumerate(pictures)],
            "annotations": annotations, "categories": [{"id": n, "name": str(n)} for n in (10, 11, 12)]}))
        return pictures, objects, {"uri": str(folder / "train.json"), "images": str(folder)}

    def test_mask_rcnn_with_large_scale_jitter(self):
        count, side = 12, 1024
        pictures, objects, source = self.coco(count, "coco")
        spec = recipe("mask-rcnn", 2, **source)
        kept = 0
        for number, sample in self.samples(spec, count).items():
            picture = pictures[number]
            by = min(side / picture.height, side / picture.width) * uniform(drawn(number, "scale-jitter"), 0.1, 2)
            width, height = int(picture.width * by), int(picture.height * by)
            image = padded(np.asarray(picture.resize((width, height), Image.BILINEAR)), side, side, (123, 117, 104))
            top, left = crop_place(number, *image.shape[:2], side)
            window = np.s_[top:top + side, left:left + side]
            mirror = np.s_[:, ::-1] if is_flipped(number) else np.s_[:]
            self.assert_close(sample["image"].transpose(1, 2, 0) * 255, image[window][mirror])
            by = np.tile([width / picture.width, height / picture.height], 2)
            boxes = np.float64(objects[number]) * by - np.tile([left, top], 2)
            boxes[:, 0::2], boxes[:, 1::2] = boxes[:, 0::2].clip(0, side), boxes[:, 1::2].clip(0, side)
            sizes = boxes[:, 2:] - boxes[:, :2]
            places = np.flatnonzero((sizes >= 1).all(1))
            if is_flipped(number):
                boxes[:, 0::2] = side - boxes[:, 2::-2]
            np.testing.assert_allclose(sample["boxes"], boxes[places], atol=2e-3)
            np.testing.assert_array_equal(sample["labels"], [10 + (number + place) % 3 for place in places])
            self.assertEqual(sample["masks"].shape, (len(places), side, side))
            for mask, place in zip(sample["masks"], places):
                x, y, right, bottom = objects[number][place]
                whole = np.zeros((picture.height, picture.width), np.uint8)
                whole[y:bottom, x:right] = 1
                np.testing.assert_array_equal(mask, padded(nearest(whole, height, width), side, side, 0)[window][mirror])
            kept += len(places)
        self.assertTrue(count < kept < 4 * count, kept)

    def detr_steps(self, number, width, height):
        """What DETR's transforms do to a picture of this size: resizes to (width, height), and crops of (x, y, width, height)."""
        def resized(draw, sizes, longest=float("inf")):
            by = min(sizes[draw.below(len(sizes))] / min(width, height), longest / max(width, height))
            return int(width * by), int(height * by)

        sizes = range(480, 801, 32)
        if drawn(number, "random-choice").uniform() * 2 < 1:
            return [resized(drawn(number, "random-choice.0"), sizes, 1333)]
        width, height = resized(drawn(number, "random-choice.1.0"), (400, 500, 600))
        steps, draw = [(width, height)], drawn(number, "random-choice.1.1")
        across, down = (384 + draw.below(min(side, 600) - 384 + 1) for side in (width, height))
        top = draw.below(height - down + 1)
        left = draw.below(width - across + 1)
        width, height = across, down
        return [*steps, (left, top, across, down), resized(drawn(number, "random-choice.1.2"), sizes, 1333)]

    def test_detr(self):
        count, side = 24, 1333
        pictures, objects, source = self.coco(count, "detr")
        cropped = kept = 0
        for number, sample in self.samples(recipe("detr", 2, **source), count).items():
            picture, boxes = pictures[number], np.float64(objects[number])
            if is_flipped(number):
                boxes[:, 0::2] = picture.width - boxes[:, 2::-2]
                picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
            steps = self.detr_steps(number, *picture.size)
            cropped += len(steps) > 1
            for step in steps:
                if len(step) == 4:
                    left, top, width, height = step
                    picture = picture.crop((left, top, left + width, top + height))
                    boxes = boxes - [left, top, left, top]
                else:
                    boxes = boxes * np.tile(np.float64(step) / picture.size, 2)
                    picture = picture.resize(step, Image.BILINEAR)
                boxes[:, 0::2], boxes[:, 1::2] = boxes[:, 0::2].clip(0, picture.width), boxes[:, 1::2].clip(0, picture.height)
            places = np.flatnonzero((boxes[:, 2:] - boxes[:, :2] >= 1).all(1))
            boxes, kept = boxes[places], kept + len(places)
            np.testing.assert_array_equal(sample["place"], [0, 0, *picture.size])
            shown = (sample["image"].transpose(1, 2, 0) * np.float32([0.229, 0.224, 0.225])
                     + np.float32([0.485, 0.456, 0.406])) * 255
            self.assert_close(shown, padded(np.asarray(picture), side, side, (124, 116, 104)), 2)
            self.assertLess(np.abs(sample["image"][:, picture.height:]).max(initial=0), 0.01)
            wanted = np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]],
                                    1) / np.tile(picture.size, 2)
            np.testing.assert_allclose(sample["boxes"] / sample["place"][[2, 3, 2, 3]], wanted, atol=1e-5)
            np.testing.assert_array_equal(sample["labels"], [10 + (number + place) % 3 for place in places])
            self.assertEqual(sample["image_id"], number)
        self.assertTrue(0 < cropped < count and count < kept <= 4 * count, (cropped, kept))

    def test_yolo_s_letterbox(self):
        count, side = 12, 640
        folder, random = self.folder_for("yolo"), np.random.default_rng(9)
        for name in ("images/val2017", "labels/val2017"):
            (folder / name).mkdir(parents=True)
        (folder / "data.yaml").write_text("names: [a, b, c]\n")
        pictures, boxes = [], []
        for number in range(count):
            pictures.append(smooth(random, *(int(length) for length in random.integers(100, 900, 2))))
            (folder / "images/val2017" / f"{number:03}.jpg").write_bytes(as_png(pictures[-1]))
            sides = random.uniform(0.1, 0.5, (number % 4, 2)).round(4)
            boxes.append(np.concatenate([(sides / 2 + random.uniform(0, 1, sides.shape) * (1 - sides)).round(4), sides], 1))
            lines = [" ".join(map(str, [place % 3, *box])) for place, box in enumerate(boxes[-1].tolist())]
            (folder / "labels/val2017" / f"{number:03}.txt").write_text("\n".join(lines))
        for number, sample in self.samples(recipe("yolo-val", 4, uri=str(folder)), count).items():
            by = side / max(pictures[number].size)
            width, height = (int(length * by + 1e-9) for length in pictures[number].size)
            # Ultralytics' LetterBox: the odd pixel of a border stands on the right, or below.
            left, top = round((side - width) / 2 - 0.1), round((side - height) / 2 - 0.1)
            tensor = torch.from_numpy(np.asarray(pictures[number]).copy()).permute(2, 0, 1)[None].float()
            shown = torch.nn.functional.interpolate(tensor, size=(height, width), mode="bilinear", align_corners=False)[0]
            wanted = np.full((side, side, 3), 114, np.float64)
            wanted[top:top + height, left:left + width] = shown.permute(1, 2, 0).numpy()
            self.assert_close(sample["image"].transpose(1, 2, 0) * 255, wanted)
            middle, half = boxes[number][:, :2] * [width, height] + [left, top], boxes[number][:, 2:] * [width, height] / 2
            np.testing.assert_allclose(sample["boxes"], np.concatenate([middle - half, middle + half], 1), atol=0.05)
            np.testing.assert_array_equal(sample["labels"], np.arange(len(middle)) % 3)

    def in_order(self, spec):
        """The samples of an epoch, one after another."""
        found = []
        with self.attach(spec) as loader:
            for batch in loader:
                columns = {name: rows_of(batch[name]) if isinstance(batch[name], spdld.Ragged) else np.array(batch[name])
                           for name in batch.keys()}
                found += [{name: np.array(column[row]) for name, column in columns.items()} for row in range(batch.valid)]
        return found

    def yolo_s_mosaic(self, four, position, side):
        """Ultralytics' Mosaic and RandomPerspective of four letterboxes: the picture, its boxes and its labels."""
        draw = drawn(position, "mosaic-warp")
        meet = [int(uniform(draw, 0.5 * side, 1.5 * side)) for _ in range(2)]
        uniform(draw, 0, 0)
        scale = uniform(draw, 0.5, 1.5)
        uniform(draw, 0, 0), uniform(draw, 0, 0)
        middle = np.array([uniform(draw, 0.4, 0.6) * side for _ in range(2)])
        canvas = np.full((2 * side, 2 * side, 3), 114, np.float64)
        boxes, labels = [], []
        for place, sample in enumerate(four):
            x, y, width, height = (int(number) for number in sample["lies"])
            left, top = meet[0] - (0 if place % 2 else width), meet[1] - (0 if place >= 2 else height)
            x1, y1, x2, y2 = max(left, 0), max(top, 0), min(left + width, 2 * side), min(top + height, 2 * side)
            inner = sample["image"].transpose(1, 2, 0)[y:y + height, x:x + width]
            canvas[y1:y2, x1:x2] = inner[y1 - top:y2 - top, x1 - left:x2 - left]
            boxes.append((sample["boxes"].reshape(-1, 4) + np.tile([left - x, top - y], 2)).clip(0, 2 * side))
            labels.append(sample["labels"])
        boxes, labels = np.concatenate(boxes), np.concatenate(labels)
        moved = ((boxes - side) * scale + np.tile(middle, 2)).clip(0, side)
        sizes, areas = moved[:, 2:] - moved[:, :2], (boxes[:, 2:] - boxes[:, :2]).prod(1) * scale ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            stays = (sizes > 2).all(1) & (sizes.prod(1) / areas > 0.1) & (np.maximum(sizes[:, 0] / sizes[:, 1],
                                                                                     sizes[:, 1] / sizes[:, 0]) < 100)
        around = np.pad(canvas, ((side, side), (side, side), (0, 0)), constant_values=114)
        ways = []
        for axis in range(2):
            at = (np.arange(side) + 0.5 - middle[axis]) / scale + 2 * side - 0.5
            ways.append((np.floor(at).astype(int), at - np.floor(at)))
        (x, right), (y, lower) = ways
        right, lower = right[None, :, None], lower[:, None, None]
        rows = lambda y: around[y][:, x] * (1 - right) + around[y][:, x + 1] * right
        return rows(y) * (1 - lower) + rows(y + 1) * lower, moved[stays], labels[stays]

    def test_yolo_s_training(self):
        count, side, group = 16, 640, 8
        folder, random = self.folder_for("yolo-train"), np.random.default_rng(10)
        for name in ("images/train2017", "labels/train2017"):
            (folder / name).mkdir(parents=True)
        (folder / "data.yaml").write_text("names: [a, b, c]\n")
        for number in range(count):
            picture = smooth(random, *(int(length) for length in random.integers(100, 900, 2)))
            (folder / "images/train2017" / f"{number:03}.jpg").write_bytes(as_png(picture))
            sides = random.uniform(0.02, 0.5, (number % 5, 2)).round(4)
            boxes = np.concatenate([(sides / 2 + random.uniform(0, 1, sides.shape) * (1 - sides)).round(4), sides], 1)
            lines = [" ".join(map(str, [place % 3, *box])) for place, box in enumerate(boxes.tolist())]
            (folder / "labels/train2017" / f"{number:03}.txt").write_text("\n".join(lines))
        spec = recipe("yolo-train", group, uri=str(folder))
        spec["batch"] |= {"group": group, "last": "drop"}
        single = {**spec, "batch": {key: value for key, value in spec["batch"].items() if key not in ("ops", "group")}}
        letterboxes, kept = self.in_order(single), 0
        for position, sample in enumerate(self.in_order(spec)):
            first = position // group * group
            four = [letterboxes[first + (position - back) % group] for back in range(4)]
            self.assertEqual(sample["sample_id"], four[0]["sample_id"])
            self.assertEqual(sample["image"].dtype, np.uint8)
            image, boxes, labels = self.yolo_s_mosaic(four, position, side)
            self.assert_close(sample["image"].transpose(1, 2, 0), image, 0.51)
            np.testing.assert_allclose(sample["boxes"].reshape(-1, 4), boxes, atol=1e-3)
            np.testing.assert_array_equal(sample["labels"], labels)
            kept += len(boxes)
        self.assertGreater(kept, count)

    def test_deeplab(self):
        count, side = 12, 480
        folder, random = self.folder_for("voc"), np.random.default_rng(5)
        for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation", "Annotations"):
            (folder / name).mkdir(parents=True)
        pictures, masks = [], []
        for number in range(count):
            width, height = (int(length) for length in random.integers(200, 500, 2))
            pictures.append(smooth(random, width, height))
            (folder / "JPEGImages" / f"{number:03}.jpg").write_bytes(as_png(pictures[-1]))  # a PNG by its first bytes
            (folder / "Annotations" / f"{number:03}.xml").write_text("<annotation></annotation>")
            masks.append(random.choice([*range(21), 255], (height, width)).astype(np.uint8))
            Image.fromarray(masks[-1]).save(folder / "SegmentationClass" / f"{number:03}.png")
        (folder / "ImageSets/Segmentation/train.txt").write_text("".join(f"{number:03}\n" for number in range(count)))
        smaller = 0
        for number, sample in self.samples(recipe("deeplab", 4, uri=str(folder)), count).items():
            picture = pictures[number]
            shorter = 260 + drawn(number, "random-resize").below(1041 - 260)
            longer = int(shorter * max(picture.size) / min(picture.size))
            width, height = (shorter, longer) if picture.width <= picture.height else (longer, shorter)
            smaller += shorter < side
            mirror = np.s_[:, ::-1] if is_flipped(number) else np.s_[:]
            image = padded(np.asarray(picture.resize((width, height), Image.BILINEAR))[mirror], side, side, (0, 0, 0))
            mask = padded(nearest(masks[number], height, width)[mirror], side, side, 255)
            top, left = crop_place(number, *mask.shape, side)
            window = np.s_[top:top + side, left:left + side]
            shown = sample["image"].transpose(1, 2, 0) * np.float32([0.229, 0.224, 0.225]) + np.float32([0.485, 0.456, 0.406])
            self.assert_close(shown * 255, image[window], 1.001)
            self.assertEqual(sample["classes"].dtype, np.int64)
            np.testing.assert_array_equal(sample["classes"], mask[window])
        self.assertTrue(0 < smaller < count, smaller)


if __name__ == "__main__":
    unittest.main()
