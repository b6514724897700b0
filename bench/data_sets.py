#!/usr/bin/env python3
"""Measures a data set of a user's own, in torch's DataLoader and in spdld.torch.Loader(dataset=...).

    bench/data_sets.py --build BUILD --pictures FOLDER [--rounds 5] [--epochs 4] [--workers 2]
    bench/data_sets.py --build BUILD --pictures FOLDER --jobs 2 [--rounds 3] [--seconds 10] [--workers 2]
    bench/data_sets.py --build BUILD [--rounds 5] [--samples 100000] [--side 8] [--workers 1]

The first form takes <class>/<name>.jpg by torchvision's ImageFolder with RandomResizedCrop, a flip, ToTensor and Normalize, as
PyTorch's example for ImageNet does. It compares three ways.

    dataloader  torch's DataLoader with --workers processes
    dataset     spdld.torch.Loader(dataset=...) with as many processes
    collate     the same with default_collate as collate_fn, so that items come pickled

The second form has trainers that train side by side on the same pictures, each a process of its own: with DataLoaders, each of
which has --workers processes, and with Loaders that share a stream. It tells the memory of all processes while they train, and
how long the last trainer waits for its first batch while the others train: from the making of its loader on, without the
imports and the data set before that.

The third form has a data set of arrays that does no work, and tells what an item costs. The ways take turns. In the
first and the third form a first epoch is not measured, so that imports do not count. They tell the CPU time of an item (of the
daemon, the processes and the trainer together), the rate, and the memory of all these processes at the end. The last columns
are quotients within a round.
"""
import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "support"))
import own_daemon
import processes

WORD = "SPDLD_BENCH_WORD"  # in the environment of the crew's processes


def image_folder(path):
    from torchvision import datasets, transforms

    return datasets.ImageFolder(path, transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]))


def memory_of(pids):
    """MiB, with shared pages in equal parts."""
    return sum(map(processes.pss_bytes, pids)) / 2**20


def measured(loader, cpu_s, pids, options):
    """Microseconds of CPU and of time for an item, and the memory, behind a first epoch."""
    items = sum(len(images) for images, _ in loader)
    start, begun = cpu_s(), time.monotonic()
    for _ in range(options.epochs):
        for _ in loader:
            pass
    scale = 1e6 / (items * options.epochs)
    return (cpu_s() - start) * scale, (time.monotonic() - begun) * scale, memory_of(pids())


def by_dataloader(dataset, options):
    import torch.utils.data

    loader = torch.utils.data.DataLoader(dataset, batch_size=options.batch, shuffle=True, num_workers=options.workers,
                                         persistent_workers=True)
    return measured(loader, processes.tree_cpu_s, lambda: [os.getpid(), *processes.descendants(os.getpid())], options)


def by_spdld(dataset, options, **more):
    import spdld.torch

    with own_daemon.OwnDaemon(2) as daemon:
        os.environ[WORD] = f"{os.getpid()}-{time.monotonic_ns()}"  # not the daemon's
        loader = spdld.torch.Loader(dataset=dataset, batch_size=options.batch, shuffle=True, socket=daemon.socket,
                                    pipeline={"python": {"processes": options.workers}}, **more)

        def pids():
            return [os.getpid(), daemon.process.pid, *processes.with_variable(f"{WORD}={os.environ[WORD]}")]

        def cpu_s():
            return time.process_time() + sum(processes.cpu_s(pid) for pid in pids()[1:])

        told = measured(loader, cpu_s, pids, options)
        loader.close()
    return told


def loader_of(dataset, options, socket, number):
    """A trainer's loader; without a socket torch's."""
    if not socket:
        import torch.utils.data

        return torch.utils.data.DataLoader(dataset, batch_size=options.batch, shuffle=True, num_workers=options.workers,
                                           persistent_workers=True)
    import spdld.torch

    return spdld.torch.Loader(dataset=dataset, batch_size=options.batch, shuffle=True, socket=socket, group=f"job-{number}",
                              pipeline={"share": "stream", "python": {"processes": options.workers}, "batch": options.ahead})


def train(options, socket, number, pipe):
    """A trainer, in a process of its own: it says when it could begin, how long its first batch took, and how many items it
    has had whenever it is asked; "end" ends it."""
    import torch  # noqa: F401
    if socket:
        import spdld.torch  # noqa: F401
    dataset = image_folder(options.pictures)
    pipe.send("there")
    pipe.recv()
    begun = time.monotonic()
    loader = loader_of(dataset, options, socket, number)
    items = 0
    while True:
        for images, _ in loader:
            if items == 0:
                pipe.send(time.monotonic() - begun)
            items += len(images)
            if pipe.poll():
                if pipe.recv() == "end":
                    os._exit(0)
                pipe.send(items)


def asked(pipes, what):
    for pipe in pipes:
        pipe.send(what)
    return [pipe.recv() for pipe in pipes]


