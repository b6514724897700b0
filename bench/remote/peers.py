#!/usr/bin/env python3
"""Measures how readers read all objects of a store once: spdld, curl, s3torchconnector and obstore.

    bench/remote/peers.py [--build DIR] [--peers-from DIR] [--peers NAME,...] [--objects 20000] [--bytes 100000] [--delay-ms 0]
                          [--concurrency 32] [--rounds 3] [--out DIR]

--build        the build directory of spdld, whose daemon and package are measured. Without it: the installed ones
--peers-from   the folder that `bench/compare/setup DIR remote` made. Without it, this Python must have the peers. It reads
               through spdld in any case, and needs numpy.
--delay-ms     a proxy before the store adds so much to every request
--concurrency  requests at a time, where the reader can be told
--out          a folder for remote.md and remote.json

Each round runs every reader once, in a fresh process. CPU is the user and system time of the reading process and of all processes
below it, without the store. The names that end in "-in-worker" leave the bytes in the processes of the DataLoader. The script
prints medians over the rounds as JSON, and a table on standard error.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parents[1] / "tests/stores"), str(HERE.parent / "support"), str(HERE)]
import children
import figures
import machine
import one
import own_daemon
import serve

LIMIT_S = 1200  # of one reader
HEAD = ["reader", "CPU s per GB", "MB/s", "objects/s", "seconds", "CPU s"]


def measure(python, peer, store, concurrency):
    """Returns the figures of one reader's run. Raises RuntimeError where it fails or did not read everything."""
    job = {"peer": peer, "concurrency": concurrency, "store": store,
           "keys": [serve.key_of(number) for number in range(store["objects"])]}
    done = subprocess.run([python, "-B", str(HERE / "one.py"), "-"], input=json.dumps(job), capture_output=True, text=True,
                          timeout=LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no words"])[-1][:300])
    line = json.loads(done.stdout.splitlines()[-1])
    if (line["objects"], line["bytes"]) != (store["objects"], store["bytes"]):
        raise RuntimeError(f"it read {line['objects']} objects with {line['bytes']} bytes")
    line["cpu_s_per_gb"] = line["cpu_s"] / line["bytes"] * 1e9
    return line


def table(lines):
    body = [[peer, f"{line['cpu_s_per_gb']:.2f}", f"{line['bytes'] / line['seconds'] / 1e6:.0f}",
             f"{line['objects'] / line['seconds']:.0f}",
             f"{line['seconds']:.2f}", f"{line['cpu_s']:.2f}"]
            for peer, line in sorted(lines.items(), key=lambda pair: pair[1]["cpu_s"])]
    return figures.markdown(HEAD, body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="")
    parser.add_argument("--peers-from", default="")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(one.PEERS))
    parser.add_argument("--objects", type=int, default=20000)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", default="")
    found = parser.parse_args()
    if unknown := set(found.peers) - set(one.PEERS):
        parser.error(f"there is no peer {unknown.pop()}; there are: {', '.join(one.PEERS)}")
    if found.build or "spdld" in found.peers:
        own_daemon.use_build(found.build)
    python = str(Path(found.peers_from) / "remote/bin/python") if found.peers_from else sys.executable
    lines, failed = {}, {}
    store = children.Helper(HERE / "serve.py", "--objects", found.objects, "--bytes", found.bytes, "--delay-ms", found.delay_ms)
    try:
        for turn in range(found.rounds):
            for peer in found.peers:
                if peer in failed:
                    continue
                try:
                    line = measure(sys.executable if peer == "spdld" else python, peer, store.addresses, found.concurrency)
                except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                    failed[peer] = str(error)
                    print(f"{peer}: failed: {error}", file=sys.stderr, flush=True)
                    continue
                lines.setdefault(peer, []).append(line)
                print(f"round {turn + 1}: {peer}: {line['seconds']:.2f} s, {line['cpu_s']:.2f} s of CPU",
                      file=sys.stderr, flush=True)
    finally:
        store.close()
    medians = {peer: figures.medians(of_peer) for peer, of_peer in lines.items() if peer not in failed}
    text = (f"{machine.hardware()}; {found.objects} objects of {found.bytes} bytes, {found.delay_ms:g} ms of delay, "
            f"{found.concurrency} requests "
            f"at a time, medians of {found.rounds} rounds.\n\n{table(medians)}")
    measured = {"medians": medians, "failed": failed, "load_s": store.addresses["load_s"]}
    print(text, file=sys.stderr)
    print(json.dumps(measured))
    figures.save(found.out, {"remote.md": text, "remote.json": json.dumps({**measured, "rounds": lines}, indent=1) + "\n"})
    sys.exit(1 if failed or not medians else 0)


if __name__ == "__main__":
    main()
