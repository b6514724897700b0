#!/usr/bin/env python3
"""Writes Parquet files for the tests of stores: make_parquet.py FOLDER. It runs where pyarrow is.

    rows/{0,1}.parquet   label (int64), text, vector (a list of 4 float32), maybe (int32 with nulls): ROWS rows in groups of 40
    wide.parquet         c00 ... c49, 8 bytes that can't be packed, 6000 rows in groups of 2000
"""
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS, COLUMNS, WIDE_ROWS = 120, 50, 6000


def main():
    folder, draw = Path(sys.argv[1]), random.Random(5)
    (folder / "rows").mkdir(parents=True)
    half = ROWS // 2
    for part in range(2):
        rows = range(part * half, (part + 1) * half)
        table = pa.table({"label": pa.array(rows, pa.int64()),
                          "text": [f"row {row} " + "é" * (row % 9) for row in rows],
                          "vector": pa.array([[row / 4 + i for i in range(4)] for row in rows], pa.list_(pa.float32(), 4)),
                          "maybe": pa.array([None if row % 10 == 3 else row for row in rows], pa.int32())})
        pq.write_table(table, folder / "rows" / f"{part}.parquet", row_group_size=40)
    numbers = {f"c{column:02}": [draw.getrandbits(63) for _ in range(WIDE_ROWS)] for column in range(COLUMNS)}
    pq.write_table(pa.table(numbers), folder / "wide.parquet", row_group_size=2000, use_dictionary=False, write_statistics=False)
    meta = pq.ParquetFile(folder / "wide.parquet").metadata
    for column in range(COLUMNS):
        print(sum(meta.row_group(group).column(column).total_compressed_size for group in range(meta.num_row_groups)))


if __name__ == "__main__":
    main()
