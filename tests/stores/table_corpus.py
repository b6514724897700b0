"""Pictures with labels in every format of tables, below one folder; a web server over it and a bucket serve the same bytes."""
import base64
import csv
import io
import json
import random
import struct
from pathlib import Path

import numpy as np
from PIL import Image
from table_writers import example, mds_shard, record

COLUMNS = {"image": ("jpeg", None), "label": ("int", 8)}
ROWS = 30


class TableCorpus:
    """Attributes: folder, rows (of each table), pictures (their bytes, by row), labels, records (of TFRecord).

        pictures/N.jpg, pictures/with blank.jpg    that the manifests name
        m/files.csv       paths, labels and weights            m/inside.jsonl    pictures in base64, labels
        n/{0,1}.npy       (rows / 2, 3, 4) int16               raw.bin           16 bytes of a header, records of 24 bytes
        r/{a,b}.tfrecord  image, label                         mds/              image, label, in two shards
        coco/, voc/, data.yaml with pictures/ and labels/      annotations
    """

    def __init__(self, folder, seed=3):
        self.folder, self.rows = Path(folder), ROWS
        draw = random.Random(seed)
        self.names = [f"pictures/{number}.jpg" for number in range(ROWS - 1)] + ["pictures/with blank+100%.jpg"]
        self.labels = [draw.randrange(5) for _ in range(ROWS)]
        self.pictures = [self._picture(draw) for _ in range(ROWS)]
        for name, body in zip(self.names, self.pictures):
            self.write(name, body)
        self._write_manifests()
        self._write_annotations()
        array = np.array([draw.randrange(-1000, 1000) for _ in range(ROWS * 12)], "<i2").reshape(ROWS, 3, 4)
        for number, part in enumerate(np.split(array, 2)):
            saved = io.BytesIO()
            np.save(saved, part)
            self.write(f"n/{number}.npy", saved.getvalue())
        self.write("raw.bin", draw.randbytes(16 + 24 * ROWS))
        self.records = [record(example({"image": body, "label": [label]})) for body, label in zip(self.pictures, self.labels)]
        self.write("r/a.tfrecord", b"".join(self.records[:20]))
        self.write("r/b.tfrecord", b"".join(self.records[20:]))
        samples = [{"image": body, "label": struct.pack("<q", label)} for body, label in zip(self.pictures, self.labels)]
        shards = [(name, *mds_shard(name, COLUMNS, part)) for name, part in (("shard.00000.mds", samples[:20]),
                                                                             ("shard.00001.mds", samples[20:]))]
        for name, content, _ in shards:
            self.write(f"mds/{name}", content)
        self.write("mds/index.json", json.dumps({"version": 2, "shards": [entry for _, _, entry in shards]}).encode())

    @staticmethod
    def _picture(draw):
        saved = io.BytesIO()
        Image.frombytes("RGB", (6, 4), draw.randbytes(72)).resize((48, 32), Image.BICUBIC).save(saved, "JPEG", quality=90)
        return saved.getvalue()

    def _write_manifests(self):
        self.write_csv("m/files.csv", ["file", "label", "w"],
                       [[f"../{name}", label, number % 3] for number, (name, label) in enumerate(zip(self.names, self.labels))])
        self.write("m/inside.jsonl", "".join(json.dumps({"image": base64.b64encode(body).decode(), "label": label}) + "\n"
                                             for body, label in zip(self.pictures, self.labels)).encode())

    def _write_annotations(self):
        """Each picture has as many boxes as its label says."""
        self.write("coco/instances.json", json.dumps({
            "images": [{"id": number, "file_name": name} for number, name in enumerate(self.names)],
            "annotations": [{"id": 10 * number + box, "image_id": number, "bbox": [box, 1, 8, 9], "category_id": 3 * box}
                            for number, label in enumerate(self.labels) for box in range(label)],
            "categories": [{"id": 3 * number, "name": f"category {number}"} for number in range(5)]}).encode())

        self.write("voc/ImageSets/Main/train.txt", "".join(f"{number}\n" for number in range(len(self.names))).encode())
        self.write("data.yaml", b"names:\n" + b"".join(b"- category %d\n" % number for number in range(5)))
        for number, (name, label, picture) in enumerate(zip(self.names, self.labels, self.pictures)):
            objects = "".join(f"<object><name>category {box}</name><bndbox><xmin>{box}</xmin><ymin>1</ymin><xmax>{box + 8}</xmax>"
                              "<ymax>10</ymax></bndbox></object>" for box in range(label))
            self.write(f"voc/JPEGImages/{number}.jpg", picture)
            self.write(f"voc/Annotations/{number}.xml", f"<annotation>{objects}</annotation>".encode())
            stem = name.rpartition(".")[0]
            self.write(f"labels/{stem}.txt", "".join(f"{box} 0.5 0.5 0.25 0.{box}\n" for box in range(label)).encode())

    def write_csv(self, name, columns, rows):
        text = io.StringIO()
        csv.writer(text).writerows([columns, *rows])
        return self.write(name, text.getvalue().encode())

    def write(self, name, body):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return path

    def upload(self, client, prefix=""):
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                client.put(prefix + path.relative_to(self.folder).as_posix(), path.read_bytes())


