"""A loader for torch programs. It stands in the place of torch's DataLoader, and has no worker processes.

    import spdld.torch
    loader = spdld.torch.Loader("train.toml")      # rank and world_size from torchrun
    spdld.torch.check_ranks(loader)
    for epoch in range(loader.epoch, epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            loss = step(batch["image"], batch["label"])
            checkpoint = {"model": ..., "loader": loader.state_dict()}

The daemon reads and decodes in its threads. A Loader needs no DataLoader around it. If a wrapper takes a batch ahead of the
program, that batch counts as handed out, and a state continues after it. Set order.epochs to 0 for training, where the
program counts the epochs, and to 1 for validation.

Lightning: Give a Loader to Trainer.fit as it is, or make it in train_dataloader(). The trainer tells the Loader the epochs
and adds no DistributedSampler. From Lightning 2.2 on, the trainer keeps the Loader's place in checkpoints, and
`fit(..., ckpt_path=)` continues with the next batch. Where the trainer starts the processes itself (devices=2 without
torchrun), make the Loader in train_dataloader(), because only there the processes know their ranks. A sampler of your own
needs a length. Without a length, the trainer takes a batch ahead.

Accelerate: A call of prepare() returns a Loader as it is, and may be left out. Gradient accumulation ends with the last
batch of an epoch, as with a prepared DataLoader. A call of register_for_checkpointing(loader) puts the place into
save_state(), and the first `for` loop after load_state() continues from that place. A call of
skip_first_batches(loader, n) goes to step n of the epoch, and no batch is made for the steps before it. Accelerate's
gather_for_metrics leaves out the samples that batch.last = "pad" has added. With several ranks do not prepare a DataLoader
around a Loader, because Accelerate would divide a rank's batches once more.

Hugging Face's Trainer: Override the functions in which it makes its DataLoaders:

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            return train        # a Loader with order.epochs = 0
        def get_eval_dataloader(self, eval_dataset=None):
            return validation   # a Loader with order.epochs = 1

The Trainer tells the Loader the epochs, and resume_from_checkpoint continues with the batch that an undisturbed run would
take next. Give the Loader no state in this case, because the Trainer's own counts say where it continues. Without the two
functions a Loader is refused as train_dataset and as eval_dataset, because the Trainer would make one batch of several.
Beside the two functions, eval_strategy needs eval_dataset=validation.

The Trainer calls the model with the names in a batch as arguments. Give the names that the model takes, such as
convert={"pixel_values": "image", "labels": "label"}. Batch sizes belong to the pipelines. Give the Trainer the same
per_device_train_batch_size and per_device_eval_batch_size, because it uses them in its averages. Where several ranks
evaluate, write batch.last = "pad": the Trainer leaves the padding out of its metrics. With gradient_accumulation_steps = n
the Trainer holds n batches at once: write batch.held_max = n + 1.
"""
import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Union

import spdld
from spdld._accumulation import Accumulation
from spdld._errors import InvalidError, UnsupportedError
from spdld._moving import WITH_DATASET, no_attribute, refuse
from spdld._over_loader import OverLoader
from spdld._pushing import Pusher, driven
from spdld._spec import leaves_epochs_open, warn_of_repeating
from spdld._standing import Standing
from spdld._transforms import from_transforms

try:
    _data: Any = importlib.import_module("torch.utils.data")
    _autograd: Any = importlib.import_module("torch.autograd")
    from spdld._ranks import check_ranks, distributed, in_group, ranks_of, replicas_of
    from spdld._steps import Samples, Steps, only, refuse_collating, refuse_parts_of, refuse_picking, refuse_splitting
except ImportError as _error:
    raise ImportError(f"spdld.torch needs torch, which cannot be imported: {_error}") from _error

__all__ = ["Loader", "check_ranks", "from_transforms"]


