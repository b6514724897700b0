"""SPDL. FFmpeg decodes and scales in threads (bicubic, its default), and NumPy normalises whole batches."""
import math
import random

import clips
import numpy
import spdl.io
from spdl.pipeline import PipelineBuilder

from own_daemon import MEAN, SHORTER, SIDE, STD

MEAN_255, STD_255 = (numpy.float32(values) * 255 for values in (MEAN, STD))


def drawn_box(width, height):
    """torchvision's draw: (x, y, width, height), area 0.08 to 1, ratio 3/4 to 4/3."""
    for _ in range(10):
        area, ratio = width * height * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if across <= width and down <= height:
            return random.randint(0, width - across), random.randint(0, height - down), across, down
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def change_of(job, width, height):
    """Returns what FFmpeg's filters do with a picture or with all frames of a video."""
    steps = [f"scale={SIDE}:{SIDE}"]
    if job.work == "validate":
        across, down = (SHORTER * side // min(width, height) for side in (width, height))
        steps = [f"scale={across}:{down}", f"crop={SIDE}:{SIDE}"]
    elif job.work != "resize":
        x, y, across, down = drawn_box(width, height)
        steps = [f"crop={across}:{down}:{x}:{y}", *steps] + ["hflip"] * random.getrandbits(1)
    return ",".join([*steps, "format=pix_fmts=rgb24"])


def decode_picture(job, path):
    packets = spdl.io.demux_image(path)
    return spdl.io.decode_packets(packets, filter_desc=change_of(job, packets.codec.width, packets.codec.height))


def decode_clips(job, path):
    """Decodes from the key frame before a clip to its end, and scales the frames that are wanted. sample_decode_video would scale
    all that it decodes."""
    demuxer = spdl.io.Demuxer(path)
    packets = demuxer.demux_video()
    numbers, change = clips.draw_numbers(len(packets), job.clips), change_of(job, packets.codec.width, packets.codec.height)
    rate, decoded = packets.frame_rate[0] / packets.frame_rate[1], []
    for first in numbers[::clips.FRAMES]:
        window = (first - 0.5) / rate, (first + clips.SPAN - 0.5) / rate
        chosen = f"trim=start={window[0]}:end={window[1]},framestep={clips.STRIDE}"
        decoded.append(spdl.io.decode_packets(demuxer.demux_video(window), filter_desc=f"{chosen},{change}"))
    return decoded


class LogMel:
    def __init__(self):
        self.filters, self.window = clips.mel_filters(), numpy.hanning(clips.WINDOW + 1)[:-1].astype(numpy.float32)

    def __call__(self, path):
        samples = spdl.io.to_numpy(spdl.io.load_audio(path, filter_desc=spdl.io.get_audio_filter_desc(
            sample_rate=clips.RATE, num_channels=1, sample_fmt="fltp", num_frames=clips.RATE * clips.SECONDS)))[0]
        samples = numpy.pad(samples, clips.WINDOW // 2, mode="reflect")
        windows = numpy.lib.stride_tricks.sliding_window_view(samples, clips.WINDOW)[::clips.HOP]
        spectrum = numpy.fft.rfft(windows * self.window)
        powers = numpy.square(spectrum.real) + numpy.square(spectrum.imag)
        return numpy.log10(numpy.maximum(self.filters @ powers.T, numpy.float32(1e-10)))


def normalized(images):
    """uint8 [..., height, width, 3] to float32 [..., 3, height, width]. A channel at a time, which takes NumPy a quarter of the
    time."""
    made = numpy.empty((*images.shape[:-3], 3, *images.shape[-3:-1]), numpy.float32)
    for channel in range(3):
        plane = made[..., channel, :, :]
        numpy.subtract(images[..., channel], MEAN_255[channel], out=plane)
        plane /= STD_255[channel]
    return made


def collate_clips(job, rows):
    videos = numpy.stack([spdl.io.to_numpy(spdl.io.convert_frames(clip)) for row in rows for clip in row])
    return normalized(videos if job.clips == 1 else videos.reshape(len(rows), job.clips, *videos.shape[1:]))


def collate_pictures(job, frames):
    images = spdl.io.to_numpy(spdl.io.convert_frames(frames))
    return normalized(images) if job.work in ("train", "validate") else images


def batches(job):
    def paths():
        for _ in range(job.epochs):
            yield from random.sample(job.paths, len(job.paths))

    decode, collate = decode_picture, collate_pictures
    if job.work == "audio":
        log_mel = LogMel()
        decode, collate = lambda _, path: log_mel(path), lambda _, sounds: numpy.stack(sounds)
    elif job.work.startswith("clips"):
        decode, collate = decode_clips, collate_clips

    stages = PipelineBuilder().add_source(paths()).pipe(lambda path: decode(job, path), concurrency=job.threads,
                                                        output_order="completion")
    pipeline = stages.aggregate(job.batch).pipe(lambda decoded: collate(job, decoded)).add_sink(3).build(num_threads=job.threads)
    with pipeline.auto_stop():
        for values in pipeline:
            yield values, len(values) * job.clips
