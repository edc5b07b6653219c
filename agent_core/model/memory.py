"""What an agent can recall later, and from where it has it."""

from dataclasses import dataclass
from datetime import datetime

from agent_core.model.ids import AgentId
from agent_core.model.places import ChannelScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing to recall. `source` names the turn, file or page it came from."""

    id: str
    text: str
    source: str
    at: datetime
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """The namespace of one agent's memories: nothing is found across it."""

    channel: ChannelScope
    agent_id: AgentId

    @property
    def key(self) -> str:
        """The namespace's name in an index."""
        return f"{self.channel.key}/{self.agent_id}"
