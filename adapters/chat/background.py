"""Runs work in the background, so that a platform's request is acknowledged without waiting; logs its errors."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from agent_core.errors import SignoffError

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class BackgroundTasks:
    """Runs background tasks: calling the instance with a coroutine starts one.

    `tasks`: those not yet finished. `delays`: what some of them wait for before they act. `is_closing`: whether `close`
    runs, during which nothing is delayed.
    """

    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    delays: set[asyncio.Task[None]] = field(default_factory=set)
    is_closing: bool = False

    def __call__(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(_run_logged(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(lambda _: work.close())  # if it was cancelled before its first step

    async def delay(self, wait: Coroutine[Any, Any, None]) -> None:
        """Wait in a background task, but no longer than until `close`: what it is about to do is then done at once."""
        if self.is_closing:
            wait.close()
            return
        delay = asyncio.create_task(wait)
        self.delays.add(delay)
        try:
            await asyncio.wait([delay])
        finally:
            self.delays.discard(delay)
            delay.cancel()
        if not delay.cancelled():
            delay.result()

    async def close(self, seconds: float = 2.0) -> None:
        """End all delays, wait up to `seconds` for running tasks and those that they start, then cancel them."""
        self.is_closing = True
        try:
            for delay in self.delays:
                delay.cancel()
            await self._wait(seconds)
            while self.tasks:
                for task in self.tasks:
                    task.cancel()
                await asyncio.wait(self.tasks)
        finally:
            self.is_closing = False

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.tasks and (left := end - loop.time()) > 0:
            await asyncio.wait(self.tasks, timeout=left)


async def _run_logged(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except SignoffError as fault:
        logger.warning("background task failed", extra={"fault": type(fault).__name__, "why": str(fault)[:300]})
    except Exception:
        logger.exception("background task crashed")
