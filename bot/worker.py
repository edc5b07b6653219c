"""Runs jobs until one ends or a signal comes, and drains; an agent whose step fails unexpectedly is paused."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from agent_core.errors import DatabaseAway, UnreadableRecord
from agent_core.model.ids import AgentId
from agent_core.ports.engine import Engine

logger = logging.getLogger(__name__)

ENDED_AT_ONCE = 1
UNREADABLE_SECONDS = 60.0


class Advancing(Protocol):
    """The part of the loop that the worker uses."""

    async def advance(self, agent_id: AgentId) -> None:
        """Take the agent's next steps."""

    async def pause(self, agent_id: AgentId, reason: str) -> object:
        """Pause the agent and show the reason."""


async def work(engine: Engine, loop: Advancing) -> None:
    await engine.run(_carefully(loop))


async def drain_nothing() -> None:
    """End at once: nothing has to be brought to an end."""


async def end_when_told(command: Awaitable[int]) -> int:
    """Run a command. Until it calls `until_told`, SIGINT or SIGTERM cancels it, and its exit code is 0."""
    task, told = asyncio.ensure_future(command), asyncio.Event()

    def end() -> None:
        told.set()
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    try:
        return await task
    except asyncio.CancelledError:
        if not told.is_set():
            raise
        return 0


async def until_told(*jobs: Awaitable[None], drain: Callable[[], Awaitable[None]] = drain_nothing) -> None:
    """Run the jobs until one ends (raise its error) or the process receives SIGINT or SIGTERM; cancel the rest.

    After the signal the jobs go on until `drain` has ended. A second signal ends the process at once, like a crash.
    """
    told = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        running.add_signal_handler(number, lambda: _end_at_once() if told.is_set() else told.set())

    async def drain_when_told() -> None:
        await told.wait()
        await drain()

    await until_one_ends(*jobs, drain_when_told())


async def until_one_ends(*jobs: Awaitable[object]) -> None:
    """Run the jobs until one of them ends; raise its error. The others are cancelled, and awaited to their end."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
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


def _carefully(loop: Advancing) -> Callable[[AgentId], Coroutine[Any, Any, None]]:
    left_alone: dict[AgentId, float] = {}  # agents with a record of a newer release, each with the time of its next try

    async def advance(agent_id: AgentId) -> None:
        now = asyncio.get_running_loop().time()
        if left_alone.get(agent_id, now) > now:
            return
        fault = await _fault_of(loop.advance(agent_id), agent_id)
        if isinstance(fault, UnreadableRecord):
            left_alone[agent_id] = now + UNREADABLE_SECONDS
        if fault is None or isinstance(fault, DatabaseAway | UnreadableRecord):
            return
        what = f"Something went wrong inside Signoff ({type(fault).__name__})"
        await _fault_of(loop.pause(agent_id, f"{what}; the log says what. Resume tries again."), agent_id)

    return advance


async def _fault_of(step: Awaitable[object], agent_id: AgentId) -> Exception | None:
    try:
        await step
    except UnreadableRecord as fault:
        logger.warning("agent is left alone", extra={"agent": agent_id, "why": str(fault)})
        return fault
    except DatabaseAway as fault:  # the outage is logged once, by the database
        return fault
    except Exception as fault:
        logger.exception("agent failed", extra={"agent": agent_id})
        return fault
    return None
