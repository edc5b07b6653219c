"""A chat surface that records what it shows."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_core.errors import NotFound, SurfaceError
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Notice
from agent_core.model.turn import Turn


@dataclass(slots=True)
class RecordingSurface:
    """Implements `ChatSurface`: keeps the newest state of each card, every card sent, every notice and upload.

    While `faults` has errors, each `open_thread`, `show` and `notice` raises the next one.
    """

    name: SurfaceName = "web"
    threads: dict[AgentId, ThreadRef] = field(default_factory=dict)
    cards: dict[TurnId, Turn] = field(default_factory=dict)
    sent: list[tuple[TurnId, str, bool]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    agents: dict[AgentId, Agent] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    uploads: list[tuple[str, bytes]] = field(default_factory=list)
    people: dict[str, Actor | None] = field(default_factory=dict)
    faults: list[SurfaceError] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def open_thread(self, agent: Agent) -> ThreadRef:
        await self._raise_fault()
        return self.threads.setdefault(agent.id, ThreadRef(agent.channel, agent.id))

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        await self._raise_fault()
        self.cards[turn.id], self.agents[agent.id] = turn, agent
        self.sent.append((turn.id, turn.state, may_exist))
        await self._notify()
        return f"card/{turn.id}"

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        await self._raise_fault()
        self.notices.append(notice)
        await self._notify()

    async def status(self, agent: Agent) -> None:
        self.agents[agent.id] = agent
        await self._notify()

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        self.losses.append(reason)

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        self.uploads.append((filename, data))

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person of that id in `people`, else `person`; raise NotFound if `people` maps the id to None."""
        known = self.people.get(person.id, person)
        if known is None:
            raise NotFound("person", person.display)
        return known

    async def until(self, happened: Callable[["RecordingSurface"], bool], seconds: float = 60) -> None:
        """Wait until `happened` returns True for this surface; raise TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: happened(self))

    async def _raise_fault(self) -> None:
        if self.faults:
            raise self.faults.pop(0)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
