"""What a long command has given so far, saved and shown now and then while it runs."""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from agent_core.errors import DatabaseAway, Superseded, SurfaceError
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.ports.database import UnitOfWork
from agent_core.ports.world import Clock

logger = logging.getLogger(__name__)

T = TypeVar("T")
INTERVAL_SECONDS = 2.0  # seconds; a message can be edited about once a second on Slack and on Discord
MAX_SHOWN_CHARACTERS = 1_500  # characters that are shown while it runs
MAX_KEPT_CHARACTERS = 200_000  # characters that are kept when it is stopped


@dataclass(slots=True, kw_only=True)
class LiveOutput:
    """Stands beside one run. A command that reports nothing costs nothing."""

    claim: AgentClaim
    clock: Clock
    turn_id: TurnId
    newest: str = ""
    shown: str = ""
    is_over: bool = False
    work: asyncio.Task[None] | None = None
    pause: asyncio.Task[None] | None = field(default=None, repr=False)

    def report(self, text: str) -> None:
        """Keep what there is now; it replaces what there was."""
        self.newest = text[-MAX_KEPT_CHARACTERS:]
        if self.work is None and not self.is_over:
            self.work = asyncio.create_task(self._show_now_and_then())

    async def run(self, run: Awaitable[T]) -> T:
        """Wait for the run. What is being shown then is shown to its end, so that nothing comes after the result."""
        try:
            return await run
        finally:
            self.is_over = True
            if self.pause:
                self.pause.cancel()
            if self.work:
                await self.work

    async def _show_now_and_then(self) -> None:
        """Show it again and again. What cannot be shown now is left: the run and its result are what counts."""
        with suppress(Superseded):
            while not self.is_over:
                try:
                    await self._show()
                except (DatabaseAway, SurfaceError) as fault:
                    logger.warning("live output not shown", extra={"turn": self.turn_id, "fault": type(fault).__name__})
                if self.is_over:  # it ended meanwhile, and nobody waits for the pause
                    return
                self.pause = asyncio.create_task(self.clock.sleep(INTERVAL_SECONDS))
                await asyncio.wait([self.pause])

    async def _show(self) -> None:
        if (newest := self.newest[-MAX_SHOWN_CHARACTERS:]) != self.shown:
            self.shown = newest
            await self.claim.save(self._as_it_goes)

    async def _as_it_goes(self, work: UnitOfWork, agent: Agent) -> Outcome:
        (turn,) = await work.turns.of(agent, last=1)
        if turn.id != self.turn_id or turn.state != "running":
            raise Superseded(agent.id)
        return Outcome(agent=agent, changed=turn.going(self.shown))
