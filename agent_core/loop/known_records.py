"""The agent and its newest turn, as the last unit of work of a claim left them.

The next unit takes them over, so that it reads only what others may have written beside them. Whoever changes the agent
or the turn meanwhile makes its commit fail, and the next try reads both.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from agent_core.errors import Conflict, DatabaseAway, SignoffError
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.ports.database import UnitOfWork
from agent_core.ports.kept_records import Kept

T = TypeVar("T")
MAY_HAVE_CHANGED = "What was known of the agent may have changed."


@dataclass(frozen=True, slots=True)
class KnownRecords:
    """What a unit of work leaves to the next one."""

    agents: Kept[Agent] = field(default_factory=dict)
    turns: Kept[Turn] = field(default_factory=dict)

    @classmethod
    def of(cls, work: UnitOfWork, agent_id: AgentId) -> "KnownRecords":
        """What this unit of work leaves of the agent."""
        return cls(work.agents.keep(agent_id), work.turns.keep(agent_id))

    async def use_in(self, work: UnitOfWork, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        """Run `act` in a unit of work that reuses these records.

        Whatever it raises may come from a record that was changed meanwhile, so it raises Conflict: the next try reads.
        """
        if not self.agents and not self.turns:
            return await act(work)
        work.agents.reuse(self.agents)
        work.turns.reuse(self.turns)
        try:
            return await act(work)
        except DatabaseAway:
            raise
        except SignoffError as fault:
            raise Conflict(MAY_HAVE_CHANGED) from fault


NOTHING_KNOWN = KnownRecords()
