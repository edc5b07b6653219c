"""The engine that advances agents, the waker that notifies it, and claims: the right to advance an agent."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.ports.database import UnitOfWork


class Waker(Protocol):
    """Tells the engine, with the commit of a unit of work, that an agent has work."""

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        """Let the engine advance the agent."""

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        """Let the engine cancel the step that runs for the agent, then advance it."""


class Engine(Protocol):
    """Advances agents that were woken. It may advance an agent late or twice, but never twice at the same time."""

    async def run(self, advance: Callable[[AgentId], Coroutine[Any, Any, None]]) -> None:
        """Call `advance` for woken agents, and for due agents that a periodic query finds (sweep), until cancelled."""

    async def drain(self, seconds: float) -> int:
        """Advance only agents woken before. Wait up to `seconds`, then cancel what runs on; return how many."""


class Claims(Protocol):
    """The exclusive right of this process to advance an agent. It is taken before anything is sent or begun."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes work on this database, so that a person's Stop may arrive at another one."""

    async def take(self, agent_id: AgentId) -> Agent:
        """Claim the agent and return it with its next fence; raise Superseded if another worker has it, NotFound."""

    def was_elsewhere(self, agent: Agent) -> bool:
        """Whether another process may have shown this agent, which was just taken, since this one had it."""

    async def confirm(self, agent_id: AgentId) -> None:
        """Make sure, before each effect, that this process still has the agent; raise Superseded, DatabaseAway.

        This asks the database only if the last heartbeat is some seconds old.
        """

    def give_up(self, work: UnitOfWork, agent: Agent) -> None:
        """Queue the end of the claim by which the agent has its fence. Call `forget` before the commit."""

    def forget(self, agent_id: AgentId) -> None:
        """Rely no longer on the claim: it is about to be given up, or its agent was deleted."""


class EngineLock(Protocol):
    """The right to advance the agents of a database."""

    async def acquire(self) -> None:
        """Take the lock; raise EngineTaken if another process has it, DatabaseAway if it cannot be reached."""

    async def watch(self) -> None:
        """Hold the lock until cancelled; raise EngineTaken if it was lost, and another process has taken it."""

    async def release(self) -> None:
        """Release the lock. Does nothing if it is not held."""
