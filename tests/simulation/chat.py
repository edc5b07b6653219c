"""What people see: a chat, which all processes write to, and the open pages of each process. And who is doing what."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field

from adapters.web.surface import Hub
from agent_core.errors import SurfaceBusy
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef
from agent_core.model.turn import Turn
from agent_core.testing.surface import RecordingSurface
from tests.simulation.scheduler import CLOCK, PROCESS, Chance, Process
from tests.simulation.wire import Faults, Wire, WireEnd

PAGE_SECONDS = 1.0  # within this time each page is told of a change
SHOWING_SECONDS = 0.2
RUNS = " runs"
OUTSIDE = Context()


@dataclass(eq=False, slots=True)
class Doing:
    """Something that a process does for an agent. `since`: the simulated time; `suspensions`: see `Process`."""

    what: str
    process: Process
    since: float
    suspensions: int

    @property
    def counts(self) -> bool:
        """False if its process died, or was suspended in the middle: nothing can prevent the end of that effect."""
        return not self.process.is_dead and self.process.suspensions == self.suspensions


@dataclass(slots=True)
class Doings:
    """Who does something for an agent right now, so that two processes at once are noticed."""

    inside: dict[str, list[Doing]] = field(default_factory=dict)
    overlaps: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, agent_id: str, what: str) -> Iterator[None]:
        process = PROCESS.get()
        if process is None:
            yield
            return
        mine = Doing(what, process, CLOCK.elapsed(), process.suspensions)
        others = self.inside.setdefault(agent_id, [])
        for other in others:
            if other.process is not process and other.counts:
                self.overlaps.append(f"{agent_id}: {what} by {process.name} while {other.process.name} is at work")
        others.append(mine)
        try:
            yield
        finally:
            others.remove(mine)

    def is_busy(self, process: Process) -> bool:
        return any(each.process is process for doings in self.inside.values() for each in doings)

    def list_commands(self, agent_id: str) -> list[Doing]:
        """The commands of the agent that run."""
        return [each for each in self.inside.get(agent_id, ()) if each.what.endswith(RUNS) and each.counts]


@dataclass(slots=True)
class SlowChat(RecordingSurface):
    """The chat itself. It takes its time and is busy now and then.

    `posted`: how often each notice was posted. `statuses`: what each agent does, as it was shown last.
    """

    chance: Chance = field(default_factory=lambda: Chance.of(0))
    weather: Faults = field(default_factory=Faults)
    posted: Counter[str] = field(default_factory=Counter)
    statuses: dict[AgentId, str] = field(default_factory=dict)
    doings: Doings = field(default_factory=Doings)

    async def open_thread(self, agent: Agent) -> ThreadRef:
        with self.doings.of(agent.id, "a thread is opened"):
            await self._take_time()
        return await RecordingSurface.open_thread(self, agent)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        with self.doings.of(agent.id, "a card is shown"):
            await self._take_time()
        self.chance.note(f"card {turn.number} {turn.state}")
        return await RecordingSurface.show(self, agent, turn, may_exist=may_exist)

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        await self._take_time()
        if may_exist and self.posted[notice.id]:
            return  # found in the thread
        self.posted[notice.id] += 1
        self.chance.note(f"notice {notice.kind}")
        await RecordingSurface.notice(self, agent, notice, may_exist=may_exist)
        await self._take_time()

    async def status(self, agent: Agent) -> None:
        self.statuses[agent.id] = agent.status.kind
        self.agents[agent.id] = agent

    async def _take_time(self) -> None:
        await self.chance.pause(SHOWING_SECONDS)
        if self.chance.happens(self.weather.busy):
            raise SurfaceBusy("slow down", 0.5)


class Page(asyncio.Queue[AgentId | None]):
    """A page that a process serves. `told`: when it was told last that an agent changed."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[AgentId, float] = {}

    def put_nowait(self, changed: AgentId | None) -> None:
        if changed:
            self.told[changed] = CLOCK.elapsed()


