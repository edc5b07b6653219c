"""Sentences about agents that the chat platforms show in the same words."""

from adapters.cards import free_text, lease_text
from adapters.ui_text import effort_text, model_text
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.note import Notice

AT_REST = ("stopped", "paused", "finished")  # the kinds of notices that offer Resume


def creation_text(agent: Agent) -> str:
    return f"{agent.name} was created and is thinking. Its thread opens in this channel."


def deletion_text(agent: Agent, by: Actor) -> str:
    return f"{agent.name} was deleted by {by}, with its history, memory and files."


def notice_text(name: str, notice: Notice) -> str:
    """The text of a notice, with the agent's name before it unless it begins with `NAME is`."""
    return notice.text if notice.text.startswith(f"{name} is ") else f"{name}: {notice.text}"


def settings_lines(agent: Agent) -> tuple[str, ...]:
    """The settings of an agent besides its role and goals, one per line."""
    policy = agent.policy
    model = model_text(agent) or "the default model"
    facts = (f"Started by {agent.owner}", model, effort_text(agent), f"turn {agent.turns}")
    return (
        " · ".join(filter(None, facts)),
        f"Who may approve: {f'only {agent.owner}' if policy.approvers == 'owner' else 'anyone here'}",
        free_text(agent) or "Every command asks",
        *([lease_text(agent)] if agent.lease else []),
    )
