#!/usr/bin/env python3
"""Writes a small Parquet file with columns of many types: make_file.py FILE."""
import datetime
import decimal
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 40


def make_table():
    def nullable(make, kind):
        return pa.array([None if row % 7 == 3 else make(row) for row in range(ROWS)], kind)

    day = datetime.date(1999, 12, 30)
    moment = datetime.datetime(1999, 12, 31, 23, 59, 58, 999_999)
    point = pa.struct([("x", pa.float32()), ("name", pa.string())])
    return pa.table({
        "text": nullable(lambda row: f"é{row}" * (row % 5), pa.string()),
        "binary": nullable(lambda row: bytes(range(row)), pa.binary()),
        "word": nullable(lambda row: "ab"[row % 2], pa.dictionary(pa.int32(), pa.string())),
        "fixed": nullable(lambda row: bytes([row] * 6), pa.binary(6)),
        "flag": nullable(lambda row: row % 3 == 0, pa.bool_()),
        "int8": nullable(lambda row: row - 20, pa.int8()),
        "uint16": nullable(lambda row: row * 1600, pa.uint16()),
        "uint32": nullable(lambda row: row * 100_000_000, pa.uint32()),
        "int64": pa.array(range(ROWS), pa.int64()),
        "uint64": nullable(lambda row: 2**64 - 1 - row, pa.uint64()),
        "half": nullable(lambda row: row / 8, pa.float16()),
        "float": nullable(lambda row: row / 3, pa.float32()),
        "double": nullable(lambda row: -row / 3, pa.float64()),
        "small_decimal": nullable(lambda row: decimal.Decimal(row * 12345 - 99).scaleb(-2), pa.decimal128(9, 2)),
        "decimal": nullable(lambda row: decimal.Decimal(10**20 + row).scaleb(-7), pa.decimal128(30, 7)),
        "wide_decimal": nullable(lambda row: -decimal.Decimal(10**40 + row).scaleb(-30), pa.decimal256(60, 30)),
        "date": nullable(lambda row: day + datetime.timedelta(row), pa.date32()),
        "time": nullable(lambda row: datetime.time(row % 24, 1, 2), pa.time64("us")),
        "moment": nullable(lambda row: moment + datetime.timedelta(row), pa.timestamp("us")),
        "list": nullable(lambda row: list(range(row % 4)), pa.list_(pa.int32())),
        "holes": nullable(lambda row: [1.5, None, row], pa.list_(pa.float64())),
        "pair": nullable(lambda row: [row, -row], pa.list_(pa.int16(), 2)),
        "matrix": pa.array([[[row, 1, 2], [3, 4, row]] for row in range(ROWS)], pa.list_(pa.list_(pa.float32(), 3), 2)),
        "nested": nullable(lambda row: [[1] * (row % 3), [], [row]], pa.list_(pa.list_(pa.int64()))),
        "words": nullable(lambda row: ["a\"b", "é"][: row % 3], pa.list_(pa.string())),
        "point": nullable(lambda row: {"x": row / 2, "name": f"p{row}"}, point),
        "points": nullable(lambda row: [{"x": i, "name": "q"} for i in range(row % 3)], pa.list_(point)),
        "map": nullable(lambda row: [("k", row)], pa.map_(pa.string(), pa.int32())),
    })


if __name__ == "__main__":
    pq.write_table(make_table(), sys.argv[1], row_group_size=17)
