"""The event loop of a worker with functions that are defined by `async def`: many of their calls are under way at once, and
other functions run between. The worker itself takes tasks and replies (native code); here calls begin and end."""
import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spdld import _spdld
from spdld._crew.calls import is_async
from spdld._crew.drop import DROP
from spdld._crew.results import Unfit

_CALL_LIMIT_S = 60.0


class _Step(NamedTuple):
    call: str
    function: Any
    place: int
    takes_rng: bool
    is_async: bool


class _Errand(NamedTuple):
    output: str
    steps: Sequence[_Step]
    call_limit_s: float


class Flights:
    """One thread. errands: as CREW_JOINED tells them, and as the worker is told of them."""

    def __init__(self, worker: "_spdld.Worker", errands: Sequence[Mapping[str, Any]], told: Sequence[tuple[Any, ...]],
                 randomness: "_spdld.Randomness") -> None:
        self._worker, self._randomness = worker, randomness
        self._errands = [_errand_of(errand, steps) for errand, (_, _, steps, *_) in zip(errands, told, strict=True)]
        self._free: list[int] = []  # generators that no call has now
        self._generators = 0
        self._late: set[int] = set()  # calls that were cancelled because of their time
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself keeps them weakly
        self._is_awake = False  # _turn() is going to be called
        worker.fly_with(self._launch)

    def run(self) -> str:
        """As the worker's run()."""
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._end: asyncio.Future[str] = self._loop.create_future()
        self._loop.add_reader(self._worker.bell, self._turn)
        self._wake()
        return self._loop.run_until_complete(self._end)

    def _turn(self) -> None:
        self._is_awake = False
        try:
            result = self._worker.turn()
        except BaseException as error:
            if not self._end.done():
                self._end.set_exception(error)
            return
        if result is True:
            self._wake()
        elif isinstance(result, str) and not self._end.done():
            self._loop.remove_reader(self._worker.bell)
            self._end.set_result(result)

    def _wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._turn)

    def _launch(self, number: int, errand: int, value: Any, key: int) -> None:
        task = self._loop.create_task(self._call(number, self._errands[errand], value, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, number: int, errand: _Errand, value: Any, key: int) -> None:
        task = asyncio.current_task()
        limit = self._loop.call_later(errand.call_limit_s, self._give_up, number, task)
        generator = self._taken_generator() if any(step.takes_rng for step in errand.steps) else -1
        at = 0
        try:
            for at, step in enumerate(errand.steps):
                self._randomness.reset(key, step.place, errand.output)
                more = {"rng": self._randomness.rng_at(generator, key, step.place, errand.output)} if step.takes_rng else {}
                value = step.function(value, **more)
                if step.is_async:
                    value = await value
                if value is DROP:
                    break
        except BaseException as error:
            late = number in self._late and isinstance(error, asyncio.CancelledError)
            call = errand.steps[at].call
            self._worker.fail(number, Unfit(f"{call} did not return within {errand.call_limit_s:g} s (call_limit_s of [python]), "
                                            "and was cancelled") if late else error, at)
        else:
            self._worker.land(number, value, at)
        finally:
            limit.cancel()
            self._late.discard(number)
            if generator >= 0:
                self._free.append(generator)
            self._wake()

    def _give_up(self, number: int, task: "asyncio.Task[None] | None") -> None:
        self._late.add(number)
        if task is not None:
            task.cancel()

    def _taken_generator(self) -> int:
        with contextlib.suppress(IndexError):
            return self._free.pop()
        self._generators += 1
        return self._generators - 1


def _errand_of(errand: Mapping[str, Any], steps: Sequence[tuple[Any, int, bool]]) -> _Errand:
    calls = [operation["call"] for operation in errand["ops"]]
    told = [_Step(call, *step, is_async(step[0])) for call, step in zip(calls, steps, strict=True)]
    return _Errand(errand.get("output", ""), told, errand.get("call_limit_s", _CALL_LIMIT_S))
