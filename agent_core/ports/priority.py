"""Priority: what a person waits for goes before the work of agents, on the event loop and in the database."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")
MAX_AGENT_WRITES = 2
MAX_YIELD_SECONDS = 0.5
SHARE_BESIDE_PEOPLE = 0.1
MAX_REST_SECONDS = 1.0
MAX_URGENT_IN_A_ROW = 9
IS_AWAITED: ContextVar[bool] = ContextVar("is_awaited", default=False)
IS_URGENT: ContextVar[bool] = ContextVar("is_urgent", default=False)


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(slots=True)
class Priority:
    """Delays agents while people wait. The surfaces, the service and the engine of one process share an instance.

    Without this, a burst of clicks would start hundreds of agents, and the next click would wait for seconds:

    - Per pass of the event loop, one step of agents runs (two where two passes meet). A step is what runs between two
      awaits. The next click arrives between two passes, so a pass should be short.
    - While people wait, the steps of agents take at most a tenth of the event loop's time, until the newest of these
      people has waited for a second: who waits longer waits for something else than the event loop.
    - At most two agents write at a time, and each first waits up to 0.5 s while people wait.
    - An agent's work is urgent until it has shown on the card what people decided: its steps run before those of
      other agents, which are left one step of ten, and it writes at once.

    The context variable `IS_AWAITED` tells the database adapter that a person waits.
    """

    people: int = 0
    no_people: asyncio.Event = field(default_factory=_set_event)
    agent_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_AGENT_WRITES))
    _works: int = 0
    _has_stepped: bool = False
    _urgent_in_a_row: int = 0
    _newest_came_at: float = 0.0
    _rests_until: float = 0.0
    _rest_end: asyncio.TimerHandle | None = None
    _queued: "deque[asyncio.Future[None]]" = field(default_factory=deque)
    _queued_urgent: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """Mark the with-block as something that a person waits for."""
        self.people += 1
        self._newest_came_at = asyncio.get_running_loop().time()
        self.no_people.clear()
        before = IS_AWAITED.set(True)
        try:
            yield
        finally:
            IS_AWAITED.reset(before)
            self.people -= 1
            if not self.people:
                self.no_people.set()
                self._end_rest()

    def end_urgency(self) -> None:
        """An agent's work has shown what people decided: from here on it waits for people and for urgent work."""
        IS_URGENT.set(False)

    @asynccontextmanager
    async def background(self) -> AsyncIterator[None]:
        """Before the with-block of an agent's writes, wait for one of two slots and up to 0.5 s for people.

        Urgent work does not wait.
        """
        if IS_URGENT.get():
            yield
            return
        async with self.agent_slots:
            if self.people:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MAX_YIELD_SECONDS):
                        await self.no_people.wait()
            yield

    async def run_stepwise(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run an agent's work, in a task of its own, as urgent until it calls `end_urgency`.

        After one step in this pass of the event loop, the others run in later passes, in order, the urgent ones first.
        """
        IS_URGENT.set(True)
        self._works += 1
        try:
            work = begin()
            return await self._drive(work)
        finally:
            self._works -= 1

    @coroutine
    def _drive(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Run `work` step by step, passing on what it awaits and what is thrown into it."""
        thrown: BaseException | None = None
        while True:
            try:
                yield from self._wait_for_step()
            except BaseException as error:
                thrown = error
            begun = asyncio.get_running_loop().time()
            try:
                awaited = work.send(None) if thrown is None else work.throw(thrown)
            except StopIteration as ended:
                return cast("T", ended.value)
            finally:
                self._rest_after(begun)
            thrown = None
            try:
                yield awaited
            except BaseException as error:
                thrown = error

    def _wait_for_step(self) -> Iterator[Any]:
        loop = asyncio.get_running_loop()
        if self._works == 1 and not self.people:  # it has at most one step in a pass
            return iter(())
        if not self._has_stepped and self._rest_seconds() <= 0:
            loop.call_soon(self._begin_pass)
            self._has_stepped = True
            return iter(())
        step = loop.create_future()
        (self._queued_urgent if IS_URGENT.get() else self._queued).append(step)
        if not self._has_stepped:
            self._begin_after_rest()
        return iter(step)

    def _begin_pass(self) -> None:
        """Let the first queued step run in the next pass; while agents rest, do so afterwards."""
        self._has_stepped = False
        if self._rest_seconds() > 0:
            self._begin_after_rest()
            return
        while (queue := self._next_queue()) and not self._has_stepped:
            step = queue.popleft()
            if not step.done():  # else its work was cancelled
                step.set_result(None)
                self._has_stepped = True
                self._urgent_in_a_row = self._urgent_in_a_row + 1 if queue is self._queued_urgent else 0
        if self._has_stepped:
            asyncio.get_running_loop().call_soon(self._begin_pass)

    def _next_queue(self) -> "deque[asyncio.Future[None]]":
        """The queue of the next step: the urgent one, but after nine of its steps the other one has its turn."""
        if self._queued and self._urgent_in_a_row >= MAX_URGENT_IN_A_ROW:
            return self._queued
        return self._queued_urgent or self._queued

    def _rest_after(self, begun: float) -> None:
        """Let agents rest after a step, so long that steps take SHARE_BESIDE_PEOPLE of the time."""
        now = asyncio.get_running_loop().time()
        self._rests_until = now + (now - begun) * (1 / SHARE_BESIDE_PEOPLE - 1)

    def _rest_seconds(self) -> float:
        """How long agents rest from now on; 0 or less if they do not."""
        if not self.people:
            return 0.0
        return min(self._rests_until, self._newest_came_at + MAX_REST_SECONDS) - asyncio.get_running_loop().time()

    def _begin_after_rest(self) -> None:
        if self._rest_end is None:
            self._rest_end = asyncio.get_running_loop().call_later(max(0.0, self._rest_seconds()), self._end_rest)

    def _end_rest(self) -> None:
        """Begin a pass, if agents rest."""
        if self._rest_end is not None:
            self._rest_end.cancel()
            self._rest_end = None
            self._begin_pass()
