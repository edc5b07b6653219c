"""The defaults for a channel's next agent: the settings of its last new one."""

import json
from decimal import Decimal

from agent_core.model.agent_policy import Policy
from agent_core.model.channels import ChannelScope
from agent_core.model.draft import AgentDraft
from agent_core.ports.database import UnitOfWork

AGENT_DEFAULTS_KEY = "last draft"


def save_agent_defaults(work: UnitOfWork, channel: ChannelScope, draft: AgentDraft) -> None:
    """Save the settings of a new agent, except its free classes: each person chooses these for each agent."""
    policy = draft.policy
    fields = {
        "name": draft.name,
        "role": draft.role,
        "goals": draft.goals,
        "budget": str(draft.budget) if draft.budget is not None else None,
        "model": draft.model,
        "policy": {"approvers": policy.approvers, "verbosity": policy.verbosity},
    }
    work.preferences.put(channel, AGENT_DEFAULTS_KEY, json.dumps(fields))


async def load_agent_defaults(work: UnitOfWork, channel: ChannelScope) -> AgentDraft | None:
    text = await work.preferences.get(channel, AGENT_DEFAULTS_KEY)
    if text is None:
        return None
    fields = json.loads(text)
    policy = Policy(approvers=fields["policy"]["approvers"], verbosity=fields["policy"]["verbosity"])
    budget = Decimal(fields["budget"]) if fields["budget"] is not None else None
    return AgentDraft(**{**fields, "goals": tuple(fields["goals"]), "budget": budget, "policy": policy})
