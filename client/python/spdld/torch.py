"""For torch programs: a loader that stands where torch's DataLoader would, without worker processes.

    import spdld.torch
    loader = spdld.torch.Loader("train.toml")      # rank and world_size from torchrun
    spdld.torch.check_ranks(loader)
    for epoch in range(loader.epoch, epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            loss = step(batch["image"], batch["label"])
            checkpoint = {"model": ..., "loader": loader.state_dict()}

The daemon reads and decodes in its threads. A Loader needs no DataLoader around it. If a wrapper takes a batch ahead of the
program, that batch counts as handed out, and a state goes on after it. order.epochs is 0 for training, where the program
counts the epochs, and 1 for validation.

Lightning: a Loader is given to Trainer.fit, or made in train_dataloader(), as it is. The trainer tells it the epochs, adds no
DistributedSampler, and keeps its place in checkpoints (from 2.2 on): `fit(..., ckpt_path=)` goes on with the next batch.
Where the trainer starts the processes itself (devices=2 without torchrun), make the Loader in train_dataloader(): only there
the processes know their ranks. A sampler of your own needs a length, or else the trainer takes a batch ahead.

Accelerate: prepare() returns a Loader as it is, and may be left out. Gradient accumulation ends with the last batch of an
epoch, as with a prepared DataLoader. register_for_checkpointing(loader) puts the place into save_state(), and the first `for`
after load_state() goes on from it. skip_first_batches(loader, n) goes to step n of the epoch, and no batch is made for the
steps before it. gather_for_metrics leaves out the samples that batch.last = "pad" has added. With several ranks do not
prepare a DataLoader around a Loader, since Accelerate would divide a rank's batches once more.

Hugging Face's Trainer: override the functions in which it makes its DataLoaders:

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            return train        # a Loader with order.epochs = 0
        def get_eval_dataloader(self, eval_dataset=None):
            return validation   # a Loader with order.epochs = 1

The Trainer tells the Loader the epochs, and resume_from_checkpoint goes on with the next batch of an undisturbed run. Give the
Loader no state then: the Trainer's own counts say where it goes on. Without the two functions a Loader is refused as
train_dataset and as eval_dataset, since the Trainer would make one batch of several; eval_strategy wants eval_dataset=validation
beside them. The model is called with a batch's names: give it those that it takes, convert={"pixel_values": "image", "labels":
"label"}. Batch sizes are the pipelines'; give the Trainer the same per_device_train_batch_size and per_device_eval_batch_size,
which it uses in its averages. Where several ranks evaluate, write batch.last = "pad": the Trainer leaves the padding out of its
metrics. With gradient_accumulation_steps = n the Trainer holds n batches at once: write batch.held_max = n + 1.
"""
import importlib
import os
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, NoReturn, Optional, Sequence, Type, Union

import spdld
from spdld._accumulation import Accumulation
from spdld._errors import InvalidError, UnsupportedError
from spdld._moving import no_attribute, refuse
from spdld._pushing import Pusher, driven
from spdld._spec import leaves_epochs_open

try:
    _data: Any = importlib.import_module("torch.utils.data")
    from spdld._ranks import check_ranks, distributed, in_group, ranks_of, replicas_of
    from spdld._steps import (Samples, Steps, only, refuse_collating, refuse_parts_of, refuse_picking, refuse_splitting)
except ImportError as _error:
    raise ImportError(f"spdld.torch needs torch, which cannot be imported: {_error}") from _error

