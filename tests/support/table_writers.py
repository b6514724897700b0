"""Writes rows in the formats of tables that numpy and the standard library do not write: TFRecord and MDS."""
import itertools
import json
import struct


def crc32c(content):
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(content):
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def record(message):
    length = struct.pack("<Q", len(message))
    return length + masked(length) + message + masked(message)


def varint(value):
    text = b""
    value &= (1 << 64) - 1
    while value > 0x7f:
        text += bytes([value & 0x7f | 0x80])
        value >>= 7
    return text + bytes([value])


def message(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(values, packed=True):
    if isinstance(values, bytes):
        return message(1, message(1, values))
    if values and isinstance(values[0], float):
        raw = [struct.pack("<f", value) for value in values]
        return message(2, message(1, b"".join(raw)) if packed else b"".join(b"\x0d" + r for r in raw))
    raw = [varint(value) for value in values]
    return message(3, message(1, b"".join(raw)) if packed else b"".join(b"\x08" + r for r in raw))


def example(features, packed=True):
    entries = [message(1, message(1, name.encode()) + message(2, feature(values, packed))) for name, values in features.items()]
    return message(1, b"".join(entries))


def mds_shard(basename, columns, samples):
    """Returns a shard, as MDSWriter writes it, and its entry for index.json. `columns`: {name: (encoding, size or None)}; a
    sample: {name: bytes}."""
    rows = []
    for sample in samples:
        head = b"".join(struct.pack("<I", len(sample[name])) for name, (_, size) in columns.items() if size is None)
        rows.append(head + b"".join(sample[name] for name in columns))
    config = json.dumps({"version": 2, "format": "mds"}).encode()
    begin = 4 + 4 * (len(rows) + 1) + len(config)
    places = [begin + offset for offset in itertools.accumulate(map(len, rows), initial=0)]
    content = struct.pack(f"<{len(places) + 1}I", len(rows), *places) + config + b"".join(rows)
    return content, {"column_encodings": [encoding for encoding, _ in columns.values()], "column_names": list(columns),
                     "column_sizes": [size for _, size in columns.values()], "compression": None, "format": "mds", "hashes": [],
                     "raw_data": {"basename": basename, "bytes": len(content), "hashes": {}}, "samples": len(rows),
                     "size_limit": 1 << 26, "version": 2, "zip_data": None}
