"""The engine that advances agents, and the waker that notifies it."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from agent_core.model.ids import AgentId


class Waker(Protocol):
    """Notifies the engine that an agent has work. A lost wake delays the work; the engine's sweep finds it."""

    def wake(self, agent_id: AgentId) -> None:
        """Schedule the agent. Call this after the commit."""

    def interrupt(self, agent_id: AgentId) -> None:
        """Cancel what runs for the agent and schedule it. Call this after the commit."""


class Engine(Protocol):
    """Advances woken agents. Each agent may be advanced late or twice, but never twice at the same time."""

    async def run(self, advance: Callable[[AgentId], Coroutine[Any, Any, None]]) -> None:
        """Run until cancelled. Also finds agents that are due in the database periodically."""
