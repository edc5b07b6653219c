"""Ports of the engine that advances agents, its waker, the locks of a database, and the broadcast to processes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from agent_core.model.ids import AgentId
from agent_core.model.origin import SurfaceName
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry

Advance = Callable[[AgentId], Coroutine[Any, Any, None]]


class Waker(Protocol):
    """Tells the engine, with the commit of a unit of work, that an agent has work."""

    def wake(self, work: UnitOfWork, agent_id: AgentId) -> None:
        """Let the engine advance the agent."""

    def interrupt(self, work: UnitOfWork, agent_id: AgentId) -> None:
        """Let the engine cancel the step that runs for the agent, then advance it."""


class Engine(Waker, Protocol):
    """Advances agents that were woken. It may advance an agent late, or again after it has nothing left to do.

    Two processes may advance one agent at the same time only if one of them was suspended or cut off. Each advance
    raises the agent's fence, so that the earlier one can save and begin nothing more.
    """

    @property
    def workers(self) -> int:
        """How many processes advance agents, this one included, as last seen; 1 before the first look."""

    @property
    def in_progress(self) -> int:
        """How many agents this process is advancing."""

    def connect(self) -> AbstractAsyncContextManager[None]:
        """Open the engine's own connections for a with-block; raise DatabaseAway. `run` and wakes work inside of it."""

    def hold(self, work: UnitOfWork, agent_id: AgentId) -> None:
        """Let the commit raise Conflict if another process advances the agent by now, as far as the engine knows."""

    async def run(self, advance: Advance) -> None:
        """Call `advance` for woken agents, and for due agents that a periodic query finds (sweep), until cancelled."""

    async def stand_by(self) -> None:
        """Count the workers without being one, until cancelled: for a process that only serves people."""

    async def drain(self, seconds: float) -> int:
        """Advance only agents woken before. Wait up to `seconds`, then cancel what runs on; return how many."""


async def _do_nothing(_agent_id: AgentId) -> None:
    """Do nothing: there are no programs, and nothing is reserved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineParts:
    """What an engine needs of the core. `surfaces`: those whose agents this process can show.

    `list_with_programs`: the agents whose programs run in the background here; `end_programs` ends those of an agent.
    `charge_left`: charges what a process that ended had reserved for an agent.
    """

    database: Database
    clock: Clock
    surfaces: Sequence[SurfaceName]
    list_with_programs: Callable[[], Sequence[AgentId]] = tuple
    end_programs: Callable[[AgentId], Awaitable[object]] = _do_nothing
    charge_left: Callable[[AgentId], Awaitable[object]] = _do_nothing
    telemetry: Telemetry = NOT_WATCHED


EngineFactory = Callable[[EngineParts], Engine]


class EngineLock(Protocol):
    """The right to advance the agents of a database."""

    async def acquire(self) -> None:
        """Take the lock; raise EngineTaken if another process has it, DatabaseAway if it cannot be reached."""

    async def watch(self) -> None:
        """Hold the lock until cancelled; raise EngineTaken if it was lost, and another process has taken it."""

    async def release(self) -> None:
        """Release the lock. Does nothing if it is not held."""


# "changed": an agent changed, so open pages reload. "person", "installation": what is known of a person or of a
# workspace's installation is outdated.
Topic: TypeAlias = Literal["changed", "person", "installation"]


class Broadcast(Protocol):
    """Sends short messages to the other processes. A message may be lost, so nothing may depend on it but speed."""

    def publish(self, topic: Topic, key: str) -> None:
        """Send `key` (at most 200 characters) to the other processes soon. Never raises."""

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        """Call `receive` with the key of each message of other processes."""

    async def run(self) -> None:
        """Send and receive until cancelled."""


class NoBroadcast:
    """Implements `Broadcast` where there is one process."""

    def publish(self, topic: Topic, key: str) -> None:
        """Do nothing."""

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        """Do nothing: no message arrives."""

    async def run(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()


NO_BROADCAST = NoBroadcast()
