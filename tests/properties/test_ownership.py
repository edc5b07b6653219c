"""Turns, leases and budgets against a simple model: any order of workers, people, time, also inside a step."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent_core.errors import DatabaseAway, PersonError
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Result
from agent_core.model.decision import Approve, Decision, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import FREE, Budget, Message, Reply, Usage
from agent_core.model.records.reservation import Account
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.ports.models import CallOptions
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import CommandContext
from tests.example_counts import tried

PRICE = Decimal("0.1")
AGENT_LIMIT, CHANNEL_LIMIT = Decimal("1.5"), Decimal("2.5")
AGENTS, WORKERS = 2, 2
LOOK_SECONDS = 1.5
MOST_STEPS_AT_ONCE, CLOSING_SECONDS, MOST_CLOSINGS = 3, 0.001, 10_000
STUCK_SECONDS, MOST_STUCK = 0.5, 20
APPROVALS = ("approve", "approve 3")
BY_PEOPLE = (*APPROVALS, "reject", "stop", "revoke", "resume")
EVENTS = (*BY_PEOPLE, "time", "take over", "take over", "take over", "kill")

# Whose step a call of the model or a command belongs to. A killed worker's step may end while one inside of it goes on.
AT_WORK: ContextVar[tuple["Worker", AgentId]] = ContextVar("at work")

numbers = st.integers(0, 11)
events = st.lists(st.sampled_from(EVENTS), max_size=4)


class Link:
    """One worker's connection to the database: it can be cut, and every save through it is checked."""

    def __init__(self, name: str, owners: "Owners") -> None:
        self.name, self.owners, self.is_cut = name, owners, False

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Any]:
        self.require()
        async with self.owners.database.begin() as work:
            yield CheckedUnit(work, self)

    async def close(self) -> None:
        """Do nothing."""

    def require(self) -> None:
        if self.is_cut:
            raise DatabaseAway


class CheckedUnit:
    """A unit of work that tells which agents and turns it saved."""

    def __init__(self, work: SqlUnitOfWork, link: Link) -> None:
        self._work, self._link = work, link
        self._agents, self._turns = dict[str, Agent](), list[Turn]()
        self.agents, self.turns = Spied(work.agents, self._note_agent), Spied(work.turns, self._turns.append)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    async def commit(self) -> None:
        self._link.require()
        before = {agent_id: await self._link.owners.read(AgentId(agent_id)) for agent_id in self._agents}
        await self._work.commit()
        self._link.owners.check(self._link.name, before, self._agents, self._turns)

    def _note_agent(self, agent: Agent) -> None:
        self._agents[agent.id] = agent


class Spied:
    """A repository that tells what it is given to save."""

    def __init__(self, repository: Any, note: Any) -> None:
        self._repository, self._note = repository, note

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repository, name)

    def save(self, record: Any) -> None:
        self._repository.save(record)
        self._note(record)


class Owners:
    """Who took each agent last: only that worker's saves may change more than what the agent has to pay.

    `late`: the saves that others made.
    """

    def __init__(self) -> None:
        self.database = TemporaryDatabase()
        self.newest: dict[str, str] = {}
        self.late: list[str] = []

    async def read(self, agent_id: AgentId) -> Agent:
        async with self.database.begin() as work:
            return await work.agents.locate(agent_id)

    def check(self, name: str, before: dict[str, Agent], agents: dict[str, Agent], turns: Sequence[Turn]) -> None:
        for agent_id, agent in agents.items():
            if agent.fence > before[agent_id].fence:
                self.newest[agent_id] = name
            elif self.newest.get(agent_id) != name:
                self.late += [f"{name}: {agent_id}"] if _unpaid(agent) != _unpaid(before[agent_id]) else []
        self.late += [f"{name}: {turn.id}" for turn in turns if self.newest.get(turn.agent_id) != name]


def _unpaid(agent: Agent) -> Agent:
    """The agent without what a save that charges it changes."""
    return replace(agent, budget=Budget(), usage=Usage(), calls={}, unbilled=Usage(), save_id="")


class Model(ScriptedModel):
    """Proposes to append a new word in each call; meanwhile something else happens."""

    def __init__(self, machine: "Ownership") -> None:
        super().__init__(cost=PRICE)
        self.machine, self.calls = machine, 0

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        self.calls += 1
        text = reply_text("append_to_file", {"filename": "a.txt", "text": f"word{self.calls}\n"})
        await self.machine.happen()
        return Reply(text=text, usage=Usage(prompt=10, completion=10))


@dataclass(eq=False)
class Worker:
    """A process. `killed`: it was cut off for good, and what it does is not awaited any more."""

    stage: Stage
    link: Link
    killed: asyncio.Event


