"""Shows and sets an agent's policy by a typed line: who approves, what runs without asking, what cards show."""

from collections.abc import Sequence
from typing import cast, get_args

from adapters.screens.ui_text import approvers_text, first_word, free_text, two_text
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES, RiskClass
from agent_core.model.decision import CARDS_SHOW, Approvers, PolicyChange, Verbosity
from agent_core.model.origin import Origin
from agent_core.service.agent_settings import AgentSettings

HOW_POLICY = (
    "Policy: write approvers owner or approvers anyone, free CLASSES, ask CLASSES or ask all, two or one CLASSES "
    "(who approve), cards full or brief; policy channel is for all agents here. "
    f"Classes: {', '.join(RISK_CLASSES)}."
)


async def set_policy(settings: AgentSettings, agent: Agent, said: str, origin: Origin) -> str:
    """Change the policy as the text says, if there is one, and show it; raise InvalidInput, NotAllowed, NotPossible."""
    changed = await settings.set_policy(agent.id, parse_policy_change(said), origin) if said else agent
    return policy_text(changed)


def policy_text(agent: Agent) -> str:
    policy = agent.policy
    lines = (
        f"Policy of {agent.name}:",
        f"Who may approve: {approvers_text(agent)}",
        free_text(agent) or "Every command asks",
        *filter(None, [two_text(agent)]),
        f"Cards show {CARDS_SHOW[policy.verbosity]}",
    )
    return "\n".join(lines)


def parse_policy_change(said: str) -> PolicyChange:
    """The change that a line such as `approvers owner` or `ask network execute` asks for; raise InvalidInput."""
    word, rest = first_word(said)
    words = rest.casefold().replace(",", " ").split()
    match word, words:
        case "approvers", [choice] if choice in get_args(Approvers):
            return PolicyChange(approvers=cast("Approvers", choice))
        case "cards", [choice] if choice in get_args(Verbosity):
            return PolicyChange(verbosity=cast("Verbosity", choice))
        case "ask", ["all"]:
            return PolicyChange(asked=RISK_CLASSES)
        case "ask", [_, *_]:
            return PolicyChange(asked=classes_of(words))
        case "two", [_, *_]:
            return PolicyChange(two=classes_of(words))
        case "one", [_, *_]:
            return PolicyChange(one=classes_of(words))
        case "free", [_, *_]:
            return PolicyChange(free=classes_of(words))
        case _:
            raise InvalidInput({"policy": HOW_POLICY})


def classes_of(words: Sequence[str], how: str = HOW_POLICY) -> tuple[RiskClass, ...]:
    """The classes that these words name; raise InvalidInput, which says `how` it is written, for any other word."""
    if unknown := [word for word in words if word not in RISK_CLASSES]:
        raise InvalidInput({"policy": f"{unknown[0][:40]} is no class. {how}"})
    return tuple(risk for risk in RISK_CLASSES if risk in words)
