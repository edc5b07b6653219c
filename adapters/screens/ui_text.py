"""Short texts that several surfaces show: policy and Approve ×N in words, excerpts, ages, sizes, deletions, faults."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from adapters.screens.text_fit import beginning, ending, fits
from agent_core.errors import CommitUnknown, DatabaseAway
from agent_core.model.agent import Agent
from agent_core.model.channel_policy import NO_POLICY
from agent_core.model.command import RISK_CLASSES, STEPS
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS
from agent_core.model.origin import Actor
from agent_core.model.permissions import covered_classes
from agent_core.model.records.deletion import Retention
from agent_core.model.turn import Turn
from agent_core.service.housekeeping.deleting import Deleted
from agent_core.text.lines import counted, listed

APPROVE_TIMES = (3, 5, 10)
HEAD_LINES, TAIL_LINES, EXCERPT_CHARACTERS = 8, 4, 1200
JUST_NOW = "just now"
STOP_MEANS = "This ends what it is doing. It continues only after Resume."
DELETE_MEANS = "This removes its history, memory and files."
CUT_TO_FIT = "The command is too long to show here in full. Read the rest before you approve."
REVIEWS = "The model reviews its own proposal. This may take a minute; the review then appears on the card."
MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "m4a": "audio/mp4",
}  # no SVG: an SVG file can contain scripts
APPROVE_N, OPEN_CARD = "Approve ×N", "Open card"
REPLY_DOES = "Note · Ask: end with ? · Reject with reason: “no, …” or what to change"
LEFT = {
    "files": "Some of its files could not be removed yet; they are removed later.",
    "index": "Its entries in the vector index are removed as soon as the index can be reached.",
}
SAY_LABELS = {"note": "Note", "ask": "Ask", "reject": "Reject with reason"}
TOO_LONG_TO_EDIT = "The arguments are too long to edit here. Reject with a reason that says what to change."


@dataclass(frozen=True, slots=True)
class HelpText:
    """The commands people can type in one place, each with its meaning; every surface formats it in its own way."""

    title: str
    commands: tuple[tuple[str, str], ...]
    closing: str

    @property
    def text(self) -> str:
        """Plain text, one command per line."""
        lines = [f"{command} – {meaning}" for command, meaning in self.commands]
        return "\n".join([f"{self.title}:", *lines, self.closing])


WENT_WRONG = "Something went wrong inside Signoff; the log says what. Nothing was decided: try again."
AWAY = "Signoff cannot reach its database now. Nothing was decided: try again."
MAYBE_SAVED = "Signoff's database went away while this was saved. Look whether it took effect before you try again."


def when_read(agent: Agent) -> str:
    """When an agent at rest reads a note."""
    return "in its next run, or when you resume" if agent.is_between_runs else "when you resume"


def free_text(agent: Agent) -> str:
    """Which risk classes run without asking and who chose that, or "" if every command asks."""
    own, channel, two = agent.policy_in_force.free, agent.channel_policy, agent.policy_in_force.two
    own_rules = (each for each in agent.read_rules if each.effect == "allow" and each.agent_id in (None, agent.id))
    rules = [each for each in own_rules if each.left != 0]
    parts = (
        f"{', '.join(own)} (chosen by {agent.free_chooser})" if own else "",
        *(f"{risk} (for this channel, by {by})" for risk, by in channel.free_by.items() if risk not in two),
        f"what {counted(len(rules), 'standing rule')} {'allows' if len(rules) == 1 else 'allow'}" if rules else "",
    )
    return f"Runs without asking: {'; '.join(filter(None, parts))}" if any(parts) else ""


SECOND = "Another person must approve it too."


def two_text(agent: Agent) -> str:
    """Which risk classes two people approve and which never run, or "" if one person approves every command."""
    two, never = agent.policy_in_force.two, agent.channel_policy.classes("never")
    parts = (
        f"Two people approve: {', '.join(two)}" if two else "",
        f"Never runs in this channel: {', '.join(never)}" if never else "",
    )
    return ". ".join(filter(None, parts))


def approvers_text(agent: Agent) -> str:
    """Who may approve, as the end of a sentence."""
    if agent.policy.approvers == "owner":
        return f"only {agent.owner.in_full}"
    approvers = agent.channel_policy.approvers
    who = "anyone here" if approvers == NO_POLICY.approvers else listed(map(str, approvers))
    return who if agent.channel_policy.makers_approve else f"{who}; its execute and publish, not {agent.owner.in_full}"


def deciders_text(agent: Agent, reader: Actor) -> str:
    """Who decides on the agent's commands, for a person who may not."""
    who = agent.owner.in_full if agent.policy.approvers == "owner" else approvers_text(agent)
    who = "full members of this channel" if who == "anyone here" else who
    namesake = f", who is another person than you, {who}" if who == reader.in_full else ""
    return f"Decisions here: {who}{namesake}"


def covered_text(turn: Turn) -> str:
    """Say what Approve ×N on this turn lets run without asking, what asks all the same, and what pauses it."""
    runs, asks = covered_parts(turn)
    return f"The next steps run without asking: {runs}. Not included: {asks}. A note from anyone pauses this."


