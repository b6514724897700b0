"""Batches from spdld, the data-loading daemon of a training node, without a copy.

    import spdld
    loader = spdld.attach("train.toml")
    for epoch in range(loader.epochs):
        for batch in loader:
            images, labels = batch["image"], batch["label"]

Times are in seconds. Every failure is a spdld.Error whose text says what is wrong and what to do. A sample that cannot be
used, or a data set that is not whole, gives a spdld.DataWarning, once for each reason. loader.stats() counts them.
"""
import gc
import importlib
import json
import operator
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Union

from spdld import _spdld
from spdld._crew import Crew
from spdld._crew.drop import DROP
from spdld._devices import device_for
from spdld._errors import (
    ChangedError,
    ConflictError,
    DataWarning,
    DeniedError,
    Error,
    FailedError,
    ForkedError,
    InvalidError,
    LimitError,
    NoDaemonError,
    NotFoundError,
    SpdldWarning,
    TimeoutError,
    TrialError,
    UnsupportedError,
    VersionError,
)
from spdld._frameworks import framework_of
from spdld._moving import refuse
from spdld._progress import display_for
from spdld._ragged import Ragged
from spdld._spdld import Batch, Info, Loader, Tensor
from spdld._spec import may_call_functions, pipeline_of
from spdld._state import text_of

if TYPE_CHECKING:
    from spdld._trial.steps import Trial

__all__ = ["attach", "query", "try_sample", "DROP", "Loader", "Batch", "Tensor", "Ragged", "Info", "Error", "InvalidError",
           "NoDaemonError", "DeniedError", "NotFoundError", "ConflictError", "ChangedError", "LimitError", "TimeoutError",
           "FailedError", "TrialError", "VersionError", "UnsupportedError", "ForkedError", "SpdldWarning", "DataWarning"]

__version__ = _spdld.version()

_UINT32_MAX, _UINT64_MAX = 2**32 - 1, 2**64 - 1


