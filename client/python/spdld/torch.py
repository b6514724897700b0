"""For torch programs: a loader that stands where torch's DataLoader would, without worker processes.

    import spdld.torch
    loader = spdld.torch.Loader("train.toml")      # rank and world_size from torchrun
    spdld.torch.check_ranks(loader)
    for epoch in range(loader.epoch, epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            loss = step(batch["image"], batch["label"])
            checkpoint = {"model": ..., "loader": loader.state_dict()}

The daemon reads and decodes in its threads. Wrappers of torch's DataLoader are not needed; one that takes a batch ahead has
it handed out: a state then goes on after that one.

Lightning: a Loader is given to Trainer.fit, or made in train_dataloader(), as it is. The trainer tells it the epochs, adds no
DistributedSampler, and keeps its place in checkpoints (from 2.2 on): `fit(..., ckpt_path=)` goes on with the next batch.
order.epochs is 0 for training; 1 for validation, or 0 as well. Where the trainer starts the processes itself (devices=2
without torchrun) it is made in train_dataloader(), when they know their ranks. A sampler of one's own needs a length, or else
the trainer takes a batch ahead.

Accelerate: a Loader goes through prepare() as it is, or need not go there. Gradient accumulation ends with the last batch of
an epoch, as with a prepared DataLoader. register_for_checkpointing(loader) puts the place into save_state(), and the first
`for` after load_state() goes on from it, without skip_first_batches(). A DataLoader around a Loader is not to be prepared
where there are several ranks: Accelerate would divide a rank's batches once more.
"""
import collections
import importlib
import os
import uuid
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Tuple, Union

import spdld
from spdld._accumulation import Accumulation
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

    An iterator is valid until the loader begins another one or is moved (set_epoch, load_state_dict). One that has given
    no batch yet moves along, and then making another one changes nothing: frameworks make some that they do not use.
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
        self._ranks_given = not {"rank", "dp_rank"}.isdisjoint(options)
        self._resumed = self._loader.position != (0, 0)  # the first `for` goes on from there
        self._turn = 0  # of the iterator that may go on
        self._batches: Optional[Iterator[spdld.Batch]] = None  # of that iterator; None: to be begun where the loader stands
        self._taken = False  # of those, any
        self._spent = False  # the next `for` is the rest of an epoch whose last batch came before the state

    def __iter__(self) -> "_Epoch":
        _refuse_in_worker()
        self._refuse_all_for_each()
        if not self._spent:
            self._begin()
        self._turn += 1
        self._taken = False
        return _Epoch(self, self._turn)

    def __len__(self) -> int:
        """Steps (batches) of a whole epoch."""
        return len(self._loader) if self._pusher is None else len(self._pusher)

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, the next `for` is all of it; to be called before each, or not at all. Where the loader stands
        at its beginning already nothing happens, nor after load_state_dict in the middle of this very epoch: the rest of it
        follows then. After its last batch that rest is empty, once: a loop that counts its epochs itself, and saved its
        state with that batch, has no epoch twice. Of a pipeline with a single epoch every number is that one."""
        epoch = 0 if self._loader.epochs == 1 else epoch
        at = self._loader.position
        self._spent = self._resumed and at == (epoch + 1, 0) and self._loader.epochs != 1
        if self._spent or (self._resumed and at[0] == epoch):
            return
        self._loader.set_epoch(epoch)
        self._moved(resumed=False)

    @property
    def sampler(self) -> "Loader":
        """The loader itself, for those who tell the epoch to a DataLoader's sampler: loader.sampler.set_epoch(epoch)."""
        return self

    @property
    def batch_sampler(self) -> "_BatchSampler":
        """Where frameworks look for a DataLoader's sampler and batch size."""
        return _BatchSampler(self, self.info.batch_size)

    def state_dict(self) -> Dict[str, Any]:
        """The place, for a checkpoint: after the last batch that was handed out. Of all ranks it is the same."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """The next `for` goes on after the last batch that was handed out before state_dict() was called: with the rest of
        that epoch, or where it had ended with the next. Errors and strict: as of spdld.Loader.load_state_dict."""
        self._loader.load_state_dict(state_dict, strict)
        self._moved(resumed=True)

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

    def _begin(self) -> None:
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
        self._batches = iter(self._loader)

    def _moved(self, resumed: bool) -> None:
        if self._taken:
            self._turn += 1
        self._taken = False
        self._batches = None
        self._resumed = resumed
        self._spent = False

    def _next(self, turn: int) -> Any:
        if turn != self._turn:
            raise InvalidError("this iterator is over: the loader has begun another epoch since, or moved")
        if self._spent:
            self._spent = False
            raise StopIteration
        if self._batches is None:
            self._begin()
        assert self._batches is not None
        if self._pusher is not None:
            self._pusher.keep_ahead()
        batch = self._convert(next(self._batches))  # no name holds spdld's own: it goes back as soon as the program drops it
        self._taken, self._resumed = True, False
        return batch

    def _at_end(self) -> bool:
        """Whether the batch that was just handed out is its epoch's last."""
        if self._pusher is not None:
            self._pusher.keep_ahead()  # until it is said which one is
        return self._loader.position[1] == 0

    def _refuse_all_for_each(self) -> None:
        if self.info.world_size > 1 or self._ranks_given:
            return
        if _distributed.is_available() and _distributed.is_initialized() and _distributed.get_world_size() > 1:
            raise InvalidError("this loader was made before the process group, as rank 0 of 1, and would give each of the "
                               f"{_distributed.get_world_size()} processes all samples: make it after init_process_group (with "
                               "Lightning in train_dataloader()), or, where that is meant, give rank=0, world_size=1")


class _BatchSampler(NamedTuple):
    sampler: Loader
    batch_size: int


class _Epoch:
    """The batches of one epoch."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader: Optional[Loader] = loader
        self._turn = turn
        self._accumulation: Optional[Accumulation] = None

    def __iter__(self) -> "_Epoch":
        return self

    def __next__(self) -> Any:
        if self._loader is None:
            raise StopIteration
        if self._accumulation is None:
            self._accumulation = Accumulation(self, self._loader, self._loader.info.world_size)
        try:
            batch = self._loader._next(self._turn)
        except StopIteration:
            self._loader = None  # it stays at its end
            self._accumulation.end()
            raise
        self._accumulation.taken(self._loader._at_end)
        return batch


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
