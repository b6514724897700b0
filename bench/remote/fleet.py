#!/usr/bin/env python3
"""Simulates many nodes that read one bucket, for docs/stores.md: which layout a store can serve, and what limits it.

    fleet.py [--nodes N] [--rate SAMPLES] [--seconds S] [--json]

Every node wants RATE samples a second of SAMPLE_BYTES each. It has CONNECTIONS slots. A slot asks for an object or a range; the
answer takes a time from a log-normal distribution and the time of its bytes at the node's share of the network. A prefix of the
bucket serves PREFIX_REQUESTS requests a second and answers 503 beyond; the slot then waits for a random time up to a bound that
doubles with each failure ("full jitter"), as the daemon's http/pace.h does. Time goes on in steps of STEP_S.

The figures that it takes for granted are constants below, with their sources; the rest is counted.
"""
import argparse
import json

import numpy as np

STEP_S = 0.01
SAMPLE_BYTES = 100_000
PREFIX_REQUESTS = 5_500  # GET a second and prefix: "Best practices design patterns", Amazon S3 User Guide
CONNECTIONS = 64  # of a node: [[data.stores]] connections_max
LATENCY_P50_S, LATENCY_SIGMA = 0.03, 0.6  # first byte; the 99th percentile is then 120 ms
NODE_BYTES_S = 25e9 / 8  # 25 Gbit/s
BACKOFF_S, BACKOFF_MAX_S = 0.05, 5.0  # as the defaults of http/endpoint_limits.h
CPU_S_PER_REQUEST, CPU_S_PER_GB = 45e-6, 0.8  # of the daemon: bench/remote/peers.py, objects of 100 KB and of 4 MB

# Name of the layout: samples that one request brings, prefixes over which the requests spread.
LAYOUTS = {
    "objects, 1 prefix": (1, 1),
    "objects, 256 prefixes": (1, 256),
    "shards, a range a sample, 64 prefixes": (1, 64),
    "shards, blocks of 4 MB, 1 prefix": (40, 1),
    "shards, blocks of 4 MB, 16 prefixes": (40, 16),
}


def simulate(nodes, rate, seconds, samples_per_request, prefixes, random):
    """Returns {samples_s, requests_s, refused, waiting} of a node's mean, after a first quarter that is not counted."""
    slots = nodes * CONNECTIONS
    node = np.repeat(np.arange(nodes), CONNECTIONS)
    busy_until, failures = np.zeros(slots), np.zeros(slots, dtype=int)
    is_asked = np.zeros(slots, dtype=bool)  # the answer comes at busy_until; else the slot rests until then
    body_s = samples_per_request * SAMPLE_BYTES * CONNECTIONS / NODE_BYTES_S
    credit = np.zeros(nodes)  # samples that the trainers want and nobody has asked for yet
    delivered = asked = refused = starved = 0
    steps, first = int(seconds / STEP_S), int(seconds / STEP_S / 4)
    for step in range(steps):
        now = step * STEP_S
        counted = step >= first
        done = is_asked & (busy_until <= now)
        is_asked[done] = False
        failures[done] = 0
        if counted:
            delivered += int(done.sum()) * samples_per_request
        credit = np.minimum(credit + rate * STEP_S, rate)  # a second's worth in advance: prefetch_depth
        free = np.flatnonzero(~is_asked & (busy_until <= now))
        random.shuffle(free)
        rank = np.zeros(len(free), dtype=int)  # of a slot among the free ones of its node
        order = np.argsort(node[free], kind="stable")
        owners = node[free][order]
        starts = np.searchsorted(owners, owners, side="left")
        rank[order] = np.arange(len(free)) - starts
        wants = rank < np.floor(credit[node[free]] / samples_per_request)
        asking = free[wants]
        if counted:
            asked += len(asking)
            starved += int((credit >= rate).sum())
        prefix = random.integers(0, prefixes, len(asking))
        order = np.argsort(prefix, kind="stable")
        place = np.empty(len(asking), dtype=int)
        place[order] = np.arange(len(asking)) - np.searchsorted(prefix[order], prefix[order], side="left")
        served = asking[place < PREFIX_REQUESTS * STEP_S]
        turned_away = asking[place >= PREFIX_REQUESTS * STEP_S]
        latency = LATENCY_P50_S * np.exp(LATENCY_SIGMA * random.standard_normal(len(served)))
        busy_until[served] = now + latency + body_s
        is_asked[served] = True
        np.subtract.at(credit, node[served], samples_per_request)
        failures[turned_away] += 1
        bound = np.minimum(BACKOFF_S * 2.0 ** (failures[turned_away] - 1), BACKOFF_MAX_S)
        busy_until[turned_away] = now + LATENCY_P50_S + bound * random.random(len(turned_away))
        if counted:
            refused += len(turned_away)
    span = (steps - first) * STEP_S
    return {"samples_s": delivered / span / nodes, "requests_s": asked / span, "refused": refused / max(asked, 1),
            "starved": starved / nodes / (steps - first)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=800, help="samples a second that the trainers of a node take")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    rows = {}
    for name, (samples, prefixes) in LAYOUTS.items():
        row = simulate(options.nodes, options.rate, options.seconds, samples, prefixes, random)
        each = row["requests_s"] / options.nodes
        row["cpu_cores"] = each * CPU_S_PER_REQUEST + row["samples_s"] * SAMPLE_BYTES / 1e9 * CPU_S_PER_GB
        rows[name] = row
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{options.nodes} nodes, each wants {options.rate:.0f} samples a second of {SAMPLE_BYTES // 1000} KB")
    print(f"{'layout':40} {'samples/s a node':>17} {'requests/s':>11} {'503':>7} {'starved':>8} {'CPU cores a node':>17}")
    for name, row in rows.items():
        print(f"{name:40} {row['samples_s']:17.0f} {row['requests_s']:11.0f} {row['refused']:6.1%} {row['starved']:7.1%} "
              f"{row['cpu_cores']:17.2f}")


if __name__ == "__main__":
    main()
