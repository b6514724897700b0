"""Published recipes of self-supervision, of texts with pictures and of diffusion: each file beside its reference, with the same
draws."""
import unittest

import numpy as np
import torch
from PIL import Image
from recipe_case import RecipeCase, as_png, drawn, is_flipped, recipe, resized_crop_box, smooth, uniform, write_shard
from torchvision.transforms import functional

MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
CAPTIONS = ("two cats on a sofa", "", "Zürich, im März", "犬と猫", "a " * 700)


def pixels_of(values, mean=MEAN, std=STD):
    """What normalize was given, from 0 to 255, [H, W, 3]."""
    return (values.transpose(1, 2, 0).astype(np.float32) * std + mean) * 255


def coloured(picture, sample, end, colour, blur, solarise):
    """DINOv2's changes of colours behind the crop, as torchvision's of uint8 tensors; `end`: of the names of the draws."""
    def done(name, p):
        draw = drawn(sample, name)
        return draw if draw.uniform() < p else None

    tensor = torch.from_numpy(picture.copy()).permute(2, 0, 1)
    if draw := done(f"{colour}{end}", 0.8):
        order = draw.shuffled(4)
        factors = [uniform(draw, *ends) for ends in ((0.6, 1.4), (0.6, 1.4), (0.8, 1.2), (-0.1, 0.1))]
        steps = (functional.adjust_brightness, functional.adjust_contrast, functional.adjust_saturation, functional.adjust_hue)
        for place in order:
            tensor = steps[place](tensor, factors[place])
    if done(f"{colour.replace('colours', 'grey').replace('color-jitter', 'grayscale')}{end}", 0.2):
        tensor = functional.rgb_to_grayscale(tensor, 3)
    if draw := done(f"{colour.replace('colours', 'blur').replace('color-jitter', 'gaussian-blur')}{end}", blur):
        tensor = functional.gaussian_blur(tensor, [9, 9], [uniform(draw, 0.1, 2)] * 2)
    if solarise and done("solarize", 0.2):
        tensor = functional.solarize(tensor, 128)
    return tensor.permute(1, 2, 0).numpy()


class PicturesAndTexts(RecipeCase):
    def test_dinov2(self):
        count, folder, random = 24, self.folder_for("dinov2"), np.random.default_rng(6)
        (folder / "a").mkdir()
        pictures = [smooth(random, *(int(side) for side in random.integers(120, 400, 2))) for _ in range(count)]
        for number, picture in enumerate(pictures):
            picture.save(folder / "a" / f"{number:03}.png")
        spec = recipe("multi-crop", 8, uri=str(folder), extensions="png")
        spec["seed"] = 17
        views = [("global-1", 224, (0.32, 1), "global-crop", "global-flip", "global-colours", 1, False),
                 ("global-2", 224, (0.32, 1), "global-crop", "global-flip", "global-colours", 0.1, True)]
        views += [(f"local-{n}", 98, (0.05, 0.32), "random-resized-crop", "horizontal-flip", "color-jitter", 0.5,
                   False) for n in range(1, 9)]
        away = []
        for number, sample in self.samples(spec, count).items():
            for name, size, scale, crop, flip, colour, blur, solarise in views:
                end = name[name.index("-"):]
                box = resized_crop_box(drawn(number, crop + end), *pictures[number].size, scale)
                shown = np.asarray(pictures[number].crop(box).resize((size, size), Image.BICUBIC))
                shown = shown[:, ::-1] if is_flipped(number, flip + end) else shown
                wanted = coloured(shown, number, end, colour, blur, solarise)
                self.assertEqual(sample[name].shape, (3, size, size))
                self.assertEqual(sample[name].dtype, np.float32)
                away.append(np.abs(pixels_of(sample[name]) - wanted))
        # Each change is within 1, and so some pixels differ by more behind several, or are inverted where others aren't.
        self.assertLess(max(np.mean(each) for each in away), 1.2)
        self.assertLess(np.mean([np.mean(each > 4) for each in away]), 0.001)

    def test_clip(self):
        count, folder, random = 20, self.folder_for("clip"), np.random.default_rng(7)
        pictures = [smooth(random, *(int(side) for side in random.integers(150, 400, 2))) for _ in range(count)]
        captions = [f"{number} {CAPTIONS[number % len(CAPTIONS)]}" for number in range(count)]
        captions[1] = ""
        write_shard(folder / "a.tar", [{"jpg": as_png(p), "txt": text.encode()} for p, text in zip(pictures, captions)])
        mean, std = np.float32([0.48145466, 0.4578275, 0.40821073]), np.float32([0.26862954, 0.26130258, 0.27577711])
        for number, sample in self.samples(recipe("clip", 8, uri=str(folder)), count).items():
            box = resized_crop_box(drawn(number, "random-resized-crop"), *pictures[number].size, (0.9, 1))
            shown = np.asarray(pictures[number].crop(box).resize((224, 224), Image.BICUBIC))
            self.assert_close(pixels_of(sample["image"], mean, std), shown, 0)
            self.assertEqual(bytes(sample["caption"]).decode(), captions[number][:1024])

    def test_diffusion_in_sdxl_s_buckets(self):
        count, folder, random = 16, self.folder_for("sdxl"), np.random.default_rng(8)
        pictures = [smooth(random, *(int(side) for side in random.integers(200, 900, 2))) for _ in range(count)]
        captions = [f"{number} {CAPTIONS[number % len(CAPTIONS)]}" for number in range(count)]
        write_shard(folder / "a.tar", [{"jpg": as_png(p), "txt": text.encode()} for p, text in zip(pictures, captions)])
        spec = recipe("aspect-buckets", 2, uri=str(folder))
        bucket = next(op for op in spec["output"][0]["ops"] if op["op"] == "aspect-bucket")
        sizes = [tuple(map(int, size.split("x"))) for size in bucket["sizes"]]
        self.assertEqual(len(set(sizes)), 40)
        # the paper's list lacks 1344 x 704
        self.assertEqual(set(sizes) - {(width, height) for height, width in sizes}, {(704, 1344)})
        self.assertTrue(all(side % 64 == 0 for size in sizes for side in size))
        self.assertTrue(all(0.9 < height * width / 1024**2 <= 1.01 for height, width in sizes))
        spec["output"][0]["ops"][-1]["dtype"] = "float32"  # numpy has no bfloat16
        for number, sample in self.samples(spec, count).items():
            picture = pictures[number]
            height, width = min(sizes, key=lambda size: abs(size[1] / size[0] - picture.width / picture.height))
            self.assertEqual(sample["pixels"].shape, (3, height, width))
            by = height / picture.height if picture.width / picture.height > width / height else width / picture.width
            wide, high = int(picture.width * by + 0.5), int(picture.height * by + 0.5)
            left, top = (wide - width) // 2, (high - height) // 2
            shown = np.asarray(picture.resize((wide, high), Image.LANCZOS))[top:top + height, left:left + width]
            shown = shown[:, ::-1] if is_flipped(number) else shown
            self.assert_close(pixels_of(sample["pixels"], np.float32(0.5), np.float32(0.5)), shown, 0)
            self.assertEqual(bytes(sample["caption"]).decode(), captions[number][:4096])


if __name__ == "__main__":
    unittest.main()
