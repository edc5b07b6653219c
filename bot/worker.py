"""Runs an engine until it is stopped. An unexpected error pauses the agent and is logged."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from agent_core.errors import DatabaseAway
from agent_core.model.ids import AgentId
from agent_core.ports.engine import Engine, Waker

logger = logging.getLogger(__name__)

ENDED_AT_ONCE = 1
SELDOM = (10_000, 20, 50)  # defaults: 700, 10, 10


class Advancing(Protocol):
    """The part of the loop that the worker uses."""

    async def advance(self, agent_id: AgentId) -> None:
        """Take the agent's next steps."""

    async def pause(self, agent_id: AgentId, reason: str) -> object:
        """Pause the agent and show the reason."""


class WakingEngine(Engine, Waker, Protocol):
    """An engine that code in the same process can wake."""


async def work(engine: WakingEngine, loop: Advancing) -> None:
    await engine.run(_carefully(engine, loop))


async def drain_nothing() -> None:
    """End at once: nothing has to be brought to an end."""


async def until_told(*jobs: Awaitable[None], drain: Callable[[], Awaitable[None]] = drain_nothing) -> None:
    """Run the jobs until one ends (raise its error) or the process receives SIGINT or SIGTERM; cancel the rest.

    After the signal the jobs go on until `drain` has ended. A second signal ends the process at once, like a crash.
    """
    _spare_what_is_loaded()
    told = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        running.add_signal_handler(number, lambda: _end_at_once() if told.is_set() else told.set())

    async def drain_when_told() -> None:
        await told.wait()
        await drain()

    tasks = [asyncio.ensure_future(job) for job in (*jobs, drain_when_told())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def _end_at_once() -> None:
    """End without waiting for anything: what is saved is enough to go on with."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(ENDED_AT_ONCE)


def _spare_what_is_loaded() -> None:
    """Exclude loaded modules from garbage collection: scanning them stops the process for 80 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SELDOM)


def _carefully(engine: WakingEngine, loop: Advancing) -> Callable[[AgentId], Coroutine[Any, Any, None]]:
    async def advance(agent_id: AgentId) -> None:
        fault = await _fault_of(loop.advance(agent_id), agent_id)
        if fault is None or isinstance(fault, DatabaseAway):
            return
        what = f"Something went wrong inside Signoff ({type(fault).__name__})"
        said = f"{what}; the log says what. Resume tries again."
        if await _fault_of(loop.pause(agent_id, said), agent_id) is None:
            engine.wake(agent_id)

    return advance


async def _fault_of(step: Awaitable[object], agent_id: AgentId) -> Exception | None:
    try:
        await step
    except Exception as fault:
        logger.exception("agent failed", extra={"agent": agent_id})
        return fault
    return None
