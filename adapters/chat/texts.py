"""Sentences about agents that the chat platforms show in the same words."""

from adapters.screens.cards import lease_text
from adapters.screens.ui_text import deleted_text, effort_text, free_text, model_text
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.origin import Actor
from agent_core.service.deleting import Deleted

AT_REST = ("stopped", "paused", "finished")  # the kinds of notices that offer Resume


def creation_text(agent: Agent) -> str:
    return f"{agent.name} was created and is thinking. Its thread opens in this channel."


def deletion_text(deleted: Deleted, by: Actor) -> str:
    """What was deleted, and what stays, for people in the channel."""
    return f"{deleted_text(deleted, by)} Messages that were posted here stay."


def notice_text(name: str, notice: Notice) -> str:
    """The text of a notice, with the agent's name before it unless it begins with `NAME is`."""
    return notice.text if notice.text.startswith(f"{name} is ") else f"{name}: {notice.text}"


def how_to_talk(agent: Agent) -> str:
    """How to talk to an agent: the last line of the first message of its thread."""
    asks = "Every other command waits for your approval." if agent.policy.free else "Nothing runs before you approve."
    return f"Reply in this thread to talk to it, or write !help. {asks}"


def settings_lines(agent: Agent) -> tuple[str, ...]:
    """The settings of an agent besides its role and goals, one per line."""
    policy = agent.policy
    model = model_text(agent) or "the default model"
    facts = (f"Started by {agent.owner.in_full}", model, effort_text(agent), f"turn {agent.turns}")
    return (
        " · ".join(filter(None, facts)),
        f"Who may approve: {f'only {agent.owner.in_full}' if policy.approvers == 'owner' else 'anyone here'}",
        free_text(agent) or "Every command asks",
        *([lease_text(agent)] if agent.lease else []),
    )
