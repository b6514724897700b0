"""The readers that peers.py measures. Each takes a job and gives endless batches, as (rows, bytes), in the process that calls it.

A job has: reader, work ("text", "jpg" or "pixels"), folder (of .parquet files), batch, window (rows that are shuffled at a time),
workers (of PyTorch's DataLoader; 0: it reads in this process), and decoder ("pil" or "torchvision"). A batch of texts or of jpg
bytes is a list of objects and their lengths, unless a reader says otherwise; pixels are uint8 of 224 x 224.
"""
import io
import itertools
import os
import random
from pathlib import Path

SIDE = 224
COLUMNS = {"text": "text", "jpg": "jpg", "pixels": "jpg"}


def files_of(job):
    return sorted(map(str, Path(job["folder"]).glob("*.parquet")))


# ---- what a trainer's workers make of values


def with_pil(jpeg):
    import numpy as np
    from PIL import Image
    with Image.open(io.BytesIO(jpeg)) as picture:
        picture.draft("RGB", (SIDE, SIDE))
        return np.asarray(picture.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR))


def with_torchvision(jpeg):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms.v2 import functional
    picture = decode_jpeg(torch.frombuffer(bytearray(jpeg), dtype=torch.uint8), mode=ImageReadMode.RGB)
    return functional.resize(picture, [SIDE, SIDE], antialias=True)


def stacked(pictures):
    import numpy as np
    import torch
    return torch.stack(pictures) if isinstance(pictures[0], torch.Tensor) else torch.from_numpy(np.stack(pictures))


class Batches:
    """Makes a batch of a list of values."""

    def __init__(self, job):
        self.decode = {"pil": with_pil, "torchvision": with_torchvision}[job["decoder"]] if job["work"] == "pixels" else None

    def __call__(self, values):
        import torch
        if self.decode:
            return stacked([self.decode(value) for value in values])
        return values, torch.tensor(list(map(len, values)))


def counted(batch):
    """Returns (rows, bytes) of a batch."""
    if not isinstance(batch, (list, tuple)):
        return len(batch), batch.numel()
    values, lengths = batch
    return len(lengths), int(lengths.sum())


def part_of_worker(items):
    from torch.utils.data import get_worker_info
    worker = get_worker_info()
    return items if worker is None else items[worker.id::worker.num_workers]


def through_loader(job, dataset, **options):
    from torch.utils.data import DataLoader
    if job["workers"]:
        options |= {"num_workers": job["workers"], "persistent_workers": True, "prefetch_factor": 4}
    loader = DataLoader(dataset, **options)
    while True:
        yield from map(counted, loader)


# ---- pyarrow


def arrow_windows(job):
    """Gives tables of `window` rows of the column, of this worker's files in random order."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    files, waiting, rows = part_of_worker(files_of(job)), [], 0
    random.shuffle(files)
    for file in files:
        for piece in pq.ParquetFile(file, memory_map=True).iter_batches(job["window"], columns=[COLUMNS[job["work"]]],
                                                                        use_threads=False):
            waiting.append(piece)
            rows += len(piece)
            if rows >= job["window"]:
                yield pa.Table.from_batches(waiting)
                waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


class ArrowRows:
    """A window of rows becomes Python's objects, is shuffled, and is cut into batches."""

    def __init__(self, job):
        self.job, self.batches = job, Batches(job)

    def __iter__(self):
        size = self.job["batch"]
        for window in arrow_windows(self.job):
            values = window.column(0).to_pylist()
            random.shuffle(values)
            for first in range(0, len(values), size):
                yield self.batches(values[first:first + size])


class ArrowBuffers:
    """The values of a batch stay in one buffer of bytes, which a worker hands over in shared memory: what a careful hand can
    write."""

    def __init__(self, job):
        self.job = job

    def __iter__(self):
        import numpy as np
        size = self.job["batch"]
        for window in arrow_windows(self.job):
            order = np.random.permutation(len(window))
            column = window.column(0).combine_chunks()
            for first in range(0, len(window), size):
                yield self.of_rows(column.take(order[first:first + size]))

    @staticmethod
    def of_rows(values):
        import numpy as np
        import torch
        _, offsets, content = values.buffers()
        offsets = np.frombuffer(offsets, np.int32)[values.offset:values.offset + len(values) + 1]
        content = np.frombuffer(content, np.uint8)[offsets[0]:offsets[-1]]
        return torch.from_numpy(content), torch.from_numpy(np.diff(offsets))


