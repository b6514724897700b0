"""Loaders that look at samples, and train nothing: for trials, and to learn what functions give."""
from typing import NamedTuple

from spdld import _spdld
from spdld._crew import Crew
from spdld._frameworks import framework_of
from spdld._progress import display_for
from spdld._spec import Pipeline


class Connection(NamedTuple):
    """The arguments of spdld.attach that say how to reach the daemon."""

    socket: str | None
    private: bool
    timeout: float | None
    progress: bool | None

    def look(self, pipeline: Pipeline, crew: Crew, group: str, epoch: int = 0) -> "_spdld.Loader":
        """A loader of the one rank of a group, whose work counts in no statistic. Raises as spdld.attach. pipeline: a spec."""
        arrays = framework_of("numpy")
        return _spdld.attach(
            pipeline=None, spec=pipeline.spec, spec_folder=pipeline.folder, rank=0, world_size=1, local_rank=0, group=group,
            socket=self.socket, epoch=epoch, step=0, fingerprint=None, state=None, held_max=1, timeout=self.timeout,
            reconnect=0.0, held_wait=None, reader=0, readers=1, private=self.private, device="cpu", transport=None,
            experimental_ready_early=False, join="alone", batch_size=0, replay=0, looks=True, crew=crew.command,
            crew_input=crew.input, framework=arrays.name, converter=arrays.converter,
            progress=display_for(self.progress, None, None), origin=None)
