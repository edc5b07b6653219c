"""The defaults for a channel's next agent: the settings of its last new one."""

import json
from dataclasses import asdict, replace

from pydantic import TypeAdapter

from agent_core.model.agent import Agent
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import UnitOfWork

AGENT_DEFAULTS_KEY = "last draft"
ADAPTER = TypeAdapter(AgentDraft)


def save_agent_defaults(work: UnitOfWork, channel: ChannelScope, draft: AgentDraft) -> None:
    """Save the settings of a new agent, except its free classes: each person chooses these for each agent."""
    defaults = replace(draft, policy=replace(draft.policy, free=()))
    work.preferences.put(channel, AGENT_DEFAULTS_KEY, json.dumps(asdict(defaults), default=str))


async def load_agent_defaults(work: UnitOfWork, channel: ChannelScope) -> AgentDraft | None:
    text = await work.preferences.get(channel, AGENT_DEFAULTS_KEY)
    return ADAPTER.validate_python(json.loads(text)) if text else None


async def forget_agent_defaults(work: UnitOfWork, agent: Agent) -> None:
    """Forget the settings that a deleted agent left for the channel's next one."""
    last = await load_agent_defaults(work, agent.channel)
    if last and last.name.casefold() == agent.name.casefold():
        work.preferences.put(agent.channel, AGENT_DEFAULTS_KEY, "")
