"""What to write in place of the arguments of torch's DataLoader, samplers and data sets, and of a data set's methods."""
import difflib
from typing import Any, Dict, Iterable, Mapping

from spdld._errors import InvalidError

_THREADS = ("the daemon's threads read and decode, so leave it out ([tuning] and [limits] of the daemon's file say how many "
            "there are)")
_OPERATIONS = ('operations stand in the pipeline, at the output that they make: ops = [{ op = "decode-image" }, { op = '
               '"resize", size = 256 }, ...] (`spdlctl ops` lists them)')
_SEED = "the order and all random draws follow from the pipeline's seed: write seed = 17 at its top"
_PINNED = 'write device = "pinned" under [batch] or device="pinned" here, or device="cuda" for batches that lie on the GPU'

_INSTEAD: Dict[str, str] = {
    "shuffle": "the order is the pipeline's: write shuffle = true or false under [order], or give spdld.torch.Loader a sampler",
    "num_workers": _THREADS,
    "prefetch_factor": "write prefetch_depth under [batch] of the pipeline, the most of batches made ahead",
    "persistent_workers": _THREADS,
    "worker_init_fn": _THREADS,
    "multiprocessing_context": _THREADS,
    "collate_fn": "batches come whole: what each output is stands in the pipeline, and spdld.torch.Loader's convert= says what "
                  "the program gets of a batch, such as convert=(\"image\", \"label\") for pairs",
    "transform": _OPERATIONS,
    "transforms": _OPERATIONS,
    "target_transform": _OPERATIONS,
    "generator": _SEED,
    "seed": _SEED,
    "pin_memory": _PINNED,
    "pin_memory_device": _PINNED,
    "in_order": "batches always come in order: leave it out",
    "num_replicas": "write world_size, or leave it and rank out where torchrun, Slurm or MPI tell them",
    "epochs": "write epochs under [order] of the pipeline (0: the program counts them)",
    "dataset": "the pipeline is the first argument: a dict, the path of a .toml or .json file, or a name",
    "root": 'the pipeline\'s source says where the data lie: write type = "image-folder" and uri = "..." under [source]',
}
PART = ("for a part of the data set give a pipeline of its own order.include or order.exclude, a file of the samples' names "
         "(`spdlctl export` writes all of them), or order.first")
_METHODS: Dict[str, str] = {
    "map": _OPERATIONS,
    "set_transform": _OPERATIONS,
    "with_transform": _OPERATIONS,
    "filter": PART,
    "select": PART,
    "skip": PART,
    "take": PART,
    "train_test_split": PART,
    "shuffle": _INSTEAD["shuffle"],
    "shard": "each rank gets its own part by itself: rank and world_size come from the launcher, or are given",
    "repeat": "write epochs under [order] of the pipeline (0: the program counts them)",
    "batch": "write size under [batch] of the pipeline, or batch_size= here",
    "set_format": "spdld.torch.Loader gives torch's tensors, and spdld.attach(..., framework=) others",
    "with_format": "spdld.torch.Loader gives torch's tensors, and spdld.attach(..., framework=) others",
}
_OF_LOADER = ("sampler", "batch_sampler", "drop_last", "convert", "substituted")


def refuse(function: str, unknown: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises InvalidError with a line for each unknown argument that says what to write instead, else TypeError."""
    if not unknown:
        return
    known = list(known)
    moved = {**_INSTEAD, **{name: "spdld.torch.Loader takes it" for name in _OF_LOADER if name not in known}}
    told = [f"{function} has no {name}=: {moved[name]}" for name in unknown if name in moved]
    if told:
        raise InvalidError("\n".join(told))
    name = next(iter(unknown))
    near = difflib.get_close_matches(name, known, 1)
    raise TypeError(f"{function} has no argument {name!r}{f', did you mean {near[0]!r}?' if near else ''}")


def no_attribute(name: str) -> AttributeError:
    """What a spdld.torch.Loader raises for an attribute that it does not have."""
    text = f"a spdld.torch.Loader has no {name}"
    return AttributeError(f"{text}(): {_METHODS[name]}" if name in _METHODS else text)
