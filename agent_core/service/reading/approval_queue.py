"""What waits for one person: proposals to decide, servers to answer, and paused agents to resume. Read-only."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.model.agent import Acting, Agent, Awaiting, Finished, Stopped, Thinking
from agent_core.model.origin import Actor, ChannelScope, SurfaceName
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_decide
from agent_core.ports.database import Database
from agent_core.service.housekeeping.deleting import newest_turn

MAX_READ, MAX_WAITING_AGENTS, MAX_NEWEST = 1000, 100, 50


@dataclass(frozen=True, slots=True)
class WaitingAgent:
    """An agent that waits for a person, and its open turn, or that whose server asks; None for a paused agent."""

    agent: Agent
    turn: Turn | None


@dataclass(frozen=True, slots=True)
class Survey:
    """What goes on beside that: agents under a lease that the person may revoke, at work, done last, between runs."""

    leased: tuple[Agent, ...]
    running: tuple[Agent, ...]
    finished: tuple[Agent, ...]
    between_runs: tuple[Agent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQueue:
    """The agents that wait for one person, in all channels that are asked for."""

    database: Database

    async def list_agents(self, by: Actor, channels: Sequence[ChannelScope]) -> tuple[Agent, ...]:
        """The agents that wait and for which this person may decide, longest waiting first.

        Of more than a thousand waiting agents, the thousand that wait longest are considered.
        """
        if not channels:
            return ()
        async with self.database.begin() as work:
            waiting = await work.agents.list_awaiting_people(channels, MAX_READ)
        return tuple(agent for agent in waiting if may_decide(agent, by))

    async def survey(self, by: Actor, channels: Sequence[ChannelScope]) -> Survey:
        """What goes on in these channels; of agents that ended those among the newest changes, the last first."""
        async with self.database.begin() as work:
            agents = [agent for channel in channels for agent in await work.agents.of(channel)]
            surfaces = list({channel.surface for channel in channels})
            newest = await work.agents.list_changed_last(surfaces, most=MAX_NEWEST)
        may_revoke = (a for a in agents if a.lease and (a.lease.granted_by.id == by.id or may_decide(a, by)))
        running = (a for a in agents if isinstance(a.status, Thinking | Acting) and not a.asks)
        ended = (a for a in newest if isinstance(a.status, Finished | Stopped) and not a.parent)
        resting = (a for a in agents if a.is_between_runs)
        return Survey(tuple(may_revoke), tuple(running), tuple(ended), tuple(resting))

    async def find_finished(self, owner: Actor, surface: SurfaceName) -> Agent | None:
        """The owner's agent that finished last, among the newest changes of the surface."""
        async with self.database.begin() as work:
            newest = await work.agents.list_changed_last((surface,), most=MAX_NEWEST)
        return next((each for each in newest if isinstance(each.status, Finished) and each.owner.id == owner.id), None)

    async def list_waiting(self, agents: Sequence[Agent]) -> tuple[WaitingAgent, ...]:
        """The given agents with their open turns, at most MAX_WAITING_AGENTS: those that ask, then those paused."""
        ordered = sorted(agents, key=lambda agent: not _asks(agent))  # keeps the order of waiting
        found: list[WaitingAgent] = []
        async with self.database.begin() as work:
            for agent in ordered[:MAX_WAITING_AGENTS]:
                turn = await newest_turn(work, agent) if _asks(agent) else None
                if not agent.asks or (turn and turn.open_question):
                    found.append(WaitingAgent(agent, turn))
        return tuple(found)


def _asks(agent: Agent) -> bool:
    return agent.asks or isinstance(agent.status, Awaiting)