__all__ = ["Loader", "check_ranks"]


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
    convert: what the program gets in place of each spdld.Batch; by default a dict of its tensors, the samples' numbers
        "sample_id" among them. Names of outputs give a tuple, for `for images, labels in loader`: convert=("image", "label").
        A dict gives a dict with other names: convert={"pixel_values": "image", "labels": "label"}. Or a function of the batch.
    substituted: the default dict also has "substituted", the number of samples in the batch whose bad content was replaced
        by another sample. stats() has the sum and the reasons.

    An epoch that was left in the middle is followed by the next one, as with torch's DataLoader; after load_state_dict (or
    attached with a state) the first `for` gives the rest of the state's epoch. A pipeline whose program counts the epochs
    has order.epochs = 0, endless. One of a single epoch gives it each time: for validation. After the last one of several a
    `for` raises InvalidError, and so it does where the only one had ended before a state was taken that was loaded.

    An iterator is valid until the loader begins another one or is moved (set_epoch, load_state_dict). One that has given
    no batch yet moves along, and then making another one changes nothing: frameworks make some that they do not use.
    """

    def __init__(self, pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any]], *, sampler: Any = None,
                 batch_sampler: Any = None, drop_last: bool = False,
                 convert: Union[Callable[[spdld.Batch], Any], Sequence[str], Mapping[str, str], None] = None,
                 substituted: bool = False, **options: Any) -> None:
        super().__init__()
        _refuse_in_worker()
        refuse("spdld.torch.Loader", {name: value for name, value in options.items() if name not in _OPTIONS},
               ("sampler", "batch_sampler", "drop_last", "convert", "substituted", *_OPTIONS))
        if substituted and convert is not None:
            raise InvalidError("substituted belongs to the default dict: a convert reads batch.substituted itself")
        conversion = _dict_with_substituted if substituted else _conversion(convert)
        by_sampler = sampler is not None or batch_sampler is not None
        if sampler is not None and batch_sampler is not None:
            raise InvalidError("sampler and batch_sampler each give the order: give one of them")
        if drop_last and sampler is None:
            raise InvalidError("drop_last belongs to a sampler: give one, or else set batch.last = \"drop\" in the pipeline")
        arguments: Dict[str, Any] = {"framework": "torch", **ranks_of(options), **replicas_of(options), **options}
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
        self._convert = conversion
        self._warns_of_repeating = self._loader.epochs == 1 and leaves_epochs_open(pipeline)
        self._ranks_given = not {"rank", "dp_rank"}.isdisjoint(options)
        self._resumed = self._loader.position != (0, 0)  # the first `for` goes on from there
        self._turn = 0  # of the iterator that may go on
        self._batches: Optional[Iterator[spdld.Batch]] = None  # of that iterator; None: to be begun where the loader stands
        self._taken = False  # of those, any
        self._spent = False  # the next `for` is the rest of an epoch whose last batch came before the state

    def __iter__(self) -> "_Epoch":
        _refuse_in_worker()
        refuse_collating()
        self._refuse_all_for_each()
        if not self._spent:
            self._begin()
        self._turn += 1
        self._taken = False
        return _Epoch(self, self._turn)

    def __len__(self) -> int:
        """Steps (batches) of a whole epoch."""
        refuse_splitting()
        return len(self._loader) if self._pusher is None else len(self._pusher)

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, the next `for` is all of it; to be called before each, or not at all. Where the loader stands
        at its beginning already nothing happens, nor after load_state_dict in the middle of this very epoch: the rest of it
        follows then. After its last batch that rest is empty, once: a loop that counts its epochs itself, and saved its
        state with that batch, has no epoch twice. Of a pipeline with a single epoch every number is that one."""
        if epoch > 0 and self._loader.epochs == 1:
            self._warn_of_repeating(level=3)
            epoch = 0
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
    def batch_sampler(self) -> Steps:
        """Frameworks look here for a DataLoader's sampler and batch size, and skip steps here: after
        accelerate.skip_first_batches(loader, n) the epoch begins at step n, and no batch is made for the steps before it."""
        return Steps(self)

    @property
    def dataset(self) -> Samples:
        """Its length is the number of samples in an epoch, of all ranks together, as with a DataLoader's data set."""
        return Samples(self)

    @property
    def batch_size(self) -> int:
        """Samples of this rank in a full step."""
        return self.info.batch_size

    @property
    def collate_fn(self) -> Callable[[Any], Any]:
        """Frameworks that make a DataLoader of dataset and batch_sampler give it this function."""
        return only

    def __getitem__(self, index: Any) -> NoReturn:
        refuse_picking()

    if not TYPE_CHECKING:  # a checker of types says it by itself
        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(name)

    def state_dict(self) -> Dict[str, Any]:
        """The place, for a checkpoint: after the last batch that was handed out. Of all ranks it is the same."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """The next `for` goes on after the last batch that was handed out before state_dict() was called: with the rest of
        that epoch, or where it had ended with the next. Errors and strict: as of spdld.Loader.load_state_dict."""
        self._loader.load_state_dict(state_dict, strict)
        self._moved(resumed=True)

    def stats(self) -> Dict[str, Any]:
        """What was handed out so far, and how much of it was bad: as of spdld.Loader.stats."""
        return self._loader.stats()

    @property
    def epoch(self) -> int:
        """The epoch of the next batch: where a loop over epochs goes on after load_state_dict."""
        return self._loader.position[0]

    @property
    def step(self) -> int:
        """The step of the next batch within its epoch. A progress bar starts there: tqdm(loader, initial=loader.step)."""
        return self._loader.position[1]

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

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]] = None, error: Optional[BaseException] = None,
                 traceback: Optional[TracebackType] = None) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._loader).replace("spdld.Loader", "spdld.torch.Loader", 1)

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
            self._warn_of_repeating(level=4)
            epoch, step = 0, 0
        self._go(epoch, step)

    def _warn_of_repeating(self, level: int) -> None:
        if self._warns_of_repeating:
            self._warns_of_repeating = False
            warnings.warn(f"pipeline {self.info.pipeline} has a single epoch, since it does not say order.epochs: each `for` gives "
                          "the same order and the same random crops again. Write epochs = 0 under [order] for training, and "
                          "epochs = 1 where that is meant", UserWarning, stacklevel=level)

    def _go(self, epoch: int, step: int) -> None:
        if self._pusher is None:
            self._loader.seek(epoch, step)
        else:
            self._pusher.begin(epoch, step)
        self._batches = iter(self._loader)

    def _skip_to(self, turn: int, step: int) -> None:
        """The epoch goes on at this step."""
        self._check_turn(turn)
        if self._spent:
            return
        if self._batches is None:
            self._begin()
        self._go(self.epoch, step)

    def _moved(self, resumed: bool) -> None:
        if self._taken:
            self._turn += 1
        self._taken = False
        self._batches = None
        self._resumed = resumed
        self._spent = False

    def _check_turn(self, turn: int) -> None:
        if turn != self._turn:
            raise InvalidError("this iterator is over: the loader has begun another epoch since, or moved")

    def _next(self, turn: int) -> Any:
        self._check_turn(turn)
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
        if in_group() and distributed.get_world_size() > 1:
            raise InvalidError("this loader was made before the process group, as rank 0 of 1, and would give each of the "
                               f"{distributed.get_world_size()} processes all samples: make it after init_process_group (with "
                               "Lightning in train_dataloader()), or, where that is meant, give rank=0, world_size=1")


def _dict_with_substituted(batch: spdld.Batch) -> Dict[str, Any]:
    if "substituted" in batch:
        raise InvalidError("the pipeline has an output called \"substituted\": rename it, or leave substituted=True out")
    return {**batch, "substituted": batch.substituted}


class _Epoch:
    """The batches of one epoch."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader: Optional[Loader] = loader
        self._turn = turn
        self._accumulation: Optional[Accumulation] = None
        self._step = 0  # the step that at() expects

    def __iter__(self) -> "_Epoch":
        return self

    def at(self, step: int) -> Any:
        """The batch of a step. The first call may name any step, and each later call names the step after it."""
        if step != self._step:
            if self._step > 0:
                raise InvalidError(f"step {step} of the epoch was asked for after step {self._step - 1}: the steps of a "
                                   "spdld.torch.Loader are this rank's alone, and no sampler may pick or divide them")
            if self._loader is not None:
                self._loader._skip_to(self._turn, step)
        self._step = step + 1
        return next(self)

    def __next__(self) -> Any:
        if self._loader is None:
            raise StopIteration
        if self._accumulation is None:
            self._accumulation = Accumulation(self, self._loader, self._loader.info)
        try:
            batch = self._loader._next(self._turn)
        except StopIteration:
            self._loader = None  # it stays at its end
            self._accumulation.end()
            raise
        self._accumulation.taken(self._loader._at_end)
        return batch


def _refuse_in_worker() -> None:
    if _data.get_worker_info() is not None:
        raise UnsupportedError("a spdld.torch.Loader works in no worker process of a DataLoader, since the daemon's threads "
                               "do that work: iterate it by itself, or in a DataLoader with num_workers=0")


def _conversion(convert: Any) -> Callable[[Any], Any]:
    if convert is None:
        return dict
    if callable(convert):
        return convert  # type: ignore[no-any-return]
    if isinstance(convert, Mapping):
        named = dict(convert)
        return lambda batch: {new: batch[name] for new, name in named.items()}
    if isinstance(convert, (list, tuple)):
        names = tuple(convert)
        return lambda batch: tuple(batch[name] for name in names)
    raise InvalidError("convert is a function of a spdld.Batch, the outputs' names (\"image\", \"label\"), or a dict of new "
                       f"names and outputs' names, and not {convert!r}")


_OPTIONS = tuple(spdld.attach.__kwdefaults__)
refuse_parts_of((Loader, Samples))