def table_spec(kind, uri, name="table", batch=4, epochs=1, order=None, **changes):
    """A pipeline over a table of the corpus. `kind`: files, inside, npy, records, tfrecord, mds, coco, voc or yolo."""
    picture = {"name": "image", "ops": [{"op": "decode-image"}, {"op": "resize", "size": [16, 16]}]}
    number = {"name": "label", "from": "label", "ops": [{"op": "parse-int"}]}
    values = {"name": "label", "from": "label", "ops": [{"op": "raw-int", "dtype": "int64"}]}
    lists = [{"name": "boxes", "from": "boxes", "ops": [{"op": "parse-list", "dtype": "float32", "width": 4}], "pad": "longest",
              "length_max": 9},
             {"name": "labels", "from": "labels", "ops": [{"op": "parse-list", "dtype": "int64"}], "pad": "longest",
              "length_max": 9}]
    source, output = {
        "files": ({"type": "manifest", "files": "file"}, [{**picture, "from": "file"}, number]),
        "inside": ({"type": "manifest", "base64": "image"}, [{**picture, "from": "image"}, number]),
        "coco": ({"type": "coco", "images": ".."}, [
            {**picture, "from": "image"}, *lists]),
        "voc": ({"type": "voc", "names": [f"category {number}" for number in range(5)]}, [{**picture, "from": "image"}, *lists]),
        "yolo": ({"type": "yolo", "images": "pictures", "labels": "labels/pictures", "names_file": "data.yaml"}, [
            {**picture, "from": "image"}, *lists]),
        "npy": ({"type": "npy"}, [{"name": "array", "from": "array", "ops": [{"op": "raw", "dtype": "int16", "shape": [3, 4]}]}]),
        "records": ({"type": "records", "record_bytes": 24, "header_bytes": 16},
                    [{"name": "record", "from": "record", "ops": [{"op": "raw", "dtype": "uint8", "shape": [24]}]}]),
        "tfrecord": ({"type": "tfrecord"}, [{**picture, "from": "image"}, values]),
        "mds": ({"type": "mds"}, [{**picture, "from": "image"}, values]),
    }[kind]
    return {"name": name, "source": {**source, "uri": uri}, "order": {"epochs": epochs, **(order or {})}, "output": output,
            "batch": {"size": batch}, **changes}


# Where the tables of each kind lie: in a folder or bucket, and on a web server, which has no lists.
PLACES = {"files": "m/files.csv", "inside": "m/inside.jsonl", "npy": "n", "records": "raw.bin", "tfrecord": "r", "mds": "mds",
          "coco": "coco/instances.json", "voc": "voc", "yolo": ""}
WEB_PLACES = {**PLACES, "npy": "n/{0,1}.npy", "tfrecord": "r/{a,b}.tfrecord"}
del WEB_PLACES["yolo"]  # its pictures are those that a list names
