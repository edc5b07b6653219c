"""A run at a glance: how long turns took, and who waited for whom. Read-only.

It reads the newest turns only, when somebody opens the page.
"""

from dataclasses import dataclass

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.timing import (
    Median,
    Rest,
    Timing,
    TurnTimes,
    agent_waits,
    people_waits,
    rests_of,
    times_of,
)
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork

MAX_TURNS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The newest MAX_TURNS turns of an agent or a channel.

    `turns`: the steps of each turn in order; empty for a channel.
    `number`: how many turns were read. `is_whole`: whether there are no earlier ones.
    `people`: how long agents waited for people. `agents`: how long people waited for agents; in a channel with their
    time at rest.
    """

    turns: tuple[TurnTimes, ...] = ()
    number: int
    is_whole: bool
    people: Median
    agents: Median


@dataclass(frozen=True, slots=True, kw_only=True)
class Glances:
    """Reads what a glance shows, each in one unit of work."""

    database: Database
    clock: Clock

    async def of_agent(self, channel: ChannelScope, agent_id: AgentId) -> Glance:
        """The glance of one agent; raise NotFound for an agent of another channel."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            found = await work.turns.list_timings(channel, last=MAX_TURNS + 1, agent_id=agent_id)
            timings = found[-MAX_TURNS:]
            rests = await _rests_since(work, agent, timings[0]) if timings else ()
        turns = times_of(timings, rests, begun_at=agent.created_at, now=self.clock.now())
        return _glance(timings, turns, rests, is_whole=len(found) == len(timings))

    async def of_channel(self, channel: ChannelScope) -> Glance:
        """The glance of all agents of a channel that were not deleted."""
        async with self.database.begin() as work:
            found = await work.turns.list_timings(channel, last=MAX_TURNS + 1)
        timings = found[-MAX_TURNS:]
        return _glance(timings, (), (), is_whole=len(found) == len(timings))


async def _rests_since(work: UnitOfWork, agent: Agent, oldest: Timing) -> tuple[Rest, ...]:
    since = None if oldest.number == 1 else oldest.proposed_at
    return rests_of(await work.notes.notices(agent, since=since))


def _glance(
    timings: tuple[Timing, ...], turns: tuple[TurnTimes, ...], rests: tuple[Rest, ...], *, is_whole: bool
) -> Glance:
    return Glance(
        turns=turns,
        number=len(timings),
        is_whole=is_whole,
        people=people_waits(timings),
        agents=agent_waits(timings, rests),
    )
