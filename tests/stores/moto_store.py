#!/usr/bin/env python3
"""moto's server as a second store with the interface of S3: it accepts every signature, and closes each connection after
its answer.

    moto_store.py [--bucket NAME] [--put BUCKET=FOLDER]

As a program it prints its addresses as one line of JSON, and ends with its standard input or with its parent. It runs in the
virtual environment of the stores, also when another Python starts it.
"""
import argparse
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import children
import s3_client

KEYS = {"region": "us-east-1", "access_key": "testing", "secret_key": "testing"}


def client_of(addresses, bucket, signed=True):
    """Returns a Client of a bucket for the addresses that a store's program printed."""
    signer = s3_client.Signer(addresses["access_key"], addresses["secret_key"], addresses["region"]) if signed else None
    return s3_client.Client(addresses["host"], addresses["port"], bucket, signer)


class _Server:
    """moto in this process."""

    def __init__(self, options):
        from moto.server import ThreadedMotoServer
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        self.host, self.port = self.server.get_host_and_port()
        s3_client.fill(lambda bucket: client_of(self.addresses(), bucket), options)

    def addresses(self):
        return {"endpoint": f"http://{self.host}:{self.port}", "host": self.host, "port": self.port, **KEYS,
                "pids": [os.getpid()]}

    def close(self):
        os._exit(0)  # moto keeps everything in memory, and its server looks twice a second whether it should stop


class MotoStore(children.HelperProgram):
    """moto in a process of its own, until close(). Attributes: endpoint, host, port, access_key, secret_key, region."""

    def __init__(self):
        super().__init__(Path(__file__).resolve(), python=children.program("python"))
        self.endpoint, self.host, self.port = (self.addresses[name] for name in ("endpoint", "host", "port"))
        self.access_key, self.secret_key, self.region = KEYS["access_key"], KEYS["secret_key"], KEYS["region"]

    def client(self, bucket, signed=True):
        return client_of(self.addresses, bucket, signed)

    def make_bucket(self, bucket):
        """Makes a bucket; returns a Client of it."""
        client = self.client(bucket)
        client.make_bucket()
        return client


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    s3_client.add_options(parser)
    python = children.program("python")
    if Path(sys.executable) != python:
        os.execv(python, [python, *sys.argv])  # the process stays the same, and so do its parent and its standard input
    children.serve(_Server, parser)


if __name__ == "__main__":
    main()
