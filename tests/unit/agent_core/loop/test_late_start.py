"""The start of a command that only reads is saved with its result, or as soon as people may want to know of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_core.commands.registry import Command, CommandContext, Commands, NoArguments, declare
from agent_core.loop import late_start
from agent_core.model.agent import Acting, Agent, Awaiting, Stopped
from agent_core.model.decision import Approve
from agent_core.model.result import Interrupted, Succeeded
from agent_core.model.turn import TurnState
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.ports.broadcast import Peers
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.patience import PATIENCE_SECONDS


class Reading:
    """A command that only reads; a test says when it ends."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.shows = ""
        self.outside = False

    async def look(self, _given: NoArguments, context: CommandContext) -> str:
        """Look around."""
        if self.shows:
            context.report(self.shows)
        self.begun.set()
        await self.may_end.wait()
        return "all there is"

    @property
    def command(self) -> Command:
        return declare(NoArguments, self.look, label="Look", risks=("read",), category="files", outside=self.outside)


@pytest.fixture
def reading() -> Reading:
    return Reading()


async def stage_of(reading: Reading, **ports: Any) -> tuple[Stage, Agent]:
    model = ScriptedModel(reply_text("look"), reply_text("look"))
    stage = Stage(model=model, commands=Commands.of(reading.command), **ports)
    return stage, await stage.create()


async def wait_for_state(stage: Stage, agent: Agent, state: TurnState) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await stage.turn(agent)).state != state:
            await asyncio.wait((asyncio.create_task(stage.turn(agent)),))


async def outcomes(stage: Stage, agent: Agent) -> list[str]:
    """The outcomes in the decision log, oldest first."""
    async with stage.database.begin() as work:
        entries = await work.audit.of(agent)
    return [entry.outcome for entry in entries if entry.outcome]


@pytest.mark.proves("log:every-run")
async def test_a_short_read_is_saved_once_with_its_start_and_its_end_in_the_log(reading: Reading) -> None:
    stage, agent = await stage_of(reading)
    reading.may_end.set()
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    first, second = (await stage.views.thread(agent.channel, agent.id)).turns.values()
    assert (first.state, first.result, second.state) == ("done", Succeeded("all there is"), "proposed")
    assert first.started_at is not None
    assert await outcomes(stage, agent) == ["running", "done"]


async def test_a_read_that_takes_longer_is_saved_as_running_meanwhile(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_start, "BRIEF_SECONDS", 0.0)
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.wait_until_settled(agent))
    await reading.begun.wait()
    await wait_for_state(stage, agent, "running")
    reading.may_end.set()
    await work
    assert await outcomes(stage, agent) == ["running", "done"]


async def test_a_read_that_shows_output_is_saved_as_running_before(reading: Reading) -> None:
    reading.shows = "half of it"
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.wait_until_settled(agent))
    await reading.begun.wait()
    await wait_for_state(stage, agent, "running")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await stage.turn(agent)).live != "half of it":
            await asyncio.wait((asyncio.create_task(stage.turn(agent)),))
    reading.may_end.set()
    assert (await work).status == Awaiting()
    assert await outcomes(stage, agent) == ["running", "done"]


@pytest.mark.proves("crash:asks")
async def test_a_read_whose_start_was_not_saved_runs_again_after_a_crash(reading: Reading) -> None:
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.wait_until_settled(agent))
    await reading.begun.wait()
    assert (await stage.turn(agent)).state == "approved"
    later = Stage(
        model=ScriptedModel(reply_text("look")), commands=Commands.of(reading.command), database=stage.database
    )
    reading.may_end.set()
    agent = await later.wait_until_settled(agent)
    await asyncio.gather(work, return_exceptions=True)
    first, *_ = (await later.views.thread(agent.channel, agent.id)).turns.values()
    assert (first.state, first.result, agent.status) == ("done", Succeeded("all there is"), Awaiting())
    assert await outcomes(later, agent) == ["running", "done"]


@pytest.mark.proves("log:every-run")
async def test_stop_ends_a_read_whose_start_was_not_saved_and_the_log_has_it(reading: Reading) -> None:
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    async with stage.run():
        stage.engine.wake(agent.id)
        await reading.begun.wait()
        assert (await stage.views.agent(agent.channel, agent.id)).status == Acting()
        await stage.service.stop(agent.id, stage.origin())
        await wait_for_state(stage, agent, "done")
    stopped = await stage.views.agent(agent.channel, agent.id)
    turn = await stage.turn(agent)
    assert isinstance(stopped.status, Stopped)
    assert (turn.result, turn.ended_by) == (Interrupted(by=ANA), ANA)
    assert turn.started_at is not None
    assert await outcomes(stage, agent) == ["running", "stopped"]


@pytest.mark.proves("log:every-run")
async def test_a_read_that_ends_just_after_stop_is_in_the_log(reading: Reading) -> None:
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.wait_until_settled(agent))
    await reading.begun.wait()
    await stage.service.stop(agent.id, stage.origin())  # the engine does not run, so nothing is cancelled
    reading.may_end.set()
    stopped = await work
    assert isinstance(stopped.status, Stopped)
    assert (await stage.turn(agent)).result == Interrupted(by=ANA)
    assert await outcomes(stage, agent) == ["running", "stopped"]


async def test_who_stops_a_read_of_untrusted_content_exposes_the_agent(reading: Reading) -> None:
    reading.outside = True
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.wait_until_settled(agent))
    await reading.begun.wait()
    await stage.service.stop(agent.id, stage.origin())
    reading.may_end.set()
    assert (await work).exposed


@pytest.mark.proves("log:every-run")
@pytest.mark.parametrize("is_told", [True, False])
async def test_a_read_whose_agent_is_deleted_before_its_start_is_saved_is_in_the_log(
    reading: Reading, is_told: bool
) -> None:
    stage, agent = await stage_of(reading)
    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.loop.advance(agent.id))
    await reading.begun.wait()
    await stage.service.delete(agent.id, stage.origin())
    if is_told:
        work.cancel()
    reading.may_end.set()
    await asyncio.gather(work, return_exceptions=True)
    assert await outcomes(stage, agent) == ["running", "interrupted"]


class WatchedDatabase(TemporaryDatabase):
    """Calls a function after each commit."""

    after_commit: Callable[[], Awaitable[None]] | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        async with super().begin() as work:
            commit = work.commit

            async def watched() -> None:
                await commit()
                if self.after_commit:
                    await self.after_commit()

            work.commit = watched  # type: ignore[method-assign]
            yield work


@pytest.mark.proves("log:every-run")
async def test_a_claim_does_not_end_before_a_read_that_a_person_stopped_is_in_the_log(reading: Reading) -> None:
    database = WatchedDatabase()
    stage, agent = await stage_of(reading, surface=RecordingSurface(shows_what_is_saved=True), database=database)
    other = Stage(database=database, surface=stage.surface, peers=Peers())

    async def go_on_elsewhere() -> None:
        async with database.begin() as work:
            if await work.workers.claimant(agent.id):
                return
        database.after_commit = None
        await other.service.resume(agent.id, other.origin())
        await other.engine.registry.take(agent.id)

    await stage.decide(agent, Approve())
    work = asyncio.create_task(stage.loop.advance(agent.id))
    await reading.begun.wait()
    await stage.service.stop(agent.id, stage.origin())  # by another process, whose message did not arrive yet
    database.after_commit = go_on_elsewhere
    reading.may_end.set()
    await work
    assert database.after_commit is None
    assert await outcomes(stage, agent) == ["running", "stopped"]
