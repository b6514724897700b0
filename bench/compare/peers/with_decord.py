"""decord in PyTorch's DataLoader, with one FFmpeg thread a process."""
import decord

import torch_loops

decord.bridge.set_bridge("torch")


def frames_of(path, draw):
    reader = decord.VideoReader(path, num_threads=1)
    return reader.get_batch(draw(len(reader))).permute(0, 3, 1, 2)


def batches(job):
    return torch_loops.batches(job, torch_loops.Clips(job, frames_of))
