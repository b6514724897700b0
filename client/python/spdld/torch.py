"""For torch programs: a loader that stands where torch's DataLoader would, without worker processes.

    import spdld.torch
    loader = spdld.torch.Loader("train.toml")      # rank and world_size from torchrun
    spdld.torch.check_ranks(loader)
    for epoch in range(loader.epoch, epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            loss = step(batch["image"], batch["label"])
            checkpoint = {"model": ..., "loader": loader.state_dict()}

The daemon reads and decodes in its threads. Wrappers of torch's DataLoader are not needed: Lightning takes a Loader as it
is, and with Accelerate it stays out of prepare(), which would split its batches among the ranks once more. A wrapper that
takes a batch ahead has it handed out: a state then goes on after that one.
"""
import collections
import importlib
import os
import uuid
from typing import Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Tuple, Union

import spdld
from spdld._errors import ChangedError, InvalidError, UnsupportedError
from spdld._pushing import Pusher, driven
from spdld._spdld import fingerprint_difference

__all__ = ["Loader", "check_ranks"]

try:
    torch: Any = importlib.import_module("torch")
    _data: Any = importlib.import_module("torch.utils.data")
    _distributed: Any = importlib.import_module("torch.distributed")
except ImportError as _error:
    raise ImportError(f"spdld.torch needs torch, which cannot be imported: {_error}") from _error


