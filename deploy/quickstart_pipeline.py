#!/usr/bin/python3
"""Prints a pipeline file for FOLDER: class folders of .jpg files, or .tar shards (WebDataset).

    quickstart_pipeline.py FOLDER [--batch N] [--epochs N] > quickstart.toml
"""
import argparse
import json
import re
import sys
import tarfile
from pathlib import Path

PIPELINE = """\
# Made by deploy/quickstart for {folder}
name = "quickstart"
seed = 17

[source]
type = {type}
uri  = {uri}

[order]
shuffle = true
epochs  = {epochs}

[[output]]
name = "image"
from = {image}
ops  = [ {{ op = "decode-image" }},
         {{ op = "random-resized-crop", size = [224, 224], scale = [0.35, 1.0] }},
         {{ op = "horizontal-flip", p = 0.5 }},
         {{ op = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225], dtype = "float32", layout = "NCHW" }} ]
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


def quoted(text):
    """Returns the text as a TOML basic string. TOML has all escapes that JSON has."""
    return json.dumps(text, ensure_ascii=False)


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


def pipeline(folder, batch, epochs):
    shards = sorted(folder.glob("*.tar"))
    if shards:
        found = members(shards[0])
        image = next((name for name in ("jpg", "jpeg") if name in found), None)
        if image is None:
            sys.exit(f"quickstart: the first sample of {shards[0]} has no member .jpg; it has {sorted(found)}.")
        fields = {"type": "webdataset", "uri": shard_uri(shards), "image": image}
        label = CLS_MEMBER if "cls" in found else ""
    elif any(path.suffix.lower() in (".jpg", ".jpeg") for path in folder.glob("*/*")):
        fields = {"type": "image-folder", "uri": str(folder), "image": "image"}
        label = CLASS
    else:
        sys.exit(f"quickstart: {folder} has neither class folders with .jpg files nor .tar shards.")
    text = {name: quoted(value) for name, value in fields.items()}
    return PIPELINE.format(folder=quoted(str(folder)), label=label, batch=batch, epochs=epochs, **text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    if not options.folder.is_dir():
        sys.exit(f"quickstart: {options.folder} is not a folder.")
    print(pipeline(options.folder.resolve(), options.batch, options.epochs), end="")


if __name__ == "__main__":
    main()
