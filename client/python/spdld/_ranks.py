"""Finds the rank of a process in torch.distributed, and checks that the ranks of a job are attached alike."""
import collections
import importlib
import os
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

import spdld
from spdld._errors import ChangedError, InvalidError
from spdld._spdld import fingerprint_difference

if TYPE_CHECKING:
    import spdld.torch

torch: Any = importlib.import_module("torch")
distributed: Any = importlib.import_module("torch.distributed")


def in_group() -> bool:
    return bool(distributed.is_available() and distributed.is_initialized())


def check_ranks(loader: Union["spdld.torch.Loader", spdld.Loader], group: Any = None) -> None:
    """Checks, before the first step, that the processes of a torch.distributed group are attached alike. It compares the
    data set's listing, the pipeline, the sizes and the place, and checks that every rank is there.

    This is a collective call: all processes of the group make it, each with its own loader. It waits as long as the
    timeout of the group. Where something differs, all processes raise the same error. ChangedError names the process that
    differs and what differs, and InvalidError says that a rank is missing. Without torch.distributed a loader of
    world_size 1 is always right.
    """
    info = loader.info
    if not in_group():
        if info.world_size == 1:
            return
        raise InvalidError("check_ranks compares the ranks through torch.distributed: call init_process_group first")
    inner: spdld.Loader = getattr(loader, "loader", loader)
    mine = (info.fingerprint, info.rank, info.world_size, info.steps_per_epoch, tuple(inner.position))
    every: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(every, mine, group=group)
    _check_alike(every)
    if len(every) == distributed.get_world_size():
        _check_places([told[1] for told in every], info.world_size)


def _check_alike(every: list[tuple[str, int, int, int, tuple[int, int]]]) -> None:
    """every: for each process its fingerprint, rank, world_size, steps_per_epoch and position."""
    most = collections.Counter((told[0], *told[2:]) for told in every).most_common(1)[0][0]
    model = next(process for process, told in enumerate(every) if (told[0], *told[2:]) == most)
    for process, (fingerprint, _, world_size, steps, position) in enumerate(every):
        if fingerprint != most[0]:
            raise ChangedError(f"process {process} reads something else than process {model}: "
                               f"{fingerprint_difference(fingerprint, most[0]) or 'the fingerprint differs'} "
                               f"({fingerprint}, and {most[0]}); give all processes the same pipeline and the same data")
        if (world_size, steps) != most[1:3]:
            raise ChangedError(f"process {process} is one of {world_size} ranks with {steps} steps an epoch, and process "
                               f"{model} is one of {most[1]} ranks with {most[2]} steps: give all processes the same "
                               "world_size")
        if position != most[3]:
            raise ChangedError(f"process {process} stands at epoch {position[0]}, step {position[1]}, and process {model} "
                               f"at epoch {most[3][0]}, step {most[3][1]}: load the same state in all processes")


def _check_places(ranks: list[int], world_size: int) -> None:
    for rank in range(world_size):
        if rank not in ranks:
            raise InvalidError(f"no process reads the batches of rank {rank} of {world_size}: the {len(ranks)} processes are "
                               f"attached as the ranks {', '.join(map(str, ranks))}")


def ranks_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rank arguments where no launcher's variables give them, as with torch.multiprocessing."""
    launched = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"} & set(os.environ)
    if launched or not {"rank", "world_size", "dp_rank", "dp_size"}.isdisjoint(options):
        return {}
    if not in_group():
        return {}
    local_rank = torch.cuda.current_device() if torch.cuda.is_available() else 0
    return {"rank": distributed.get_rank(), "world_size": distributed.get_world_size(), "local_rank": local_rank}


def replicas_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments that say which of the processes on this machine with the same dp_rank this process is."""
    if options.get("dp_rank") is None or not {"replica", "replicas"}.isdisjoint(options):
        return {}
    if not in_group():
        return {}
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        place = (file.read().strip(), os.getuid(), options["dp_rank"])
    told: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(told, (place, uuid.uuid4().hex))
    alike = [process for process, (other, _) in enumerate(told) if other == place]
    found = {"replica": alike.index(distributed.get_rank()), "replicas": len(alike)}
    if {"TORCHELASTIC_RUN_ID", "SLURM_STEP_ID"}.isdisjoint(os.environ):  # replicas need the same group
        found["group"] = "torch:" + told[0][1]
    return found
