"""NVIDIA DALI on the CPU alone. Its decoder decodes only the crop."""
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug.rand_augment import rand_augment

from own_daemon import MEAN, SIDE, STD

EPOCHS_UNCOUNTED = 0


def prepare(job):
    """Leaves the first epoch of RandAugment out. DALI builds a pipeline of all changes then, which takes it seconds."""
    global EPOCHS_UNCOUNTED
    EPOCHS_UNCOUNTED = 1 if job.work == "rand-augment" else 0


def batches(job):
    @pipeline_def(batch_size=job.batch, num_threads=job.threads, device_id=None, enable_conditionals=job.work == "rand-augment")
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
        if job.work == "rand-augment":  # torchvision's numbers; signs are drawn, so that the later mirroring changes no distribution
            images = rand_augment(images, n=2, m=9, shape=[SIDE, SIDE], fill_value=0, max_translate_rel=150 / 331)
        return fn.crop_mirror_normalize(images, mirror=mirrored, dtype=types.FLOAT, output_layout="CHW",
                                        mean=[255 * mean for mean in MEAN], std=[255 * std for std in STD]), classes

    pipeline = loader()
    pipeline.build()
    for _ in range((EPOCHS_UNCOUNTED + job.epochs) * -(-job.pictures // job.batch)):
        images, classes = pipeline.run()
        yield images.as_array(), len(classes)