def measured_jobs(options, daemon):
    """Seconds to the last job's first batch, MiB of all processes, and items a second of each job. daemon: None: DataLoaders."""
    spawned = multiprocessing.get_context("spawn")
    os.environ[WORD] = f"{os.getpid()}-{time.monotonic_ns()}"  # not the daemon's
    jobs, pipes = [], []
    for number in range(options.jobs):
        ours, theirs = spawned.Pipe()
        jobs.append(spawned.Process(target=train, args=(options, daemon and daemon.socket, number, theirs)))
        jobs[-1].start()
        pipes.append(ours)
    first_s = []
    for pipe in pipes:
        pipe.recv()
    for pipe in pipes:  # one after the other
        first_s += asked([pipe], "begin")
        time.sleep(options.seconds / 2)
    before, begun, memory = asked(pipes, "items"), time.monotonic(), []
    for _ in range(5):
        time.sleep(options.seconds / 5)
        trainers = {job.pid for job in jobs}
        pids = [pid for pid in processes.with_variable(f"{WORD}={os.environ[WORD]}")
                if pid in trainers or "resource_tracker" not in command_of(pid)]
        memory.append(memory_of([*pids, *([daemon.process.pid] if daemon else [])]))
    after, took = asked(pipes, "items"), time.monotonic() - begun
    for pipe, job in zip(pipes, jobs, strict=True):
        pipe.send("end")
        job.join()
    return first_s[-1], statistics.median(memory), (sum(after) - sum(before)) / took / options.jobs


def command_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def jobs_by_spdld(options):
    with own_daemon.OwnDaemon(2) as daemon:
        return measured_jobs(options, daemon)


def compare_jobs(options):
    ways = {"dataloader": lambda: measured_jobs(options, None), "dataset": lambda: jobs_by_spdld(options)}
    rounds = []
    for number in range(options.rounds):
        rounds.append({name: way() for name, way in ways.items()})
        print(f"round {number + 1}: " + ", ".join(
            f"{name} first batch after {first:.3f} s, {memory:.0f} MiB, {rate:.0f} items/s a job"
            for name, (first, memory, rate) in rounds[-1].items()), flush=True)
    for name in ways:
        first = statistics.median(one[name][0] for one in rounds)
        memory = statistics.median(one[name][1] / one["dataloader"][1] for one in rounds)
        rate = statistics.median(one[name][2] / one["dataloader"][2] for one in rounds)
        print(f"{name}, {options.jobs} jobs: the last one's first batch after {first:.3f} s, with {memory:.2f} of the memory of "
              f"DataLoaders, at {rate:.2f} of their rate")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="", help="a build directory of Meson; else the system's spdld")
    parser.add_argument("--pictures", help="a folder of <class>/<name>.jpg")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--side", type=int, default=8, help="the arrays are float32 [3, SIDE, SIDE]")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0, help="2 with pictures, else 1")
    parser.add_argument("--jobs", type=int, default=1, help="trainers that train side by side on the pictures")
    parser.add_argument("--seconds", type=float, default=10, help="how long they do")
    parser.add_argument("--depth", type=int, default=0, help="prefetch_depth of their pipeline, with held_max = 1; 0: defaults")
    options = parser.parse_args()
    options.workers = options.workers or (2 if options.pictures else 1)
    own_daemon.use_build(options.build)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "support"), os.environ.get("PYTHONPATH", "")])
    options.ahead = {"prefetch_depth": options.depth, "held_max": 1} if options.depth else {}
    if options.jobs > 1:
        return compare_jobs(options)
    import user_functions
    from torch.utils.data import default_collate

    dataset = image_folder(options.pictures) if options.pictures else user_functions.SmallArrays(options.samples, options.side)
    ways = {"dataloader": lambda: by_dataloader(dataset, options), "dataset": lambda: by_spdld(dataset, options),
            "collate": lambda: by_spdld(dataset, options, collate_fn=default_collate)}
    rounds = []
    for number in range(options.rounds):
        rounds.append({name: way() for name, way in ways.items()})
        print(f"round {number + 1}: " + ", ".join(f"{name} {cpu:.1f} us of CPU, {1e6 / wall:.0f} items/s, {memory:.0f} MiB"
                                                  for name, (cpu, wall, memory) in rounds[-1].items()), flush=True)
    for name in ways:
        cpu = statistics.median(one[name][0] for one in rounds)
        quotient = statistics.median(one[name][0] / one["dataloader"][0] for one in rounds)
        rate = statistics.median(one["dataloader"][1] / one[name][1] for one in rounds)
        memory = statistics.median(one[name][2] / one["dataloader"][2] for one in rounds)
        print(f"{name}: {cpu:.1f} us of CPU an item, {quotient:.2f} of the DataLoader's, at {rate:.2f} of its rate, with "
              f"{memory:.2f} of its memory")


if __name__ == "__main__":
    main()
