"""SPDL. FFmpeg decodes and scales in threads (bicubic, its default), and NumPy normalises whole batches."""
import math
import random

import numpy
import spdl.io
from spdl.pipeline import PipelineBuilder

from own_daemon import MEAN, SIDE, STD

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


def batches(job):
    def paths():
        for _ in range(job.epochs):
            yield from random.sample(job.paths, job.pictures)

    def decode(path):
        packets = spdl.io.demux_image(path)
        steps = [f"scale={SIDE}:{SIDE}"]
        if job.work != "resize":
            x, y, across, down = drawn_box(packets.codec.width, packets.codec.height)
            steps = [f"crop={across}:{down}:{x}:{y}", *steps] + ["hflip"] * random.getrandbits(1)
        return spdl.io.decode_packets(packets, filter_desc=",".join([*steps, "format=pix_fmts=rgb24"]))

    def collate(frames):
        images = spdl.io.to_numpy(spdl.io.convert_frames(frames))
        if job.work != "train":
            return images
        return numpy.ascontiguousarray(((images - MEAN_255) / STD_255).transpose(0, 3, 1, 2))

    stages = PipelineBuilder().add_source(paths()).pipe(decode, concurrency=job.threads, output_order="completion")
    pipeline = stages.aggregate(job.batch).pipe(collate).add_sink(3).build(num_threads=job.threads)
    with pipeline.auto_stop():
        for images in pipeline:
            yield images, len(images)
