"""Compares the trainer's tensors with the host path's, bit for bit, for every framework, type and transport."""
import numpy as np

from arrays import Arrays, address_of
from jobs import Job
from node import MEMORY, Daemon, next_batch

DTYPES = ("uint8", "float16", "float32")
BATCHES = 4
GPU_WAYS = ("fd", "handle", "handle early", "pinned")


def row_name(framework, way):
    return f"equal in {framework}: {way}"


def jobs(device):
    if device == "cuda":
        return [Job(f"equal in {framework}", "rows_equal:compare", tuple(row_name(framework, way) for way in GPU_WAYS), 60,
                    given=(framework, *GPU_WAYS)) for framework in ("torch", "cupy", "jax")]
    return [Job(f"equal in {framework}", "rows_equal:compare", (row_name(framework, "cpu"),), 60, (), (framework, "cpu"))
            for framework in ("torch", "numpy")]


def taken(loader, to_numpy):
    """Returns copies of the images and labels of the first batches."""
    batches = []
    for _ in range(BATCHES):
        batch = next_batch(loader)
        batches.append((np.array(to_numpy(batch["image"])), np.array(to_numpy(batch["label"]))))
        del batch
    return batches


def host_path(daemon, spec):
    with daemon.attach(spec, framework="numpy", group="host") as loader:
        return taken(loader, lambda array: array)


def same_bits(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def compare_way(context, daemon, arrays, way):
    """Returns sentences about differences, and the number of images that lie in the memory of the slot itself. Labels
    come as copies."""
    faults, in_place = [], 0
    for dtype in DTYPES:
        spec = context.pipeline(f"equal-{dtype}", dtype, context.scaled(32, 4))
        expected = host_path(daemon, spec)
        with daemon.attach(spec, framework=arrays.framework, way=way, group=way) as loader:
            if loader.info.memory != MEMORY[way]:
                faults.append(f"{dtype} lies in {loader.info.memory} memory")
            for step, pair in enumerate(expected):
                batch = next_batch(loader)
                for name, wanted in zip(("image", "label"), pair):
                    array = batch[name]
                    if not same_bits(np.asarray(arrays.to_numpy(array)), wanted):
                        faults.append(f"{dtype} {name} of step {step} differs")
                    in_place += name == "image" and arrays.address(array) == address_of(batch.tensor(name), way)
                    del array
                del batch
    return faults, in_place


def compare(context, report, framework, *ways):
    arrays = Arrays(framework)
    if context.device == "cuda":
        arrays.require_gpu()
    images = BATCHES * len(DTYPES)
    with Daemon(context) as daemon:
        for way in ways:
            try:
                faults, in_place = compare_way(context, daemon, arrays, way)
            except Exception as error:  # one way's failure says nothing of the next
                report.check(row_name(framework, way), False, remark=f"{type(error).__name__}: {error}")
                continue
            # cupy has no arrays in host memory, and jax may copy them: that is theirs to decide.
            copies_allowed = way == "pinned" and framework != "torch"
            fine = not faults and (copies_allowed or in_place == images)
            report.check(row_name(framework, way), fine,
                         f"{2 * images} tensors; {in_place} of {images} images are the slot's own memory",
                         "bit for bit, no copy" if not copies_allowed else "bit for bit",
                         "; ".join(faults[:3]) or ", ".join(DTYPES), faults=faults, in_place=in_place)