class Loader(_data.IterableDataset):  # type: ignore[misc]
    """One rank's batches for a torch program. Every `for batch in loader` is one epoch.

    pipeline, options: as of spdld.attach; framework is "torch", and rank and world_size come from the launcher's
        environment, else from torch.distributed where it was initialised. With dp_rank and dp_size, and without replicas,
        the processes tell one another through torch.distributed which of them are replicas on one machine: all of the
        default group then make their loader at the same time. Where the processes of a machine have several daemons, or
        only some make a loader, give replica and replicas.
    sampler, batch_sampler: gives the order, in place of the daemon: any of torch's, by the samples' numbers in the data set's
        listing (info.samples of them). A sampler's are cut into batches of the pipeline's size, and with drop_last a
        shorter one at the end is left out; a batch sampler's may be of any sizes up to it. A dict then gets order.shuffle =
        "client"; a file or a named pipeline says so itself. Each `for` iterates it anew, a few batches ahead of the
        program, after telling it the epoch where it has set_epoch. To go on in the middle of an epoch it must give that
        epoch's order again (DistributedSampler does; RandomSampler with a generator that is seeded by the epoch does): the
        batches that were handed out are skipped. Each rank has its own, so that they share an epoch as DistributedSampler
        does, and not by rank and world_size.
    convert: what the program gets in place of each spdld.Batch; by default a dict of its tensors. A model that takes
        pairs wants convert=lambda batch: (batch["image"], batch["label"]).

    An epoch that was left in the middle is followed by the next one, as with torch's DataLoader; after load_state_dict (or
    attached with a state) the first `for` gives the rest of the state's epoch. A pipeline whose program counts the epochs
    has order.epochs = 0, endless. One of a single epoch gives it each time: for validation. After the last one of several a
    `for` raises InvalidError, and so it does where the only one had ended before a state was taken that was loaded.
    """

    def __init__(self, pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], *, sampler: Any = None,
                 batch_sampler: Any = None, drop_last: bool = False,
                 convert: Optional[Callable[[spdld.Batch], Any]] = None, **options: Any) -> None:
        super().__init__()
        _refuse_in_worker()
        by_sampler = sampler is not None or batch_sampler is not None
        if sampler is not None and batch_sampler is not None:
            raise InvalidError("sampler and batch_sampler each give the order: give one of them")
        if drop_last and sampler is None:
            raise InvalidError("drop_last belongs to a sampler: give one, or else set batch.last = \"drop\" in the pipeline")
        arguments: Dict[str, Any] = {"framework": "torch", **_ranks(options), **_replicas(options), **options}
        self._loader = spdld.attach(driven(pipeline) if by_sampler else pipeline, **arguments)
        self._pusher: Optional[Pusher] = None
        if by_sampler != self._loader.info.pushed:
            self._loader.close()
            raise InvalidError(f"pipeline {self._loader.info.pipeline} has its own order, and a sampler is given: set "
                               "order.shuffle = \"client\", or leave the sampler out" if by_sampler else
                               f"pipeline {self._loader.info.pipeline} has order.shuffle = \"client\": give sampler or "
                               "batch_sampler")
        if by_sampler:
            self._pusher = Pusher(self._loader, batch_sampler if sampler is None else
                                  _data.BatchSampler(sampler, self._loader.info.batch_size, drop_last))
        self._convert: Callable[[Any], Any] = dict if convert is None else convert
        self._resumed = self._loader.position != (0, 0)  # the first `for` goes on from there
        self._turn = 0  # of the iterator that may go on

    def __iter__(self) -> "_Epoch":
        _refuse_in_worker()
        epoch, step = self._loader.position
        if step != 0 and not self._resumed:
            epoch, step = epoch + 1, 0
        epochs = self._loader.epochs
        if 0 < epochs <= epoch:
            if epochs > 1 or self._resumed:
                raise InvalidError(f"all {epochs} epochs of the pipeline have ended: set order.epochs to more, or to 0 where "
                                   "the program counts them, or begin one anew with set_epoch()")
            epoch, step = 0, 0
        if self._pusher is None:
            self._loader.seek(epoch, step)
        else:
            self._pusher.begin(epoch, step)
        self._resumed = False
        self._turn += 1
        return _Epoch(self, iter(self._loader), self._turn)

    def __len__(self) -> int:
        """Steps (batches) of a whole epoch."""
        return len(self._loader) if self._pusher is None else len(self._pusher)

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, the next `for` is all of it; to be called before each, or not at all. Where the loader stands
        at its beginning already nothing happens, nor after load_state_dict in the middle of this very epoch: the rest of it
        follows then."""
        if self._resumed and self._loader.position[0] == epoch:
            return
        self._turn += 1
        self._loader.set_epoch(epoch)
        self._resumed = False

    def state_dict(self) -> Dict[str, Any]:
        """The place, for a checkpoint: after the last batch that was handed out. Of all ranks it is the same."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """The next `for` goes on after the last batch that was handed out before state_dict() was called: with the rest of
        that epoch, or where it had ended with the next. Errors and strict: as of spdld.Loader.load_state_dict."""
        self._loader.load_state_dict(state_dict, strict)
        self._turn += 1
        self._resumed = True

    @property
    def epoch(self) -> int:
        """The epoch of the next batch: where a loop over epochs goes on after load_state_dict."""
        return self._loader.position[0]

    @property
    def info(self) -> spdld.Info:
        return self._loader.info

    @property
    def loader(self) -> spdld.Loader:
        """The loader underneath."""
        return self._loader

    def close(self) -> None:
        """Gives the rank back to the daemon. Tensors in use stay valid."""
        self._loader.close()

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError("a spdld.torch.Loader cannot be copied into another process: iterate it by itself, or in a "
                               "DataLoader with num_workers=0")

    def _next(self, batches: Iterator[spdld.Batch], turn: int) -> Any:
        if turn != self._turn:
            raise InvalidError("this iterator is over: the loader has begun another epoch since, or moved")
        if self._pusher is not None:
            self._pusher.keep_ahead()
        return self._convert(next(batches))  # no name holds the batch: it goes back as soon as the program drops it


class _Epoch:
    """The batches of one epoch."""

    def __init__(self, loader: Loader, batches: Iterator[spdld.Batch], turn: int) -> None:
        self._loader: Optional[Loader] = loader
        self._batches = batches
        self._turn = turn

    def __iter__(self) -> "_Epoch":
        return self

    def __next__(self) -> Any:
        if self._loader is None:
            raise StopIteration
        try:
            return self._loader._next(self._batches, self._turn)
        except StopIteration:
            self._loader = None  # it stays at its end
            raise


def check_ranks(loader: Union[Loader, spdld.Loader], group: Any = None) -> None:
    """Compares what the processes of a torch.distributed group are attached to, before the first step: the data set's
    listing, the pipeline, the sizes, the place, and that every rank is there.

    A collective: all processes of the group call it, each with its own loader, and it waits as long as the group's own
    timeout says. Where something differs each of them raises the same: ChangedError with the rank that differs and in
    what, or InvalidError where a rank is missing. Without torch.distributed a loader of world_size 1 is always right.
    """
    info = loader.info
    if not (_distributed.is_available() and _distributed.is_initialized()):
        if info.world_size == 1:
            return
        raise InvalidError("check_ranks compares by torch.distributed: call init_process_group first")
    inner = loader.loader if isinstance(loader, Loader) else loader
    mine = (info.fingerprint, info.rank, info.world_size, info.steps_per_epoch, tuple(inner.position))
    every: List[Any] = [None] * _distributed.get_world_size(group)
    _distributed.all_gather_object(every, mine, group=group)
    _check_alike(every)
    if len(every) == _distributed.get_world_size():
        _check_places([told[1] for told in every], info.world_size)


def _check_alike(every: List[Tuple[str, int, int, int, Tuple[int, int]]]) -> None:
    """each: fingerprint, rank, world_size, steps_per_epoch, position; by process."""
    most = collections.Counter((told[0], *told[2:]) for told in every).most_common(1)[0][0]
    model = next(process for process, told in enumerate(every) if (told[0], *told[2:]) == most)
    for process, (fingerprint, _, world_size, steps, position) in enumerate(every):
        if fingerprint != most[0]:
            raise ChangedError(f"process {process} reads something else than process {model}: "
                               f"{fingerprint_difference(fingerprint, most[0]) or 'the fingerprint differs'} "
                               f"({fingerprint}, and {most[0]}); give all processes the same pipeline and the same data")
        if (world_size, steps) != most[1:3]:
            raise ChangedError(f"process {process} is one of {world_size} ranks with {steps} steps an epoch, and process "
                               f"{model} one of {most[1]} with {most[2]}: give all the same world_size")
        if position != most[3]:
            raise ChangedError(f"process {process} stands at epoch {position[0]}, step {position[1]}, and process {model} "
                               f"at epoch {most[3][0]}, step {most[3][1]}: load the same state in all")


def _check_places(ranks: List[int], world_size: int) -> None:
    for rank in range(world_size):
        if rank not in ranks:
            raise InvalidError(f"nobody reads the batches of rank {rank} of {world_size}: the {len(ranks)} processes are "
                               f"attached as the ranks {', '.join(map(str, ranks))}")


def _ranks(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Of processes that no launcher's variables tell apart, as torch.multiprocessing starts them."""
    launched = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"} & set(os.environ)
    if launched or not {"rank", "world_size", "dp_rank", "dp_size"}.isdisjoint(options):
        return {}
    if not (_distributed.is_available() and _distributed.is_initialized()):
        return {}
    local_rank = torch.cuda.current_device() if torch.cuda.is_available() else 0
    return {"rank": _distributed.get_rank(), "world_size": _distributed.get_world_size(), "local_rank": local_rank}


def _replicas(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Which of the processes on this machine with this dp_rank this one is."""
    if options.get("dp_rank") is None or not {"replica", "replicas"}.isdisjoint(options):
        return {}
    if not (_distributed.is_available() and _distributed.is_initialized()):
        return {}
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        place = (file.read().strip(), os.getuid(), options["dp_rank"])
    told: List[Any] = [None] * _distributed.get_world_size()
    _distributed.all_gather_object(told, (place, uuid.uuid4().hex))
    alike = [process for process, (other, _) in enumerate(told) if other == place]
    found = {"replica": alike.index(_distributed.get_rank()), "replicas": len(alike)}
    if {"TORCHELASTIC_RUN_ID", "SLURM_STEP_ID"}.isdisjoint(os.environ):  # replicas need a group in common
        found["group"] = "torch:" + told[0][1]
    return found


def _refuse_in_worker() -> None:
    if _data.get_worker_info() is not None:
        raise UnsupportedError("a spdld.torch.Loader works in no worker process of a DataLoader, since the daemon's threads "
                               "do that work: iterate it by itself, or in a DataLoader with num_workers=0")
