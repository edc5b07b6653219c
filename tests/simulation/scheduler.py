"""An event loop with simulated time, in which a process can be killed between any two steps.

A process is a context variable: every task and callback inherits it. A killed process runs no further step, not even a
`finally`, as after a power cut.
"""

import asyncio
import gc
import heapq
import random
from asyncio import Handle, TimerHandle
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar, TypeVarTuple, cast

T = TypeVar("T")
Args = TypeVarTuple("Args")
FINISH_SECONDS = 1_000.0
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(eq=False, slots=True)
class Process:
    """Something that can be killed or suspended. `died`: done when it was killed.

    `held`: what is ready to run and has to wait, because the process is suspended. `suspensions`: how often it was.
    """

    name: str
    is_dead: bool = False
    is_suspended: bool = False
    suspensions: int = 0
    held: list[Handle] = field(default_factory=list)
    died: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def context(self) -> Context:
        """A context for callbacks of the process."""
        context = copy_context()
        context.run(PROCESS.set, self)
        return context

    def kill(self) -> None:
        """Let nothing of it run from now on."""
        self.is_dead = True
        if not self.died.done():
            self.died.set_result(None)

    def suspend(self) -> None:
        """Let nothing of it run until `go_on`, as SIGSTOP does."""
        self.is_suspended = True
        self.suspensions += 1

    def go_on(self) -> None:
        self.is_suspended = False
        cast("SimulatedLoop", asyncio.get_running_loop()).make_ready(self.held)
        self.held = []

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run this inside the process."""
        return asyncio.get_running_loop().create_task(work, context=self.context)

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


class SimulatedHandle(Handle):
    """A handle that is made faster than asyncio's, which looks each time whether to be debugged."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], given: Sequence[Any], loop: asyncio.AbstractEventLoop, context: Context
    ) -> None:
        self._callback, self._args, self._loop, self._context = callback, given, loop, context
        self._cancelled, self._repr, self._source_traceback = False, None, None


class SimulatedTimer(TimerHandle):
    """A timer that is made faster, too."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        given: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context,
    ) -> None:
        self._callback, self._args, self._loop, self._context = callback, given, loop, context
        self._cancelled, self._repr, self._source_traceback = False, None, None
        self._when, self._scheduled = when, False


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs ready callbacks in their order, and jumps to the next timer when none is ready. No sockets, no threads.

    It replaces what costs most in asyncio's loop: debugging of callbacks, and timers that compare themselves in Python.
    """

    _ready: "deque[Handle]"

    is_prompt = False  # whether timers whose time has come run among what is ready, or after it

    def __init__(self) -> None:
        super().__init__()
        self._seconds = 0.0
        self._timers: list[tuple[float, int, TimerHandle]] = []
        self._numbers = count()
        self._tasks: list[asyncio.Task[Any]] = []
        self._buried: list[Handle] = []
        self._is_over = False
        self.set_task_factory(self._remember)

    def time(self) -> float:
        return self._seconds

    def call_soon(self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None) -> Handle:
        handle = SimulatedHandle(callback, args, self, copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> TimerHandle:
        """Run this at that time; of timers of one time, the one that was set first."""
        timer = SimulatedTimer(when, callback, args, self, copy_context() if context is None else context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

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

    def make_ready(self, handles: Sequence[Handle]) -> None:
        self._ready.extend(handles)

    def _remember(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
        """Keep every task: if a killed one were collected, its `finally` blocks would run."""
        task = asyncio.Task(work, loop=loop, **options)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._tasks.append(task)
        return task

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """Do nothing: it is passed over when its time comes."""

    def _run_once(self) -> None:
        """Run what is ready, except of killed and suspended processes, until the loop is told to stop."""
        ready = self._ready
        while not self._stopping:  # type: ignore[attr-defined]
            if not ready or (self.is_prompt and self._timers and self._timers[0][0] <= self._seconds):
                self._pass_timers()
            handle = ready.popleft()
            if handle._cancelled:
                continue
            context: Context = handle._context  # type: ignore[attr-defined]
            process = context.get(PROCESS)
            if process and (process.is_dead or process.is_suspended) and not self._is_over:
                (self._buried if process.is_dead else process.held).append(handle)
                continue
            try:
                context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as fault:
                self.call_exception_handler({"message": "a callback failed", "exception": fault, "handle": handle})

    def _pass_timers(self) -> None:
        """If nothing is ready, go to the time of the next timer; make all timers ready whose time has come.

        Raise Stuck if there is no timer.
        """
        timers, ready = self._timers, self._ready
        while timers and (not ready or timers[0][0] <= self._seconds):
            when, _, timer = heapq.heappop(timers)
            if not timer._cancelled:
                self._seconds = max(self._seconds, when)
                ready.append(timer)
        if not ready:
            raise Stuck


@dataclass(frozen=True, slots=True)
class SimulatedClock:
    """Implements `Clock` on the simulated time."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())

    def elapsed(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await (pass_time(seconds) if seconds > 0 else ONE_STEP)


CLOCK = SimulatedClock()


class OneStep:
    """Awaited, it lets everything run that is ready."""

    def __await__(self) -> Generator[None, None, None]:
        yield


ONE_STEP = OneStep()


def pass_time(seconds: float) -> "asyncio.Future[None]":
    """A future that is done after so many seconds of the simulated time. It need not be taken back when cancelled."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_at(loop.time() + seconds, _end, future)
    return future


def _end(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


LATENCIES_SECONDS = (0.02, 0.1)  # the longest that a read, a commit or a message takes; a run has one of them


@dataclass(frozen=True, slots=True)
class Chance:
    """All decisions of one run, made by one seed. `latency`: the longest usual pause, in seconds."""

    seed: int
    random: random.Random
    latency: float = LATENCIES_SECONDS[0]
    events: list[tuple[float, str, int]] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> "Chance":
        by_seed = random.Random(seed)
        return cls(seed, by_seed, by_seed.choice(LATENCIES_SECONDS))

    def happens(self, share: float) -> bool:
        return self.random.random() < share

    def note(self, what: str) -> None:
        """Remember that this reached the outside now. The number tells apart runs that decided otherwise before."""
        self.events.append((asyncio.get_running_loop().time(), what, self.random.getrandbits(30)))

    def pause(self, longest: float | None = None) -> Awaitable[None]:
        """Let the others run, when awaited: for no time, or for a part of `longest` seconds from now on."""
        share = self.random.random() * 3 - 2
        return pass_time((longest or self.latency) * share) if share > 0 else ONE_STEP


def run(work: Awaitable[T]) -> T:
    """Run this to its end on a loop of its own; raise Stuck if it waits for ever."""
    loop = SimulatedLoop()
    with no_collection():  # a third of the time, as a run keeps all its tasks
        try:
            return loop.run_until_complete(work)
        finally:
            loop.finish()


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no reference cycles meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