def covered_parts(turn: Turn) -> tuple[str, str]:
    """What an Approve ×N on this turn lets run without asking, and what it does not include."""
    covered = covered_classes(turn.risks)
    own = [STEPS[risk] for risk in covered] + ([f"tools of {turn.source_name}"] if turn.source else [])
    asked = [STEPS[risk] for risk in RISK_CLASSES if risk not in covered]
    others = "other plugins and servers" if turn.source else "plugins and servers"
    return ", ".join(own), ", ".join((*asked, others, "finishing"))


def most_times(continuous_limit: int | None) -> int:
    """The highest N of Approve ×N under the operator's limit (None: no limit of the operator)."""
    return min(continuous_limit or MAX_LEASE_COMMANDS, MAX_LEASE_COMMANDS)


def offered_times(continuous_limit: int | None, first: int = 0) -> tuple[int, ...]:
    """The N of Approve ×N that a card offers, the channel's `first`; none if the operator's limit is 1."""
    most = most_times(continuous_limit)
    wanted = dict.fromkeys((first or APPROVE_TIMES[0], *APPROVE_TIMES))
    fitting = tuple(times for times in wanted if times <= most)[: len(APPROVE_TIMES)]
    return fitting or ((most,) if most >= MIN_LEASE_COMMANDS else ())


def head_and_tail(text: str, most: int = EXCERPT_CHARACTERS) -> tuple[str, bool]:
    """A short text whole; of a long one the first and last lines, around a line that counts what is left out.

    `most`: the maximum size of the shown lines, in UTF-16 code units. The second value: whether text was left out.
    """
    text = text.rstrip("\n")
    lines = text.splitlines()
    is_long = len(lines) > HEAD_LINES + TAIL_LINES + 1  # a line that says what is left out takes one line itself
    if not is_long and fits(text, most):
        return text, False
    first = "\n".join(lines[:HEAD_LINES]) if is_long else text
    last = "\n".join(lines[-TAIL_LINES:]) if is_long else text
    head, tail = beginning(first, most * 2 // 3), ending(last, most // 3)
    if (head, tail) == (first, last):
        left = counted(len(lines) - HEAD_LINES - TAIL_LINES, "line")
    else:
        left = counted(len(text) - len(head) - len(tail), "character")
    return f"{head}\n… {left} left out …\n{tail}", True


def more_text(count: int) -> str:
    """The mark at the end of a text from which `count` characters were cut."""
    return f"… {counted(count, 'more character')}: Show all"


def ago(since: datetime, now: datetime) -> str:
    """When something happened: `5 min ago`, `just now`."""
    elapsed = age(since, now)
    return elapsed if elapsed == JUST_NOW else f"{elapsed} ago"


def age(since: datetime, now: datetime) -> str:
    """The time since then in one unit: `5 min`; `just now` for less than a minute."""
    seconds = max(0, int((now - since).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return JUST_NOW


def deletion_note(agent: Agent, agents: Iterable[Agent], retention: Retention) -> str:
    """When an agent at rest is deleted, to follow its state in a list: ` · deleted on 14 Mar 2026`, or "".

    `agents`: its helpers, and others.
    """
    date = retention.deletion_date(agent, (each for each in agents if each.head == agent.id))
    return f" · deleted on {date.day} {date:%b %Y}" if date else ""


def deleted_text(deleted: Deleted, by: Actor) -> str:
    """What was deleted with an agent and its helpers, and what is left."""
    counts = (
        counted(deleted.turns, "turn"),
        counted(deleted.notes, "note"),
        counted(deleted.memories, "memory"),
        f"{counted(deleted.files, 'file')} ({size_text(deleted.file_bytes)})",
    )
    said = f"{deleted.agent.name} was deleted by {by}, with its history, memory and files: {', '.join(counts)}."
    later = "".join(f" {LEFT[place]}" for place in deleted.left)
    entries = counted(deleted.log_entries, "entry")
    return f"{said}{later} The decision log keeps {entries} without their texts: who, when and hashes."


def size_text(size: int) -> str:
    """A size in bytes: `1 byte`, `512 bytes`, `12 KB`."""
    return f"{size / 1024:,.0f} KB" if size >= 10_240 else counted(size, "byte")


def media_type(path: str) -> str:
    """The MIME type of an image or audio file, by its extension; "" for any other file."""
    return MEDIA_TYPES.get(path.rpartition(".")[2].casefold(), "") if "." in path else ""


def first_word(said: str) -> tuple[str, str]:
    """The first word of a typed line in lower case, and the rest of the line."""
    word, *rest = said.split(maxsplit=1) or ("",)
    return word.casefold(), rest[0].strip() if rest else ""


def model_text(agent: Agent, first: str = "") -> str:
    """The model that answers for the agent now.

    `first`: the label of the operator's model, if it is known: name and host.
    """
    if agent.fallback:
        return f"{agent.fallback} (while {agent.model or first or 'the first model'} is away)"
    name, _, host = first.partition(" · ")
    return " · ".join(filter(None, (agent.model or name, host)))


def effort_text(agent: Agent) -> str:
    """How much the agent's model reasons, or "" if it follows the operator's setting."""
    return f"reasoning effort {agent.effort}" if agent.effort else ""


def fault_text(error: Exception) -> str:
    """What is known of the action: that it had no effect, or that it may have had one."""
    match error:
        case CommitUnknown():
            return MAYBE_SAVED
        case DatabaseAway():
            return AWAY
        case _:
            return WENT_WRONG
