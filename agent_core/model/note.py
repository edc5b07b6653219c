"""What is said in a thread besides turns: by people, and by Signoff itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent_core.model.ids import AgentId, NoteId, NoticeId, TurnId
from agent_core.model.people import Actor
from agent_core.model.places import ChannelScope

NoticeKind = Literal["created", "paused", "stopped", "resumed", "lease ended", "finished", "changed", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A reply a person wrote. `taken_into` is the turn whose thinking read it."""

    id: NoteId
    agent_id: AgentId
    channel: ChannelScope
    by: Actor
    at: datetime
    text: str
    taken_into: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something Signoff tells the thread, once."""

    id: NoticeId
    agent_id: AgentId
    channel: ChannelScope
    at: datetime
    kind: NoticeKind
    text: str
