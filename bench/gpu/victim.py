#!/usr/bin/env python3
"""A trainer that waits to be killed: `victim.py SOCKET SPEC.json WAY GROUP`. It prints "ready" when it holds a batch,
and then takes more batches."""
import json
import sys
from pathlib import Path

import spdld
from node import next_batch, way_options


def main():
    socket, spec, way, group = sys.argv[1:]
    loader = spdld.attach(json.loads(Path(spec).read_text()), socket=socket, group=group, framework="raw", private=False,
                          timeout=60, **way_options(way))
    held = next_batch(loader)
    print("ready", flush=True)
    while True:
        held = next_batch(loader)
        held["image"]


if __name__ == "__main__":
    main()