def iterable(job, dataset):
    import torch

    class Iterable(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(dataset)

    return Iterable()


def pyarrow(job):
    return through_loader(job, iterable(job, ArrowRows(job)), batch_size=None)


def pyarrow_buffers(job):
    if job["work"] == "pixels":
        raise ValueError("the reader of pyarrow's buffers gives bytes, and no pixels")
    return through_loader(job, iterable(job, ArrowBuffers(job)), batch_size=None)


class Collate:
    """Makes a batch of rows that are dictionaries."""

    def __init__(self, job):
        self.column, self.batches = COLUMNS[job["work"]], Batches(job)

    def __call__(self, rows):
        return self.batches([row[self.column] for row in rows])


# ---- LitData


def litdata(job):
    import litdata as ld
    from litdata.streaming.item_loader import ParquetLoader
    folder, column = job["folder"], COLUMNS[job["work"]]
    index = Path(job["scratch"]) / f"litdata-{Path(folder).name}"
    if not index.exists():
        index.mkdir(parents=True)
        ld.index_parquet_dataset(folder, str(index), num_workers=1)
    dataset = ld.StreamingDataset(folder, index_path=str(index), shuffle=True, drop_last=False,
                                  item_loader=ParquetLoader(low_memory=job["low_memory"], columns=[column]))
    # Polars, which it uses, works in no process that was forked.
    more = {"multiprocessing_context": "forkserver"} if job["workers"] else {}
    loader = ld.StreamingDataLoader(dataset, batch_size=job["batch"], num_workers=job["workers"], collate_fn=Collate(job), **more)
    while True:
        yield from map(counted, loader)


# ---- Hugging Face datasets


def hf(job, streaming):
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_DATASETS_CACHE"] = str(Path(job["scratch"]) / "hf")
    import datasets
    datasets.disable_progress_bars()
    more = {"columns": [COLUMNS[job["work"]]]} if streaming else {}
    return datasets.load_dataset("parquet", data_files={"train": files_of(job)}, split="train", streaming=streaming, **more)


def hf_streaming(job):
    dataset = hf(job, True).shuffle(seed=7, buffer_size=job["window"])
    return through_loader(job, dataset, batch_size=job["batch"], collate_fn=Collate(job))


def hf_map(job):
    """Its Arrow files, with all columns unpacked, were written before."""
    dataset = hf(job, False)
    dataset.set_format(columns=[COLUMNS[job["work"]]])
    return through_loader(job, dataset, batch_size=job["batch"], shuffle=True, collate_fn=Collate(job))


# ---- spdld


def spdld_spec(job):
    column = COLUMNS[job["work"]]
    output = {"name": column, "from": column, "ops": [{"op": "bytes"}], "ragged": True, "length_max": job["length_max"]}
    if job["work"] == "pixels":
        output = {"name": column, "from": column, "ops": [{"op": "decode-image"}, {"op": "resize", "size": [SIDE, SIDE]}]}
    source = {"type": "parquet", "uri": f"file://{job['folder']}"} | ({"stream_bytes_max": job["anew_bytes_max"]}
                                                                      if job["anew"] else {})
    return {"name": "bench", "cache": "off", "source": source,
            "order": {"epochs": 0, "shuffle": "window", "window": job["window"]},
            "batch": {"size": job["batch"]}, "output": [output]}


def spdld(job):
    """A daemon below this process. A batch is an array of bytes with offsets, or pixels. With `objects` its bytes become Python's
    bytes."""
    import own_daemon
    with own_daemon.OwnDaemon(len(os.sched_getaffinity(0))) as daemon, daemon.attach(spdld_spec(job)) as loader:
        job["daemon_pid"] = daemon.process.pid
        column = COLUMNS[job["work"]]
        for batch in itertools.chain.from_iterable(itertools.repeat(loader)):  # an iteration is an epoch
            values = batch[column]
            if job["work"] == "pixels":
                yield len(values), values.size
                continue
            if job.get("objects"):
                content, ends = values.values.tobytes(), values.offsets.tolist()
                texts = [content[start:end] for start, end in zip(ends, ends[1:])]
                yield len(texts), sum(map(len, texts))
            else:
                yield len(values), int(values.lengths.sum())


READERS = {"spdld": spdld, "spdld, decoding anew": spdld, "spdld, objects": spdld, "pyarrow": pyarrow,
           "pyarrow, in the trainer": pyarrow,
           "pyarrow, buffers": pyarrow_buffers, "litdata": litdata, "datasets, streaming": hf_streaming, "datasets, map": hf_map}
