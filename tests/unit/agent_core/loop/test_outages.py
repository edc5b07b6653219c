"""The database goes away while a result or a reply is in hand: it is saved when the database is back, and once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from decimal import Decimal
from functools import partial
from typing import Literal

import pytest
from pydantic import BaseModel

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.errors import CommitUnknown, Conflict, DatabaseAway
from agent_core.loop.claim import RETRY_SECONDS
from agent_core.model.agent import Acting, Agent, Thinking
from agent_core.model.command import Failed
from agent_core.model.decision import Approve
from agent_core.model.model_calls import Usage
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.ports.database import MAX_ATTEMPTS
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, Commands, declare
from tests.patience import PATIENCE_SECONDS

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
DONE = reply_text("task_complete", {"reason": "All is written."})

Moment = Literal["before", "after", "late"]


class FlakyDatabase(TemporaryDatabase):
    """Goes away at the commit number `at`, counted from `count_from_here`.

    If it goes away `before`, that commit never takes effect; `after`: at once; `late`: when the next commit is tried.
    """

    def __init__(self, at: int, moment: Moment) -> None:
        super().__init__()
        self.at, self.moment, self.commits, self.is_counting = at, moment, 0, False
        self.late: Callable[[], Awaitable[None]] | None = None

    def count_from_here(self) -> None:
        self.is_counting = True

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        async with AsyncExitStack() as unit:
            work = await unit.enter_async_context(super().begin())
            commit = work.commit

            async def commit_late(opened: AsyncExitStack) -> None:
                async with opened:
                    await commit()

            async def commit_or_fail() -> None:
                self.commits += self.is_counting
                is_lost = self.is_counting and self.commits == self.at
                if is_lost and self.moment != "after":
                    if self.moment == "late":
                        self.late = partial(commit_late, unit.pop_all())
                    raise DatabaseAway
                if late := self.late:
                    self.late = None
                    await late()
                await commit()
                if is_lost:
                    raise DatabaseAway

            work.commit = commit_or_fail  # type: ignore[method-assign]
            yield work


async def settle(stage: Stage, agent: Agent) -> Agent:
    """Advance the agent as sweeps do, and let time pass whenever it waits for the database."""

    async def sweep() -> Agent:
        while True:
            with suppress(DatabaseAway):
                present = await stage.wait_until_settled(agent)
                if not isinstance(present.status, Acting | Thinking):
                    return present

    advance = asyncio.create_task(sweep())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not advance.done():
            sleeping = asyncio.create_task(stage.fake_clock.until_sleeping())
            await asyncio.wait([advance, sleeping], return_when=asyncio.FIRST_COMPLETED)
            sleeping.cancel()
            stage.fake_clock.advance(RETRY_SECONDS)
    return await advance


@pytest.mark.slow
@pytest.mark.proves("crash:in-hand")
@pytest.mark.parametrize("moment", ["before", "after", "late"])
@pytest.mark.parametrize("at", range(1, 9))
async def test_what_is_in_hand_is_saved_once_when_the_database_is_back(at: int, moment: Moment) -> None:
    database = FlakyDatabase(at, moment)
    stage = Stage(model=ScriptedModel(WRITE, DONE, cost=Decimal("0.1")), database=database)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    database.count_from_here()
    await settle(stage, agent)
    assert database.commits >= 4
    agent = await stage.views.agent(CHANNEL, agent.id)
    thread = await stage.views.thread(CHANNEL, agent.id)
    assert [(turn.call.name, turn.state) for turn in thread.turns.values()] == [
        ("write_to_file", "done"),
        ("task_complete", "proposed"),
    ]
    assert len(stage.script.prompts) == 2
    assert (agent.budget.spent, agent.usage.cost) == (Decimal("0.2"), Decimal("0.2"))
    assert await stage.views.file(CHANNEL, agent.id, "a.txt") == b"one\n"
    assert stage.shown.cards[(await stage.turn(agent)).id].state == "proposed"


class Thinks(BaseModel):
    """No arguments."""


@pytest.mark.proves("crash:in-hand")
@pytest.mark.parametrize("fault", [DatabaseAway("away"), CommitUnknown("lost"), KeyError("a fault of our own")])
async def test_what_a_command_spent_is_charged_however_it_ends(fault: Exception) -> None:
    async def ponder(_given: Thinks, context: CommandContext) -> str:
        """Ask a model."""
        context.tracker.record("function", Usage(cost=Decimal("0.75")))
        raise fault

    command = declare(Thinks, ponder, label="Ponder", risks=("spend",), category="code", asks_models=True)
    stage = Stage(model=ScriptedModel(reply_text("ponder"), DONE), commands=Commands.of(command, *FINISH_COMMANDS))
    agent = await stage.create()
    await stage.decide(agent, Approve())
    with suppress(KeyError):
        await stage.wait_until_settled(agent)
    agent = await stage.views.agent(CHANNEL, agent.id)
    assert agent.budget.spent == Decimal("0.75")
    if isinstance(fault, DatabaseAway):  # the model reads of it, and nobody is asked whether it ran
        first, second = (await stage.views.thread(CHANNEL, agent.id)).turns.values()
        assert (first.state, second.state) == ("done", "proposed")
        assert isinstance(first.result, Failed)
        assert "database" in first.result.error


@pytest.mark.proves("crash:in-hand")
async def test_contention_without_end_does_not_throw_a_result_away() -> None:
    class Contended(FlakyDatabase):
        """Every commit conflicts, as with a lock that another process holds."""

        @asynccontextmanager
        async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
            async with super().begin() as work:
                if self.is_counting:

                    async def conflict() -> None:
                        self.commits += 1
                        self.is_counting = self.commits < 2 * MAX_ATTEMPTS
                        raise Conflict

                    work.commit = conflict  # type: ignore[method-assign]
                yield work

    database = Contended(0, "before")
    stage = Stage(model=ScriptedModel(WRITE, DONE), database=database)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    database.count_from_here()
    await settle(stage, agent)
    assert (await stage.turn(agent)).call.name == "task_complete"
