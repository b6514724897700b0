#!/usr/bin/env python3
"""Measures a data set of a user's own, in torch's DataLoader and in spdld.torch.Loader(dataset=...).

    bench/data_sets.py --build BUILD --pictures FOLDER [--rounds 5] [--epochs 4] [--workers 2]
    bench/data_sets.py --build BUILD [--rounds 5] [--samples 100000] [--workers 1]

The first form takes <class>/<name>.jpg by torchvision's ImageFolder with RandomResizedCrop, a flip, ToTensor and Normalize, as
PyTorch's example for ImageNet does. It compares three ways.

    dataloader  torch's DataLoader with --workers processes
    dataset     spdld.torch.Loader(dataset=...) with as many processes
    collate     the same with default_collate as collate_fn, so that items come pickled

The second form has a data set of small arrays that does no work, and tells what an item costs. The ways take turns. A first
epoch is not measured, so that imports do not count. It tells the CPU time of an item (of the daemon, the processes and the
trainer together), the rate, and the memory of all these processes at the end. The last columns are quotients within a round.
"""
import argparse
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="", help="a build directory of Meson; else the system's spdld")
    parser.add_argument("--pictures", help="a folder of <class>/<name>.jpg")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0, help="2 with pictures, else 1")
    options = parser.parse_args()
    options.workers = options.workers or (2 if options.pictures else 1)
    own_daemon.use_build(options.build)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "support"), os.environ.get("PYTHONPATH", "")])
    import user_functions
    from torch.utils.data import default_collate

    dataset = image_folder(options.pictures) if options.pictures else user_functions.SmallArrays(options.samples)
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
