"""What an operator looks at: what was spent, which workers hold which agents, and what waits in the queue."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from agent_core.model.ids import AgentId


@dataclass(frozen=True, slots=True)
class Spent:
    """US dollars and tokens, of a day in UTC as YYYY-MM-DD, of a channel by its key, or of a model."""

    name: str
    cost: Decimal
    tokens: int


@dataclass(frozen=True, slots=True)
class SpendingSums:
    """What was spent since a day, three times: by day (oldest first), by channel and by model (most first)."""

    days: tuple[Spent, ...] = ()
    channels: tuple[Spent, ...] = ()
    models: tuple[Spent, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """A worker, the number of agents that it advances now, and the ids of some of them."""

    name: str
    number: int
    agents: tuple[AgentId, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueState:
    """Jobs that wait, since when the oldest of them does, and jobs that run."""

    waiting: int = 0
    running: int = 0
    oldest: datetime | None = None
