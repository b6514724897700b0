#!/usr/bin/env python3
"""Makes pipelines slow on purpose, asks the daemon why, makes the change that it names, and compares the forecast with the truth.

    bench/why.py FOLDER [--build DIR] [--case NAME]... [--seconds 12] [--threads 2] [--batch 64] [--out DIR]

FOLDER holds <class>/<name>.jpg. The case "operation" has a Gaussian blur in its recipe, and the change leaves the blur out. The
trainer of "trainer" computes for 40 ms a batch; the change is a trainer that only takes batches. The store of "store" answers 50
ms late, by 8 connections; the change is the number of connections that is named. In "neighbour" a second pipeline takes all the
CPU that it gets, and the change ends it. In "in-flight" the same store has 64 connections and too few bytes in flight; the change
raises that bound.

Each case runs for so many seconds, and its daemon judges by the last ten. The script prints for each case the part that was
named, the forecast, and the speedup that the change brought. The exit code is 1 where another part was named, or where the
forecast is more than 20 % off. Other programs on the machine are named instead of the case's own reason, so it should be quiet.
"""
import argparse
import json
import re
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "tests/stores"), str(HERE / "remote"), str(HERE / "support")]
import children
import figures
import machine
import one
import own_daemon

CASES = ("operation", "trainer", "store", "neighbour", "in-flight")
OFF_MAX = 0.2
DELAY_MS = 50
WINDOW_S = 10
TUNED = "[tuning]\ndecode = {threads}\n"


def take(loader, seconds, compute_s=0.0):
    """Takes batches for so many seconds, and computes after each. Returns when the last ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        loader.next(timeout=60)
        if compute_s:
            time.sleep(compute_s)


def judged(daemon, spec, seconds, compute_s=0.0):
    """Runs the pipeline, and returns the daemon's verdict on its last seconds."""
    with daemon.attach(spec, framework="raw") as loader:
        take(loader, seconds, compute_s)
        return next(one for one in daemon.query("metrics", spec["name"])["verdicts"])


def remedy(verdict, words):
    """The remedy whose sentence has these words."""
    return next((one for one in verdict["remedies"] if words in one["change"]), {"change": "", "speedup": 0})


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments

    def spec(self, folder=None, **changes):
        return {**own_daemon.make_spec("train", folder or self.arguments.folder, batch=self.arguments.batch, epochs=0,
                                       name="slow"), **changes}

    def daemon(self, more="", limits=""):
        return own_daemon.OwnDaemon(self.arguments.threads, more=TUNED.format(threads=self.arguments.threads) + more,
                                    limits=limits)

    def operation(self):
        slow, quick = self.spec(), self.spec(name="quick")
        ops = slow["output"][0]["ops"]
        ops.insert(len(ops) - 1, {"op": "gaussian-blur", "kernel_size": 23, "sigma": [0.1, 2.0]})
        with self.daemon() as daemon:
            before = judged(daemon, slow, self.arguments.seconds)
            after = judged(daemon, quick, self.arguments.seconds)
        return "decode", before, remedy(before, "gaussian-blur")["speedup"], after

    def trainer(self):
        with self.daemon() as daemon:
            before = judged(daemon, self.spec(), self.arguments.seconds, 0.04)
            said = re.search(r"about ([0-9.]+) x as many", remedy(before, "could deliver")["change"])
            after = judged(daemon, self.spec(), self.arguments.seconds)  # a trainer that only takes
        return "trainer", before, float(said[1]) if said else 0, after

    def remote(self, connections, limits=""):
        """A verdict on objects of a store that answers late."""
        reader = one.Spdld({"store": self.store.addresses, "concurrency": connections, "limits": limits})
        spec = {**reader.spec(), "name": "remote", "order": {"epochs": 0}}
        spec["batch"]["prefetch_depth"] = 8
        with reader.daemon as daemon:
            return judged(daemon, spec, self.arguments.seconds)

    def store_case(self):
        before = self.remote(8)
        named = remedy(before, "connections_max")
        said = re.search(r"= ([0-9]+) in", named["change"])
        return "store", before, named["speedup"], self.remote(int(said[1]) if said else 8)

    def in_flight(self):
        before = self.remote(64, 'inflight_bytes_per_pipeline_max = "1 MiB"')
        return "memory", before, remedy(before, "inflight_bytes_per_pipeline_max")["speedup"], self.remote(64)

    def neighbour(self):
        other = self.spec(name="other")
        with self.daemon() as daemon:
            stop = threading.Event()

            def run():
                with daemon.attach(other, framework="raw", group="other") as loader:
                    while not stop.is_set():
                        loader.next(timeout=60)

            thread = threading.Thread(target=run)
            thread.start()
            try:
                before = judged(daemon, self.spec(), self.arguments.seconds)
            finally:
                stop.set()
                thread.join()
            after = judged(daemon, self.spec(), self.arguments.seconds)
        return "cpu", before, remedy(before, "cpu_weight")["speedup"], after

    def run(self, case):
        if case in ("store", "in-flight"):
            self.store = children.Helper(HERE / "remote/serve.py", "--objects", 8000, "--delay-ms", DELAY_MS)
            try:
                return self.store_case() if case == "store" else self.in_flight()
            finally:
                self.store.close()
        return getattr(self, case)()


def told(case, wanted, before, forecast, after):
    truth = after["samples_per_s"] / before["samples_per_s"] if before["samples_per_s"] else 0
    return {"case": case, "wanted": wanted, "limiter": before["limiter"], "sentence": before["sentence"],
            "forecast": forecast, "truth": truth, "off": abs(forecast - truth) / truth if truth else 1, "then": after["limiter"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--build", default="")
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--seconds", type=float, default=WINDOW_S + 2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", default="")
    arguments = parser.parse_args()
    own_daemon.use_build(arguments.build)
    bench = Bench(arguments)
    results = []
    for case in arguments.case or CASES:
        results.append(told(case, *bench.run(case)))
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    rows = [[one["case"], one["limiter"], f"{one['forecast']:.2f} x", f"{one['truth']:.2f} x", f"{100 * one['off']:.0f} %",
             one["then"]]
            for one in results]
    text = (f"{machine.hardware()}\n\n" +
            figures.markdown(["slow by", "named", "forecast", "truth", "off", "then limited by"], rows, right_from=2))
    failed = any(one["limiter"] != one["wanted"] or one["off"] > OFF_MAX for one in results)
    figures.finish("why", text, arguments.out, results, failed)


if __name__ == "__main__":
    main()
