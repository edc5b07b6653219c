"""The record of who decided what, when, and what they were shown."""

from dataclasses import dataclass
from datetime import datetime

from agent_core.model.ids import AgentId, TurnId
from agent_core.model.people import Actor
from agent_core.model.places import ChannelScope


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act of a person. `shown_hash` stands for what the card showed them."""

    id: str
    agent_id: AgentId
    channel: ChannelScope
    by: Actor
    at: datetime
    act: str
    detail: str = ""
    turn_id: TurnId | None = None
    shown_hash: str = ""
