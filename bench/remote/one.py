"""Reads all objects of the bucket once with one reader, and prints {objects, bytes, seconds, cpu_s} as a line of JSON.

    one.py '{"peer": "curl", "concurrency": 32, "store": {what serve.py printed}, "keys": [KEY, ...]}'

cpu_s is the user and system time of this process and of all processes below it, from the first request to the last byte: imports
and the signing of curl's URLs come before.
"""
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/stores"), str(ROOT / "bench/support")]
import processes
import s3_client

WORKERS = 2  # of PyTorch's DataLoader
BATCH = 64


def list_of(samples):
    return samples


class Curl:
    """`curl --parallel` with signed URLs; the bytes go to /dev/null."""

    def __init__(self, job):
        store = job["store"]
        client = s3_client.Client(store["host"], store["port"], store["bucket"],
                                  s3_client.Signer(store["access_key"], store["secret_key"], store["region"]))
        self.file = tempfile.NamedTemporaryFile("w", suffix=".curl")
        self.file.write("".join(f'url = "{client.presigned(key)}"\noutput = "/dev/null"\n' for key in job["keys"]))
        self.file.flush()
        self.command = ["curl", "--silent", "--show-error", "--fail", "--no-progress-meter", "--parallel", "--parallel-immediate",
                        "--parallel-max", str(job["concurrency"]), "--config", self.file.name, "--write-out",
                        "%{size_download}\n"]

    def read(self):
        with self.file:
            sizes = subprocess.run(self.command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        return len(sizes), sum(map(int, sizes))


def through_loader(dataset, in_worker):
    """Returns (objects, bytes) of a DataLoader's epoch. With `in_worker` only lengths leave the workers."""
    import torch
    loader = torch.utils.data.DataLoader(dataset, BATCH, num_workers=WORKERS, collate_fn=list_of)
    count = total = 0
    for batch in loader:
        count += len(batch)
        total += sum(batch if in_worker else map(len, batch))
    return count, total


def whole(item):
    return item.read()


def length_of(item):
    return len(item.read())


class S3TorchConnector:
    """s3torchconnector's S3MapDataset in a DataLoader, as its README shows."""

    def __init__(self, job, in_worker=False):
        import s3torchconnector
        import torch  # noqa: F401  its import is no part of the reading
        store, self.in_worker = job["store"], in_worker
        os.environ.update(AWS_ACCESS_KEY_ID=store["access_key"], AWS_SECRET_ACCESS_KEY=store["secret_key"])
        self.dataset = s3torchconnector.S3MapDataset.from_prefix(
            f"s3://{store['bucket']}/", region=store["region"], endpoint=store["endpoint"],
            transform=length_of if in_worker else whole, s3client_config=s3torchconnector.S3ClientConfig(force_path_style=True))

    def read(self):
        return through_loader(self.dataset, self.in_worker)


class ObstoreObjects:
    """A dataset of PyTorch over obstore. Each worker makes its store."""

    def __init__(self, job, in_worker):
        self.job, self.in_worker, self.store = job, in_worker, None

    def __len__(self):
        return len(self.job["keys"])

    def __getitem__(self, index):
        self.store = self.store or obstore_of(self.job)
        body = self.store.get(self.job["keys"][index]).bytes()
        return len(body) if self.in_worker else body.to_bytes()


def obstore_of(job):
    from obstore.store import S3Store
    store = job["store"]
    return S3Store(store["bucket"], endpoint=store["endpoint"], access_key_id=store["access_key"],
                   secret_access_key=store["secret_key"],
                   region=store["region"], virtual_hosted_style_request=False, client_options={"allow_http": True})


class Obstore:
    """obstore's get() in a DataLoader."""

    def __init__(self, job, in_worker=False):
        import obstore  # noqa: F401
        import torch  # noqa: F401
        self.dataset, self.in_worker = ObstoreObjects(job, in_worker), in_worker

    def read(self):
        return through_loader(self.dataset, self.in_worker)


class ObstoreAsync:
    """obstore's get_async() in one process, with `concurrency` requests at a time."""

    def __init__(self, job):
        import obstore  # noqa: F401
        self.job, self.count, self.total = job, 0, 0

    async def _take(self, store, keys):
        for key in keys:
            body = await (await store.get_async(key)).bytes_async()
            self.count += 1
            self.total += len(body)

    async def _read(self):
        store, keys = obstore_of(self.job), iter(self.job["keys"])
        await asyncio.gather(*(self._take(store, keys) for _ in range(self.job["concurrency"])))

    def read(self):
        asyncio.run(self._read())
        return self.count, self.total


class Spdld:
    """A daemon below this process, and a trainer in this process that takes the bytes of each object: the CPU is that of both,
    with the daemon's start and the listing of the bucket. Needs PYTHONPATH and SPDLD_DAEMON, as own_daemon.use_build() sets
    them."""

    def __init__(self, job):
        import own_daemon
        import spdld  # noqa: F401
        store, self.largest = job["store"], max(job["store"]["bytes"] // max(job["store"]["objects"], 1), 1)
        os.environ.update(AWS_ACCESS_KEY_ID=store["access_key"], AWS_SECRET_ACCESS_KEY=store["secret_key"])
        more = (f'[[data.stores]]\nuri = "s3://{store["bucket"]}"\nendpoint = "{store["endpoint"]}"\n'
                f'region = "{store["region"]}"\n'
                f'connections_max = {job["concurrency"]}\n')
        self.bucket, self.daemon = store["bucket"], own_daemon.OwnDaemon(len(os.sched_getaffinity(0)), more=more,
                                                                              limits=job.get("limits", ""))

    def spec(self):
        output = {"name": "bytes", "from": "image", "ops": [{"op": "bytes"}], "ragged": True, "length_max": self.largest}
        return {"name": "bench", "cache": "off", "source": {"type": "image-folder", "uri": f"s3://{self.bucket}",
                                                            "extensions": "bin"},
                "order": {"epochs": 1}, "batch": {"size": BATCH}, "output": [output]}

    def read(self):
        count = total = 0
        with self.daemon as daemon, daemon.attach(self.spec()) as loader:
            for batch in loader:
                count += batch.valid
                total += len(batch["bytes"].values)
        return count, total


PEERS = {"spdld": Spdld, "curl": Curl, "s3torchconnector": S3TorchConnector,
         "s3torchconnector-in-worker": lambda job: S3TorchConnector(job, True),
         "obstore": Obstore, "obstore-in-worker": lambda job: Obstore(job, True), "obstore-async": ObstoreAsync}


def main():
    job = json.load(sys.stdin) if sys.argv[1] == "-" else json.loads(sys.argv[1])
    reader = PEERS[job["peer"]](job)
    cpu, began = processes.tree_cpu_s(), time.monotonic()
    count, total = reader.read()
    seconds, cpu = time.monotonic() - began, processes.tree_cpu_s() - cpu
    print(json.dumps({"objects": count, "bytes": total, "seconds": seconds, "cpu_s": cpu}), flush=True)
    os._exit(0)  # obstore's threads sometimes abort the process while the interpreter ends


if __name__ == "__main__":
    main()
