"""All agents of a database."""

from agent_core.model.agent import Agent
from agent_core.ports.database import UnitOfWork


async def everyone(work: UnitOfWork) -> tuple[Agent, ...]:
    """Agents of all channels, oldest first."""
    channels = dict.fromkeys(count.channel for count in await work.agents.census())
    found = [agent for channel in channels for agent in await work.agents.of(channel)]
    return tuple(sorted(found, key=lambda agent: agent.id))
