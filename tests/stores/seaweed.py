#!/usr/bin/env python3
"""SeaweedFS as a store with the interface of S3: one master, two or more volume servers, and a filer with the S3 gateway.

    seaweed.py [--volumes N] [--anonymous] [--inline BYTES] [--bucket NAME] [--put BUCKET=FOLDER]

As a program it prints its addresses as one line of JSON, and ends with its standard input or with its parent.
"""
import argparse
import http.client
import json
import os
import secrets
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import children
import s3_client

VOLUME_MB = 256  # the master directs no writes to a volume that is larger
VOLUMES_MAX = 40  # of one volume server
MEMORY_LIMIT = "768MiB"  # of each server: Go collects more often before it takes more
STARTS = 3  # another process may take a port between the search and the start
PIPELINED_BYTES_MAX = 256 * 1024  # of requests that are sent before their answers are read


def _identities(access_key, secret_key, anonymous):
    full = {"name": "test", "credentials": [{"accessKey": access_key, "secretKey": secret_key}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"]}
    return {"identities": [full, *([{"name": "anonymous", "actions": ["Read", "List"]}] if anonymous else [])]}


def _answers(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Seaweed:
    """Runs a store until close(). Attributes: folder, host, port (of S3), master_port, filer_port, volume_ports, access_key,
    secret_key, and the servers, each a Child: master, volumes, filer, gateway.

    volumes    how many volume servers there are
    anonymous  whether requests without a signature may read and list
    inline     files smaller than this many bytes lie in the filer's own index, which makes millions of tiny objects cheap"""

    region, host = "us-east-1", "127.0.0.1"

    def __init__(self, volumes=2, anonymous=False, inline=0, wait_s=children.WAIT_S):
        self.access_key, self.secret_key = "test" + secrets.token_hex(8), secrets.token_hex(16)
        self.inline, self.volume_count, self.wait_s = inline, volumes, wait_s
        for attempt in range(STARTS):
            self._folder = children.temporary_folder("seaweed")
            self.folder, self._all = Path(self._folder.name), []
            (self.folder / "s3.json").write_text(json.dumps(_identities(self.access_key, self.secret_key, anonymous)))
            try:
                self._start()
                return
            except BaseException as error:
                self.close()
                if not isinstance(error, RuntimeError) or "address already in use" not in str(error) or attempt == STARTS - 1:
                    raise

    def _weed(self, name, *options):
        child = children.Child([children.program("weed"), "-logtostderr", *options], self.folder / f"{name}.log",
                               environment={**os.environ, "GOMEMLIMIT": MEMORY_LIMIT})
        self._all.append(child)
        return child

    def _start(self):
        # Each server has a port for HTTP and one for gRPC.
        ports = iter(children.free_ports(2 * (self.volume_count + 3)))
        self.master_port, self.filer_port, self.port = next(ports), next(ports), next(ports)
        master = f"{self.host}:{self.master_port}.{next(ports)}"
        bind = ["-ip", self.host, "-ip.bind", self.host]
        for name in ("master", "filer"):
            (self.folder / name).mkdir()
        self.master = self._weed(
            "master", "master", *bind, "-port", self.master_port, "-port.grpc", master.rpartition(".")[2], "-mdir",
            self.folder / "master",
            "-peers", "none", "-volumeSizeLimitMB", VOLUME_MB, "-telemetry=false", "-electionTimeout", "1s",
            "-vacuumIntervalSeconds", 3600)
        # A server that finds no leader waits for seconds before it asks again.
        children.wait_for(self._leads, self._all, "SeaweedFS's master", self.wait_s)
        self.volumes, self.volume_ports = [], []
        for number in range(self.volume_count):
            port = next(ports)
            self.volume_ports.append(port)
            (self.folder / f"volume-{number}").mkdir()
            self.volumes.append(self._weed(
                f"volume-{number}", "volume", *bind, "-port", port, "-port.grpc", next(ports), "-dir",
                self.folder / f"volume-{number}",
                "-max", VOLUMES_MAX, "-master", master, "-preStopSeconds", 0, "-minFreeSpace", "100MiB", "-rack",
                f"rack-{number}"))
        filer = f"{self.host}:{self.filer_port}.{next(ports)}"
        self.filer = self._weed(
            "filer", "filer", *bind, "-port", self.filer_port, "-port.grpc", filer.rpartition(".")[2], "-master", master,
            "-saveToFilerLimit", self.inline, "-defaultStoreDir", self.folder / "filer", "-localSocket",
            self.folder / "filer.sock")
        self.gateway = self._weed(
            "s3", "s3", *bind, "-port", self.port, "-port.grpc", next(ports), "-port.iceberg", 0, "-port.lance", 0, "-iam=false",
            "-config", self.folder / "s3.json", "-filer", filer, "-localSocket", self.folder / "s3.sock")
        children.wait_for(self._volumes_joined, self._all, "SeaweedFS's volume servers", self.wait_s)
        children.wait_for(lambda: _answers(self.filer_port, "/healthz")[0] == 200, self._all, "SeaweedFS's filer", self.wait_s)
        children.wait_for(lambda: _answers(self.port, "/healthz")[0] == 200, self._all, "SeaweedFS's S3 gateway", self.wait_s)

    def _leads(self):
        status, body = _answers(self.master_port, "/cluster/status")
        return status == 200 and json.loads(body).get("IsLeader")

    def _volumes_joined(self):
        status, body = _answers(self.master_port, "/dir/status")
        centers = (json.loads(body)["Topology"].get("DataCenters") or []) if status == 200 else []
        nodes = [node for center in centers for rack in center["Racks"] or [] for node in rack["DataNodes"] or []]
        return len(nodes) == self.volume_count

    @property
    def endpoint(self):
        return f"http://{self.host}:{self.port}"

    @property
    def processes(self):
        return [child.process for child in self._all]

    def addresses(self):
        return {"endpoint": self.endpoint, "host": self.host, "port": self.port, "region": self.region,
                "access_key": self.access_key,
                "secret_key": self.secret_key, "filer": f"http://{self.host}:{self.filer_port}", "folder": str(self.folder),
                "pids": [process.pid for process in self.processes]}

    def client(self, bucket, signed=True):
        """Returns a Client of a bucket."""
        signer = s3_client.Signer(self.access_key, self.secret_key, self.region) if signed else None
        return s3_client.Client(self.host, self.port, bucket, signer)

    def make_bucket(self, bucket):
        """Makes a bucket; returns a Client of it."""
        client = self.client(bucket)
        client.make_bucket()
        return client

    def load(self, bucket, objects, connections=8):
        """Puts every (key, bytes) of an iterable into a bucket through the filer, which is the fastest way; returns how many.
        Requests are sent one after the other without waiting for each answer."""
        source, lock = iter(objects), threading.Lock()

        def run(_):
            with _Pipeline(self.host, self.filer_port) as pipeline:
                while True:
                    with lock:
                        pair = next(source, None)
                    if pair is None:
                        return pipeline.finish()
                    pipeline.put(f"/buckets/{bucket}/{s3_client.quoted_path(pair[0])}", pair[1])

        with ThreadPoolExecutor(connections) as pool:
            return sum(pool.map(run, range(connections)))

    def close(self):
        """Ends all servers at once. Their folder is removed, so nothing of them need be written to the end."""
        for child in self._all:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGKILL)
        for child in self._all:
            child.close()
        self._folder.cleanup()


class _Pipeline:
    """PUT requests over one connection. Several requests are under way at a time."""

    def __init__(self, host, port):
        self.host, self.port, self.waiting, self.sent, self.done = host, port, [], 0, 0

    def __enter__(self):
        self.socket = socket.create_connection((self.host, self.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile("rb")
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.socket.close()

    def put(self, path, body):
        head = (f"PUT {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Length: {len(body)}\r\n"
                "Content-Type: application/octet-stream\r\n\r\n").encode()
        self.waiting.append(head + body)
        self.sent += len(head) + len(body)
        if self.sent >= PIPELINED_BYTES_MAX or len(self.waiting) == 64:
            self.flush()

    def flush(self):
        self.socket.sendall(b"".join(self.waiting))
        for _ in self.waiting:
            self._read_answer()
        self.waiting, self.sent = [], 0

    def _read_answer(self):
        status, length = self.answers.readline(), 0
        while (line := self.answers.readline()) not in (b"\r\n", b""):
            if line[:15].lower() == b"content-length:":
                length = int(line[15:])
        body = self.answers.read(length)
        if status[9:10] != b"2":
            raise RuntimeError(f"the filer answered {status!r} {body[:300]!r}")
        self.done += 1

    def finish(self):
        self.flush()
        return self.done


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volumes", type=int, default=2)
    parser.add_argument("--anonymous", action="store_true")
    parser.add_argument("--inline", type=int, default=0)
    s3_client.add_options(parser)
    return parser


def start(options):
    store = Seaweed(options.volumes, options.anonymous, options.inline)
    try:
        s3_client.fill(store.client, options)
    except BaseException:
        store.close()
        raise
    return store


if __name__ == "__main__":
    children.serve(start, arguments())
