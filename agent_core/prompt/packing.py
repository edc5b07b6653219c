"""Packs the full prompt into the context window: standing prompt, summary, history, then what changes each time.

    [standing prompt] [summary] [turn] [turn] … [newest turn] | [rest of a long result] [memories] [time, budget, notes]
     the same bytes    rewritten  only grows                  | different every turn
                       at compaction

Providers bill a prefix that a prompt shares with an earlier one at 10 to 50 % of its price (prompt caching).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from agent_core.errors import ModelRefused
from agent_core.model.agent import Agent
from agent_core.model.command import CommandSpec
from agent_core.model.model_calls import Message
from agent_core.model.note import Note
from agent_core.model.records.memory import Recalled
from agent_core.model.turn import Turn
from agent_core.oversight.untrusted_content import is_from_outside
from agent_core.prompt.history import (
    MAX_NOTES_CHARACTERS,
    MAX_RESULT_CHARACTERS,
    MAX_THOUGHT_CHARACTERS,
    READ_TURN,
    indent,
    notes_read_by,
    notes_text,
    outcome,
    past_reply,
    quote,
    truncate,
)
from agent_core.prompt.system import standing_prompt

TOKENS_PER_MESSAGE, TOKENS_PER_PROMPT = 4, 3  # besides the text, in OpenAI's chat format
MIN_TURNS = 4
MAX_KEPT_TURNS = 128  # of 150,000 characters at most
COMMANDS_SETTING = "in the settings"
NOTHING_YET = "You have done nothing yet."


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a prompt is made from. `turns` are those that the summary does not cover, in order.

    `notes`: those that these turns read, and those for the next turn.
    `recalled`: memories that long-term memory offers.
    `circling`: a sentence on what the agent repeats, or "".
    `commands_setting`: the setting that switches commands off, for error messages.
    `guidance`: lines that plugins add to the standing prompt.
    """

    agent: Agent
    commands: Sequence[CommandSpec]
    turns: Sequence[Turn]
    notes: Sequence[Note]
    now: datetime
    recalled: Sequence[Recalled] = ()
    circling: str = ""
    commands_setting: str = COMMANDS_SETTING
    guidance: Sequence[str] = ()

    @property
    def run_line(self) -> str:
        """What the model reads of the open run of its schedule, or ""."""
        run = self.agent.schedule.open if self.agent.schedule else None
        if run is None:
            return ""
        before = f"what you did up to turn {run.after_turn} was before it"
        return f"This is run {run.number} of your schedule; {before}. Work on your goals anew, then finish."


