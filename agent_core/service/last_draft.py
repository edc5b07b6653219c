"""What a channel remembers of the last agent made in it, to offer it again."""

import json
from decimal import Decimal

from agent_core.model.agent_policy import Policy
from agent_core.model.channels import ChannelScope
from agent_core.model.draft import AgentDraft
from agent_core.ports.database import UnitOfWork

KEY = "last draft"


def save_last_draft(work: UnitOfWork, channel: ChannelScope, draft: AgentDraft) -> None:
    """Keep a draft as the channel's last, but for the classes that need no approval: each person chooses those."""
    policy = draft.policy
    kept = {
        "name": draft.name,
        "role": draft.role,
        "goals": draft.goals,
        "budget": str(draft.budget) if draft.budget is not None else None,
        "model": draft.model,
        "policy": {"approvers": policy.approvers, "verbosity": policy.verbosity},
    }
    work.preferences.put(channel, KEY, json.dumps(kept))


async def load_last_draft(work: UnitOfWork, channel: ChannelScope) -> AgentDraft | None:
    """The draft of the channel's last agent, or None in a new channel."""
    text = await work.preferences.get(channel, KEY)
    if text is None:
        return None
    kept = json.loads(text)
    policy = Policy(approvers=kept["policy"]["approvers"], verbosity=kept["policy"]["verbosity"])
    budget = Decimal(kept["budget"]) if kept["budget"] is not None else None
    return AgentDraft(**{**kept, "goals": tuple(kept["goals"]), "budget": budget, "policy": policy})
