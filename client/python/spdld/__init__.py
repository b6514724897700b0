"""Batches from spdld, the data-loading daemon of a training node, without a copy.

    import spdld
    loader = spdld.attach("train.toml")
    for epoch in range(loader.epochs):
        for batch in loader:
            images, labels = batch["image"], batch["label"]

Times are in seconds. Every failure is a spdld.Error whose text says what is wrong and what to do. Samples that can't be
used, and a data set that is not whole, are a spdld.DataWarning each, once a reason; loader.stats() counts them.
"""
import gc
import json
import operator
import os
from typing import Any, Dict, Mapping, NoReturn, Optional, Union

from spdld import _spdld
from spdld._devices import device_for
from spdld._errors import (ChangedError, ConflictError, DataWarning, DeniedError, Error, FailedError, ForkedError,
                           InvalidError, LimitError, NoDaemonError, NotFoundError, SpdldWarning, TimeoutError,
                           UnsupportedError, VersionError)
from spdld._frameworks import framework_of
from spdld._moving import refuse
from spdld._progress import display_for
from spdld._spdld import Batch, Info, Loader, Tensor
from spdld._spec import pipeline_of
from spdld._state import text_of

__all__ = ["attach", "query", "Loader", "Batch", "Tensor", "Info", "Error", "InvalidError", "NoDaemonError",
           "DeniedError", "NotFoundError", "ConflictError", "ChangedError", "LimitError", "TimeoutError", "FailedError",
           "VersionError", "UnsupportedError", "ForkedError", "SpdldWarning", "DataWarning"]

__version__ = _spdld.version()

_UINT32_MAX, _UINT64_MAX = 2**32 - 1, 2**64 - 1


