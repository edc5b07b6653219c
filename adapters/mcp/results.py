"""What the MCP tools answer, as classes, and the methods that make them: bounded, made visible, without secrets."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from adapters.screens.cards import spend_text, status_text
from adapters.screens.text_fit import cut
from adapters.screens.visible_text import visible
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.model.note import Note, Notice
from agent_core.model.turn import Turn, text_of
from agent_core.text.own_commands import command_text

MAX_LINE_CHARACTERS, MAX_ENTRY_CHARACTERS, MAX_TURN_CHARACTERS = 400, 4_000, 100_000
NO_WORKER = f"No Signoff is at work on it, so it waits until one is started ({command_text('run')}). Until then: "
LEFT_OUT = "… (cut: read_turn gives all of it)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """An agent. `state`: thinking, awaiting, acting, paused, stopped or finished; `says` tells more of it.

    `needs_people`: it waits until a person decides, answers a tool server, or resumes it.
    `page`: where people see it and decide.
    """

    id: str
    name: str
    role: str
    state: str
    says: str
    needs_people: bool
    is_at_rest: bool
    is_archived: bool
    turns: int
    since: str
    owner: str
    spent: str
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentList:
    """A page of agents, oldest first. `next`: what to pass as `after` for the next page, None at the end."""

    agents: tuple[AgentState, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnText:
    """A turn: what the agent thought, the command that it proposed, what people decided, and the result.

    `decided_by`: who approved, rejected or withdrew it, None before that. `result`: None before its end.
    """

    agent: str
    number: int
    state: str
    at: str
    thoughts: str
    command: str
    arguments: str
    risks: tuple[str, ...]
    decided_by: str | None
    result: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageText:
    """A note of a person, or a notice of Signoff, as `kind` says."""

    agent: str
    kind: str
    at: str
    by: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadText:
    """A page of a thread, oldest entry first, with those of the agent's helpers.

    `earlier`: what to pass as `before` for the page before this one, None at the beginning.
    """

    agent: AgentState
    goals: tuple[str, ...]
    entries: tuple[TurnText | MessageText, ...]
    earlier: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTurn:
    """A turn with longer texts, and the thoughts that a card shows on demand."""

    turn: TurnText
    reasoning: str
    plan: str
    criticism: str
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEnd:
    """The agent at the end of a wait. `asks`: the proposal on which people decide, on its page only."""

    agent: AgentState
    is_over: bool
    asks: TurnText | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSaved:
    """The agent reads the note in its next turn."""

    agent: AgentState
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLine:
    """A file of the agent: its size in bytes, and when it changed."""

    path: str
    size: int
    changed_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """A page of files, by path. `next`: what to pass as `after` for the next page, None at the end."""

    files: tuple[FileLine, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """A part of a text file, or a whole file in base64. `size`: of the file, in bytes.

    `next`: the `offset` of the part after this one, None at the end.
    """

    path: str
    size: int
    text: str | None = None
    base64: str | None = None
    next: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTexts:
    """Makes results of agents, turns and files.

    `redact` removes secrets; `page_of` gives an agent's address; `has_workers` tells whether a process advances agents.
    """

    redact: Callable[[str], str]
    page_of: Callable[[Agent], str]
    has_workers: Callable[[], bool]

    def shown(self, text: str, most: int = MAX_ENTRY_CHARACTERS) -> str:
        """The text without secrets, at most `most` characters of it, with invisible characters spelled out."""
        return visible(cut(self.redact(text), most, LEFT_OUT if most == MAX_ENTRY_CHARACTERS else "…"))

    def agent(self, agent: Agent) -> AgentState:
        return AgentState(
            id=agent.id,
            name=self.shown(agent.title, MAX_LINE_CHARACTERS),
            role=self.shown(agent.role, MAX_LINE_CHARACTERS),
            state=agent.status.kind,
            says=self.shown(f"{self._wait_for_worker(agent)}{status_text(agent)}", MAX_LINE_CHARACTERS),
            needs_people=agent.needs_people,
            is_at_rest=agent.is_at_rest,
            is_archived=agent.is_archived,
            turns=agent.turns,
            since=_time(agent.since),
            owner=self.shown(agent.owner.display, MAX_LINE_CHARACTERS),
            spent=spend_text(agent),
            page=self.page_of(agent),
        )

    def _wait_for_worker(self, agent: Agent) -> str:
        return "" if agent.is_at_rest or self.has_workers() else NO_WORKER

    def turn(self, agent: Agent, turn: Turn, most: int = MAX_ENTRY_CHARACTERS) -> TurnText:
        by = turn.decided_by
        arguments = json.dumps(dict(turn.call.arguments), ensure_ascii=False, default=str)
        return TurnText(
            agent=self.shown(agent.title, MAX_LINE_CHARACTERS),
            number=turn.number,
            state=turn.state,
            at=_time(turn.proposed_at),
            thoughts=self.shown(turn.proposal.thoughts.text, most),
            command=self.shown(turn.call.name, MAX_LINE_CHARACTERS),
            arguments=self.shown(arguments, most),
            risks=turn.risks,
            decided_by=self.shown(by.display, MAX_LINE_CHARACTERS) if by else None,
            result=self.shown(text_of(turn.result), most) if turn.result else None,
        )

    def whole_turn(self, agent: Agent, turn: Turn) -> WholeTurn:
        thoughts, preview = turn.proposal.thoughts, turn.shown_preview
        return WholeTurn(
            turn=self.turn(agent, turn, MAX_TURN_CHARACTERS),
            reasoning=self.shown(thoughts.reasoning, MAX_TURN_CHARACTERS),
            plan=self.shown(thoughts.plan, MAX_TURN_CHARACTERS),
            criticism=self.shown(thoughts.criticism, MAX_TURN_CHARACTERS),
            preview=self.shown(f"{preview.title}\n{preview.body}", MAX_TURN_CHARACTERS) if preview else "",
        )

    def message(self, agent: Agent, message: Note | Notice) -> MessageText:
        return MessageText(
            agent=self.shown(agent.title, MAX_LINE_CHARACTERS),
            kind="note" if isinstance(message, Note) else message.kind,
            at=_time(message.at),
            by=self.shown(message.by.display, MAX_LINE_CHARACTERS) if message.by else "Signoff",
            text=self.shown(message.text),
        )

    def file(self, entry: FileEntry) -> FileLine:
        return FileLine(path=visible(self.redact(entry.path)), size=entry.size, changed_at=_time(entry.changed_at))


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