@dataclass(frozen=True, slots=True)
class TokenRoom:
    """The tokens that a whole prompt may take, and the counter of a text's tokens."""

    tokens: int
    count: Callable[[str], int]

    def taken_by(self, messages: Iterable[Message]) -> int:
        return sum(TOKENS_PER_MESSAGE + message.tokens(self.count) for message in messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingLimits:
    """The most characters of each part of a prompt. `pack` tries several such limits and uses the first that fit."""

    newest: int
    notes: int
    summary: int
    result: int = MAX_RESULT_CHARACTERS
    thought: int = MAX_THOUGHT_CHARACTERS
    read_notes: int = MAX_NOTES_CHARACTERS
    recalled: int = 700
    complaint: int = 2_000


LIMITS = (
    PackingLimits(newest=8_000, notes=40_000, summary=2_000),
    PackingLimits(newest=4_000, notes=12_000, summary=2_000),
    PackingLimits(newest=1_500, notes=4_000, summary=2_000, recalled=600),
    PackingLimits(newest=480, notes=1_200, summary=1_000, recalled=300),
    PackingLimits(newest=0, notes=300, summary=300, result=120, recalled=0, complaint=600),
    PackingLimits(newest=0, notes=80, summary=80, result=80, thought=80, read_notes=80, recalled=0, complaint=200),
)


def pack(situation: Situation, room: TokenRoom) -> tuple[Message, ...]:
    """The prompt, never larger than the room: the oldest turns are dropped first, the newest is always included.

    Raise ModelRefused if not even the smallest limits fit.
    """
    wanted, first = min(MIN_TURNS, len(situation.turns)), None
    for measure in LIMITS:
        layout = _try_limits(situation, room, measure)
        if layout and layout.turns >= wanted:
            return layout.messages
        first = first or layout
    if first is None:
        raise ModelRefused(_too_long(situation, room))
    return first.messages


def shared_prefix(situation: Situation) -> tuple[Message, ...]:
    """The part of the prompt that consecutive prompts share: standing prompt, summary, history."""
    return (_system_message(situation), _summary_message(situation, LIMITS[0].summary), *turn_messages(situation))


def turn_messages(situation: Situation) -> tuple[Message, ...]:
    """The turns that the summary does not cover, as every prompt shows them."""
    return tuple(message for turn in situation.turns for message in _turn_messages(turn, situation, LIMITS[0]))


@dataclass(frozen=True, slots=True)
class PackedPrompt:
    """A prompt that fits, and how many turns it shows."""

    messages: tuple[Message, ...]
    turns: int


def _try_limits(situation: Situation, room: TokenRoom, measure: PackingLimits) -> PackedPrompt | None:
    older, newest = situation.turns[:-1], situation.turns[-1:]
    first = (_system_message(situation), _summary_message(situation, measure.summary))
    told = (message for turn in newest for message in _turn_messages(turn, situation, measure))
    last = (*told, _closing_message(situation, measure))
    left = room.tokens - TOKENS_PER_PROMPT - room.taken_by((*first, *last))
    if left < 0:
        return None
    older_told: list[Message] = []
    shown = len(newest)
    for turn in reversed(older):
        messages = _turn_messages(turn, situation, LIMITS[0])
        left -= room.taken_by(messages)
        if left < 0:
            break
        older_told[:0] = messages
        shown += 1
    return PackedPrompt((*first, *older_told, *last), shown)


def _system_message(situation: Situation) -> Message:
    return Message("system", standing_prompt(situation.agent, situation.commands, situation.guidance))


def _summary_message(situation: Situation, most: int) -> Message:
    digest = situation.agent.digest
    if not digest.upto:
        return Message("user", NOTHING_YET)
    told = f"What you did up to turn {digest.upto}, in short:\n{quote(truncate(digest.summary, most, 0))}"
    recalled = "".join(f"\n- {indent(text)}" for text in digest.recalled) if most >= LIMITS[0].summary else ""
    return Message("user", f"{told}\n\nFrom your long-term memory:{recalled}" if recalled else told)


def _turn_messages(turn: Turn, situation: Situation, measure: PackingLimits) -> tuple[Message, ...]:
    readable = turn.number if _can_read_turns(situation) else 0
    notes = notes_read_by(turn, situation.notes, readable, measure.read_notes)
    before = (Message("user", notes),) if notes else ()
    return (*before, *_reply_and_outcome(turn, readable, measure))


@lru_cache(MAX_KEPT_TURNS)
def _reply_and_outcome(turn: Turn, readable: int, measure: PackingLimits) -> tuple[Message, Message]:
    """Cached, because each prompt shows the turns of the prompt before again."""
    came = truncate(outcome(turn), measure.result, readable)
    return Message("assistant", past_reply(turn, measure.thought)), Message("user", came)


def _can_read_turns(situation: Situation) -> bool:
    return any(command.name == READ_TURN for command in situation.commands)


def _closing_message(situation: Situation, measure: PackingLimits) -> Message:
    agent, waiting = situation.agent, [note for note in situation.notes if note.taken_into is None]
    budget = agent.budget
    lines = [*_rest_of_newest(situation, measure), *_recalled_lines(situation.recalled, measure.recalled)]
    lines.append(f"It is {situation.now:%A, %d %B %Y, %H:%M} UTC. This will be turn {agent.turns + 1}.")
    if situation.run_line:
        lines.append(situation.run_line)
    if budget.limit is not None:
        lines.append(f"You have spent ${budget.spent:.2f} of your budget of ${budget.limit:.2f}.")
    if waiting:
        following = agent.turns + 1 if _can_read_turns(situation) else 0
        lines.append(truncate(notes_text(waiting), measure.notes, following, "notes"))
    if situation.circling:
        lines.append(f"You are going round in a circle: {situation.circling} Choose something else.")
    if agent.complaint:
        lines.append(f"Your last reply could not be used: {agent.complaint[: measure.complaint]} Nothing was run.")
    lines.append("Choose the next single command and reply in the JSON format given above.")
    return Message("user", "\n".join(lines))


def _rest_of_newest(situation: Situation, measure: PackingLimits) -> list[str]:
    """The part of the newest result that the history cuts off. Only the next prompt shows this part."""
    if not situation.turns:
        return []
    newest = situation.turns[-1]
    rest, readable = outcome(newest)[measure.result :], newest.number if _can_read_turns(situation) else 0
    if not rest or not measure.newest:
        return []
    mark = "> " if is_from_outside(newest.result) else ""
    return [
        "Where it was cut, the last result goes on, this once:",
        mark + truncate(rest, measure.newest, readable, start=measure.result),
        "",
    ]


def _recalled_lines(recalled: Sequence[Recalled], most: int) -> list[str]:
    if not recalled or not most:
        return []
    each = most // len(recalled)
    lines = [f"- {one.memory.source}:\n{quote(truncate(one.memory.text, each, 0))}" for one in recalled]
    return ["From your long-term memory, because it is like what you work on now:", *lines, ""]


def _too_long(situation: Situation, room: TokenRoom) -> str:
    standing = room.taken_by((_system_message(situation),))
    return (
        f"The goals and commands take {standing:,} tokens, and the model's window leaves {room.tokens:,} for the whole "
        f"prompt. Shorten the goals, switch commands off ({situation.commands_setting}), or choose a model with a "
        "larger window."
    )