def attach(pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], *, rank: Optional[int] = None,
           world_size: Optional[int] = None, local_rank: Optional[int] = None, group: Optional[str] = None,
           framework: Optional[str] = None, device: Any = None, transport: Optional[str] = None,
           ready_early: bool = False, socket: Union[str, "os.PathLike[str]", None] = None,
           state: Optional[Mapping[str, Any]] = None, epoch: int = 0, step: int = 0,
           fingerprint: Optional[str] = None, held_max: int = 0,
           timeout: Optional[float] = None, reconnect: Optional[float] = None,
           held_wait: Optional[float] = None, private: bool = True,
           dp_rank: Optional[int] = None, dp_size: Optional[int] = None, replica: Optional[int] = None,
           replicas: Optional[int] = None, join: Optional[str] = None, batch_size: int = 0,
           progress: Optional[bool] = None, **unknown: NoReturn) -> Loader:
    """Attaches this process to a pipeline as one rank of a training job, and waits until its data set is listed.

    pipeline: a dict with the keys of a pipeline file (relative uris: from the current directory), the path of a file
        that ends in .toml or .json (relative uris: from its folder), or the name of a pipeline that the daemon's operator
        set up. A dict may be one of OmegaConf's, and may hold tuples, paths, numbers, arrays and dtypes of numpy or torch.
    rank, world_size: both or neither; by default from torchrun, Slurm or MPI, else 0 of 1.
    local_rank: by default from the launcher, or 0 where rank and world_size are given.
    group: the name of one training job. By default it comes from the launcher; without a launcher, and with world_size 1,
        each loader is a job of its own. Give all ranks the same group where they are started in another way. A process may
        attach as often as it likes without a group, also to one pipeline: when it attaches a fifth loader, the loader that
        was used longest ago gives its memory back to the daemon, and takes it again, at its place, when it is used next. A
        loader that nothing refers to any more is closed. A loader that is given a group keeps its rank until it is closed.
    framework: what batch["name"] gives: "torch", "numpy", "jax", "cupy" (of host memory: a copy on its GPU) or "raw"
        (spdld.Tensor); by default torch where it is already imported, else numpy.
    device: where batches lie, in place of what the pipeline says: "cpu", "pinned" (host memory registered with the GPU,
        for those who copy it there themselves), "cuda" (the GPU of local_rank), "cuda:N" (the N-th that this process
        sees) or "auto" (the GPU of local_rank where there is one, else "cpu"); also a number, a torch.device or a
        device of jax. By default as the pipeline says, and "cpu" where the framework has no use for a GPU's memory
        (numpy; a torch, jax or cupy that finds no GPU), so that no driver is loaded.
    transport: how batches in GPU memory get here: "fd" (memory by file descriptors, which stays valid when the daemon
        ends), "handle" (CUDA IPC) or "auto", by default: fd where both sides can. loader.info.memory tells which it is.
    ready_early: batches in GPU memory are handed out while they are still being copied. A framework's stream waits for
        that by itself; any other work needs batch.use(stream) or batch.wait() first.
    socket: the daemon's; by default $SPDLD_SOCKET, else the system's daemon, else this user's private one.
    state: what a loader's state_dict() gave: where to begin. Of another data set, pipeline or global batch it is refused
        with ChangedError; load_state_dict(state, strict=False) takes it nevertheless.
    epoch, step: where to begin, without a state. fingerprint: of the run they belong to (loader.info.fingerprint), to be
        compared.
    held_max: batches to hold at once; 0: as the pipeline says.
    timeout: seconds for attaching as a whole; by default 30 minutes, since listing a large data set takes long.
    reconnect: seconds that a loader waits for a daemon that went away, and that attach waits for the daemon of a socket
        where none listens, because it is being restarted; by default 30, 0: not at all.
    held_wait: seconds that next() waits, where the program holds all batches that it may hold, until one comes back from
        another thread or the garbage collector. By default it waits 30 seconds, or 10 minutes where another thread than
        the main one calls next() or has given batches back before; and not at all where no other thread can give one
        back. 0: never.
    private: whether a private daemon may be started: where no daemon runs, and where the system's daemon does not take the
        pipeline's dict or file from this user (a SpdldWarning says so, once in a process). A named pipeline never goes there.
        The private daemon's program is $SPDLD_DAEMON, else the program that the wheel brought or that is installed with this
        package, else spdld in $PATH.
    dp_rank, dp_size: in place of rank and world_size where only a part of the ranks divides the data: the place in the
        data-parallel group, and its size. Ranks of a tensor-, pipeline- or context-parallel group, which all see the same
        batches, give the same dp_rank; the group is the launcher's, as is the local rank.
    replica, replicas: this process is one (from 0) of so many on this node that attach as this rank. The node decodes
        their batches once, and begins when all are there. Which these are depends on how the job lays out its groups, so
        that no launcher's variables tell it: they are given, or spdld.torch.Loader finds them. Their batches lie in the
        host's memory unless device says otherwise: on a GPU all replicas would have to share that one. All attach at the
        same place, with the same state, and move to the same places: seek(), set_epoch() and load_state_dict() are called in
        each of them, also where one stands there already, and its next batch comes when all have. If they ask for
        different places, all raise InvalidError with their next batch, and may move anew.
    join: of a pipeline whose jobs share a stream (share = "stream"), where the place asked for has passed already: "now"
        begins at the first batch that is still there, "epoch" with the next epoch, "exact" at its place on a stream of its
        own, "alone" on one of its own in any case. By default "exact" where a state, an epoch or a step is given, else
        "now". loader.position tells where it is.
    batch_size: samples of this rank in a step, in place of the pipeline's; 0: as the pipeline says. The same for all
        ranks of a job. Jobs that share a stream may differ in it.
    progress: whether a line on stderr shows how far the listing of the data set is. The line appears after one second,
        and goes away when the loader is attached. By default only the first rank of a node draws it, and only where
        stderr is a terminal or a notebook's output. The environment variable SPDLD_PROGRESS (0 or 1) replaces this
        default.

    Raises InvalidError (all faults of a pipeline at once, a line each), NotFoundError, DeniedError, ConflictError (the
    rank is taken), ChangedError (another fingerprint), LimitError, NoDaemonError, FailedError, TimeoutError,
    VersionError, UnsupportedError, ForkedError; ImportError where the framework is not installed. For an argument of
    torch's DataLoader, such as num_workers, InvalidError says what to write instead. Of a GPU the sentence
    begins with the name of the cause, such as no-driver or gpu-not-visible. Ctrl-C interrupts it.
    """
    refuse("spdld.attach", unknown, attach.__kwdefaults__)
    arrays = framework_of(framework)
    if dp_rank is not None or dp_size is not None:
        if rank is not None or world_size is not None:
            raise InvalidError("dp_rank and dp_size stand in place of rank and world_size: give the two, or the others")
        _check_pair("dp_rank", dp_rank, "dp_size", dp_size)
        rank, world_size = dp_rank, dp_size
        local_rank = _launched_local_rank() if local_rank is None else local_rank
    _check_pair("rank", rank, "world_size", world_size)
    _check_pair("replica", replica, "replicas", replicas)
    if replicas is not None and replicas > 1 and device is None:
        device = "cpu"
    text, spec, folder = pipeline_of(pipeline)
    arguments: Dict[str, Any] = dict(
        pipeline=text, spec=spec, spec_folder=folder, rank=_number("rank", rank or 0, _UINT32_MAX),
        world_size=_number("world_size", world_size or 0, _UINT32_MAX),
        local_rank=_number("local_rank", local_rank or 0, _UINT32_MAX), group=group,
        socket=None if socket is None else os.fspath(socket), epoch=_number("epoch", epoch, _UINT64_MAX),
        step=_number("step", step, _UINT64_MAX), fingerprint=fingerprint,
        state=None if state is None else text_of(state),
        held_max=_number("held_max", held_max, _UINT32_MAX), timeout=timeout, reconnect=reconnect, held_wait=held_wait,
        reader=_number("replica", replica or 0, _UINT32_MAX), readers=_number("replicas", replicas or 1, _UINT32_MAX),
        private=bool(private), device=device_for(device, arrays), transport=transport, ready_early=bool(ready_early),
        join=join, batch_size=_number("batch_size", batch_size, _UINT64_MAX), framework=arrays.name, converter=arrays.converter,
        progress=display_for(progress, rank, local_rank))
    try:
        return _spdld.attach(**arguments)
    except ConflictError:
        pass
    gc.collect()  # the rank may be held by a loader of this process that nothing refers to any more
    return _spdld.attach(**arguments)


