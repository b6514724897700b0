#!/usr/bin/env python3
"""Starts a store with objects for the measurements of remote reading, prints its addresses as one line of JSON, and waits.

    bench/remote/serve.py [--objects 20000] [--bytes 100000] [--volumes 2] [--delay-ms 0] [--inline]

The store is SeaweedFS on loopback, from the environment that tests/run makes. The bucket "bench" has the objects
`<n // 1000>/<n>.bin` of random bytes, which anybody may read. With --delay-ms, the printed endpoint is a proxy before the store,
which adds the delay to every request. With --inline, the objects lie in the store's index: a million objects of 10 bytes are
loaded in about one and a half minutes. The script ends with its standard input, and by SIGTERM or SIGINT.
"""
import argparse
import os
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/stores"))
import children
import fault_proxy
import seaweed

BUCKET = "bench"
POOL_BYTES = 8_000_000  # objects are windows of so many random bytes


def key_of(number):
    return f"{number // 1000:04d}/{number:07d}.bin"


def objects(count, size):
    pool, draw = os.urandom(max(POOL_BYTES, 2 * size)), random.Random(3)
    for number in range(count):
        at = draw.randrange(len(pool) - size)
        yield key_of(number), pool[at:at + size]


class Served:
    def __init__(self, options):
        self.proxy = None
        self.store = seaweed.Seaweed(options.volumes, anonymous=True, inline=options.bytes + 1 if options.inline else 0)
        try:
            self.store.make_bucket(BUCKET)
            began = time.monotonic()
            self.store.load(BUCKET, objects(options.objects, options.bytes))
            self.told = {"bucket": BUCKET, "objects": options.objects, "bytes": options.objects * options.bytes,
                         "delay_ms": options.delay_ms, "load_s": round(time.monotonic() - began, 2)}
            if options.delay_ms:
                self.proxy = fault_proxy.Proxy(self.store.endpoint, rules=[{"kind": "delay", "ms": options.delay_ms}])
        except BaseException:
            self.close()
            raise

    def addresses(self):
        return {**self.store.addresses(), **(self.proxy.addresses() if self.proxy else {}), **self.told}

    def close(self):
        if self.proxy:
            self.proxy.close()
        self.store.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20000)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--volumes", type=int, default=2)
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--inline", action="store_true")
    children.serve(Served, parser)


if __name__ == "__main__":
    main()
