"""timm's RandAugment (timm/data/auto_augment.py) by its description, on pictures of Pillow, with the numbers of a stream of the
daemon's."""
import math

from PIL import Image, ImageEnhance, ImageOps

CHANGES = ["AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color",
           "Contrast", "Brightness", "Sharpness", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel"]
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def changed(picture, name, part, sign, increasing, how):
    """`part`: the magnitude in parts of the greatest one, 10. `how`: the filter and the fill colour."""
    if name in ("Color", "Contrast", "Brightness", "Sharpness"):
        factor = max(0.1, 1 + sign * (part * 0.9)) if increasing else part * 1.8 + 0.1
        return getattr(ImageEnhance, name)(picture).enhance(factor)
    if name in ("AutoContrast", "Equalize", "Invert"):
        return getattr(ImageOps, name.lower())(picture)
    if name == "Posterize":
        return ImageOps.posterize(picture, 4 - int(part * 4) if increasing else int(part * 4))
    if name == "Solarize":
        return ImageOps.solarize(picture, 256 - int(part * 256) if increasing else int(part * 256))
    if name == "SolarizeAdd":
        return picture.point([min(255, i + int(part * 110)) if i < 128 else i for i in range(256)] * 3)
    if name == "Rotate":
        return picture.rotate(sign * (part * 30), resample=how["filter"], fillcolor=how["fill"])
    shear, move = sign * (part * 0.3), sign * (part * 0.45)
    back = {"ShearX": (1, shear, 0, 0, 1, 0), "ShearY": (1, 0, 0, shear, 1, 0),
            "TranslateXRel": (1, 0, move * picture.width, 0, 1, 0), "TranslateYRel": (1, 0, 0, 0, 1, move * picture.height)}[name]
    return picture.transform(picture.size, Image.AFFINE, back, resample=how["filter"], fillcolor=how["fill"])


def timm_rand_augment(picture, draw, num_ops=2, magnitude=9.0, magnitude_std=0.5, change_p=0.5, increasing=True, filter="bicubic",
                      fill=(128, 128, 128)):
    """The picture, and the names of the changes that were done."""
    names = []
    for _ in range(num_ops):
        name = CHANGES[draw.below(len(CHANGES))]
        done = draw.uniform() < change_p
        normal = math.sqrt(-2 * math.log(1 - draw.uniform())) * math.cos(2 * math.pi * draw.uniform())
        part = min(max(magnitude + magnitude_std * normal, 0), 10) / 10
        sign = -1 if draw.below(2) == 0 else 1
        either = FILTERS["bilinear" if draw.below(2) == 0 else "bicubic"]
        if done:
            names.append(name)
            picture = changed(picture, name, part, sign, increasing, {"filter": FILTERS.get(filter, either), "fill": fill})
    return picture, names
