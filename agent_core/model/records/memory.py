"""Records of long-term memory: a memory, a recalled one, the namespace of an agent, the version of its vectors."""

from dataclasses import dataclass
from datetime import datetime
from typing import NewType, Self

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, MemoryId, new_id
from agent_core.model.origin import ChannelScope

Vector = NewType("Vector", bytes)
"""The coordinates of a text: 32-bit floats, little-endian, of length 1 together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory. `source` names the turn, file, page or person it came from; `turn` is 0 for none."""

    id: MemoryId
    text: str
    source: str
    at: datetime
    turn: int = 0

    @classmethod
    def of(cls, text: str, *, source: str, at: datetime, turn: int = 0) -> Self:
        return cls(id=MemoryId(new_id(at)), text=text, source=source, at=at, turn=turn)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory with its cosine similarity to the query, 1 for identical."""

    memory: Memory
    likeness: float


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """The namespace of one agent's memories: searches do not cross it."""

    channel: ChannelScope
    agent_id: AgentId

    @classmethod
    def of(cls, agent: Agent) -> Self:
        return cls(agent.channel, agent.id)

    @property
    def key(self) -> str:
        """The namespace's name in an index: surface, workspace, channel, agent."""
        return f"{self.channel.key}/{self.agent_id}"


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """How many vectors were ever added and removed for an agent. A cache with equal numbers is up to date."""

    added: int = 0
    removed: int = 0
