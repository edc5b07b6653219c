"""What an agent can recall later, and from where it has it."""

from dataclasses import dataclass
from datetime import datetime
from typing import NewType, Self

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import AgentId, MemoryId, new_id

Vector = NewType("Vector", bytes)
"""The coordinates of a text: 32-bit floats, little-endian, of length 1 together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing to recall. `source` names the turn, file, page or person it came from; `turn` is 0 for none."""

    id: MemoryId
    text: str
    source: str
    at: datetime
    turn: int = 0

    @classmethod
    def of(cls, text: str, *, source: str, at: datetime, turn: int = 0) -> Self:
        """A new one; ids sort in the order they were made."""
        return cls(id=MemoryId(new_id(at)), text=text, source=source, at=at, turn=turn)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory with how near it is to what was asked: a cosine, 1 for the same."""

    memory: Memory
    likeness: float


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """The namespace of one agent's memories: nothing is found across it."""

    channel: ChannelScope
    agent_id: AgentId

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """The agent's own."""
        return cls(agent.channel, agent.id)

    @property
    def key(self) -> str:
        """The namespace's name in an index: surface, workspace, channel, agent."""
        return f"{self.channel.key}/{self.agent_id}"


@dataclass(frozen=True, slots=True)
class MemoryChanges:
    """How many vectors were recorded for an agent and how many were taken away again, ever: what a cache compares."""

    added: int = 0
    removed: int = 0
