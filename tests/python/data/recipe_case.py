"""What the tests of recipes share: the files of config/examples over a small data set, and the daemon's draws."""
import io
import tarfile
import tomllib
from pathlib import Path

import numpy as np
from case import DaemonCase
from draws import Draw
from PIL import Image

import spdld

EXAMPLES = Path(__file__).resolve().parents[3] / "config" / "examples"
SEED = 17  # of every recipe


def recipe(name, batch, order=None, **source):
    """The file as it is, but for the place of its data, one whole epoch, and a smaller batch."""
    spec = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())
    size = "global_size" if "global_size" in spec["batch"] else "size"
    return {**spec, "source": {**spec["source"], **source}, "order": {**spec["order"], **(order or {}), "epochs": 1},
            "batch": {**spec["batch"], size: batch, "last": "pad"}}


def drawn(sample, name):
    return Draw(SEED, 0, sample, name)


def uniform(draw, low, high):
    return low + (high - low) * draw.uniform()


def is_flipped(sample, name="horizontal-flip"):
    return drawn(sample, name).uniform() < 0.5


def resized_crop_box(draw, width, height, scale, ratio=(3 / 4, 4 / 3)):
    """torchvision's RandomResizedCrop.get_params, with the daemon's numbers: left, top, right, bottom."""
    for _ in range(10):
        target = width * height * uniform(draw, *scale)
        aspect = np.exp(uniform(draw, *np.log(ratio)))
        wide, high = round(np.sqrt(target * aspect)), round(np.sqrt(target / aspect))
        if 0 < wide <= width and 0 < high <= height:
            top = draw.below(height - high + 1)
            left = draw.below(width - wide + 1)
            return left, top, left + wide, top + high
    wide = min(width, max(1, round(height * ratio[1]))) if width / height > ratio[1] else width
    high = min(height, max(1, round(width / ratio[0]))) if width / height < ratio[0] else height
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high


def smooth(random, width, height):
    colours = random.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return Image.fromarray(colours).resize((width, height), Image.BICUBIC)


def as_png(picture):
    memory = io.BytesIO()
    picture.save(memory, "PNG")
    return memory.getvalue()


def write_shard(path, samples):
    """`samples`: for each its members' contents by their extensions."""
    with tarfile.open(path, "w") as archive:
        for number, members in enumerate(samples):
            for extension, content in members.items():
                member = tarfile.TarInfo(f"{number:06d}.{extension}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def rows_of(ragged):
    values, offsets = np.array(ragged.values), np.array(ragged.offsets)
    return [values[start:end] for start, end in zip(offsets[:-1], offsets[1:])]


class RecipeCase(DaemonCase):
    def samples(self, spec, count):
        """Each sample of an epoch as a dict of arrays of its own, by its id."""
        found = {}
        with self.attach(spec) as loader:
            for batch in loader:
                columns = {name: rows_of(batch[name]) if isinstance(batch[name], spdld.Ragged) else np.array(batch[name])
                           for name in batch.keys()}
                for row, number in enumerate(columns["sample_id"][:batch.valid].tolist()):
                    found[number] = {name: np.array(column[row]) for name, column in columns.items()}
        self.assertEqual(sorted(found), list(range(count)))
        return found

    def folder_for(self, name):
        folder = Path(self.folder.name) / name
        folder.mkdir()
        return folder

    def assert_close(self, found, wanted, most=1):
        self.assertEqual(found.shape, wanted.shape)
        self.assertLessEqual(np.abs(found.astype(np.float64) - wanted).max(), most + 1e-3)
