#!/usr/bin/env python3
"""Writes the Parquet files that peers.py reads: corpus.py FOLDER PICTURES. It runs where pyarrow and numpy are.

    FOLDER/text-zstd, FOLDER/text-snappy    4 files of 30,000 documents in row groups of 10,000: the column text, 2 to 4 KB
    FOLDER/jpg                              4 files of the pictures PICTURES/<class>/<name>.jpg in row groups of 300: the column
                                            jpg

Eleven columns of numbers that nobody asks for lie beside them. Sentences are made of pieces of Python's own reference, a few
words each, which follow one another where they have a word in common: such texts look real and can be packed as real ones.
"""
import pydoc_data.topics
import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES, DOCUMENTS, TEXT_GROUP, PICTURE_GROUP = 4, 30_000, 10_000, 300
LEAST_BYTES, MOST_BYTES = 2000, 4000
LEAPS = 0.25  # how often a text goes on at another place
LARGE_PAGES = 1 << 20


def words_of_reference():
    return " ".join(text for _, text in sorted(pydoc_data.topics.topics.items())).split()


def documents(count, draw):
    """Returns texts, each made by a walk through the reference. All walks take their steps together."""
    words = words_of_reference()
    numbers = {}
    tokens = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32)
    by_word = np.argsort(tokens, kind="stable")
    first = np.searchsorted(tokens[by_word], np.arange(len(numbers) + 1))
    place = draw.integers(0, len(tokens), count)
    steps = MOST_BYTES // 5
    walks = np.empty((steps, count), np.int32)
    for step in range(steps):
        walks[step] = tokens[place]
        leap = draw.random(count) < LEAPS
        word = tokens[place[leap]]
        place[leap] = by_word[first[word] + (draw.random(len(word)) * (first[word + 1] - first[word])).astype(np.int64)]
        place = (place + 1) % len(tokens)
    names = np.array(list(numbers), object)
    for walk, size in zip(walks.T, draw.integers(LEAST_BYTES, MOST_BYTES, count)):
        yield " ".join(names[walk])[:size]


def other_columns(rows, draw):
    """Returns eleven columns of numbers. Some of the columns repeat their values, so that files with them are smaller."""
    columns = {"id": np.arange(rows), "label": draw.integers(0, 1000, rows),
               "year": draw.integers(1990, 2025, rows).astype(np.int32)}
    columns |= {f"score{i}": draw.random(rows).astype(np.float32) for i in range(4)}
    columns |= {f"hash{i}": draw.integers(0, 1 << 62, rows) for i in range(2)}
    return columns | {f"weight{i}": draw.random(rows) for i in range(2)}


def write(file, column, values, kind, draw, group, **options):
    table = pa.table({**other_columns(len(values), draw), column: pa.array(values, kind)})
    pq.write_table(table, file, row_group_size=group, data_page_size=LARGE_PAGES, use_dictionary=["label", "year"], **options)


def write_texts(folder):
    for codec in ("zstd", "snappy"):
        (folder / f"text-{codec}").mkdir(parents=True)
    for number in range(FILES):
        draw = np.random.default_rng(number)
        texts = list(documents(DOCUMENTS, draw))
        for codec in ("zstd", "snappy"):
            write(folder / f"text-{codec}" / f"{number:02}.parquet", "text", texts, pa.string(), np.random.default_rng(number),
                  TEXT_GROUP, compression=codec)


def write_pictures(folder, pictures):
    paths = sorted(pictures.glob("*/*.jpg"))
    random.Random(7).shuffle(paths)
    (folder / "jpg").mkdir(parents=True)
    for number in range(FILES):
        write(folder / "jpg" / f"{number:02}.parquet", "jpg", [path.read_bytes() for path in paths[number::FILES]], pa.binary(),
              np.random.default_rng(number), PICTURE_GROUP, compression="snappy")


def main():
    folder, pictures = map(Path, sys.argv[1:3])
    write_texts(folder)
    write_pictures(folder, pictures)
    for file in sorted(folder.rglob("*.parquet")):
        meta = pq.ParquetFile(file).metadata
        last = [meta.row_group(group).column(meta.num_columns - 1) for group in range(meta.num_row_groups)]
        print(file.relative_to(folder), meta.num_rows, "rows", meta.num_row_groups, "groups",
              sum(chunk.total_uncompressed_size for chunk in last) >> 20,
              "MiB unpacked", sum(chunk.total_compressed_size for chunk in last) >> 20, "MiB packed")


if __name__ == "__main__":
    main()
