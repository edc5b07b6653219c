"""The local workspace as a ChatSurface: pages are drawn from the database, so to show is to tell browsers to look."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.turn import Turn

HEARTBEAT = 10.0


@dataclass(slots=True)
class Hub:
    """Tells every open page which agent changed."""

    listeners: set[asyncio.Queue[AgentId | None]] = field(default_factory=set)

    def tell(self, agent: Agent) -> None:
        """Let every page know; what a helper does stands on the page of the agent it helps too."""
        for changed in dict.fromkeys((agent.id, agent.home)):
            for listener in self.listeners:
                listener.put_nowait(changed)

    def close(self) -> None:
        """Let every page's stream end."""
        for listener in self.listeners:
            listener.put_nowait(None)

    async def changes(self) -> AsyncIterator[AgentId | None]:
        """Agents as they change, and None every few seconds in between; ends when the hub is closed."""
        inbox: asyncio.Queue[AgentId | None] = asyncio.Queue()
        self.listeners.add(inbox)
        try:
            while True:
                try:
                    async with asyncio.timeout(HEARTBEAT):
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
class WebSurface:
    """Nothing is sent anywhere: a card's address is its turn's id, and a notice is told by being saved."""

    hub: Hub = field(default_factory=Hub)
    name: SurfaceName = "web"

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """The thread is a page that is there already."""
        self.hub.tell(agent)
        return ThreadRef(agent.channel, agent.id)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Have the card drawn anew."""
        self.hub.tell(agent)
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Have the thread drawn anew."""
        self.hub.tell(agent)

    async def status(self, agent: Agent) -> None:
        """Have the agent's state drawn anew."""
        self.hub.tell(agent)

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Have the agent's state drawn anew."""
        self.hub.tell(agent)

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """The file list shows it."""
        self.hub.tell(agent)

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person as recorded: here people only have names."""
        return person
