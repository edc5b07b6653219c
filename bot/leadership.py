"""Lets one of several processes listen to a platform that sends each event to every connection."""

from collections.abc import Awaitable, Callable

from agent_core.errors import DatabaseAway, EngineTaken
from agent_core.ports.clock import Clock
from agent_core.ports.engine import EngineLock
from bot.worker import until_one_ends

STAND_BY_SECONDS = 3.0  # more than the leader needs to take its lock again after a restart of the database


async def lead(job: Callable[[], Awaitable[None]], lock: EngineLock, clock: Clock) -> None:
    """Run the job whenever this process is the leader, until cancelled. Another one takes over when this one ends."""
    while True:
        try:
            await lock.acquire()
        except (EngineTaken, DatabaseAway):
            await clock.sleep(STAND_BY_SECONDS)
            continue
        try:
            await until_one_ends(job(), lock.watch())
        except EngineTaken:
            continue
        finally:
            await lock.release()