@dataclass(slots=True)
class Pages:
    """The open pages, one of each process that serves people. `outdated`: which missed a change."""

    wire: Wire
    pages: list[tuple[WireEnd, Page]] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)

    def open(self, end: WireEnd, hub: Hub) -> None:
        page = Page()
        hub.listeners.add(page)
        self.pages.append((end, page))

    def expect(self, agent: Agent) -> None:
        """Expect that all pages that are open now will be told soon that the agent changed."""
        loop = asyncio.get_running_loop()
        for end, page in self.pages:
            if not end.process.is_dead:
                given = agent.id, end, page, loop.time(), end.process.suspensions
                loop.call_later(PAGE_SECONDS, self._check, *given, context=OUTSIDE)

    def _check(self, agent_id: AgentId, end: WireEnd, page: Page, changed_at: float, suspensions: int) -> None:
        is_excused = end.process.is_dead or end.process.is_suspended or end.process.suspensions != suspensions
        is_lost = self.wire.lost.get((end, "changed", agent_id), -1.0) >= changed_at
        if page.told.get(agent_id, -1.0) < changed_at and not is_excused and not is_lost:
            self.outdated.append(f"{agent_id}: {end.process.name} did not learn of its change at {changed_at:.1f} s")


@dataclass(slots=True)
class ProcessSurface:
    """Implements `ChatSurface` for one process: what it has drawn it does not draw again, as in Slack.

    `drawn`: what it drew last, by agent. `left_out`: what it did not draw although the chat showed something else.
    """

    chat: SlowChat
    hub: Hub
    pages: Pages
    name: SurfaceName = "web"
    notifications: None = None
    shows_what_is_saved: bool = False
    drawn: dict[AgentId, dict[str, str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    async def names_somebody(self, channel: ChannelScope, name: str) -> bool:
        return False

    async def open_thread(self, agent: Agent) -> ThreadRef:
        thread = await self.chat.open_thread(agent)
        self._publish(agent)
        return thread

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        card = self.chat.cards.get(turn.id)
        if self._is_drawn(agent, turn.id, turn.stage, card.stage if card else ""):
            return f"card/{turn.id}"
        address = await self.chat.show(agent, turn, may_exist=may_exist)
        self._remember(agent, turn.id, turn.stage)
        return address

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        await self.chat.notice(agent, notice, may_exist=may_exist)
        self._publish(agent)

    async def status(self, agent: Agent) -> None:
        if not self._is_drawn(agent, "status", agent.status.kind, self.chat.statuses.get(agent.id, "")):
            await self.chat.status(agent)
            self._remember(agent, "status", agent.status.kind)

    def forget_shown(self, agent: Agent) -> None:
        self.drawn.pop(agent.home, None)

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        await self.chat.announce_lost_thread(agent, reason)

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        await self.chat.upload(agent, filename, data)

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        return await self.chat.actor(channel, person)

    def _is_drawn(self, agent: Agent, what: str, content: str, shown: str) -> bool:
        is_drawn = self.drawn.get(agent.home, {}).get(what) == content
        if is_drawn and shown != content:
            self.left_out.append(f"{agent.id}: {what} was not drawn as {content}, the chat shows {shown}")
        return is_drawn

    def _remember(self, agent: Agent, what: str, content: str) -> None:
        self.drawn.setdefault(agent.home, {})[what] = content
        self._publish(agent)

    def _publish(self, agent: Agent) -> None:
        self.hub.publish(agent)
        self.pages.expect(agent)


@dataclass(slots=True)
class PageSurface(ProcessSurface):
    """Implements `ChatSurface` as the local workspace does: people see what is saved, and pages are told of it."""

    shows_what_is_saved: bool = True

    async def open_thread(self, agent: Agent) -> ThreadRef:
        self._publish(agent)
        return ThreadRef(agent.channel, agent.id)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        self._publish(agent)
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        self._publish(agent)

    async def status(self, agent: Agent) -> None:
        await self.chat.status(agent)
        self._publish(agent)
