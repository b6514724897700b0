"""torchcodec in PyTorch's DataLoader, with one FFmpeg thread a process. `way` of the job is the seek mode of videos."""
from torchcodec.decoders import AudioDecoder, VideoDecoder

import clips
import torch_loops


def samples_of(path):
    return AudioDecoder(path, sample_rate=clips.RATE, num_channels=1).get_all_samples().data[0]


def batches(job):
    def frames_of(path, draw):
        decoder = VideoDecoder(path, seek_mode=job.way, num_ffmpeg_threads=1)
        return decoder.get_frames_at(draw(len(decoder))).data

    sounds = job.work == "audio"
    return torch_loops.batches(job, torch_loops.Sounds(job, samples_of) if sounds else torch_loops.Clips(job, frames_of))
