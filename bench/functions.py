#!/usr/bin/env python3
"""Measures what functions of a user's own cost (operations with op = "python").

    bench/functions.py --build BUILD [--rounds 5] [--samples 100000] [--processes 1]
    bench/functions.py --build BUILD --pictures FOLDER [--rounds 5] [--epochs 4]
    bench/functions.py --build BUILD --deaths [--rounds 5]

The first form calls a function that does nothing, on one number a sample: one sample at a time, and in calls of up to 64. It
tells how much CPU time the daemon and the processes take for a sample, beyond the same pipeline without the function. It also
tells how long the reset of all random generators takes before a call. The second form takes <class>/<name>.jpg through
RandomResizedCrop, a flip and ColorJitter of torchvision, as uint8 [224, 224, 3], and tells the CPU time for a picture. It
compares three ways.

    jitter      The daemon decodes, crops and flips, and a function calls ColorJitter alone.
    augment     The daemon decodes, and a function calls all three.
    dataloader  The DataLoader of torch, with two workers, does all of it by PIL.

The ways take turns. A first epoch is not measured, so that imports do not count. The last columns are quotients within a
round. The third form kills a trainer, and tells when the last process that ran its functions was gone.
"""
import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import own_daemon
import processes

WORD = "SPDLD_BENCH_WORD"  # in the environment of the crew's processes
SIDE = 224
CALL_MAX = 64


def crew_pids():
    return processes.with_variable(f"{WORD}={os.environ[WORD]}")


def cpu_of(daemon):
    """The CPU time of the daemon, of the crew, and of this process, so far."""
    return processes.cpu_s(daemon.process.pid) + sum(map(processes.cpu_s, crew_pids())) + time.process_time()


def measure(spec, epochs, threads=2):
    """The CPU time and the wall time of a sample, in microseconds, behind a first epoch."""
    with own_daemon.OwnDaemon(threads) as daemon:
        os.environ[WORD] = f"{os.getpid()}-{time.monotonic_ns()}"  # not the daemon's
        loader = daemon.attach(spec)
        samples = sum(batch.valid for batch in loader)
        start, begun = cpu_of(daemon), time.monotonic()
        for _ in range(epochs):
            for _ in loader:
                pass
        took, wall = cpu_of(daemon) - start, time.monotonic() - begun
        loader.close()
    return took / (samples * epochs) * 1e6, wall / (samples * epochs) * 1e6


def python(name, dtype, shape, **more):
    return {"op": "python", "call": f"user_functions:{name}", "gives": {"dtype": dtype, "shape": shape}, **more}


def number_spec(folder, functions, samples, own):
    return {"name": "numbers", "source": {"type": "npy", "uri": str(folder)}, "order": {"epochs": 0, "shuffle": False}, **own,
            "output": [{"name": "number", "from": "array", "ops": [{"op": "raw-int"}, *functions]}],
            "batch": {"size": min(256, samples)}}


def picture_spec(folder, *ops):
    return {"name": "pictures", "seed": 7, "source": {"type": "image-folder", "uri": str(folder), "extensions": "jpg"},
            "order": {"epochs": 0}, "batch": {"size": 64},
            "output": [{"name": "image", "from": "image", "ops": [{"op": "decode-image"}, *ops]}]}


def measure_dataloader(folder, epochs):
    import torch.utils.data
    import user_functions

    paths = sorted(Path(folder).glob("*/*.jpg"))
    loader = torch.utils.data.DataLoader(user_functions.Pictures(paths), batch_size=64, shuffle=True, num_workers=2,
                                         persistent_workers=True)
    for _ in loader:
        pass
    start, begun = processes.tree_cpu_s(), time.monotonic()
    for _ in range(epochs):
        for _ in loader:
            pass
    scale = 1e6 / (len(paths) * epochs)
    return (processes.tree_cpu_s() - start) * scale, (time.monotonic() - begun) * scale


