#!/usr/bin/env python3
"""Measures what a picture costs from the cache, by how much memory the cache has: cache = "auto" beside each form alone.

    bench/cache_limits.py FOLDER [--build DIR] [--limits 0.5,1,1.5,2,3,4,5] [--forms auto,decoded,packed,indexed]
                          [--work train] [--epochs 3] [--rounds 2] [--threads 2] [--batch 64] [--chart FILE.svg]

FOLDER holds <class>/<name>.jpg. A limit is a multiple of the files' bytes. Each figure comes from a daemon of its own: two epochs
fill the cache, and the epochs behind them are measured. `cpu_ms` is the user and system time of daemon and trainer for one
picture, in the better of the rounds, which take turns. `hits` is the part of the pictures that came from the cache, `of_limit`
the part of the limit that was used, and `forms` tells how many pictures were kept in each form. One JSON line for each figure, a
table, and with --chart the curves.
"""
import argparse
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE / "support")]
import clips
import line_chart
import machine
import own_daemon
import processes

MANY = 90  # epochs of the pipeline, so that the daemon reckons with a long run; the measured ones are its first


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--limits", default="0.5,1,1.5,2,3,4,5")
    parser.add_argument("--forms", default="auto,decoded,packed,indexed")
    parser.add_argument("--work", choices=own_daemon.WORKS, default="train")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--chart")
    return parser.parse_args()


def shelves_of(daemon):
    return daemon.query("status")["cache"]["shelves"]


def hits_and_misses(daemon):
    shelves = shelves_of(daemon)
    return sum(shelf["memory_hits"] for shelf in shelves), sum(shelf["misses"] for shelf in shelves)


def take(loader, epochs):
    pictures = 0
    for _ in range(epochs):
        for batch in loader:
            pictures += len(batch["label"])
    return pictures


def measure(given, form, limit_bytes):
    with own_daemon.OwnDaemon(given.threads, int(limit_bytes)) as daemon:
        spec = own_daemon.make_spec(given.work, given.folder, given.batch, MANY, form)
        with daemon.attach(spec) as loader:
            take(loader, 2)
            hits, misses = hits_and_misses(daemon)
            began_s = processes.tree_cpu_s()
            pictures = take(loader, given.epochs)
            spent_s = processes.tree_cpu_s() - began_s
            hits, misses = (now - before for now, before in zip(hits_and_misses(daemon), (hits, misses)))
            kept = {shelf["form"]: shelf["memory_entries"] for shelf in shelves_of(daemon)}
            used = daemon.query("status")["cache"]["ram_bytes"]
    return {"cpu_ms": round(1000 * spent_s / pictures, 3), "hits": round(hits / max(hits + misses, 1), 3),
            "of_limit": round(used / limit_bytes, 3), "forms": kept}


def main():
    given = options()
    own_daemon.use_build(given.build)
    paths, _ = clips.files_of(given.work, given.folder)
    corpus_bytes = machine.warm_page_cache(paths)
    limits, forms = [float(limit) for limit in given.limits.split(",")], given.forms.split(",")
    best = {}
    for _ in range(given.rounds):
        for limit in limits:
            for form in forms:
                line = measure(given, form, limit * corpus_bytes)
                if (limit, form) not in best or line["cpu_ms"] < best[limit, form]["cpu_ms"]:
                    best[limit, form] = line
    for (limit, form), line in best.items():
        print(json.dumps({"limit": limit, "form": form, **line}))
    print(f"{len(paths)} pictures, {corpus_bytes / len(paths) / 1000:.0f} KB on average, {os.cpu_count()} cores: "
          "ms of CPU a picture")
    print("limit    " + "".join(f"{form:>9}" for form in forms))
    for limit in limits:
        print(f"{limit:<9g}" + "".join(f"{best[limit, form]['cpu_ms']:9.3f}" for form in forms))
    if given.chart:
        Path(given.chart).write_text(line_chart.draw(
            "From the cache: CPU time for one picture, by the cache's memory", "ms of user + system time of daemon and trainer; "
            "less is better; later epochs", "memory of the cache, as a multiple of the files' bytes",
            f"{machine.hardware()}; {given.threads} threads, batches of {given.batch}; the better of {given.rounds} rounds",
            {f'"{form}"': [(limit, best[limit, form]["cpu_ms"]) for limit in limits] for form in forms}))


if __name__ == "__main__":
    main()
