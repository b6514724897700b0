"""Batches from spdld, the data-loading daemon of a training node, without a copy.

    import spdld
    loader = spdld.attach("train.toml")
    for epoch in range(loader.epochs):
        for batch in loader:
            images, labels = batch["image"], batch["label"]

Times are in seconds. Every failure is a spdld.Error whose text says what is wrong and what to do.
"""
import json
import operator
import os
from typing import Any, Mapping, Optional, Union

from spdld import _spdld
from spdld._devices import device_for
from spdld._errors import (ChangedError, ConflictError, DeniedError, Error, FailedError, ForkedError, InvalidError,
                           LimitError, NoDaemonError, NotFoundError, TimeoutError, UnsupportedError, VersionError)
from spdld._frameworks import framework_of
from spdld._spdld import Batch, Info, Loader, Tensor
from spdld._state import text_of

__all__ = ["attach", "query", "Loader", "Batch", "Tensor", "Info", "Error", "InvalidError", "NoDaemonError",
           "DeniedError", "NotFoundError", "ConflictError", "ChangedError", "LimitError", "TimeoutError", "FailedError",
           "VersionError", "UnsupportedError", "ForkedError"]

__version__ = _spdld.version()

_UINT32_MAX, _UINT64_MAX = 2**32 - 1, 2**64 - 1


def attach(pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], *, rank: Optional[int] = None,
           world_size: Optional[int] = None, local_rank: Optional[int] = None, group: Optional[str] = None,
           framework: Optional[str] = None, device: Any = None, transport: Optional[str] = None,
           ready_early: bool = False, socket: Union[str, "os.PathLike[str]", None] = None,
           state: Optional[Mapping[str, Any]] = None, epoch: int = 0, step: int = 0,
           fingerprint: Optional[str] = None, held_max: int = 0,
           timeout: Optional[float] = None, reconnect: Optional[float] = None, private: bool = True,
           dp_rank: Optional[int] = None, dp_size: Optional[int] = None, replica: Optional[int] = None,
           replicas: Optional[int] = None, join: Optional[str] = None, batch_size: int = 0) -> Loader:
    """Attaches this process to a pipeline as one rank of a training job, and waits until its data set is listed.

    pipeline: a dict with the keys of a pipeline file (relative uris: from the current directory), the path of a file
        that ends in .toml (relative uris: from its folder), or the name of a pipeline that the daemon's operator set up.
    rank, world_size: both or neither; by default from torchrun, Slurm or MPI, else 0 of 1.
    local_rank: by default from the launcher, or 0 where rank and world_size are given.
    group: one training job; by default from the launcher, else this process alone. Ranks of a job that were started
        otherwise must give the same one.
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
    reconnect: seconds that a loader waits for a daemon that went away; by default 30, 0: not at all.
    private: whether a private daemon may be started where none runs.
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

    Raises InvalidError (all faults of a pipeline at once, a line each), NotFoundError, DeniedError, ConflictError (the
    rank is taken), ChangedError (another fingerprint), LimitError, NoDaemonError, FailedError, TimeoutError,
    VersionError, UnsupportedError, ForkedError; ImportError where the framework is not installed. Of a GPU the sentence
    begins with the name of the cause, such as no-driver or gpu-not-visible. Ctrl-C interrupts it.
    """
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
    text = folder = spec = None
    if isinstance(pipeline, Mapping):
        spec, folder = _json(pipeline), os.getcwd()
    else:
        text = os.fspath(pipeline)
        if not isinstance(pipeline, str) and not text.endswith(".toml"):
            raise InvalidError(f"a pipeline's file ends in .toml, unlike {text}")
    return _spdld.attach(
        pipeline=text, spec=spec, spec_folder=folder, rank=_number("rank", rank or 0, _UINT32_MAX),
        world_size=_number("world_size", world_size or 0, _UINT32_MAX),
        local_rank=_number("local_rank", local_rank or 0, _UINT32_MAX), group=group,
        socket=None if socket is None else os.fspath(socket), epoch=_number("epoch", epoch, _UINT64_MAX),
        step=_number("step", step, _UINT64_MAX), fingerprint=fingerprint,
        state=None if state is None else text_of(state),
        held_max=_number("held_max", held_max, _UINT32_MAX), timeout=timeout, reconnect=reconnect,
        reader=_number("replica", replica or 0, _UINT32_MAX), readers=_number("replicas", replicas or 1, _UINT32_MAX),
        private=bool(private), device=device_for(device, arrays), transport=transport, ready_early=bool(ready_early),
        join=join, batch_size=_number("batch_size", batch_size, _UINT64_MAX), framework=arrays.name, converter=arrays.converter)


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
    if operator.index(count) < 1:
        raise InvalidError(f"{of} is {count}, and is at least 1")
    if operator.index(number) >= count:
        raise InvalidError(f"{one} {number} is not below {of} {count}")


def _launched_local_rank() -> int:
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"):
        if text := os.environ.get(name):
            if text.isdecimal():
                return int(text)
            raise InvalidError(f'the environment variable {name} is "{text}", not a number: correct it, or give local_rank')
    return 0


def _number(name: str, value: int, largest: int) -> int:
    number = operator.index(value)
    if not 0 <= number <= largest:
        raise InvalidError(f"{name} is {number}, and is from 0 to {largest}")
    return number


def _json(spec: Mapping[str, Any]) -> str:
    def path(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        raise TypeError(f"it has texts, numbers, truth values, lists and dicts, and no {type(value).__name__}: {value!r}")
    try:
        return json.dumps(dict(spec), default=path, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"the pipeline cannot be written as JSON: {error}") from error
