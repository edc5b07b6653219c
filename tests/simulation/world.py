"""What outlives the processes, and fails: a database, a chat, a model and the files."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from agent_core.commands.registry import CommandContext
from agent_core.errors import DatabaseAway, ModelUnavailable, SurfaceBusy
from agent_core.loop.command_runner import NextHook
from agent_core.model.agent import Agent
from agent_core.model.channels import ThreadRef
from agent_core.model.command import CommandCall
from agent_core.model.messages import Message, Reply
from agent_core.model.note import Notice
from agent_core.model.result import Result
from agent_core.model.turn import Turn
from agent_core.model.usage import Usage
from agent_core.ports.database import UnitOfWork
from agent_core.ports.models import CallOptions
from agent_core.testing.database import InMemoryDatabase
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.surface import RecordingSurface
from tests.simulation.scheduler import CLOCK, Chance

Pause = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Faults:
    """How often what fails. All 0 is a calm world."""

    away: float = 0.0  # of the commits: the database goes away before it
    lost: float = 0.0  # of the commits: it takes effect, and the answer is lost
    busy: float = 0.0  # of what is shown: the platform is busy
    unreachable: float = 0.0  # of the calls of models

    def calm_down(self) -> None:
        self.away = self.lost = self.busy = self.unreachable = 0.0


class YieldingRepository:
    """A repository that lets others run before and after each read."""

    def __init__(self, repository: object, pause: Pause) -> None:
        self._repository, self._pause = repository, pause

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._repository, name)
        if not iscoroutinefunction(member):
            return member

        async def read(*given: Any, **named: Any) -> Any:
            await self._pause()
            found = await member(*given, **named)
            await self._pause()
            return found

        return read


class YieldingDatabase(InMemoryDatabase):
    """The in-memory database as it would be at the other end of a wire."""

    def __init__(self, chance: Chance, faults: Faults) -> None:
        super().__init__()
        self.chance, self.faults = chance, faults

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Any]:
        async with super().begin() as work:
            yield _YieldingUnit(work, self)


class _YieldingUnit:
    """A unit of work whose reads and commit take time, and whose commit may fail."""

    def __init__(self, work: UnitOfWork, database: YieldingDatabase) -> None:
        self._work, self._database = work, database

    def __getattr__(self, name: str) -> Any:
        return YieldingRepository(getattr(self._work, name), self._database.chance.pause)

    async def commit(self) -> None:
        chance, faults = self._database.chance, self._database.faults
        await chance.pause()
        if chance.happens(faults.away):
            raise DatabaseAway
        await self._work.commit()
        await chance.pause()
        if chance.happens(faults.lost):
            raise DatabaseAway


@dataclass(slots=True)
class SlowSurface(RecordingSurface):
    """A chat that takes its time and is busy now and then. `posted`: how often each notice was posted."""

    chance: Chance = field(default_factory=lambda: Chance.of(0))
    weather: Faults = field(default_factory=Faults)
    posted: Counter[str] = field(default_factory=Counter)

    async def open_thread(self, agent: Agent) -> ThreadRef:
        await self._take_time()
        return await RecordingSurface.open_thread(self, agent)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
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

    async def _take_time(self) -> None:
        await self.chance.pause(0.2)
        if self.chance.happens(self.weather.busy):
            raise SurfaceBusy("slow down", 0.5)


class ManyStories(ScriptedModel):
    """Plays each agent's part: some appends to its file, each with a word of its own, and then the end."""

    def __init__(self, chance: Chance, faults: Faults, steps: int) -> None:
        super().__init__()
        self.chance, self.faults, self.steps = chance, faults, steps
        self.words, self.calls = 0, Counter[str]()
        self.read: dict[str, list[str]] = {}

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """Think for up to 3 s, as long as nobody gives the call up."""
        await CLOCK.sleep(self.chance.random.random() * 3)
        if self.chance.happens(self.faults.unreachable):
            raise ModelUnavailable("busy", 1.0)
        agent = options.cache_key
        self.calls[agent] += 1
        self.read.setdefault(agent, []).append("\n".join(message.content for message in messages))
        self.words += 1
        text = self._play(agent)
        self.chance.note(f"reply {text}")
        return Reply(text=text, usage=Usage(prompt=100, completion=10))

    def _play(self, agent: str) -> str:
        if self.calls[agent] > self.steps:
            return reply_text("task_complete", {"reason": f"All is written, word {self.words}."})  # never a repetition
        if self.chance.happens(0.05):
            return "I think about it."
        return reply_text("append_to_file", {"filename": "a.txt", "text": f"word-{self.words}.\n"})


def slow_hook(chance: Chance, effects: Counter[str]) -> Any:
    """A hook that lets time pass before and after each command, and counts what each append did."""

    async def hook(call: CommandCall, context: CommandContext, run: NextHook) -> Result:
        await chance.pause(2.0)
        result = await run(call, context)
        if call.name == "append_to_file" and result.kind == "succeeded":
            effects[str(call.arguments["text"])] += 1
        await chance.pause(2.0)
        return result

    return hook
