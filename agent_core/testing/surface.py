"""A chat surface for tests that records the cards, notices and notifications that it shows."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_core.errors import NotFound, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef, is_name_of
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn


@dataclass(slots=True)
class RecordingNotifications:
    """Implements `Notifications`: keeps those that stand by address, and all that were ever sent.

    While `faults` has errors, each call raises the next one. `strangers` get no direct messages.
    """

    standing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sent: list[tuple[str, ...]] = field(default_factory=list)
    taken_back: list[tuple[str, str]] = field(default_factory=list)
    strangers: set[str] = field(default_factory=set)
    faults: list[SurfaceError] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, count: int, seconds: float = 60) -> None:
        """Wait until `count` notifications were sent; raise TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.sent) >= count)

    async def find_approver(self, channel: ChannelScope, found: str) -> str:
        return f"@{found}"

    def find_mention(self, workspace: str, typed: str) -> str:
        return typed.removeprefix("@")

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Sequence[str], *, may_exist: bool) -> str:
        return await self._post(_reminder_address(agent), tuple(mentions))

    async def send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        if person in self.strangers:
            raise NotFound("person", person)
        return await self._post(f"{person}/{turn.id if turn else agent.id}", (f"to {person}",))

    async def take_back(self, agent: Agent, turn: Turn | None, notification: Notification) -> None:
        self._raise_fault()
        direct = f"{notification.to}/{notification.turn or agent.id}"
        planned = direct if notification.to else _reminder_address(agent.when_called(notification))
        address = notification.address or planned
        if self.standing.pop(address, None):
            self.taken_back.append((address, turn.state if turn else ""))

    async def _post(self, address: str, what: tuple[str, ...]) -> str:
        self._raise_fault()
        if address not in self.standing:
            self.standing[address] = what
            self.sent.append(what)
            async with self._changed:
                self._changed.notify_all()
        return address

    def _raise_fault(self) -> None:
        if self.faults:
            raise self.faults.pop(0)


def _reminder_address(agent: Agent) -> str:
    return f"{agent.id}/{agent.since:%H%M%S}/{agent.reminded}"


@dataclass(slots=True)
class RecordingSurface:
    """Implements `ChatSurface`: keeps the newest state of each card, every card sent, every notice and upload.

    While `faults` has errors, each `open_thread`, `show` and `notice` raises the next one.
    """

    name: SurfaceName = "web"
    notifications: RecordingNotifications | None = None
    shows_what_is_saved: bool = False
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

    async def names_somebody(self, channel: ChannelScope, name: str) -> bool:
        return is_name_of((each.display for each in self.people.values() if each), name)

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

    def forget_shown(self, agent: Agent) -> None:
        """Do nothing: this surface remembers nothing that it has shown."""

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
