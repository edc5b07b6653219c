"""What an agent has before it when it thinks: its newest turns, what people wrote, what the channel may spend."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from agent_core.model.agent import Agent
from agent_core.model.note import Note
from agent_core.model.turn import Turn
from agent_core.model.usage import Budget
from agent_core.oversight.repetition import LOOKBACK_TURNS, find_repetition
from agent_core.ports.database import UnitOfWork
from agent_core.spending.helper_tree import budget_of

MAX_TURNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """`turns` are the newest in order, `upto` the number of the last one that only the summary tells.

    `notes` are those that these turns read, and `waiting` those that the next one will. `circling` is what the agent
    repeats that brings it no further, or "". `own` is what it may spend, `budget` what its channel may.
    """

    turns: tuple[Turn, ...]
    upto: int
    notes: tuple[Note, ...]
    waiting: tuple[Note, ...]
    own: Budget
    budget: Budget
    circling: str


async def load_turn_context(work: UnitOfWork, agent: Agent) -> TurnContext:
    """Read what the agent has before it."""
    upto = agent.digest.upto
    last = min(MAX_TURNS, max(LOOKBACK_TURNS, agent.turns - upto))
    turns, waiting, own, budget = await asyncio.gather(
        work.turns.of(agent, last=last),
        work.notes.list_waiting(agent),
        budget_of(work, agent),
        work.budgets.of(agent.channel),
    )
    notes = await work.notes.of(agent, since=_first_read(turns, upto))
    read = tuple(note for note in notes if note.taken_into)
    circling = find_repetition(turns)
    return TurnContext(turns=turns, upto=upto, notes=read, waiting=waiting, own=own, budget=budget, circling=circling)


def _first_read(turns: tuple[Turn, ...], upto: int) -> datetime | None:
    """When the turn before the first shown one was proposed: what the shown ones read was written after that."""
    if not turns or turns[0].number == 1:
        return None
    older = [turn for turn in turns if turn.number <= upto]
    return (older[-1] if older else turns[0]).proposed_at