def measure_deaths(options):
    import signal
    import subprocess

    import numpy

    script = ("import sys, spdld; loader = spdld.attach({spec!r}, socket={socket!r}, framework='numpy'); next(iter(loader)); "
              "print('there', flush=True); sys.stdin.read()")
    took = []
    with tempfile.TemporaryDirectory() as folder, own_daemon.OwnDaemon(2) as daemon:
        numpy.save(Path(folder) / "x.npy", numpy.arange(10_000, dtype=numpy.int64))
        spec = number_spec(folder, [python("nothing", "int64", [])], 256, {"python": {"processes": 4}})
        os.environ[WORD] = f"{os.getpid()}-deaths"
        for _ in range(options.rounds):
            trainer = subprocess.Popen([sys.executable, "-c", script.format(spec=spec, socket=daemon.socket)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            trainer.stdout.readline()
            there = len(crew_pids()) - 1
            begun = time.monotonic()
            trainer.send_signal(signal.SIGKILL)
            trainer.wait()
            while crew_pids():
                pass
            took.append(time.monotonic() - begun)
            print(f"{there} processes were gone {took[-1] * 1e3:.0f} ms behind their trainer", flush=True)
            trainer.communicate()
    print(f"the processes of a killed trainer: gone after {statistics.median(took) * 1e3:.0f} ms, "
          f"at most {max(took) * 1e3:.0f} ms")


def reset_us():
    import timeit

    import numpy.random  # noqa: F401
    import torch  # noqa: F401
    from spdld._crew import randomness

    keyed = randomness.keyed()
    keyed.reset(1, 0, "image")
    return min(timeit.repeat(lambda: keyed.reset(5, 0, "image"), number=20000, repeat=5)) / 20000 * 1e6


def measure_nothing(options):
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        numpy.save(Path(folder) / "x.npy", numpy.arange(options.samples, dtype=numpy.int64))
        own = {"python": {"processes": options.processes}}
        ways = {"one at a time": {}, f"in calls of {CALL_MAX}": {"batch": CALL_MAX}}
        beyond = {way: [] for way in ways}
        for number in range(options.rounds):
            plain = measure(number_spec(folder, [], options.samples, {}), options.epochs)
            print(f"round {number + 1}: without the function {plain[0]:.2f} us of CPU and {plain[1]:.2f} of time", end="")
            for way, more in ways.items():
                spec = number_spec(folder, [python("nothing", "int64", [], **more)], options.samples, own)
                called = measure(spec, options.epochs)
                beyond[way].append(called[0] - plain[0])
                print(f"; {way} {called[0]:.2f} and {called[1]:.2f}", end="", flush=True)
            print()
    for way, cost in beyond.items():
        print(f"a function that does nothing, {way}: {statistics.median(cost):.2f} us of CPU a sample "
              f"({min(cost):.2f} to {max(cost):.2f})")
    print(f"a reset of random, numpy's state, a Generator and torch's generator: {reset_us():.2f} us")


def measure_pictures(options):
    folder = Path(options.pictures).resolve()
    crop = [{"op": "random-resized-crop", "size": SIDE}, {"op": "horizontal-flip"}]
    ways = {
        "jitter": lambda: measure(picture_spec(folder, *crop, python("jitter", "uint8", [SIDE, SIDE, 3])), options.epochs),
        "augment": lambda: measure(picture_spec(folder, python("augment", "uint8", [SIDE, SIDE, 3])), options.epochs),
        "dataloader": lambda: measure_dataloader(folder, options.epochs),
    }
    rounds = []
    for number in range(options.rounds):
        rounds.append({name: way() for name, way in ways.items()})
        print(f"round {number + 1}: " + ", ".join(f"{name} {cpu / 1e3:.2f} ms of CPU, {1e6 / wall:.0f} pictures/s"
                                                  for name, (cpu, wall) in rounds[-1].items()), flush=True)
    for name in ways:
        cpu = statistics.median(one[name][0] for one in rounds)
        quotient = statistics.median(one[name][0] / one["dataloader"][0] for one in rounds)
        rate = statistics.median(one["dataloader"][1] / one[name][1] for one in rounds)
        print(f"{name}: {cpu / 1e3:.2f} ms of CPU a picture, {quotient:.2f} of the DataLoader's, at {rate:.2f} of its rate")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="", help="a build directory of Meson; else the system's spdld")
    parser.add_argument("--pictures", help="a folder of <class>/<name>.jpg")
    parser.add_argument("--deaths", action="store_true", help="kill trainers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    own_daemon.use_build(options.build)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "support"), os.environ.get("PYTHONPATH", "")])
    if options.deaths:
        measure_deaths(options)
    elif options.pictures:
        measure_pictures(options)
    else:
        measure_nothing(options)


if __name__ == "__main__":
    main()
