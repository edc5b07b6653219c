"""The local workspace as a ChatSurface: only tells the open pages which agent changed, so that they reload."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef
from agent_core.model.turn import Turn
from agent_core.ports.engine import NO_BROADCAST, Broadcast
from agent_core.ports.surface import ChatSurface
from agent_core.service.housekeeping.accounts import Accounts

HEARTBEAT_SECONDS = 10.0


@dataclass(slots=True)
class Hub:
    """Publishes changes of agents to all open pages, also those that other processes serve."""

    listeners: set[asyncio.Queue[AgentId | None]] = field(default_factory=set)
    broadcast: Broadcast = NO_BROADCAST

    def join(self, broadcast: Broadcast) -> None:
        """Exchange changes with the other processes."""
        self.broadcast = broadcast
        broadcast.subscribe("changed", lambda key: self._publish_here(AgentId(key)))

    def publish(self, agent: Agent) -> None:
        """Publish a change of the agent; for a helper also of its root agent, whose page shows the helper."""
        for changed in dict.fromkeys((agent.id, agent.home)):
            self._publish_here(changed)
            self.broadcast.publish("changed", changed)

    def _publish_here(self, changed: AgentId) -> None:
        for listener in self.listeners:
            listener.put_nowait(changed)

    def close(self) -> None:
        """End the streams of all pages."""
        for listener in self.listeners:
            listener.put_nowait(None)

    async def changes(self) -> AsyncGenerator[AgentId | None, None]:
        """The ids of agents as they change, and None as a heartbeat; ends when the hub is closed."""
        inbox: asyncio.Queue[AgentId | None] = asyncio.Queue()
        self.listeners.add(inbox)
        try:
            while True:
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        changed = await inbox.get()
                except TimeoutError:
                    yield None
                    continue
                if changed is None:
                    return
                yield changed
        finally:
            self.listeners.discard(inbox)


@dataclass(frozen=True, slots=True)
class WebSurface(ChatSurface):
    """Tells open pages that an agent changed, so that they reload. A card's address is its turn's id.

    `accounts`: of those who signed in; `has_accounts_only`: nobody else is somebody here.
    """

    hub: Hub = field(default_factory=Hub)
    name: SurfaceName = "web"
    shows_what_is_saved: bool = True
    accounts: Accounts | None = None
    has_accounts_only: bool = True

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Return the thread, whose key is the agent's id; no page needs to be created."""
        self.hub.publish(agent)
        return ThreadRef(agent.channel, agent.id)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        self.hub.publish(agent)
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        self.hub.publish(agent)

    async def status(self, agent: Agent) -> None:
        self.hub.publish(agent)

    def forget_shown(self, agent: Agent) -> None:
        """Do nothing: this surface remembers nothing that it has shown."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        self.hub.publish(agent)

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        self.hub.publish(agent)

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person with the name and groups of their last sign-in; where people have accounts, others are gone."""
        is_asked = person.kind == "member" and (self.has_accounts_only or person.signed_in)
        return await self.accounts.find(person.id) if self.accounts and is_asked else person
