"""What outlives the processes, and fails: a database, a chat, a model and the files."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, partial
from inspect import getmembers, iscoroutinefunction
from typing import Any, TypeVar

from sqlalchemy import TextClause, text

from agent_core.errors import Conflict, DatabaseAway, ModelUnavailable
from agent_core.loop.command_runner import NextHook
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Result
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget, Message, Reply, Usage
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.persistence.write_buffer import WriteBuffer, read_value
from agent_core.ports.models import CallOptions
from agent_core.testing.database import TemporaryDatabase, at_once
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.toolset.registry import CommandContext
from tests.simulation.chat import OUTSIDE, RUNS, Doings
from tests.simulation.scheduler import CLOCK, PROCESS, Chance, Process
from tests.simulation.wire import Faults

T = TypeVar("T")
REPOSITORIES: dict[str, type[Any]] = SqlUnitOfWork.__annotations__
ALL: dict[type[Any], TextClause] = {
    kind: text(f"SELECT data FROM {table} ORDER BY rowid")
    for kind, table in ((Agent, "agents"), (Turn, "turns"), (Notice, "notices"))
}
Pause = Callable[[], Awaitable[None]]
THOUGHT_SECONDS, COMMAND_SECONDS, LATE_SECONDS = 1.0, 2.0, 3.0


class YieldingRepository:
    """A repository that lets others run before and after each read. Its class has the reads of the repository."""

    def __init__(self, repository: Any, pause: Pause) -> None:
        self._repository, self._pause = repository, pause
        self.saved: list[Any] | None = None

    def save(self, record: Any) -> None:
        self._repository.save(record)
        if self.saved is not None:
            self.saved.append(record)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._repository, name)
        setattr(self, name, member)
        return member


@cache
def yielding(name: str) -> type[YieldingRepository]:
    """The class that yields for the repository of this name in a unit of work."""
    kind = REPOSITORIES[name]
    reads = {name: _yielding_read(member) for name, member in getmembers(kind, iscoroutinefunction)}
    return type(f"Yielding{kind.__name__}", (YieldingRepository,), reads)


def _yielding_read(member: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def read(repository: YieldingRepository, *given: Any, **named: Any) -> Any:
        await repository._pause()
        found = await member(repository._repository, *given, **named)
        await repository._pause()
        return found

    return read


@dataclass(slots=True)
class Takers:
    """Which process took each agent last. Others may save nothing of it but what it has to pay: else it is in `late`.

    `saved`: the agents as they were saved last.
    """

    by_agent: dict[AgentId, Process | None] = field(default_factory=dict)
    saved: dict[AgentId, Agent] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)

    def note(self, agents: Sequence[Agent], turns: Sequence[Turn], process: Process | None) -> None:
        """Note what a process saved. Processes that serve people save without having taken the agent."""
        advances = process is not None and process.name.startswith("worker")
        for agent in agents:
            before = self.saved.get(agent.id)
            self.saved[agent.id] = agent
            if before is None or agent.fence > before.fence:
                self.by_agent[agent.id] = process
            elif advances and self.by_agent.get(agent.id) is not process and _unpaid(agent) != _unpaid(before):
                self.late.append(f"{agent.id} was saved by {process and process.name}, which had lost it")
        for turn in turns:
            if advances and self.by_agent.get(turn.agent_id) is not process:
                self.late.append(f"{turn.id} was saved by {process and process.name}, which had lost its agent")


def _unpaid(agent: Agent) -> Agent:
    """The agent without what a save that charges it changes, and without what it has of its channel."""
    paid = replace(agent, budget=Budget(), usage=Usage(), calls={}, unbilled=Usage(), save_id="")
    return replace(paid, read_policy=None, read_rules=())


class YieldingDatabase(TemporaryDatabase):
    """The in-memory database as it would be at the other end of a wire."""

    def __init__(self, chance: Chance, faults: Faults) -> None:
        super().__init__()
        self.chance, self.faults, self.takers = chance, faults, Takers()

    def peek(self, agent_id: AgentId) -> Agent:
        """The agent as it is saved. This takes no time."""
        return next(agent for agent in self.saved(Agent) if agent.id == agent_id)

    def peek_turns(self, agent_id: AgentId) -> list[Turn]:
        """The turns of the agent as they are saved."""
        return [turn for turn in self.saved(Turn) if turn.agent_id == agent_id]

    def count(self, table: str) -> int:
        """How many rows the table has."""
        return len(at_once(self._connections.rows(text(f"SELECT 1 FROM {table}"), {})))

    def saved(self, kind: type[T]) -> list[T]:
        """All agents, turns or notices as they are saved. This takes no time."""
        rows = at_once(self._connections.rows(ALL[kind], {}))
        return [read_value(kind, row.data)[0] for row in rows]

    def begin(self) -> "_YieldingUnit":
        return _YieldingUnit(WriteBuffer(self._connections), self)


class _YieldingUnit:
    """A unit of work whose reads and commit take time, and whose commit may fail."""

    def __init__(self, buffer: WriteBuffer, database: YieldingDatabase) -> None:
        self._buffer, self._database = buffer, database
        self._agents, self._turns = list[Agent](), list[Turn]()
        self._after: list[Callable[[], object]] = []

    def after_commit(self, act: Callable[[], object]) -> None:
        self._after.append(act)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_ended: object) -> None:
        self._buffer.close()

    def __getattr__(self, name: str) -> Any:
        if name not in REPOSITORIES:
            raise AttributeError(name)
        repository = yielding(name)(REPOSITORIES[name](self._buffer), self._database.chance.pause)
        if name in ("agents", "turns"):
            repository.saved = self._agents if name == "agents" else self._turns
        setattr(self, name, repository)
        return repository

    async def commit(self) -> None:
        await self._commit()
        for act in self._after:
            act()

    async def _commit(self) -> None:
        chance, faults = self._database.chance, self._database.faults
        await chance.pause()
        if chance.happens(faults.away):
            raise DatabaseAway
        if faults.late and chance.happens(faults.late):
            self._land_later(chance.random.random() * LATE_SECONDS)
            raise DatabaseAway
        await self._buffer.commit()
        self._database.takers.note(self._agents, self._turns, PROCESS.get())
        await chance.pause()
        if chance.happens(faults.lost):
            raise DatabaseAway

    def _land_later(self, seconds: float) -> None:
        """Commit after so many seconds, also if the process is dead by then: the server has all that it needs."""
        land = partial(self._land, copy(self._buffer), PROCESS.get())
        asyncio.get_running_loop().call_later(seconds, land, context=OUTSIDE)

    def _land(self, buffer: WriteBuffer, process: Process | None) -> None:
        with suppress(Conflict):
            at_once(buffer.commit())
            self._database.takers.note(self._agents, self._turns, process)


REPLY_USAGE = Usage(prompt=100, completion=10)
PRICE_PER_TOKEN = Decimal("0.00001")


class ManyStories(ScriptedModel):
    """Plays each agent's part: some appends to its file, each with a word of its own, and then the end."""

    def __init__(self, chance: Chance, faults: Faults, doings: Doings, steps: int) -> None:
        super().__init__()
        self.chance, self.faults, self.steps, self.doings = chance, faults, steps, doings
        self.words, self.calls = 0, Counter[str]()
        self.read: dict[str, list[str]] = {}

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """Think for a while, as long as nobody gives the call up."""
        with self.doings.of(options.cache_key, "a model is called"):
            await CLOCK.sleep(self.chance.random.random() * THOUGHT_SECONDS)
        if self.chance.happens(self.faults.unreachable):
            raise ModelUnavailable("busy", 1.0)
        agent = options.cache_key
        self.calls[agent] += 1
        self.read.setdefault(agent, []).append("\n".join(message.content for message in messages))
        self.words += 1
        text = self._play(agent)
        self.chance.note(f"reply {text}")
        return Reply(text=text, usage=REPLY_USAGE)

    def price(self, usage: Usage, model: str) -> Decimal:
        return (usage.prompt + usage.completion) * PRICE_PER_TOKEN

    def _play(self, agent: str) -> str:
        if self.calls[agent] > self.steps:
            return reply_text("task_complete", {"reason": f"All is written, word {self.words}."})  # never a repetition
        if self.chance.happens(0.05):
            return "I think about it."
        return reply_text("append_to_file", {"filename": "a.txt", "text": f"word-{self.words}.\n"})


def slow_hook(chance: Chance, doings: Doings) -> Any:
    """A hook that lets time pass before and after each command."""

    async def hook(call: CommandCall, context: CommandContext, run: NextHook) -> Result:
        with doings.of(context.agent.id, f"{call.name}{RUNS}"):
            await chance.pause(COMMAND_SECONDS)
            result = await run(call, context)
            await chance.pause(COMMAND_SECONDS)
        return result

    return hook
