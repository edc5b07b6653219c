"""What an agent has before it when it thinks: its newest turns, what people wrote, what the channel may spend."""

import asyncio
from dataclasses import dataclass

from agent_core.model.agent import Agent
from agent_core.model.note import Note
from agent_core.model.turn import Turn
from agent_core.model.usage import Budget
from agent_core.oversight.circles import LOOKBACK, why_circling
from agent_core.ports.database import UnitOfWork

MOST_TURNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """`turns` are the newest in order, `upto` the number of the last one that only the summary tells.

    `notes` are those that these turns read, and `waiting` those that the next one will.
    """

    turns: tuple[Turn, ...]
    upto: int
    notes: tuple[Note, ...]
    waiting: tuple[Note, ...]
    budget: Budget

    @property
    def shown(self) -> tuple[Turn, ...]:
        """The turns that the prompt shows."""
        return tuple(turn for turn in self.turns if turn.number > self.upto)

    @property
    def newest(self) -> int:
        """The number of the newest turn, 0 before the first."""
        return self.turns[-1].number if self.turns else 0

    @property
    def circling(self) -> str:
        """What the agent repeats that brings it no further, or ""."""
        return why_circling(self.turns)


async def look(work: UnitOfWork, agent: Agent) -> Sight:
    """Read what the agent has before it."""
    upto = agent.digest.upto
    last = min(MOST_TURNS, max(LOOKBACK, agent.turns - upto))
    turns, waiting, budget = await asyncio.gather(
        work.turns.of(agent, last=last), work.notes.waiting(agent), work.budgets.of(agent.channel)
    )
    # What the first shown turn read was written after the turn before it was proposed.
    before = [turn.proposed_at for turn in turns if turn.number <= upto + 1]
    notes = await work.notes.of(agent, since=before[-2:][0] if turns and turns[0].number > 1 else None)
    read = tuple(note for note in notes if note.taken_into)
    return Sight(turns=turns, upto=upto, notes=read, waiting=waiting, budget=budget)
