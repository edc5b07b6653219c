"""The words of reminders and direct messages, the same on all chat platforms. They never quote arguments."""

from adapters.screens.cards import status_text, turn_card
from adapters.screens.turn_state import RUNNING
from adapters.screens.visible_text import one_line, readable
from agent_core.model.agent import Agent, Finished, Paused
from agent_core.model.turn import Turn


def wait_text(agent: Agent, turn: Turn | None) -> str:
    """What an agent waits for: `⚠ execute · Ada waits for a decision: turn 3, execute_python_file`; or its end."""
    name = one_line(readable(agent.title))
    if isinstance(agent.status, Finished):
        return f"{name} is done."
    if turn is None:
        reason = f": {one_line(readable(agent.status.reason))}" if isinstance(agent.status, Paused) else ""
        return f"{name} is paused{reason}"
    card = turn_card(agent, turn)
    what = "an answer to a tool server" if turn.open_question else "a decision"
    asks = f"{name} waits for {what}: turn {turn.number}, {one_line(card.command)}"
    return card.marked_headline.replace(card.headline, asks)


def end_text(agent: Agent, turn: Turn | None) -> str:
    """How a wait ended: `Ada · turn 3 · write_to_file · approved by @ben, 10:42 UTC`, or what the agent does now."""
    if turn is None:
        return f"{one_line(readable(agent.title))}: {one_line(readable(status_text(agent)))}"
    card = turn_card(agent, turn)
    return f"{card.headline} · {card.standing.removesuffix(RUNNING)}"  # nobody edits this when the command ends
