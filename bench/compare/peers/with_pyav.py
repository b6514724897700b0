"""PyAV in PyTorch's DataLoader. It seeks to a key frame, decodes on from there, and converts only the frames that are wanted."""
import av
import numpy
import torch

import torch_loops


def frames_of(path, draw):
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        ticks = 1 / (stream.average_rate * stream.time_base)  # of one frame
        numbers = draw(stream.frames)
        keys = sorted(entry.timestamp for entry in stream.index_entries if entry.is_keyframe)
        pixels, at = {}, None  # the time of the last frame that was decoded
        for number in sorted(set(numbers)):
            wanted = round(number * ticks)
            if at is None or any(at < key <= wanted for key in keys):
                container.seek(wanted, stream=stream)
                frames = container.decode(stream)
            for frame in frames:
                at = frame.pts
                if at >= wanted:
                    break
            if at is None or abs(at - wanted) > ticks / 2:
                raise ValueError(f"{path}: frame {number} did not come")
            pixels[number] = frame.to_ndarray(format="rgb24")
    return torch.from_numpy(numpy.stack([pixels[number] for number in numbers])).permute(0, 3, 1, 2)


def batches(job):
    return torch_loops.batches(job, torch_loops.Clips(job, frames_of))
