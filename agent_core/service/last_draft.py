"""The settings of a channel's last new agent, offered as defaults for the next one."""

import json
from dataclasses import asdict, replace

from pydantic import TypeAdapter

from agent_core.model.channels import ChannelScope
from agent_core.model.draft import AgentDraft
from agent_core.ports.database import UnitOfWork

LAST_DRAFT_KEY = "last draft"
ADAPTER = TypeAdapter(AgentDraft)


def save_last_draft(work: UnitOfWork, channel: ChannelScope, draft: AgentDraft) -> None:
    """Save a draft without the classes that need no approval, which each person chooses."""
    kept = replace(draft, policy=replace(draft.policy, free=()))
    work.preferences.put(channel, LAST_DRAFT_KEY, json.dumps(asdict(kept), default=str))


async def load_last_draft(work: UnitOfWork, channel: ChannelScope) -> AgentDraft | None:
    text = await work.preferences.get(channel, LAST_DRAFT_KEY)
    return ADAPTER.validate_python(json.loads(text)) if text else None
