"""The record of who decided what, when, and what they were shown."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.model.people import Actor
from agent_core.model.places import ChannelScope
from agent_core.model.turn import Turn


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

    @classmethod
    def on(cls, agent: Agent, act: str, *, by: Actor, at: datetime, detail: str = "", turn: Turn | None = None) -> Self:
        """A new entry about something done to the agent, or to a turn of it."""
        return cls(
            id=new_id(at),
            agent_id=agent.id,
            channel=agent.channel,
            by=by,
            at=at,
            act=act,
            detail=detail,
            turn_id=turn.id if turn else None,
            shown_hash=turn.proposal.shown_hash if turn else "",
        )
