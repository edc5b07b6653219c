"""An event loop with simulated time, in which a process can be killed between any two steps.

A process is a context variable: every task and callback inherits it. A killed process runs no further step, not even a
`finally`, as after a power cut.
"""

import asyncio
import random
import selectors
from asyncio import Handle
from collections import deque
from collections.abc import Awaitable, Coroutine
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
FINISH_SECONDS = 1_000.0
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(eq=False, slots=True)
class Process:
    """Something that can be killed. `died`: done when it was."""

    name: str
    is_dead: bool = False
    died: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def kill(self) -> None:
        """Let nothing of it run from now on."""
        self.is_dead = True
        if not self.died.done():
            self.died.set_result(None)

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run this inside the process."""
        context = copy_context()
        context.run(PROCESS.set, self)
        return asyncio.get_running_loop().create_task(work, context=context)

    async def answer(self, request: Coroutine[Any, Any, T]) -> T:
        """Run a request inside the process for somebody outside; raise ConnectionError if the process dies first."""
        task = self.start(request)
        either: list[asyncio.Future[Any]] = [task, self.died]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ConnectionError(self.name)
        return task.result()


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


class Stuck(Exception):
    """Nothing is ready and no timer is set: everything waits for something that never happens."""


class _JumpingSelector(selectors.SelectSelector):
    """Waits for nothing: it moves the simulated time instead."""

    seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck
        self.seconds += max(0.0, timeout)
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Runs ready callbacks in their order, and jumps to the next timer when none is ready."""

    _ready: "deque[Handle]"

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        self._tasks: list[asyncio.Task[Any]] = []
        self._buried: list[Handle] = []
        self._is_over = False
        self.set_task_factory(self._remember)

    def time(self) -> float:
        return self._jumping.seconds

    def finish(self) -> None:
        """Cancel what is left, also of killed processes, and close the loop. Nobody looks at what that does."""
        self._is_over = True
        self._ready.extend(self._buried)
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            self.run_until_complete(asyncio.wait(left, timeout=FINISH_SECONDS))
        self.close()

    def _remember(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
        """Keep every task: if a killed one were collected, its `finally` blocks would run."""
        task = asyncio.Task(work, loop=loop, **options)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._tasks.append(task)
        return task

    def _run_once(self) -> None:
        if not self._is_over:
            self._buried.extend(filter(_is_dead, self._ready))
            self._ready = deque(handle for handle in self._ready if not _is_dead(handle))
        super()._run_once()  # type: ignore[misc]


def _is_dead(handle: Handle) -> bool:
    process = handle._context.get(PROCESS)  # type: ignore[attr-defined]
    return process is not None and process.is_dead


@dataclass(frozen=True, slots=True)
class SimulatedClock:
    """Implements `Clock` on the simulated time."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))  # noqa: TID251 - of the simulated time


CLOCK = SimulatedClock()


@dataclass(frozen=True, slots=True)
class Chance:
    """All decisions of one run, made by one seed."""

    seed: int
    random: random.Random
    events: list[tuple[float, str, int]] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> "Chance":
        return cls(seed, random.Random(seed))

    def happens(self, share: float) -> bool:
        return self.random.random() < share

    def note(self, what: str) -> None:
        """Remember that this reached the outside now. The number tells apart runs that decided otherwise before."""
        self.events.append((asyncio.get_running_loop().time(), what, self.random.getrandbits(30)))

    async def pause(self, longest: float = 0.02) -> None:
        """Let the others run: for no time, or for a part of `longest` seconds."""
        await CLOCK.sleep(self.random.choice((0.0, 0.0, self.random.random() * longest)))


def run(work: Awaitable[T]) -> T:
    """Run this to its end on a loop of its own; raise Stuck if it waits for ever."""
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.finish()
