"""What moves agents on."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from agent_core.model.ids import AgentId


class Waker(Protocol):
    """Tells the engine that an agent has work. Losing a wake costs time, never work."""

    def wake(self, agent_id: AgentId) -> None:
        """Call after the commit."""
        ...

    def interrupt(self, agent_id: AgentId) -> None:
        """End what runs for the agent at once, then wake it. Call after the commit that made it void."""
        ...


class Engine(Protocol):
    """Advances agents that were woken. May advance late or twice, but one agent only once at a time."""

    async def run(self, advance: Callable[[AgentId], Awaitable[None]]) -> None:
        """Work until cancelled; also wakes every agent with work due, again and again."""
        ...
