#!/usr/bin/env python3
"""Prints what pyarrow reads of a Parquet file: for each row a JSON table of its columns, whose values are hexadecimal digits as
spdld's fields have them, null, or "beyond" where spdld's type can't hold what pyarrow reads.

    parquet_reference.py FILE ROWS
"""
import json
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq

PACKED = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
          "halffloat": "e", "float": "f", "double": "d", "bool": "B"}


def columns_of(name, column):
    """The leaves of a column, by the names of spdld's fields, where one value or text is in each row."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = pa.chunked_array([piece.dictionary_decode() for piece in column.chunks], kind.value_type)
        kind = kind.value_type
    if pa.types.is_struct(kind):
        for part in kind:
            pieces = [piece.flatten()[kind.get_field_index(part.name)] for piece in column.chunks]
            yield from columns_of(f"{name}.{part.name}", pa.chunked_array(pieces, part.type))
    elif pa.types.is_temporal(kind):
        bits = kind.bit_width
        yield name, column.cast(pa.int64() if bits == 64 else pa.int32()), "q" if bits == 64 else "i"
    elif pa.types.is_decimal(kind):
        yield name, column, "d"
    elif str(kind) in PACKED:
        yield name, column, PACKED[str(kind)]
    elif (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind)
          or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)):
        yield name, column, None


def int96_columns(file):
    return {file.schema.column(number).path for number in range(len(file.schema.names))
            if file.schema.column(number).physical_type == "INT96"}


def digits(value, form):
    if value is None:
        return None
    if form is None:
        return (value.encode() if isinstance(value, str) else value).hex()
    return struct.pack("<" + form, float(value) if form in "efd" else value).hex()


def main():
    file = pq.ParquetFile(sys.argv[1], page_checksum_verification=True)
    rows, wrapped = int(sys.argv[2]), int96_columns(file)
    batches, count = [], 0
    for batch in file.iter_batches(batch_size=rows):
        batches.append(batch)
        count += batch.num_rows
        if count >= rows:
            break
    table = pa.Table.from_batches(batches, file.schema_arrow).slice(0, rows)
    leaves = [leaf for name in table.column_names for leaf in columns_of(name, table[name])]
    if wrapped:  # microseconds hold what nanoseconds do not
        exact = pq.read_table(sys.argv[1], coerce_int96_timestamp_unit="us")
        beyond = {name: [value is not None and abs(value) > (1 << 63) // 1000
                         for value in exact[name].cast(pa.int64()).to_pylist()]
                  for name in wrapped if name in exact.column_names}
    values = {name: [digits(value, form) for value in column.to_pylist()] for name, column, form in leaves}
    for name in wrapped.intersection(values):
        values[name] = ["beyond" if is_beyond else value for is_beyond, value in zip(beyond[name], values[name])]
    for row in range(table.num_rows):
        print(json.dumps({name: column[row] for name, column in values.items()}))


if __name__ == "__main__":
    main()
