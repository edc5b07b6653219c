"""The turns of one agent's thread, for surfaces that show several turns on one card. Read-only."""

from dataclasses import dataclass

from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.ports.database import Database


@dataclass(frozen=True, slots=True)
class ThreadTurns:
    """Reads turns as they were saved last."""

    database: Database

    async def newest(self, agent: Agent, last: int, before: int | None = None) -> tuple[Turn, ...]:
        """The agent's newest `last` turns, oldest first; with `before`, only turns with a lower number."""
        async with self.database.begin() as work:
            return await work.turns.of(agent, last=last, before=before)

    async def turn(self, channel: ChannelScope, turn_id: TurnId) -> Turn:
        """A turn; raise NotFound if the channel has none with this id."""
        async with self.database.begin() as work:
            return await work.turns.get(channel, turn_id)
