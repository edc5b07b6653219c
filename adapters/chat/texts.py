"""Sentences shown alike on all chat platforms: creations, settings, waits and their ends, forwarded messages."""

from adapters.screens.cards import after_alert, lease_text, status_text, turn_card
from adapters.screens.text_fit import cut
from adapters.screens.turn_state import RUNNING
from adapters.screens.ui_text import approvers_text, deleted_text, effort_text, free_text, model_text, two_text
from adapters.screens.visible_text import one_line, readable
from agent_core.model.agent import Agent, Finished, Paused
from agent_core.model.note import Notice
from agent_core.model.origin import Actor
from agent_core.model.turn import Turn
from agent_core.service.housekeeping.deleting import Deleted

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
    asks = "Every other command waits for your approval." if free_text(agent) else "Nothing runs before you approve."
    return f"Reply in this thread to talk to it, or write !help. {asks}"


def settings_lines(agent: Agent) -> tuple[str, ...]:
    """The settings of an agent besides its role and goals, one per line."""
    model = model_text(agent) or "the default model"
    facts = (f"Started by {agent.owner.in_full}", model, effort_text(agent), f"turn {agent.turns}")
    return (
        " · ".join(filter(None, facts)),
        f"Who may approve: {approvers_text(agent)}",
        free_text(agent) or "Every command asks",
        *filter(None, [two_text(agent)]),
        *([lease_text(agent)] if agent.lease else []),
    )


def wait_text(agent: Agent, turn: Turn | None) -> str:
    """What an agent waits for, in reminders and direct messages.

    For example `🔺 execute · Ada needs approval: turn 3, execute_python_file`; or how the agent ended.
    """
    name = one_line(readable(agent.title))
    if isinstance(agent.status, Finished):
        return f"{name} is done{f' with run {agent.schedule.runs}' if agent.schedule and agent.schedule.runs else ''}."
    if turn is None:
        reason = f": {one_line(readable(agent.status.reason))}" if isinstance(agent.status, Paused) else ""
        return f"{name} is paused{reason}"
    card = turn_card(agent, turn)
    what = "an answer to a tool server" if turn.open_question else "approval"
    if first := turn.first_approval:
        what = f"a second approval, after {first.by.in_full}"
    return after_alert(card.risks, f"{name} needs {what}: turn {turn.number}, {one_line(card.command)}")


def end_text(agent: Agent, turn: Turn | None) -> str:
    """How a wait ended: `Ada · turn 3 · write_to_file · approved by @ben, 10:42 UTC`, or what the agent does now."""
    if turn is None:
        return f"{one_line(readable(agent.title))}: {one_line(readable(status_text(agent)))}"
    card = turn_card(agent, turn)
    return one_line(
        f"{card.headline} · {card.standing.removesuffix(RUNNING)}"
    )  # nobody edits this when the command ends


HOW_AGAIN = "To let it work again by itself at certain times, use /agent schedule."  # where the form has no room for it
FORWARDS = "I forward a message of"
MAX_SHARED = 18_000  # UTF-16 units


def forwarded_text(author: str, text: str) -> str:
    """A forwarded message, quoted line by line: these are not the words of the person who sent it."""
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    return f"{FORWARDS} {author}, whose words are not mine:\n{quoted}"


def table_text(table: str) -> str:
    return f"I add a table:\n{table}"


def joined(parts: list[str]) -> str:
    """The parts as one text that fits into a note."""
    return cut("\n\n".join(parts), MAX_SHARED)
