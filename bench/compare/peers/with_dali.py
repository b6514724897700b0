"""NVIDIA DALI on the CPU alone. Its decoder decodes only the crop. Its decoder of videos has no H.264 on the CPU."""
import clips
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug.rand_augment import rand_augment

from own_daemon import MEAN, SHORTER, SIDE, STD

EPOCHS_UNCOUNTED = 0


def prepare(job):
    """Leaves the first epoch of RandAugment out. DALI builds a pipeline of all changes then, which takes it seconds."""
    global EPOCHS_UNCOUNTED
    EPOCHS_UNCOUNTED = 1 if job.work == "rand-augment" else 0


def log_mel(job):
    if any(path.endswith(".mp3") for path in job.paths):
        raise ValueError("DALI's decoder of sounds has no MP3")
    files, classes = fn.readers.file(files=job.paths, labels=job.classes, random_shuffle=True)
    samples, _ = fn.decoders.audio(files, sample_rate=clips.RATE, downmix=True, dtype=types.FLOAT)
    samples = fn.slice(samples, 0, clips.RATE * clips.SECONDS, axes=[0], out_of_bounds_policy="pad")
    powers = fn.spectrogram(samples, nfft=clips.WINDOW, window_length=clips.WINDOW, window_step=clips.HOP)
    bands = fn.mel_filter_bank(powers, sample_rate=clips.RATE, nfilter=clips.MELS)
    return fn.to_decibels(bands, multiplier=1, reference=1, cutoff_db=-10), classes


def normalized(images, **more):
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=[255 * mean for mean in MEAN],
                                    std=[255 * std for std in STD], **more)


def batches(job):
    @pipeline_def(batch_size=job.batch, num_threads=job.threads, device_id=None, enable_conditionals=job.work == "rand-augment")
    def loader():
        if job.work == "audio":
            return log_mel(job)
        jpegs, classes = fn.readers.file(files=job.paths, labels=job.classes, random_shuffle=True, name="pictures")
        if job.work in ("resize", "validate"):
            images = fn.decoders.image(jpegs, device="cpu", output_type=types.RGB)
            if job.work == "resize":
                return fn.resize(images, size=[SIDE, SIDE], antialias=job.antialias), classes
            return normalized(fn.resize(images, resize_shorter=SHORTER, antialias=job.antialias), crop=(SIDE, SIDE)), classes
        images = fn.decoders.image_random_crop(jpegs, device="cpu", output_type=types.RGB, random_area=[0.08, 1],
                                               random_aspect_ratio=[3 / 4, 4 / 3])
        images, mirrored = fn.resize(images, size=[SIDE, SIDE], antialias=job.antialias), fn.random.coin_flip()
        if job.work == "crop8":
            return fn.flip(images, horizontal=mirrored), classes
        # torchvision's numbers; signs are drawn, so that the later mirroring changes no distribution
        if job.work == "rand-augment":
            images = rand_augment(images, n=2, m=9, shape=[SIDE, SIDE], fill_value=0, max_translate_rel=150 / 331)
        return normalized(images, mirror=mirrored), classes

    pipeline = loader()
    pipeline.build()
    for _ in range((EPOCHS_UNCOUNTED + job.epochs) * -(-job.pictures // job.batch)):
        images, classes = pipeline.run()
        yield images.as_array(), len(classes)