def attach(pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], *, rank: int | None = None,
           world_size: int | None = None, local_rank: int | None = None, group: str | None = None,
           framework: str | None = None, device: Any = None, transport: str | None = None,
           experimental_ready_early: bool = False, socket: Union[str, "os.PathLike[str]", None] = None,
           state: Mapping[str, Any] | None = None, epoch: int = 0, step: int = 0,
           fingerprint: str | None = None, held_max: int = 0,
           timeout: float | None = None, reconnect: float | None = None,
           held_wait: float | None = None, private: bool = True,
           dp_rank: int | None = None, dp_size: int | None = None, replica: int | None = None,
           replicas: int | None = None, join: str | None = None, batch_size: int = 0,
           progress: bool | None = None, replay: int = 0, looks: bool = False,
           ops: Mapping[str, Callable[..., Any]] | None = None, **unknown: NoReturn) -> Loader:
    """Attaches this process to a pipeline as one rank of a training job, and waits until the data set is listed.

    pipeline: a dict with the keys of a pipeline file, the path of a file that ends in .toml or .json, or the name of a
        pipeline that the daemon's operator set up. Relative uris start from the current directory in a dict, and from
        the file's folder in a file. A dict may come from OmegaConf, and may hold tuples, paths, and numbers, arrays and
        dtypes of numpy or torch.
    rank, world_size: the rank of this process, and the number of ranks in the job. Give both or neither. By default they
        come from torchrun, Slurm or MPI. Without a launcher the job has a single rank, rank 0.
    local_rank: the number of this rank on its machine. The default comes from the launcher, or is 0 where rank and
        world_size are given.
    group: the name of the training job. The default comes from the launcher. Without a launcher, and with world_size 1,
        each loader is a job of its own. Where the ranks are started in another way, give all of them the same group. A
        loader that is given a group keeps its rank until it is closed.
        A process may attach as often as it likes without a group, also to one pipeline. When it attaches a fifth loader,
        the loader that was used longest ago gives its memory back to the daemon. That loader takes memory again, at its
        place, when it is used next. A loader that nothing refers to any more is closed.
    framework: the library whose arrays batch["name"] gives: "torch", "numpy", "jax", "cupy", or "raw" for spdld.Tensor.
        The default is torch where the program has already imported it, else numpy. With "cupy" an array of a batch in
        host memory is a copy on cupy's GPU.
    device: the memory that batches lie in, in place of the pipeline's choice:
        - "cpu": host memory.
        - "pinned": host memory that is registered with the GPU, for programs that copy the batch to the GPU themselves.
        - "cuda": the GPU of local_rank.
        - "cuda:N": the N-th GPU that this process sees. A number, a torch.device or a device of jax is taken as well.
        - "auto": the GPU of local_rank where there is one, else "cpu".

        By default the pipeline decides. But the default is "cpu" where the framework has no use for GPU memory, as with
        numpy, and with a torch, jax or cupy that finds no GPU. In this case no driver is loaded.
    transport: the way in which batches in GPU memory come from the daemon. "fd" shares the memory by file descriptors,
        and it stays valid when the daemon ends. "handle" shares it by CUDA IPC. "auto", the default, chooses "fd" where
        both sides can do that. The attribute loader.info.memory tells which way is used.
    experimental_ready_early: True, with transport="handle", hands out batches in GPU memory while they are still being
        copied. A framework's stream waits for the copy by itself. Any other work needs batch.use(stream) or batch.wait()
        first. If the daemon is killed meanwhile, a stream that waits for a batch in hand may wait for ever. It has no
        effect with another transport, and was not tried on a GPU yet.
    socket: the path of the daemon's socket. The default is $SPDLD_SOCKET, else the system's daemon, else this user's
        private daemon.
    state: the place to begin at, as a loader's state_dict() gave it. A state of another data set, pipeline or global
        batch is refused with ChangedError. To use it nevertheless, call load_state_dict(state, strict=False).
    epoch, step: the place to begin at, where no state is given.
    fingerprint: the fingerprint of the run that epoch and step belong to, as loader.info.fingerprint gave it. Where the
        pipeline has another fingerprint now, attach raises ChangedError.
    held_max: the number of batches to hold at once, in place of the pipeline's held_max. With 0, the pipeline decides.
    timeout: the number of seconds that attaching may take as a whole. The default is 30 minutes, because listing a
        large data set takes long.
    reconnect: the number of seconds that a loader waits for a daemon that went away. attach waits equally long where no
        daemon listens at the socket because the daemon is being restarted. The default is 30. With 0, neither waits.
    held_wait: the number of seconds that next() waits when the program holds all batches that it may hold. It waits for
        a batch to come back from another thread or from the garbage collector. The default is 30 seconds. It is 10
        minutes where another thread than the main thread calls next() or has given batches back before. Where no other
        thread can give a batch back, next() does not wait. With 0, it never waits.
    private: whether a private daemon may be started. The library starts one where no daemon runs, and where the system's
        daemon does not take the pipeline's dict or file from this user. In the second case a SpdldWarning says so, once
        in a process. A named pipeline never goes to a private daemon. The program of the private daemon is
        $SPDLD_DAEMON, else the program that the wheel brought or that is installed with this package, else spdld in
        $PATH.
    dp_rank, dp_size: the place in the data-parallel group, and the size of that group. Give them in place of rank and
        world_size where only a part of the ranks divides the data. All ranks of a tensor-, pipeline- or context-parallel
        group see the same batches, so they give the same dp_rank. The job's group and the local rank come from the
        launcher in this case, too.
    replica, replicas: the number of this process, from 0, among the processes on this node that attach as the same
        rank, and how many such processes there are. The node decodes the batches of these replicas once, and begins when
        all replicas are there. Launchers do not tell which processes are replicas, because that depends on how the job
        lays out its groups. Give both numbers, or let spdld.torch.Loader find them. The batches of replicas lie in host
        memory unless device says otherwise, because on a GPU all replicas would have to share that GPU.
        All replicas attach at the same place, with the same state, and move to the same places. Each replica calls
        seek(), set_epoch() and load_state_dict() itself, even where it stands at the new place already. Its next batch
        comes when all replicas have called. If the replicas ask for different places, each of them raises InvalidError
        with its next batch, and may move again.
    join: where the job starts if the place that it asks for has passed already. This matters where the pipeline has
        share = "stream", so that its jobs share a stream:
        - "now": at the oldest batch still in memory.
        - "epoch": with the next epoch.
        - "exact": at the place that the job asks for, on a stream of its own.
        - "alone": on a stream of its own in any case.

        The default is "exact" where a state, an epoch or a step is given, else "now". The attribute loader.position
        tells where the job is.
    batch_size: the number of samples that this rank gets in a step, in place of the pipeline's number. With 0, the
        pipeline decides. All ranks of a job give the same number. Jobs that share a stream may give different numbers.
    progress: whether a line on stderr shows how far the listing of the data set is. The line appears after one second,
        and goes away when the loader is attached. By default only the first rank of a node draws it, and only where
        stderr is a terminal or a notebook's output. The environment variable SPDLD_PROGRESS (0 or 1) replaces this
        default.
    replay: a number of batches, at most 32. The loader hands out its first so many batches again and again, in the same
        memory and without a wait, until its epochs have ended. The program then runs at its own speed, as if loading cost
        nothing, and stats() tells that speed. With 0, the environment variable SPDLD_REPLAY gives the number. Where it is
        not set either, nothing is replayed. A program that writes into a batch finds its values there when the batch
        comes again. A SpdldWarning says that this is a replay, and no loader takes a state that a replay gave.
    looks: True for a program that tries a pipeline or looks at samples, and trains nothing. The daemon's work for
        this loader counts in no statistic and keeps nothing in the cache, and jobs that run do not notice it.
    ops: functions for the operations of the pipeline that have op = "python", by the names that `call` gives there, such as
        {"blur": blur}. An operation whose call is "module:function" needs no entry. A source with type = "python" takes a
        data set in the same way, such as {"train": dataset}, or a class or function that makes one. The functions run in
        processes of this user beside the daemon, with this program's interpreter, sys.path and environment. These import a
        function's module anew. A function that is in no module, such as a lambda or one of a notebook, is sent to them by
        cloudpickle, which must be installed. The output of a function
        comes to this program's stderr.
        A function gets one sample: bytes, or an array of numpy that it may write into. The array is valid during the call. It
        returns what the operation's `gives` says: an array of numpy, a tensor of torch on the CPU, a picture of PIL, numbers,
        or bytes. Where `gives` is left out, attach learns it from the first four samples. Where the function raises an
        exception, the sample counts as bad content. Before each call the module random, numpy.random, torch's default
        generator and the generator of a parameter called `rng` stand at a state that depends on the sample, the epoch and the
        operation alone.

    Raises InvalidError with all faults of a pipeline at once, a line each. For an argument of torch's DataLoader, such
    as num_workers, InvalidError says what to write instead. ConflictError means that the rank is taken, ChangedError
    that the fingerprint or the state belongs to another run, and ImportError that the framework is not installed.

    Other errors are NotFoundError, DeniedError, LimitError, NoDaemonError, FailedError, TimeoutError, VersionError,
    UnsupportedError and ForkedError. The text of an error about a GPU begins with the name of the cause, such as
    no-driver or gpu-not-visible. Ctrl-C interrupts attach.
    """
    refuse("spdld.attach", unknown, attach.__kwdefaults__)
    arrays = framework_of(framework)
    if dp_rank is not None or dp_size is not None:
        if rank is not None or world_size is not None:
            raise InvalidError("dp_rank and dp_size stand in place of rank and world_size: give one of the two pairs")
        _check_pair("dp_rank", dp_rank, "dp_size", dp_size)
        rank, world_size = dp_rank, dp_size
        local_rank = _launched_local_rank() if local_rank is None else local_rank
    _check_pair("rank", rank, "world_size", world_size)
    _check_pair("replica", replica, "replicas", replicas)
    if replicas is not None and replicas > 1 and device is None:
        device = "cpu"
    given, crew = pipeline_of(pipeline), Crew()
    origin = given, ops
    if ops is not None or may_call_functions(given):
        functions: Any = importlib.import_module("spdld._crew.functions")  # which most programs need not load
        connection = functions.Connection(None if socket is None else os.fspath(socket), bool(private), timeout, progress)
        given, crew = functions.with_functions(given, ops, connection)
    text, spec, folder = given
    arguments: dict[str, Any] = dict(
        pipeline=text, spec=spec, spec_folder=folder, rank=_number("rank", rank or 0, _UINT32_MAX),
        world_size=_number("world_size", world_size or 0, _UINT32_MAX),
        local_rank=_number("local_rank", local_rank or 0, _UINT32_MAX), group=group,
        socket=None if socket is None else os.fspath(socket), epoch=_number("epoch", epoch, _UINT64_MAX),
        step=_number("step", step, _UINT64_MAX), fingerprint=fingerprint,
        state=None if state is None else text_of(state),
        held_max=_number("held_max", held_max, _UINT32_MAX), timeout=timeout, reconnect=reconnect, held_wait=held_wait,
        reader=_number("replica", replica or 0, _UINT32_MAX), readers=_number("replicas", replicas or 1, _UINT32_MAX),
        private=bool(private), device=device_for(device, arrays), transport=transport,
        experimental_ready_early=bool(experimental_ready_early), join=join,
        batch_size=_number("batch_size", batch_size, _UINT64_MAX), replay=_number("replay", replay, _UINT32_MAX),
        looks=bool(looks), crew=crew.command, crew_input=crew.input, framework=arrays.name, converter=arrays.converter,
        progress=display_for(progress, rank, local_rank), origin=origin)
    try:
        return _spdld.attach(**arguments)
    except ConflictError:
        pass
    gc.collect()  # the rank may be held by a loader of this process that nothing refers to any more
    return _spdld.attach(**arguments)


