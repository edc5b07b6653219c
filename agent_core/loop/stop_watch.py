"""Ends a running command that another process stopped, even if that process's message did not arrive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.errors import DatabaseAway, NotFound
from agent_core.loop.claim import AgentClaim
from agent_core.model.ids import TurnId
from agent_core.ports.clock import Clock

WATCH_SECONDS = 0.8  # and then the database is read: a command ends within a second after Stop


@asynccontextmanager
async def end_when_stopped(claim: AgentClaim, turn_id: TurnId, clock: Clock) -> AsyncIterator[None]:
    """Cancel the with-block within a second after the turn is no longer approved or running in the database.

    In a process that is alone, Stop cancels the command directly, so nothing has to be watched.
    """
    if not claim.claims.is_shared:
        yield
        return
    command = asyncio.current_task()

    async def watch() -> None:
        while True:
            await clock.sleep(WATCH_SECONDS)
            if not await _is_running(claim, turn_id):
                if command and not command.cancelling():
                    command.cancel()
                return

    watching = asyncio.create_task(watch(), name=f"stop watch of {turn_id}")
    try:
        yield
    finally:
        watching.cancel()


async def _is_running(claim: AgentClaim, turn_id: TurnId) -> bool:
    """Whether the turn runs, as far as the database tells."""
    try:
        async with claim.database.begin() as work:
            return (await work.turns.get(claim.agent.channel, turn_id)).state in ("approved", "running")
    except NotFound:
        return False
    except DatabaseAway:
        return True
