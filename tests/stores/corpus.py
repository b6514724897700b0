#!/usr/bin/env python3
"""A small labelled data set of JPEGs as a folder and as tar shards, and the same bytes in a store.

    corpus.py FOLDER [--classes N] [--of-each N] [--shard-samples N]

    FOLDER/pictures/class-<n>/<number>.jpg      smooth random colours, other ones in each picture
    FOLDER/shards/<number>.tar                  WebDataset, <key>.jpg and <key>.cls, in the order of the folder

A web server over FOLDER serves both; upload() puts both into a bucket under the same paths.
"""
import argparse
import io
import random
import tarfile
from pathlib import Path

from PIL import Image


class Corpus:
    """Attributes: folder, pictures and shards (two folders in it), labels ({path below `pictures`: number of the class})."""

    def __init__(self, folder, classes=3, of_each=8, shard_samples=10, size=(96, 64), seed=7):
        self.folder = Path(folder)
        self.pictures, self.shards, self.labels = self.folder / "pictures", self.folder / "shards", {}
        draw, number = random.Random(seed), 0
        for label in range(classes):
            (self.pictures / f"class-{label}").mkdir(parents=True)
            for _ in range(of_each):
                path = f"class-{label}/{number:05d}.jpg"
                Image.frombytes("RGB", (6, 4), draw.randbytes(72)).resize(size, Image.BICUBIC).save(
                    self.pictures / path, quality=90)
                self.labels[path] = label
                number += 1
        self._pack(shard_samples)

    def _pack(self, shard_samples):
        self.shards.mkdir()
        paths = list(self.labels)
        for first in range(0, len(paths), shard_samples):
            with tarfile.open(self.shards / f"{first // shard_samples:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
                for path in paths[first:first + shard_samples]:
                    content, label = (self.pictures / path).read_bytes(), str(self.labels[path]).encode()
                    for extension, body in (("jpg", content), ("cls", label)):
                        member = tarfile.TarInfo(f"{Path(path).stem}.{extension}")
                        member.size = len(body)
                        shard.addfile(member, io.BytesIO(body))

    def objects(self):
        """Returns {path below the folder: bytes} of all pictures and shards."""
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in sorted(self.folder.rglob("*"))
                if path.is_file()}

    def upload(self, client, prefix="", threads=4):
        """Puts everything into a bucket, by an s3_client.Client. Returns how many objects it put."""
        return client.put_all(((prefix + path, body) for path, body in self.objects().items()), threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--classes", type=int, default=3)
    parser.add_argument("--of-each", type=int, default=8)
    parser.add_argument("--shard-samples", type=int, default=10)
    found = parser.parse_args()
    Corpus(found.folder, found.classes, found.of_each, found.shard_samples)


if __name__ == "__main__":
    main()
