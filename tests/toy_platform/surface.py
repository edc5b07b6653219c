"""The platform itself, which is a list of posts, and the surface that shows agents on it."""

from asyncio import Condition
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.chat.agent_messages import notice_screen
from adapters.chat.background import BackgroundTasks
from adapters.chat.thread_surface import ThreadSurface, thread_of
from adapters.screens.message.pieces import Screen
from adapters.screens.turn_lines import TurnLine
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef
from tests.toy_platform.draw import ToyMessage, draw


@dataclass(slots=True)
class Board:
    """Posts by thread and number: what a real platform has on its servers."""

    threads: dict[str, list[ToyMessage]] = field(default_factory=dict)
    changed: Condition = field(default_factory=Condition)

    async def post(self, thread: str, message: ToyMessage) -> str:
        """Post it and return its number."""
        async with self.changed:
            posts = self.threads.setdefault(thread, [])
            posts.append(message)
            self.changed.notify_all()
            return str(len(posts) - 1)

    async def edit(self, thread: str, number: str, message: ToyMessage) -> bool:
        """Put it in place of a post; return whether there is one."""
        async with self.changed:
            self.threads[thread][int(number)] = message
            self.changed.notify_all()
            return True

    def find(self, thread: str, subject: str) -> str:
        """The number of the post about this, or ""."""
        posts = self.threads.get(thread, [])
        return next((str(number) for number, each in enumerate(posts) if each.subject == subject), "")

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with self.changed:
            await self.changed.wait_for(is_so)


@dataclass(slots=True, kw_only=True)
class ToySurface(ThreadSurface[ToyMessage]):
    """Shows each agent in a thread of the board."""

    board: Board
    soon: BackgroundTasks = field(default_factory=BackgroundTasks)
    name: SurfaceName = "web"  # a real platform adds its name to SurfaceName
    notifications: None = None

    def __post_init__(self) -> None:
        self.watch_status(0.0)

    async def names_somebody(self, channel: ChannelScope, name: str) -> bool:
        return False

    async def open_thread(self, agent: Agent) -> ThreadRef:
        if not self.board.find(agent.id, f"agent:{agent.id}"):
            await self.board.post(agent.id, self._root(agent))
        return ThreadRef(agent.channel, agent.id)

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        thread = thread_of(agent).thread
        if not (may_exist and self.board.find(thread, f"notice:{notice.id}")):
            await self.board.post(thread, self.draw(notice_screen(agent, notice)))

    async def status(self, agent: Agent) -> None:
        self.updates.update(agent)

    def forget_shown(self, agent: Agent) -> None:
        self.cards.forget(agent)
        self.standing.forget(agent)

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        await self.board.post("lost", ToyMessage(f"{agent.name}: {reason}", {}))

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        await self.board.post(thread_of(agent).thread, ToyMessage(f"{filename}: {data!r}", {}))

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        return person

    def draw(self, screen: Screen) -> ToyMessage:
        return draw(screen)

    async def _find(self, agent: Agent, message: ToyMessage, mark: TurnLine) -> str:
        return self.board.find(thread_of(agent).thread, message.subject)

    async def _post_card(self, agent: Agent, message: ToyMessage, mark: TurnLine) -> str:
        return await self.board.post(thread_of(agent).thread, message)

    async def _edit_card(self, agent: Agent, stands: str, message: ToyMessage, mark: TurnLine) -> bool:
        return await self.board.edit(thread_of(agent).thread, stands, message)

    def _forget_drawn(self, agent: Agent, stands: str) -> None:
        """Nothing to forget: every edit is made."""

    async def _send_status(self, agent: Agent) -> None:
        await self.board.edit(thread_of(agent).thread, "0", self._root(agent))