def query(topic: str, argument: str | None = None, socket: Union[str, "os.PathLike[str]", None] = None,
          timeout: float = 5.0) -> Any:
    """Asks a running daemon about itself, and returns the answer as dicts, lists, texts and numbers. Starts no daemon.

    topic: "ping", "status", "list", "describe", "errors", "samples", "metrics" or "trace".
    argument: a pipeline's name for "describe", and "NAME id id ..." for "samples"; loader.samples_of and batch.names ask
        for what a step has. For "errors" and "metrics" it is a
        pipeline's name or None. For "trace" see proto/PROTOCOL.md; `spdlctl trace` does it all.
    socket: the path of the daemon's socket, with the same default as in attach.
    timeout: the number of seconds that the call may take.

    Raises NoDaemonError, NotFoundError, InvalidError, DeniedError or TimeoutError.
    """
    return json.loads(_spdld.query(topic, argument, None if socket is None else os.fspath(socket), timeout))


def try_sample(pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], sample: int | str, *,
               ops: Mapping[str, Callable[..., Any]] | None = None, epoch: int = 0,
               socket: Union[str, "os.PathLike[str]", None] = None, private: bool = True, timeout: float | None = None,
               progress: bool | None = None) -> "Trial":
    """Runs one sample through the chains of a pipeline, and returns what each step gave. Functions of the program's own
    (operations with op = "python") run in this process and in this thread, so that breakpoint() in a function opens the
    debugger, and what they print comes as usual. print(spdld.try_sample("train.toml", 17)) shows a table.

    The daemon does its operations, as for spdld.attach, in a pipeline of its own that counts in no statistic. Random draws
    are the same as in this epoch of a run: each function gets what it gets there, and gives what it gives there. The random
    generators of this program are left as they were.

    pipeline, ops, socket, private, timeout, progress: as in spdld.attach. The pipeline is a dict or a file.
    sample: the sample's number in the data set's listing, as batch["sample_id"] has it, or its name, as batch.names has it.
        It may also be one that the pipeline's order leaves out.
    epoch: the epoch, which the random draws depend on.

    Returns a Trial with these attributes:

    - steps: a list of entries with the output's name, the operation and its place in the chain, dtype, shape, minimum, maximum,
      mean, seconds (of functions) and value. An operation of the daemon's shows what a chain gives that ends there; the next
      operation may take it from the decoder in another form. It is not shown where outputs share a view or are copies.
    - outputs: the sample's part of each tensor of the batch, by name, as arrays of numpy.
    - notes: sentences on what differs from a run.

    Raises TrialError where the sample is bad. Its text names the operation, the sample, and the line where a function has
    raised; pdb.pm() stands in that function, and the attributes exception and trial have the exception and the steps before.
    A debugger may hold a function for an hour. Raises InvalidError for a sample that there is not, and the errors of
    spdld.attach.
    """
    trial: Any = importlib.import_module("spdld._trial")  # which most programs need not load
    found: Trial = trial.run(
        pipeline_of(pipeline), sample, ops, epoch=_number("epoch", epoch, _UINT32_MAX),
        socket=None if socket is None else os.fspath(socket), private=bool(private), timeout=timeout, progress=progress)
    return found


def _check_pair(one: str, number: int | None, of: str, count: int | None) -> None:
    if (number is None) != (count is None):
        raise InvalidError(f"{one} and {of} belong together: give both, or neither")
    if number is None or count is None:
        return
    if _whole(of, count) < 1:
        raise InvalidError(f"{of} is {count}, and must be at least 1")
    if _whole(one, number) >= count:
        raise InvalidError(f"{one} is {number}, and must be below {of} ({count})")


def _launched_local_rank() -> int:
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"):
        if text := os.environ.get(name):
            if text.isdecimal():
                return int(text)
            raise InvalidError(f'the environment variable {name} is "{text}", which is not a number: correct the variable, '
                               'or give local_rank')
    return 0


def _number(name: str, value: int, largest: int) -> int:
    number = _whole(name, value)
    if not 0 <= number <= largest:
        raise InvalidError(f"{name} is {number}, and must be from 0 to {largest}")
    return number


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidError(f"{name} is {value!r}, and must be a whole number") from None