def query(topic: str, argument: Optional[str] = None, socket: Union[str, "os.PathLike[str]", None] = None,
          timeout: float = 5.0) -> Any:
    """What a running daemon tells of itself, as dicts, lists, texts and numbers; starts none.

    topic: "ping", "status", "list", "describe" (argument: a pipeline's name), "errors" (the same, or none) or "samples"
        (argument: "NAME id id ..."). timeout: seconds.
    Raises NoDaemonError, NotFoundError, InvalidError, DeniedError, TimeoutError.
    """
    return json.loads(_spdld.query(topic, argument, None if socket is None else os.fspath(socket), timeout))


def _check_pair(one: str, number: Optional[int], of: str, count: Optional[int]) -> None:
    if (number is None) != (count is None):
        raise InvalidError(f"{one} and {of} belong together: give both, or neither")
    if number is None or count is None:
        return
    if _whole(of, count) < 1:
        raise InvalidError(f"{of} is {count}, and is at least 1")
    if _whole(one, number) >= count:
        raise InvalidError(f"{one} {number} is not below {of} {count}")


def _launched_local_rank() -> int:
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"):
        if text := os.environ.get(name):
            if text.isdecimal():
                return int(text)
            raise InvalidError(f'the environment variable {name} is "{text}", not a number: correct it, or give local_rank')
    return 0


def _number(name: str, value: int, largest: int) -> int:
    number = _whole(name, value)
    if not 0 <= number <= largest:
        raise InvalidError(f"{name} is {number}, and is from 0 to {largest}")
    return number


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidError(f"{name} is {value!r}, and has to be a whole number") from None
