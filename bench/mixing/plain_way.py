#!/usr/bin/python3
"""Mixup of a batch of 32 pictures of 224 x 224 pixels by torch, as torchvision's MixUp computes it: the time of a pixel, one
thread.

    bench/mixing/plain_way.py

bench/mixing/mixing_bench.cpp measures the same work in the daemon.
"""
import statistics
import time

import torch

ROWS, PIXELS, ROUNDS, LAM = 32, 224 * 224, 15, 0.3


def main():
    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.bfloat16):
        batch, times = torch.rand(ROWS, 3, 224, 224).to(dtype), []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            batch = batch.roll(1, 0).mul_(1 - LAM).add_(batch.mul(LAM))
            times.append((time.perf_counter() - start) / (ROWS * PIXELS))
        print(f"{str(dtype).removeprefix('torch.'):9} {statistics.median(times) * 1e9:.2f} ns a pixel")


if __name__ == "__main__":
    main()
