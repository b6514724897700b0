"""tf.data. The crop is drawn from the picture's header, and only the crop is decoded."""
import tensorflow

from own_daemon import MEAN, SHORTER, SIDE, STD


def drawn_box(jpeg):
    """[y, x, height, width]"""
    begin, size, _ = tensorflow.image.sample_distorted_bounding_box(
        tensorflow.io.extract_jpeg_shape(jpeg), tensorflow.zeros([1, 0, 4]), area_range=(0.08, 1),
        aspect_ratio_range=(3 / 4, 4 / 3), max_attempts=10, use_image_if_no_bounding_boxes=True)
    return tensorflow.concat([begin[:2], size[:2]], 0)


def batches(job):
    def load(path, label):
        jpeg = tensorflow.io.read_file(path)
        whole, size = job.work in ("resize", "validate"), (SIDE, SIDE)
        if whole:
            image = tensorflow.io.decode_jpeg(jpeg, channels=3)
        else:
            image = tensorflow.image.decode_and_crop_jpeg(jpeg, drawn_box(jpeg), channels=3)
        if job.work == "validate":
            sides = tensorflow.shape(image)[:2]
            size = sides * SHORTER // tensorflow.reduce_min(sides)
        image = tensorflow.image.resize(image, size, antialias=job.antialias)
        if job.work == "validate":
            image = tensorflow.image.resize_with_crop_or_pad(image, SIDE, SIDE)
        if not whole:
            image = tensorflow.image.random_flip_left_right(image)
        if job.work not in ("train", "validate"):
            return tensorflow.cast(image, tensorflow.uint8), label
        return tensorflow.transpose((image / 255 - MEAN) / STD, (2, 0, 1)), label

    options = tensorflow.data.Options()
    options.threading.private_threadpool_size = job.threads
    pictures = tensorflow.data.Dataset.from_tensor_slices((job.paths, job.classes)).shuffle(job.pictures)
    loaded = pictures.repeat(job.epochs).map(load, num_parallel_calls=job.threads, deterministic=False)
    for images, classes in loaded.batch(job.batch).prefetch(2).with_options(options):
        yield images.numpy(), len(classes)
