#!/usr/bin/python3
"""Prints a pipeline file for FOLDER: class folders of pictures (.jpg), videos or sounds, or .tar shards of these (WebDataset).

    quickstart_pipeline.py FOLDER [--batch N] [--epochs N] > quickstart.toml
"""
import argparse
import json
import re
import sys
import tarfile
from collections import Counter
from pathlib import Path

PIPELINE = """\
# Made by deploy/quickstart for {folder}
name = "quickstart"
seed = 17

[source]
type = {type}
uri  = {uri}
{extensions}
[order]
shuffle = true
epochs  = {epochs}

[[output]]
name = "{output}"
from = {field}
ops  = [ {ops} ]
{label}
[batch]
size = {batch}
"""
CLASS = """
[[output]]
name = "label"
from = "class"
"""
CLS_MEMBER = """
[[output]]
name = "label"
from = "cls"
ops  = [ { op = "parse-int" } ]
"""
PICTURES = """{{ op = "random-resized-crop", size = [{side}, {side}], scale = [0.35, 1.0] }},
         {{ op = "horizontal-flip", p = 0.5 }},
         {{ op = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225], dtype = "float32", layout = "NCHW" }}"""
GAP = ",\n         "


class Medium:
    """A kind of content that a folder may hold. The trainer knows it by the name of the output."""

    def __init__(self, output, word, extensions, batch, *ops):
        self.output, self.word, self.extensions, self.batch, self.ops = output, word, extensions, batch, GAP.join(ops)


MEDIA = (
    Medium("image", "pictures", ("jpg", "jpeg"), 32, '{ op = "decode-image" }', PICTURES.format(side=224)),
    Medium("clip", "videos", ("mp4", "webm", "mkv", "mov", "avi"), 8,
           '{ op = "decode-video", frames = 16, stride = 4 }', PICTURES.format(side=160)),
    Medium("mel", "sounds", ("flac", "mp3", "wav", "opus", "ogg", "m4a"), 16,
           '{ op = "decode-audio", rate = 16000, seconds = 5 }', '{ op = "mel-spectrogram", preset = "whisper" }'))


def quoted(text):
    """Returns the text as a TOML basic string. TOML has all escapes that JSON has."""
    return json.dumps(text, ensure_ascii=False)


def medium_of(extensions):
    """Returns the medium that most of the files have, and the extensions of its files. Without such files it returns (None,
    [])."""
    found = Counter(extensions)
    best = max(MEDIA, key=lambda medium: sum(found[extension] for extension in medium.extensions))
    its = [extension for extension in best.extensions if found[extension]]
    return (best, its) if its else (None, [])


def shard_uri(shards):
    """Returns one uri for all shards: a single file, or a range that covers exactly these names."""
    if len(shards) == 1:
        return str(shards[0])
    first, last = re.fullmatch(r"(.*?)(\d+)", shards[0].stem), re.fullmatch(r"(.*?)(\d+)", shards[-1].stem)
    if first and last and first[1] == last[1] and len(first[2]) == len(last[2]):
        digits = len(first[2])
        names = [f"{first[1]}{number:0{digits}}" for number in range(int(first[2]), int(last[2]) + 1)]
        if names == [shard.stem for shard in shards]:
            return str(shards[0].parent / f"{first[1]}{{{first[2]}..{last[2]}}}.tar")
    sys.exit(f"quickstart: the shards in {shards[0].parent} must be numbered without a gap, as a-000.tar, a-001.tar.")


def members(shard):
    """Returns the extensions of the first sample's members."""
    extensions, key = set(), None
    with tarfile.open(shard) as archive:
        for member in archive:
            stem, _, extension = Path(member.name).name.partition(".")
            if member.isfile() and key in (None, stem):
                key = stem
                extensions.add(extension)
            elif key is not None:
                break
    return extensions


def of_shards(shards):
    """Returns (medium, values of the pipeline's text) for .tar shards, by the first sample of the first one."""
    found = members(shards[0])
    medium, its = medium_of(found)
    if medium is None:
        sys.exit(f"quickstart: the first sample of {shards[0]} has no member .jpg, and no video or sound; "
                 f"it has {sorted(found)}.")
    return medium, {"type": quoted("webdataset"), "uri": quoted(shard_uri(shards)), "field": quoted(";".join(its)),
                    "extensions": "", "label": CLS_MEMBER if "cls" in found else ""}


def of_folder(folder):
    """Returns (medium, values of the pipeline's text) for a folder of classes."""
    medium, its = medium_of(path.suffix.lower()[1:] for path in folder.glob("*/*"))
    if medium is None:
        sys.exit(f"quickstart: {folder} has neither class folders with .jpg files, videos or sounds, nor .tar shards.")
    extensions = "" if medium.output == "image" else f"extensions = {quoted(','.join(its))}\n"
    return medium, {"type": quoted("image-folder"), "uri": quoted(str(folder)), "field": quoted("image"),
                    "extensions": extensions, "label": CLASS}


def pipeline(folder, batch, epochs):
    shards = sorted(folder.glob("*.tar"))
    medium, values = of_shards(shards) if shards else of_folder(folder)
    return PIPELINE.format(folder=quoted(str(folder)), output=medium.output, ops=medium.ops, batch=batch or medium.batch,
                           epochs=epochs, **values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, help="default: " + ", ".join(f"{medium.batch} {medium.word}" for medium in MEDIA))
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    if not options.folder.is_dir():
        sys.exit(f"quickstart: {options.folder} is not a folder.")
    print(pipeline(options.folder.resolve(), options.batch, options.epochs), end="")


if __name__ == "__main__":
    main()
