"""The settings of a channel's last new agent, offered as defaults for the next one."""

import json
from decimal import Decimal

from agent_core.model.agent_policy import Policy
from agent_core.model.channels import ChannelScope
from agent_core.model.draft import AgentDraft
from agent_core.ports.database import UnitOfWork

LAST_DRAFT_KEY = "last draft"


def save_last_draft(work: UnitOfWork, channel: ChannelScope, draft: AgentDraft) -> None:
    """Save a draft without the classes that need no approval, which each person chooses."""
    policy = draft.policy
    fields = {
        "name": draft.name,
        "role": draft.role,
        "goals": draft.goals,
        "budget": str(draft.budget) if draft.budget is not None else None,
        "model": draft.model,
        "policy": {"approvers": policy.approvers, "verbosity": policy.verbosity},
    }
    work.preferences.put(channel, LAST_DRAFT_KEY, json.dumps(fields))


async def load_last_draft(work: UnitOfWork, channel: ChannelScope) -> AgentDraft | None:
    text = await work.preferences.get(channel, LAST_DRAFT_KEY)
    if text is None:
        return None
    fields = json.loads(text)
    policy = Policy(approvers=fields["policy"]["approvers"], verbosity=fields["policy"]["verbosity"])
    budget = Decimal(fields["budget"]) if fields["budget"] is not None else None
    return AgentDraft(**{**fields, "goals": tuple(fields["goals"]), "budget": budget, "policy": policy})