class Loader(OverLoader, _data.IterableDataset):  # type: ignore[misc]
    """The batches of one rank for a torch program. Each `for batch in loader` loop is one epoch.

    pipeline, options: the arguments of spdld.attach, with framework="torch". The rank and world_size come from the
        launcher's environment, else from torch.distributed where it was initialised. With dp_rank and dp_size, and
        without replicas, the processes tell one another through torch.distributed which of them are replicas on one
        machine. All processes of the default group must make their loaders at the same time for this. Where the
        processes of a machine have several daemons, or only some processes make a loader, give replica and replicas.
        With ops={"blur": blur} the loader takes functions for the operations that have op = "python" and call = "blur".
    dataset: a data set of the program with __len__ and __getitem__, or a class or function that makes one without arguments.
        Processes beside the daemon call dataset[i], and the loader makes the pipeline. `pipeline` then takes further tables,
        such as {"python": {"processes": 4}}. Without collate_fn, a batch has the structure that torch's default_collate gives,
        and every item has the types and shapes of the first one.
    batch_size, shuffle, seed, drop_last: with dataset, as in a DataLoader. batch_size is 1 and shuffle is False by default. The
        order and the random draws of the items follow from the seed.
    collate_fn: with dataset, a function that gets a list of items and makes the batch, in this process. Items may be anything
        that can be pickled. Their arrays and tensors are views of the batch's memory, and hold the batch.
    item_bytes_max: with collate_fn, the most bytes of a pickled item. By default it is twice the largest of a few items. A
        larger item is bad content.
    sampler, batch_sampler: any sampler of torch that gives the order, in place of the daemon. It names samples by their
        numbers in the data set's listing, which has info.samples of them. A pipeline in a dict then gets order.shuffle =
        "client". A pipeline in a file, or a named pipeline, must say so itself.
        The loader cuts the samples of a sampler into batches of the pipeline's size. A batch sampler may give batches of
        any sizes up to that size.
        Each `for` loop iterates the sampler anew, a few batches ahead of the program. A sampler that has set_epoch is told
        the epoch before. To continue in the middle of an epoch, the loader skips the batches that were handed out, so the
        sampler must give the order of that epoch again. DistributedSampler does so, and so does a RandomSampler with a
        generator that is seeded by the epoch.
        Each rank has a sampler of its own. The ranks divide an epoch as their samplers do (see DistributedSampler), and
        not by rank and world_size.
        With a sampler, drop_last=True leaves out the last batch where it is shorter than the others.
    convert: the form in which the program gets each spdld.Batch. By default a batch comes as a dict of its tensors,
        which include the samples' numbers as "sample_id". Names of outputs give a tuple: write convert=("image", "label")
        for `for images, labels in loader`. A dict gives a dict with other names, as in convert={"pixel_values": "image",
        "labels": "label"}. A function is called with the batch and may return anything.
    substituted: True adds "substituted" to the default dict. It is the number of samples in the batch that were bad,
        or left out, and that another sample replaced. The method stats() has the sum and the reasons.

    After an epoch that the program left in the middle, the next `for` loop gives the next epoch, as with torch's
    DataLoader. After load_state_dict, or with a state at attaching, the first `for` loop gives the rest of the state's
    epoch. For a program that counts the epochs itself, the pipeline is endless, with order.epochs = 0. A pipeline with a
    single epoch gives that epoch in each `for` loop, as validation needs it.

    A `for` loop raises InvalidError after the last of several epochs. It also does so where the pipeline's only epoch had
    ended before the loaded state was taken.

    An iterator is valid until the loader begins another iterator or is moved by set_epoch or load_state_dict. An iterator
    that has given no batch yet moves along with the loader. In this case making another iterator changes nothing, because
    frameworks make iterators that they do not use.
    """

    _name = "spdld.torch.Loader"

    def __init__(self, pipeline: Union[str, "os.PathLike[str]", Mapping[str, Any], None] = None, *, dataset: Any = None,
                 shuffle: bool | None = None, seed: int | None = None,
                 collate_fn: Callable[[list[Any]], Any] | None = None, item_bytes_max: int | None = None,
                 sampler: Any = None, batch_sampler: Any = None, drop_last: bool = False,
                 convert: Callable[[spdld.Batch], Any] | Sequence[str] | Mapping[str, str] | None = None,
                 substituted: bool = False, **options: Any) -> None:
        super().__init__()
        _refuse_in_worker()
        of_data_set = {"shuffle": shuffle, "seed": seed, "collate_fn": collate_fn, "item_bytes_max": item_bytes_max}
        unknown = {name: value for name, value in options.items() if name not in _OPTIONS}
        if dataset is None:
            unknown = {**{name: value for name, value in of_data_set.items() if value is not None}, **unknown}
        refuse("spdld.torch.Loader", unknown,
               ("dataset", "sampler", "batch_sampler", "drop_last", "convert", "substituted", *_OPTIONS),
               None if dataset is None else WITH_DATASET)
        if substituted and convert is not None:
            raise InvalidError("substituted belongs to the default dict: a function as convert can read batch.substituted")
        conversion = _dict_with_substituted if substituted else _conversion(convert)
        by_sampler = sampler is not None or batch_sampler is not None
        if sampler is not None and batch_sampler is not None:
            raise InvalidError("sampler and batch_sampler both give the order: give one of them")
        if drop_last and sampler is None and dataset is None:
            raise InvalidError("drop_last belongs to a sampler: give one, or set batch.last = \"drop\" in the pipeline")
        self._dataset = dataset
        if dataset is not None:
            loading: Any = importlib.import_module("spdld._crew.loading")  # which most programs need not load
            pipeline, to_program = loading.of_arguments(
                dataset, pipeline, {**of_data_set, "sampler": sampler, "batch_sampler": batch_sampler, "drop_last": drop_last,
                                    "convert": convert, "substituted": substituted}, options)
            conversion = to_program or conversion
        arguments: dict[str, Any] = {"framework": "torch", **ranks_of(options), **replicas_of(options), **options}
        given: Any = driven(pipeline) if by_sampler else pipeline
        self._loader = spdld.attach(given, **arguments)
        self._pusher: Pusher | None = None
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
        self._standing = Standing.AT_EPOCH if self._loader.position == (0, 0) else Standing.AT_STATE
        self._turn = 0  # number of the iterator that may go on
        self._batches: Iterator[spdld.Batch] | None = None  # of that iterator. None: it begins where the loader stands

    def __iter__(self) -> "_Epoch":
        _refuse_in_worker()
        refuse_collating()
        self._refuse_all_for_each()
        if self._standing is not Standing.AT_STATES_END:
            self._begin()
        self._turn += 1
        if self._standing is Standing.GIVING:
            self._go_to(Standing.AT_EPOCH)
        return _Epoch(self, self._turn)

    def __len__(self) -> int:
        """The number of steps (batches) in a whole epoch."""
        refuse_splitting()
        return len(self._loader) if self._pusher is None else len(self._pusher)

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch, so that the next `for` loop gives the whole epoch. Call it before each epoch,
        or not at all. Nothing happens where the loader stands at the beginning of this epoch already.

        Nothing happens either after load_state_dict in the middle of this epoch: the next `for` loop gives the rest of the
        epoch. Where the state was saved with the epoch's last batch, that rest is empty, once. So a loop that counts its
        epochs itself gets no epoch twice. In a pipeline with a single epoch, every number means that epoch."""
        if epoch > 0 and self._loader.epochs == 1:
            self._warn_of_repeating(level=3)
            epoch = 0
        at = self._loader.position
        if self._standing in (Standing.AT_STATE, Standing.AT_STATES_END):
            if at == (epoch + 1, 0) and self._loader.epochs != 1:
                return self._go_to(Standing.AT_STATES_END)
            self._go_to(Standing.AT_STATE)
            if at[0] == epoch:
                return
        self._loader.set_epoch(epoch)
        self._moved(Standing.AT_EPOCH)

    @property
    def sampler(self) -> "Loader":
        """The loader itself, for programs that tell the epoch to a DataLoader's sampler: loader.sampler.set_epoch(epoch)."""
        return self

    @property
    def batch_sampler(self) -> Steps:
        """Frameworks look here for the sampler and the batch size of a DataLoader, and skip steps here. After
        accelerate.skip_first_batches(loader, n) the epoch begins at step n, and no batch is made for the steps before it."""
        return Steps(self)

    @property
    def dataset(self) -> Samples:
        """Stands for a DataLoader's data set. Its length is the number of samples in an epoch, for all ranks together. Where the
        loader was made of dataset=, it has the attributes and the items of that data set."""
        return Samples(self, self._dataset)

    @property
    def batch_size(self) -> int:
        """The number of samples that this rank gets in a full step."""
        return self.info.batch_size

    @property
    def collate_fn(self) -> Callable[[Any], Any]:
        """Frameworks that make a DataLoader of dataset and batch_sampler give it this function."""
        return only

    def __getitem__(self, index: Any) -> NoReturn:
        refuse_picking()

    if not TYPE_CHECKING:  # a type checker finds a missing attribute by itself
        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(name)

    def state_dict(self) -> dict[str, Any]:
        """The loader's place for a checkpoint, after the last batch that was handed out. It is the same for all ranks."""
        return self._loader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Goes to the place of a state. The next `for` loop continues after the last batch that was handed out before
        state_dict() was called. It gives the rest of that epoch, or the next epoch where that epoch had ended. For strict
        and for the errors see spdld.Loader.load_state_dict."""
        self._loader.load_state_dict(state_dict, strict)
        self._moved(Standing.AT_STATE)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch. After load_state_dict a loop over epochs continues with this epoch."""
        return self._loader.position[0]

    @property
    def step(self) -> int:
        """The step of the next batch within its epoch. A progress bar starts there: tqdm(loader, initial=loader.step)."""
        return self._loader.position[1]

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError("a spdld.torch.Loader cannot be copied into another process: iterate the loader itself, "
                               "or in a DataLoader with num_workers=0")

    def _begin(self) -> None:
        epoch, step = self._loader.position
        if step != 0 and self._standing is not Standing.AT_STATE:
            epoch, step = epoch + 1, 0
        epochs = self._loader.epochs
        if 0 < epochs <= epoch:
            if epochs > 1 or self._standing is Standing.AT_STATE:
                raise InvalidError(f"all {epochs} epochs of the pipeline have ended: set order.epochs to more, or to 0 where "
                                   "the program counts the epochs, or begin an epoch anew with set_epoch()")
            self._warn_of_repeating(level=4)
            epoch, step = 0, 0
        self._go(epoch, step)

    def _warn_of_repeating(self, level: int) -> None:
        if self._warns_of_repeating:
            self._warns_of_repeating = False
            warn_of_repeating(self.info.pipeline, level)

    def _go(self, epoch: int, step: int) -> None:
        if self._pusher is None:
            self._loader.seek(epoch, step)
        else:
            self._pusher.begin(epoch, step)
        self._batches = iter(self._loader)

    def _skip_to(self, turn: int, step: int) -> None:
        """Goes to this step of the epoch."""
        self._check_turn(turn)
        if self._standing is Standing.AT_STATES_END:
            return
        if self._batches is None:
            self._begin()
        self._go(self.epoch, step)

    def _go_to(self, standing: Standing) -> None:
        self._standing = self._standing.to(standing)

    def _moved(self, to: Standing) -> None:
        if self._standing is Standing.GIVING:
            self._turn += 1
        self._batches = None
        self._go_to(to)

    def _check_turn(self, turn: int) -> None:
        if turn != self._turn:
            raise InvalidError("this iterator is over, because the loader has begun another epoch or was moved since")

    def _next(self, turn: int) -> Any:
        self._check_turn(turn)
        if self._standing is Standing.AT_STATES_END:
            self._go_to(Standing.AT_STATE)
            raise StopIteration
        if self._batches is None:
            self._begin()
        assert self._batches is not None
        if self._pusher is not None:
            self._pusher.keep_ahead()
        with _marked():
            batch = self._convert(next(self._batches))  # no variable holds the batch, so it goes back when dropped
        self._go_to(Standing.GIVING)
        return batch

    def _at_end(self) -> bool:
        """Whether the batch that was just handed out is the last batch of its epoch."""
        if self._pusher is not None:
            self._pusher.keep_ahead()  # the sampler says which batch is the last
        return self._loader.position[1] == 0

    def _refuse_all_for_each(self) -> None:
        if self.info.world_size > 1 or self._ranks_given:
            return
        if in_group() and distributed.get_world_size() > 1:
            raise InvalidError("this loader was made before the process group, as rank 0 of 1, and would give each of the "
                               f"{distributed.get_world_size()} processes all samples: make it after init_process_group "
                               "(with Lightning in train_dataloader()). If each process is to get all samples, give rank=0, "
                               "world_size=1")


