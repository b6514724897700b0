"""One sample through a pipeline's chains, in the foreground: spdld.try_sample, and `python -m spdld try`. pipeline.py makes the
pipeline that gives the sample alone; crew.py runs the user's functions in the calling thread; steps.py is what comes out."""
import operator
import threading
from collections.abc import Callable, Mapping
from typing import Any

from spdld import _spdld
from spdld._crew import Crew
from spdld._crew.chains import is_python
from spdld._crew.connection import Connection
from spdld._crew.functions import with_functions
from spdld._crew.learning import lacks_gives
from spdld._errors import Error, FailedError, InvalidError, TimeoutError, TrialError
from spdld._ledger import names_of
from spdld._spec import Pipeline
from spdld._trial.crew import OwnCrew, functions_of, kept_randomness
from spdld._trial.pipeline import TrialPipeline, spec_of
from spdld._trial.steps import Seen, Trial, steps_of

_TURN_S = 0.1  # after which the thread that waits for the batch looks whether it is still wanted


def run(given: Pipeline, sample: int | str, ops: Mapping[str, Callable[..., Any]] | None, *, epoch: int,
        socket: str | None, private: bool, timeout: float | None, progress: bool | None) -> Trial:
    """As spdld.try_sample."""
    if isinstance(sample, bool) or not isinstance(sample, str):
        sample = _number_of(sample)

    connection = Connection(socket, private, timeout, progress)

    def once(trial: TrialPipeline) -> _Run:
        crew = OwnCrew(trial, functions)
        folder = given.folder if given.text is None else trial.folder_of(given.text)
        try:
            loader = connection.look(Pipeline(spec=trial.text(), folder=folder), Crew(crew.command()), trial.name, trial.epoch)
        except BaseException:
            crew.close()
            raise
        ended = _Run(trial, crew, loader)
        ended.work()
        return ended

    spec = spec_of(given)
    trial = TrialPipeline(spec, sample, epoch)
    if lacks_gives(spec):
        trial = TrialPipeline(spec_of(with_functions(given, ops, connection)[0]), sample, epoch)
    functions = functions_of(trial, ops)
    while True:  # with fewer of the outputs that show steps, where the daemon takes some of them not
        try:
            ended = once(trial)
            break
        except InvalidError as error:
            if not trial.drop_refused(str(error)):
                raise trial.in_own_words(error) from None
    if ended.is_refused():
        _locate(trial, ended, once)
    result = ended.result()
    ended.raise_fault(result)
    return result


def _locate(trial: TrialPipeline, ended: "_Run", once: Callable[[TrialPipeline], "_Run"]) -> None:
    """Looks for the operation of the daemon's that can't use the sample: one output after another, each a step longer. Nobody's
    functions are called for this."""
    for output, chain in trial.chains.items():
        looks = [(look.name, look.place) for look in trial.looks if look.output == output and not look.replays]
        whole = [] if any(map(is_python, chain)) else [(output, len(chain))]
        good = 0  # so many operations can use it
        for name, place in [*looks, *whole]:
            try:
                part = once(trial.alone(name))
            except Error:  # it can't stand alone
                continue
            ended.add(part)
            if part.reason is not None:
                ended.blame(output, min(good, place - 1), place - 1, part.reason)
                break
            good = place


def of_loader(origin: Any, loader: Any, sample: int | str, epoch: int | None) -> Trial:
    """As spdld.Loader.try_sample."""
    if origin is None:
        raise InvalidError("this loader was made by try_sample itself, and has no pipeline to try")
    given, ops = origin
    return run(given, sample, ops, epoch=loader.position[0] if epoch is None else epoch, socket=loader.info.socket,
               private=False, timeout=None, progress=None)


def _number_of(sample: Any) -> int:
    try:
        number = operator.index(sample)
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidError(f"sample is {sample!r}, and must be a sample's number, from 0 on, or its name") from None
    return number


class _Run:
    """The loader's batch is waited for in a thread of its own, because the user's functions have the calling one."""

    def __init__(self, trial: TrialPipeline, crew: OwnCrew, loader: "_spdld.Loader") -> None:
        self._trial, self._crew, self._loader = trial, crew, loader
        self._is_over = False
        self._outputs: dict[str, Any] | None = None
        self._id = trial.sample if isinstance(trial.sample, int) else None
        self._name, self._seed = "", 0
        self._failure: BaseException | None = None
        self._blamed = ""  # the beginning of a sentence
        self.reason: str | None = None  # why the daemon can't use the sample
        self._thread = threading.Thread(target=self._take, name="spdld-trial", daemon=True)

    def work(self) -> None:
        try:
            self._thread.start()
            with kept_randomness():
                self._crew.work(self._thread)
            self._crew.raise_interrupt()
            self._is_over = self._crew.lateness != ""
            self._thread.join()
            self._name = self._told_name()
        finally:
            self._is_over = True
            if self._thread.ident is not None:
                self._thread.join()
            self._seed = self._loader.info.seed
            self._loader.close()
            self._crew.close()
        if self._crew.lateness:
            self.reason = self._crew.lateness
        elif self._crew.fault is None and isinstance(self._failure, FailedError):
            self.reason = self._trial.reason_in(str(self._failure))
        elif self._crew.fault is None and self._failure is not None:
            raise self._failure

    def is_refused(self) -> bool:
        """One of the daemon's operations can't use the sample."""
        return self.reason is not None and not self._crew.lateness

    def add(self, part: "_Run") -> None:
        """Takes over the steps that a part of the pipeline has shown of the same sample."""
        self._crew.seen = {**part._crew.seen, **self._crew.seen}

    def blame(self, output: str, first: int, last: int, reason: str) -> None:
        """One of these operations can't use the sample."""
        self._crew.seen[output, last] = Seen(None, error=FailedError(reason))
        if not self._blamed:
            self._blamed = f"operation {last} of output {output}: {self._trial.named(output, last)}: " if first == last else \
                f"operations {first} to {last} of output {output}: "

    def result(self) -> Trial:
        return Trial(self._id, self._name, self._trial.epoch, self._seed,
                     steps_of(self._trial, self._crew.seen, self._outputs), self._outputs or {}, self._trial.notes)

    def raise_fault(self, result: Trial) -> None:
        fault, sample = self._crew.fault, result.shown_sample()
        if fault is not None:
            raise TrialError(fault.sentence(sample), result, fault.error).with_traceback(fault.traceback)
        if self.reason is None:
            return
        raise TrialError(f"{sample}: {self._blamed}{self.reason}", result, None)

    def _take(self) -> None:
        try:
            while not self._is_over:
                try:
                    batch = self._loader.next(_TURN_S)
                except TimeoutError:
                    continue
                if batch is None:
                    raise InvalidError(f"the pipeline gives no sample {self._trial.sample}")
                if batch.valid == 0:  # the sample is left out
                    why = self._loader.stats()["reasons"][0]
                    self._id = why["sample"]
                    if why["kind"] != "dropped":
                        self.reason = f"it is left out: {why['reason']}"
                    break
                self._id = int(batch["sample_id"][0])
                self._outputs = self._trial.outputs_of(batch)
                break
        except BaseException as error:
            self._failure = error
        finally:
            self._crew.end_work()

    def _told_name(self) -> str:
        """The sample's name, where the daemon tells it."""
        number = self._trial.sample if self._id is None else self._id
        if isinstance(number, str):
            return number
        try:
            return names_of(self._loader.info, _Numbers([number]))[0]
        except Error:
            return ""


class _Numbers(list[Any]):
    def tolist(self) -> list[Any]:
        return list(self)
