"""Notes that people write in a thread, and notices that Signoff posts there."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Self

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, NoteId, NoticeId, TurnId, new_id
from agent_core.model.origin import Actor, ChannelScope

MAX_NOTE_CHARACTERS = 20_000

NoticeKind = Literal[
    "created",
    "paused",
    "stopped",
    "resumed",
    "lease ended",
    "finished",
    "changed",
    "waiting",
    "helper",
    "file",
    "question",
    "answer",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A reply that a person wrote. `taken_into` is the turn whose prompt included the note.

    `file`: the path of a file that the person put into the workspace, of which the note tells, or "".
    `is_forwarded`: it holds a message of somebody else, which is untrusted content.
    """

    id: NoteId
    agent_id: AgentId
    channel: ChannelScope
    by: Actor
    at: datetime
    text: str
    taken_into: TurnId | None = None
    file: str = ""
    is_forwarded: bool = False

    @classmethod
    def to(cls, agent: Agent, text: str, *, by: Actor, at: datetime, file: str = "") -> Self:
        note = cls(id=NoteId(new_id(at)), agent_id=agent.id, channel=agent.channel, by=by, at=at, text=text)
        return replace(note, file=file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message of Signoff, posted in the thread once; `file` is the path of a file to post with it.

    `by`: the person who asked a question.
    `reply`: an unusable reply of the model, which people can open.
    """

    id: NoticeId
    agent_id: AgentId
    channel: ChannelScope
    at: datetime
    kind: NoticeKind
    text: str
    file: str = ""
    by: Actor | None = None
    reply: str = ""

    @classmethod
    def to(cls, agent: Agent, kind: NoticeKind, text: str, at: datetime, *, file: str = "") -> Self:
        told = cls(id=NoticeId(new_id(at)), agent_id=agent.id, channel=agent.channel, at=at, kind=kind, text=text)
        return replace(told, file=file)

    @classmethod
    def question(cls, agent: Agent, text: str, *, by: Actor, at: datetime) -> Self:
        """A question for the model to answer in the agent's thread."""
        return replace(cls.to(agent, "question", text, at), by=by)