def _dict_with_substituted(batch: spdld.Batch) -> dict[str, Any]:
    if "substituted" in batch:
        raise InvalidError("the pipeline has an output called \"substituted\": rename that output, or leave "
                           "substituted=True out")
    return {**batch, "substituted": batch.substituted}


class _Epoch:
    """The batches of one epoch."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader: Loader | None = loader
        self._turn = turn
        self._accumulation: Accumulation | None = None
        self._step = 0  # the step that at() expects

    def __iter__(self) -> "_Epoch":
        return self

    def at(self, step: int) -> Any:
        """Gives the batch of a step. The first call may name any step. Each later call must name the next step."""
        if step != self._step:
            if self._step > 0:
                raise InvalidError(f"step {step} of the epoch was asked for after step {self._step - 1}: all steps of a "
                                   "spdld.torch.Loader belong to this rank, and no sampler may pick or divide them")
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
            self._loader = None  # the iterator stays at its end
            self._accumulation.end()
            raise
        self._accumulation.taken(self._loader._at_end)
        return batch


_UNMARKED = contextlib.nullcontext()


def _marked() -> contextlib.AbstractContextManager[Any]:
    """A range of torch's profiler on this thread where it runs, so that its trace shows the wait for a batch."""
    is_profiled = getattr(_autograd, "_profiler_enabled", None)
    if is_profiled is None or not is_profiled():
        return _UNMARKED
    mark: contextlib.AbstractContextManager[Any] = _autograd.profiler.record_function("spdld.next")
    return mark


def _refuse_in_worker() -> None:
    if _data.get_worker_info() is not None:
        raise UnsupportedError("a spdld.torch.Loader does not work in a worker process of a DataLoader, because the "
                               "daemon's threads do that work: iterate the loader itself, or in a DataLoader with "
                               "num_workers=0")


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
    raise InvalidError("convert is a function of a spdld.Batch, names of outputs such as (\"image\", \"label\"), or a dict "
                       f"of new names and names of outputs, and not {convert!r}")


_OPTIONS = tuple(spdld.attach.__kwdefaults__)
refuse_parts_of((Loader, Samples))
