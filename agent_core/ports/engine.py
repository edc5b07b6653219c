"""The engine that advances agents, the waker that notifies it, and the lock that keeps it the only one."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from agent_core.model.ids import AgentId


class Waker(Protocol):
    """Notifies the engine that an agent has work. If a wake is lost, the engine's sweep finds the work later."""

    def wake(self, agent_id: AgentId) -> None:
        """Schedule the agent. Call this after the commit."""

    def interrupt(self, agent_id: AgentId) -> None:
        """Cancel the step that runs for the agent, then schedule the agent. Call this after the commit."""


class Engine(Protocol):
    """Advances agents that were woken. It may advance an agent late or twice, but never twice at the same time."""

    async def run(self, advance: Callable[[AgentId], Coroutine[Any, Any, None]]) -> None:
        """Call `advance` for woken agents, and for due agents that a periodic query finds (sweep), until cancelled."""

    async def drain(self, seconds: float) -> int:
        """Advance no other agent from now on. Wait up to `seconds`, then cancel what still runs; return how many."""


class EngineLock(Protocol):
    """The right to advance the agents of a database."""

    async def acquire(self) -> None:
        """Take the lock; raise EngineTaken if another process has it, DatabaseAway if it cannot be reached."""

    async def watch(self) -> None:
        """Hold the lock until cancelled; raise EngineTaken if it was lost, and another process has taken it."""

    async def release(self) -> None:
        """Release the lock. Does nothing if it is not held."""
