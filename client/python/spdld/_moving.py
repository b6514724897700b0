"""Says what replaces the arguments of torch's DataLoader, samplers and data sets, and the methods of a data set."""
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from spdld._errors import InvalidError

_THREADS = ("the daemon's threads read and decode, so leave the argument out ([tuning] and [limits] of the daemon's file "
            "set the number of threads)")
_AHEAD = "write prefetch_depth under [batch] of the pipeline, the largest number of batches made ahead"
_OPERATIONS = ('write the operations into the pipeline, at the output that they make: ops = [{ op = "decode-image" }, { op = '
               '"resize", size = 256 }, ...] (`spdlctl ops` lists them)')
_SEED = "the order and all random draws follow from the pipeline's seed: write seed = 17 at its top"
_PINNED = 'write device = "pinned" under [batch] or device="pinned" here, or device="cuda" for batches that lie on the GPU'

_INSTEAD: dict[str, str] = {
    "shuffle": "the pipeline sets the order: write shuffle = true or false under [order], or give spdld.torch.Loader a sampler",
    "num_workers": _THREADS,
    "workers": _THREADS,
    "use_multiprocessing": _THREADS,
    "prefetch_factor": _AHEAD,
    "max_queue_size": _AHEAD,
    "persistent_workers": _THREADS,
    "worker_init_fn": _THREADS,
    "multiprocessing_context": _THREADS,
    "collate_fn": "batches come whole. The pipeline says what each output is, and convert= of spdld.torch.Loader says what "
                  "the program gets from a batch, such as convert=(\"image\", \"label\") for pairs",
    "transform": _OPERATIONS,
    "transforms": _OPERATIONS,
    "target_transform": _OPERATIONS,
    "generator": _SEED,
    "seed": _SEED,
    "pin_memory": _PINNED,
    "pin_memory_device": _PINNED,
    "in_order": "batches always come in order: leave the argument out",
    "num_replicas": "write world_size, or leave out world_size and rank where torchrun, Slurm or MPI set them",
    "epochs": "write epochs under [order] of the pipeline (0: the program counts them)",
    "dataset": "the pipeline is the first argument: a dict, the path of a .toml or .json file, or a name. spdld.torch.Loader "
               "takes a data set of your own as dataset=",
    "root": 'the pipeline\'s source says where the data lie: write type = "image-folder" and uri = "..." under [source]',
}
PART = ("for a part of the data set give a pipeline of its own order.part, such as {\"fraction\": 0.9}, or "
        "order.include or order.exclude, a list or a file of the samples' names (`spdlctl export` writes all of them), or "
        "order.first")
_METHODS: dict[str, str] = {
    "map": _OPERATIONS,
    "set_transform": _OPERATIONS,
    "with_transform": _OPERATIONS,
    "filter": PART,
    "select": PART,
    "skip": PART,
    "take": PART,
    "train_test_split": PART,
    "shuffle": _INSTEAD["shuffle"],
    "shard": "each rank gets its own part without it: rank and world_size come from the launcher, or are given",
    "repeat": "write epochs under [order] of the pipeline (0: the program counts them)",
    "batch": "write size under [batch] of the pipeline, or batch_size= here",
    "set_format": "spdld.torch.Loader gives tensors of torch, and spdld.attach(..., framework=) gives other arrays",
    "with_format": "spdld.torch.Loader gives tensors of torch, and spdld.attach(..., framework=) gives other arrays",
}
_PROCESSES = ('processes beside the daemon call the data set, and the daemon says how many: leave the argument out, or give '
              'pipeline={"python": {"processes": 4}}')
# In place of the above, where spdld.torch.Loader has a data set of the program's own.
WITH_DATASET: dict[str, str] = {
    "num_workers": _PROCESSES,
    "workers": _PROCESSES,
    "persistent_workers": _PROCESSES,
    "multiprocessing_context": _PROCESSES,
    "worker_init_fn": "a process forks with the data set in it, and before each item random, numpy and torch stand at a state "
                      "that follows from the sample: leave the argument out, and open files in __getitem__ at its first call",
    "prefetch_factor": 'give pipeline={"batch": {"prefetch_depth": 4}}, the largest number of batches made ahead',
    "generator": "the order and all random draws follow from the seed: give seed=17",
    "epochs": 'the program counts the epochs. For a fixed number give pipeline={"order": {"epochs": 1}}',
    "transform": "the data set applies it in __getitem__, as it does for a DataLoader",
}
_OF_LOADER = ("sampler", "batch_sampler", "drop_last", "convert", "substituted")


def refuse(function: str, unknown: Mapping[str, Any], known: Iterable[str], others: Mapping[str, str] | None = None) -> None:
    """Raises an error for unknown arguments. InvalidError has a line for each argument that says what to write instead.
    Where no argument has a replacement, the error is TypeError. others: sentences in place of the usual ones."""
    if not unknown:
        return
    known = list(known)
    moved = {**_INSTEAD, **{name: "spdld.torch.Loader takes it" for name in _OF_LOADER if name not in known},
             **(others or {})}
    told = [f"{function} has no {name}=: {moved[name]}" for name in unknown if name in moved]
    if told:
        raise InvalidError("\n".join(told))
    name = next(iter(unknown))
    near = difflib.get_close_matches(name, known, 1)
    raise TypeError(f"{function} has no argument {name!r}{f', did you mean {near[0]!r}?' if near else ''}")


def no_attribute(name: str) -> AttributeError:
    """Returns the error that a spdld.torch.Loader raises for an attribute that it does not have."""
    text = f"a spdld.torch.Loader has no {name}"
    return AttributeError(f"{text}(): {_METHODS[name]}" if name in _METHODS else text)
