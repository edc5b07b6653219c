"""A process that is told to end: calls of models are given up, commands may end, and nobody is asked for nothing."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager

import pytest

from adapters.screens.cards import turn_card
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.model.agent import Agent, Awaiting, Thinking
from agent_core.model.command import Interrupted, Succeeded
from agent_core.model.decision import Approve
from agent_core.model.model_calls import Message, Reply
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.ports.models import CallOptions
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import CommandContext, Commands, declare
from tests.patience import PATIENCE_SECONDS
from tests.unit.agent_core.loop.test_live_output import Nothing, Slow

BUILD = reply_text("build")
DONE = reply_text("task_complete", {"reason": "It is built."})


class AskedModel(ScriptedModel):
    """Tells when a call waits for its reply."""

    def __init__(self, *replies: str) -> None:
        super().__init__(*replies, waits=True)
        self.is_waiting = asyncio.Event()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        if not self.left:
            self.is_waiting.set()
        return await super().complete(messages, options)


class Machine:
    """What outlives a process: the database, and what stands in the chat."""

    def __init__(self) -> None:
        self.database, self.surface, self.slow = TemporaryDatabase(), RecordingSurface(), Slow()

    def start(self, *replies: str) -> Stage:
        """A process."""
        build = declare(Nothing, self.slow.build, label="Build", risks=("execute",), category="code")
        return Stage(
            model=AskedModel(*replies),
            database=self.database,
            surface=self.surface,
            commands=Commands.of(build, *FINISH_COMMANDS),
        )


async def building(stage: Stage, slow: Slow) -> Agent:
    """An agent whose command runs and has printed a line."""
    agent = await stage.create()
    turn = await stage.decide(agent, Approve())
    slow.say.put_nowait("compiling")
    await stage.shown.until(lambda shown: "compiling" in shown.cards[turn.id].live)
    return agent


@pytest.mark.proves("engine:drain")
async def test_a_running_command_is_told_that_the_process_ends() -> None:
    begun, told = asyncio.Event(), asyncio.Event()
    clock = FakeClock()

    async def build(_given: Nothing, context: CommandContext) -> str:
        """Wait for people until there are none."""
        begun.set()
        while not context.is_ending():
            await clock.sleep(1)
        told.set()
        return "nobody answered"

    command = declare(Nothing, build, label="Build", risks=("execute",), category="code")
    stage = Stage(model=AskedModel(BUILD), commands=Commands.of(command, *FINISH_COMMANDS))
    async with stage.run():
        agent = await stage.create()
        await stage.decide(agent, Approve())
        await begun.wait()
        await clock.until_sleeping()
        draining = asyncio.create_task(stage.drain(PATIENCE_SECONDS))
        await asyncio.wait((draining,), timeout=0.01)
        assert not told.is_set()
        clock.advance(1)
        assert await draining == 0
    assert (await stage.turn(agent)).result == Succeeded("nobody answered")


@pytest.mark.proves("engine:drain")
async def test_a_running_command_may_end_and_the_next_process_goes_on_without_a_question() -> None:
    machine = Machine()
    first = machine.start(BUILD)
    async with first.run():
        agent = await building(first, machine.slow)
        draining = asyncio.create_task(first.drain(PATIENCE_SECONDS))
        machine.slow.say.put_nowait("end")
        assert await draining == 0
    turn = await first.turn(agent)
    assert (turn.state, turn.result) == ("done", Succeeded("built"))
    second = machine.start(DONE)
    agent = await second.wait_until_settled(agent)
    assert (await second.turn(agent)).call.name == "task_complete"
    assert len(first.script.prompts) == 1


@pytest.mark.proves("engine:drain")
async def test_a_command_that_does_not_end_in_time_is_ended_and_put_to_people_with_what_it_printed() -> None:
    machine = Machine()
    stage = machine.start(BUILD)
    async with stage.run():
        agent = await building(stage, machine.slow)
        assert await stage.drain(0) == 1
    turn, agent = await stage.turn(agent), await stage.views.agent(CHANNEL, agent.id)
    assert (turn.state, agent.status) == ("interrupted", Awaiting())
    assert turn.result == Interrupted(output="compiling\n", at_shutdown=True)
    card = turn_card(agent, machine.surface.cards[turn.id])
    assert "interrupted: Signoff stopped and ended this. It may have run in part" in card.standing
    assert card.outcome == "compiling\n"


@pytest.mark.proves("engine:drain")
async def test_a_model_call_is_given_up_and_what_was_shown_is_not_shown_again() -> None:
    machine = Machine()
    first = machine.start(BUILD)
    agent = await first.create()
    await first.service.lifecycle.stop(agent.id, first.origin())
    async with first.run():
        await first.service.lifecycle.resume(agent.id, first.origin())
        await first.shown.until(lambda shown: any(notice.kind == "resumed" for notice in shown.notices))
        assert isinstance(first.model, AskedModel)
        await first.model.is_waiting.wait()
        assert await first.drain(PATIENCE_SECONDS) == 0
    assert isinstance((await first.views.agent(CHANNEL, agent.id)).status, Thinking)
    second = machine.start(BUILD)
    await second.wait_until_settled(agent)
    assert [notice.kind for notice in machine.surface.notices].count("resumed") == 1


@pytest.mark.proves("engine:drain")
async def test_no_command_begins_after_the_word_to_end() -> None:
    machine, is_previewing, may_go_on = Machine(), asyncio.Event(), asyncio.Event()
    previews: list[None] = []

    async def preview(_given: Nothing, _context: CommandContext) -> None:
        previews.append(None)
        if len(previews) > 1:  # the second one, before the start
            is_previewing.set()
            await may_go_on.wait()

    build = declare(Nothing, machine.slow.build, preview, label="Build", risks=("execute",), category="code")
    stage = Stage(model=ScriptedModel(BUILD), commands=Commands.of(build, *FINISH_COMMANDS))
    agent = await stage.create()
    async with stage.run():
        await stage.decide(agent, Approve())
        await is_previewing.wait()
        draining = asyncio.create_task(stage.drain(PATIENCE_SECONDS))
        while not stage.loop.draining.is_requested:
            await asyncio.wait([draining], timeout=0)
        may_go_on.set()
        assert await draining == 0
    assert (await stage.turn(agent)).state == "approved"


class Gate(TemporaryDatabase):
    """A database of which one commit waits at the gate while it is closed, and then takes effect.

    `can_give_up`: a commit that waits has not begun, so cancelling it leaves no effect.
    """

    def __init__(self, *, can_give_up: bool = False) -> None:
        super().__init__()
        self.is_open, self.is_reached, self.can_give_up = asyncio.Event(), asyncio.Event(), can_give_up
        self.is_cancelled = asyncio.Event()
        self.is_open.set()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        async with super().begin() as work:
            commit = work.commit

            async def commit_when_open() -> None:
                await self.is_open.wait()
                await commit()

            async def commit_through_gate() -> None:
                if self.is_open.is_set() or self.is_reached.is_set():
                    return await commit()
                self.is_reached.set()
                try:
                    await (commit_when_open() if self.can_give_up else finish_uncancelled(commit_when_open()))
                except asyncio.CancelledError:
                    self.is_cancelled.set()
                    raise

            work.commit = commit_through_gate  # type: ignore[method-assign]
            yield work


async def finish_uncancelled(step: Coroutine[object, object, object]) -> None:
    """As real databases do: a commit that has begun goes on to its end, whoever waits for it."""
    task = asyncio.create_task(step)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


@pytest.mark.slow
@pytest.mark.proves("engine:drain")
async def test_a_start_that_was_only_saved_is_taken_back() -> None:
    machine, database = Machine(), Gate()
    machine.database = database
    stage = machine.start(BUILD)
    agent = await stage.create()
    async with stage.run():
        await stage.decide(agent, Approve())
        database.is_open.clear()
        await database.is_reached.wait()
        draining = asyncio.create_task(stage.drain(0))
        await database.is_cancelled.wait()
        database.is_open.set()
        await draining
    assert (await stage.turn(agent)).state == "approved"


@pytest.mark.proves("engine:drain")
async def test_a_result_is_saved_even_if_the_time_ends_in_the_middle_of_that() -> None:
    machine, database = Machine(), Gate()
    machine.database = database
    stage = machine.start(BUILD)
    async with stage.run():
        agent = await building(stage, machine.slow)
        await stage.fake_clock.until_sleeping()
        database.is_open.clear()
        machine.slow.say.put_nowait("end")
        await database.is_reached.wait()
        draining = asyncio.create_task(stage.drain(0))
        while not stage.loop.draining.is_requested:
            await asyncio.wait([draining], timeout=0)
        asyncio.get_running_loop().call_soon(database.is_open.set)
        await draining
    turn = await stage.turn(agent)
    assert (turn.state, turn.result) == ("done", Succeeded("built"))


@pytest.mark.proves("engine:drain")
@pytest.mark.parametrize("can_give_up", [False, True])
async def test_a_question_is_answered_once_whenever_the_process_ends(*, can_give_up: bool) -> None:
    machine, database = Machine(), Gate(can_give_up=can_give_up)
    machine.database = database
    first = machine.start(BUILD, "Because.")
    agent = await first.create()
    await first.service.decisions.ask(agent.id, "Why?", first.origin())
    database.is_open.clear()
    async with first.run():
        await database.is_reached.wait()  # with the answer
        draining = asyncio.create_task(first.drain(0))
        while not first.loop.draining.is_requested:
            await asyncio.wait([draining], timeout=0)
        asyncio.get_running_loop().call_soon(database.is_open.set)
        await draining
    await machine.start("Because.").wait_until_settled(agent)
    assert [notice.kind for notice in machine.surface.notices].count("answer") == 1