class Ownership(RuleBasedStateMachine):
    """`allowed`: how many commands of each agent may begin. `begun`: the words of commands that did.

    `planned`: what happens during the next calls and commands. `depth`: how many are at work, one inside the other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runner, self.owners, self.clock = asyncio.Runner(), Owners(), FakeClock()
        self.surface, self.workspaces, self.model = RecordingSurface(), InMemoryWorkspaces(), Model(self)
        self.allowed, self.begun, self.written = Counter[str](), set[str](), Counter[str]()
        self.planned, self.depth, self.tasks = list[str](), 0, set[asyncio.Task[None]]()
        self.made, self.unallowed, self.killed = 0, list[str](), list[Worker]()
        self.people = self._worker("people")
        self.workers = [self._worker() for _ in range(WORKERS)]
        self.agents = self.runner.run(self._create())

    def teardown(self) -> None:
        self.runner.run(self._end())
        self.runner.close()

    @rule(which=numbers, whose=numbers, planned=events)
    def advance(self, which: int, whose: int, planned: list[str]) -> None:
        self.planned = planned
        worker = self.workers[which % WORKERS]
        self.runner.run(self._advance(worker, self.agents[whose % AGENTS]))
        self.planned = []

    @rule(event=st.sampled_from(EVENTS), which=numbers, whose=numbers)
    def something_happens(self, event: str, which: int, whose: int) -> None:
        self.runner.run(self._do(event, self.workers[which % WORKERS], self.agents[whose % AGENTS]))

    @rule(which=numbers, whose=numbers, how=st.sampled_from(APPROVALS), planned=events)
    def approve_and_advance(self, which: int, whose: int, how: str, planned: list[str]) -> None:
        for event in ("resume", how):
            self.something_happens(event, which, whose)
        self.advance(which, whose, planned)

    @precondition(lambda machine: machine.model.calls > 0)
    @rule()
    def settle(self) -> None:
        """What killed workers had reserved is charged when their agents are taken over: each call is paid once."""
        for agent_id in self.agents:
            self.runner.run(self._stage.ledger.charge_left_of(agent_id))
        spent, reserved = self.runner.run(self._money())
        assert (spent, reserved) == (self.model.calls * PRICE, FREE)

    @invariant()
    def money_is_spent_or_reserved_once_and_within_the_budget(self) -> None:
        spent, reserved = self.runner.run(self._money())
        assert spent + reserved == self.model.calls * PRICE
        assert spent + reserved <= CHANNEL_LIMIT + PRICE
        for agent_id in self.agents:
            assert self.runner.run(self.owners.read(agent_id)).budget.spent <= AGENT_LIMIT + PRICE

    @invariant()
    def nothing_is_saved_late_or_run_without_approval_or_twice(self) -> None:
        assert (self.owners.late, self.unallowed) == ([], [])
        assert not [word for word, times in self.written.items() if times > 1]

    async def happen(self) -> None:
        """Let the next planned event happen in the middle of the newest step."""
        worker, agent_id = AT_WORK.get()
        if self.planned:
            await _finish(self._do(self.planned.pop(0), worker, agent_id))
        if worker.link.is_cut:
            await asyncio.Event().wait()  # a killed process goes no further

    async def _hook(self, call: CommandCall, context: CommandContext, run: NextHook) -> Result:
        """A command that begins was allowed, unless it is the same command again after its worker ended."""
        word = str(call.arguments["text"])
        if word not in self.begun:
            self.begun.add(word)
            self.allowed[context.agent.id] -= 1
            self.unallowed += [word] if self.allowed[context.agent.id] < 0 else []
        result = await run(call, context)
        self.written[word] += 1
        await self.happen()
        return result

    async def _do(self, event: str, worker: Worker, agent_id: AgentId) -> None:
        with suppress(PersonError):
            if event in BY_PEOPLE:
                await self._act(event, agent_id)
            elif event == "time":
                self.clock.advance(LOOK_SECONDS)
            elif event == "take over" and self.depth < MOST_STEPS_AT_ONCE:
                await self._take_over(worker, agent_id)
            elif event == "kill":
                self._kill(worker)

    async def _act(self, event: str, agent_id: AgentId) -> None:
        """Do what a person does; their decision counts if it is not refused."""
        match event:
            case "approve" | "approve 3" | "reject":
                await self._decide(agent_id, {"approve": Approve(), "approve 3": Approve(3)}.get(event, Reject("No")))
            case "stop":
                await self._stage.service.lifecycle.stop(agent_id, self._stage.origin())
                self.allowed[agent_id] = 0
            case "revoke":
                await self._stage.service.decisions.revoke(agent_id, self._stage.origin())
                turn = await self._stage.views.newest_turn(CHANNEL, agent_id)
                self.allowed[agent_id] = int(bool(turn and turn.state == "approved" and turn.approvals))
            case _:
                await self._stage.service.lifecycle.resume(agent_id, self._stage.origin())

    @property
    def _stage(self) -> Stage:
        return self.people.stage

    async def _decide(self, agent_id: AgentId, decision: Decision) -> None:
        turn = await self._stage.views.newest_turn(CHANNEL, agent_id)
        if turn is None:
            return
        await self._stage.service.decisions.decide(turn.id, decision, self._stage.origin(), shown=turn.control_hash)
        match decision:
            case Approve(1):
                self.allowed[agent_id] += 1
            case Approve(times):
                self.allowed[agent_id] = times
            case _:
                self.allowed[agent_id] = 0

    async def _advance(self, worker: Worker, agent_id: AgentId) -> None:
        """Let the worker advance the agent until it waits or the worker is killed."""
        self.depth += 1
        AT_WORK.set((worker, agent_id))
        task = asyncio.ensure_future(worker.stage.loop.advance(agent_id))
        ends = asyncio.ensure_future(worker.killed.wait())
        self.tasks.add(task)
        await self._wait_for_first(task, ends)
        ends.cancel()
        self.depth -= 1
        if task.done() and not task.cancelled():  # Stop cancels a command
            task.result()

    async def _wait_for_first(self, *ends: asyncio.Future[Any]) -> None:
        """Wait for one of them. A save that is tried again waits for the clock, which nothing else advances here."""
        for _ in range(MOST_STUCK):
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED, timeout=STUCK_SECONDS)
            if done:
                return
            self.clock.advance(LOOK_SECONDS)
        raise AssertionError("A step does not end, however much time passes.")

    async def _take_over(self, worker: Worker, agent_id: AgentId) -> None:
        """Another takes the worker for dead, rightly or not: it charges what is left, and goes on with the agent."""
        other = next(each for each in self.workers if each is not worker)
        await other.stage.ledger.charge_left_of(agent_id)
        await self._advance(other, agent_id)

    def _kill(self, worker: Worker) -> None:
        if worker in self.workers:
            self.workers[self.workers.index(worker)] = self._worker()
            worker.link.is_cut = True
            worker.killed.set()
            self.killed.append(worker)

    async def _end(self) -> None:
        """Let the steps of killed workers end, so that the loop can be closed."""
        for worker in self.killed:
            worker.link.is_cut = False
        left = {task for task in self.tasks if not task.done()}
        for _ in range(MOST_CLOSINGS):
            if not left:
                return
            for task in left:  # again each time: a step inside of another one may begin to wait after the first
                task.cancel()
            self.clock.advance(LOOK_SECONDS)
            _, left = await asyncio.wait(left, timeout=CLOSING_SECONDS)
        raise AssertionError(f"{len(left)} steps of killed workers did not end.")

    async def _money(self) -> tuple[Decimal, Decimal]:
        async with self.owners.database.begin() as work:
            spent = (await work.budgets.of(CHANNEL)).spent
            assert spent == sum((agent.budget.spent for agent in await work.agents.of(CHANNEL)), FREE)
            return spent, (await work.reservations.funds(Account(channel=CHANNEL))).reserved_of_channel

    def _worker(self, name: str = "") -> Worker:
        self.made += 1
        link = Link(name or f"worker {self.made}", self.owners)
        stage = Stage(
            model=self.model,
            database=self.owners.database if name else link,
            clock=self.clock,
            surface=self.surface,
            workspaces=self.workspaces,
            extensions=Extensions(hooks=(self._hook,)),
        )
        return Worker(stage, link, asyncio.Event())

    async def _create(self) -> list[AgentId]:
        async with self.owners.database.begin() as work:
            work.budgets.set_limit(CHANNEL, CHANNEL_LIMIT)
            await work.commit()
        drafts = [AgentDraft(name=f"Agent {n}", goals=("Write",), budget=AGENT_LIMIT) for n in range(AGENTS)]
        return [(await self._stage.service.lifecycle.create(draft, self._stage.origin())).id for draft in drafts]


async def _finish(event: Coroutine[Any, Any, None]) -> None:
    """Await the event to its end, also if the command that it happens in is cancelled meanwhile."""
    happening = asyncio.ensure_future(event)
    try:
        await asyncio.shield(happening)
    except asyncio.CancelledError:
        await asyncio.wait([happening])
        raise


TestOwnership = pytest.mark.proves("workers:model")(Ownership.TestCase)
TestOwnership.settings = settings(max_examples=tried(12), stateful_step_count=20, deadline=None)


@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.proves("workers:model")
class TestOwnershipLong(Ownership.TestCase):  # type: ignore[misc, valid-type]
    """The same, for longer."""

    settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
