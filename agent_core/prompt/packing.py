"""What of an agent's work goes into a prompt: what never changes first, what changes every turn last."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_core.model.agent import Agent
from agent_core.model.command import Arguments, CommandSpec
from agent_core.model.decision import ApproveEdited, Reject
from agent_core.model.ids import TurnId
from agent_core.model.messages import Message
from agent_core.model.note import Note
from agent_core.model.turn import Turn, text_of
from agent_core.prompt.system import standing_prompt

LONG_ARGUMENT = 200
LONG_RESULT = 480
NEWEST_RESULT = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that a prompt is made from. `turns` are the newest ones in order, `notes` all those they read or will."""

    agent: Agent
    commands: Sequence[CommandSpec]
    turns: Sequence[Turn]
    notes: Sequence[Note]
    now: datetime


def pack(situation: Situation, *, window: int, count: Callable[[str], int]) -> tuple[Message, ...]:
    """The prompt, in at most `window` tokens by `count`: the oldest turns are left out first."""
    standing = Message("system", standing_prompt(situation.agent, situation.commands))
    trigger = Message("user", _trigger(situation))
    room = window - count(standing.content) - count(trigger.content)
    history: list[Message] = []
    for messages in reversed(_history(situation)):
        room -= sum(count(message.content) for message in messages)
        if room < 0:
            break
        history[:0] = messages
    return (standing, *history, trigger)


def _history(situation: Situation) -> list[tuple[Message, ...]]:
    turns = situation.turns
    return [
        (
            *_said_before(turn.id, situation.notes),
            Message("assistant", _lean(turn)),
            Message("user", _outcome(turn, most=NEWEST_RESULT if turn is turns[-1] else LONG_RESULT)),
        )
        for turn in turns
    ]


def _said_before(turn_id: TurnId, notes: Sequence[Note]) -> tuple[Message, ...]:
    said = [note for note in notes if note.taken_into == turn_id]
    return (Message("user", _people_wrote(said)),) if said else ()


def _people_wrote(notes: Sequence[Note]) -> str:
    return "\n".join(("People wrote:", *(f"{note.by}: {note.text}" for note in notes)))


def _lean(turn: Turn) -> str:
    """The past reply without what the result or a file can tell again."""
    thoughts = {"text": turn.proposal.thoughts.text}
    call = turn.proposal.call
    command = {"name": call.name, "args": _shortened(call.arguments)}
    return json.dumps({"thoughts": thoughts, "command": command}, ensure_ascii=False)


def _shortened(arguments: Arguments) -> Mapping[str, object]:
    return {
        name: f"({len(value):,} characters)" if isinstance(value, str) and len(value) > LONG_ARGUMENT else value
        for name, value in arguments.items()
    }


def _outcome(turn: Turn, *, most: int) -> str:
    name = turn.call.name
    match turn.state:
        case "rejected":
            return f"{name} was not run. {_rejection(turn)}"
        case "withdrawn":
            return f"{name} was not run: {turn.ended_by} stopped you before anybody decided."
        case _ if turn.result is not None:
            return f"{_edits(turn)}Result of {name}: {_cut(text_of(turn.result), most)}"
        case _:
            return f"{name} has no result."


def _rejection(turn: Turn) -> str:
    last = turn.approvals[-1]
    reason = last.decision.reason if isinstance(last.decision, Reject) else ""
    return f"{last.by} rejected it: {reason}" if reason else f"{last.by} rejected it without a reason."


def _edits(turn: Turn) -> str:
    for approval in turn.approvals:
        if isinstance(approval.decision, ApproveEdited):
            given = json.dumps(_shortened(approval.decision.arguments), ensure_ascii=False)
            return f"{approval.by} changed the arguments before it ran, to {given}. "
    return ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n({len(text) - most:,} more characters are not shown.)"


def _trigger(situation: Situation) -> str:
    agent, waiting = situation.agent, [note for note in situation.notes if note.taken_into is None]
    budget = agent.budget
    lines = [f"It is {situation.now:%A, %d %B %Y, %H:%M} UTC. This will be turn {agent.turns + 1}."]
    if budget.limit is not None:
        lines.append(f"You have spent ${budget.spent:.2f} of your budget of ${budget.limit:.2f}.")
    if waiting:
        lines.append(_people_wrote(waiting))
    if agent.complaint:
        lines.append(f"Your last reply could not be used: {agent.complaint} Nothing was run.")
    lines.append("Choose the next single command and reply in the JSON format given above.")
    return "\n".join(lines)
