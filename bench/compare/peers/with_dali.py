"""NVIDIA DALI on the CPU alone. Its decoder decodes only the crop."""
from nvidia.dali import fn, pipeline_def, types

from own_daemon import MEAN, SIDE, STD


def batches(job):
    @pipeline_def(batch_size=job.batch, num_threads=job.threads, device_id=None)
    def loader():
        jpegs, classes = fn.readers.file(files=job.paths, labels=job.classes, random_shuffle=True, name="pictures")
        if job.work == "resize":
            images = fn.decoders.image(jpegs, device="cpu", output_type=types.RGB)
            return fn.resize(images, size=[SIDE, SIDE], antialias=job.antialias), classes
        images = fn.decoders.image_random_crop(jpegs, device="cpu", output_type=types.RGB, random_area=[0.08, 1],
                                               random_aspect_ratio=[3 / 4, 4 / 3])
        images, mirrored = fn.resize(images, size=[SIDE, SIDE], antialias=job.antialias), fn.random.coin_flip()
        if job.work == "crop8":
            return fn.flip(images, horizontal=mirrored), classes
        return fn.crop_mirror_normalize(images, mirror=mirrored, dtype=types.FLOAT, output_layout="CHW",
                                        mean=[255 * mean for mean in MEAN], std=[255 * std for std in STD]), classes

    pipeline = loader()
    pipeline.build()
    for _ in range(job.epochs * -(-job.pictures // job.batch)):
        images, classes = pipeline.run()
        yield images.as_array(), len(classes)
