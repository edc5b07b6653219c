"""An agent and its helpers in one unit of work: a save of one keeps what the unit saved of it before."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal

import pytest

from agent_core.errors import CommandError, NotFound
from agent_core.model.agent import Acting, Agent, Finished, Stopped
from agent_core.model.decision import Approve
from agent_core.model.model_calls import Usage
from agent_core.ports.database import Database, UnitOfWork
from agent_core.spending.helper_tree import list_helpers_below, list_helpers_of, taint_shared_folder
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, NoArguments, declare

BUILD = reply_text("build")
COST = Decimal("0.75")


class BusyDatabase:
    """A database in which `event` happens once, between the reads and the commit of the next unit of work."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.event: Callable[[], Awaitable[object]] | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        async with self.database.begin() as work:
            commit = work.commit

            async def commit_after_event() -> None:
                event, self.event = self.event, None
                if event:
                    await event()
                await commit()

            work.commit = commit_after_event  # type: ignore[method-assign]
            yield work


class Builder:
    """A command that costs money, and then runs until it is stopped if `is_slow`."""

    def __init__(self, *, is_slow: bool) -> None:
        self.is_slow, self.has_begun = is_slow, asyncio.Event()

    async def build(self, _given: NoArguments, context: CommandContext) -> str:
        """Build it."""
        context.tracker.record("chat", Usage(cost=COST))
        self.has_begun.set()
        if self.is_slow:
            await asyncio.Event().wait()
        return "built"


def stage_of(database: Database, builder: Builder) -> Stage:
    stage = Stage(model=ScriptedModel(*[BUILD] * 9), database=database)
    stage.commands.register(
        declare(NoArguments, builder.build, label="Build", risks=("execute",), category="shell", asks_models=True)
    )
    return stage


async def present(stage: Stage, agent: Agent) -> Agent:
    return await stage.views.agent(CHANNEL, agent.id)


async def change(stage: Stage, agent: Agent, change: Callable[[Agent], Agent]) -> Agent:
    async with stage.database.begin() as work:
        changed = change(await work.agents.get(CHANNEL, agent.id))
        work.agents.save(changed)
        await work.commit()
        return changed


async def family(stage: Stage, *names: str) -> tuple[Agent, tuple[Agent, ...]]:
    """An agent that asks to build, and its helpers."""
    root = await stage.create()
    return root, tuple([await stage.helpers.start(root, name, "Help", "") for name in names])


@asynccontextmanager
async def building(stage: Stage, builder: Builder, agent: Agent) -> AsyncIterator[None]:
    """Run the agent's approved command during the with-block."""
    await stage.decide(agent, Approve())
    running = asyncio.create_task(stage.loop.advance(agent.id))
    await builder.has_begun.wait()
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_lists_of_helpers_and_the_taint_of_their_folder_keep_what_was_saved_before(database: Database) -> None:
    stage = stage_of(database, Builder(is_slow=False))
    root, (first, second, third) = await family(stage, "One", "Two", "Three")
    async with stage.database.begin() as work:
        root = await work.agents.get(CHANNEL, root.id)
        stopped = (await work.agents.get(CHANNEL, first.id)).become(Stopped(root.owner), stage.clock.now())
        work.agents.save(stopped)
        work.agents.remove(third)
        assert await list_helpers_below(work, root) == await list_helpers_of(work, root) == (stopped, second)
        await taint_shared_folder(work, root, stage.clock.now())
        await work.commit()
    saved = await stage.helpers.of(root)
    assert [(each.status.kind, each.folder_tainted) for each in saved] == [("stopped", True), ("thinking", True)]


@pytest.mark.proves("helper:stop")
async def test_stop_reaches_the_helpers_of_an_agent_whose_command_taints_the_folder(database: Database) -> None:
    builder = Builder(is_slow=True)
    stage = stage_of(database, builder)
    root, (helper,) = await family(stage, "Scout")
    await change(stage, root, Agent.expose)
    async with building(stage, builder, root):
        assert isinstance((await present(stage, root)).status, Acting)
        await stage.service.lifecycle.stop(root.id, stage.origin())
    for each in (await present(stage, root), await present(stage, helper)):
        assert (each.status.kind, each.folder_tainted) == ("stopped", True)


@pytest.mark.slow
@pytest.mark.proves("taint:folder")
async def test_stop_of_an_agent_keeps_the_taint_of_a_helpers_command(database: Database) -> None:
    builder = Builder(is_slow=True)
    stage = stage_of(database, builder)
    root, helpers = await family(stage, "One", "Two", "Three")
    middle = await stage.wait_until_settled(await change(stage, helpers[1], Agent.expose))
    async with building(stage, builder, middle):
        await stage.service.lifecycle.stop(root.id, stage.origin())
    for each in [await present(stage, agent) for agent in (root, *helpers)]:
        assert (each.status.kind, each.folder_tainted) == ("stopped", True)


@pytest.mark.slow
@pytest.mark.proves("helper:budget")
async def test_the_root_agent_pays_for_a_command_of_a_helper_that_taints_the_folder(database: Database) -> None:
    stage = stage_of(database, Builder(is_slow=False))
    root, (helper,) = await family(stage, "Scout")
    helper = await stage.wait_until_settled(await change(stage, helper, Agent.expose))
    await stage.decide(helper, Approve())
    await stage.wait_until_settled(helper)
    root = await present(stage, root)
    assert (root.budget.spent, root.folder_tainted) == (COST, True)


def busy_stage(database: Database) -> tuple[Stage, BusyDatabase]:
    busy = BusyDatabase(database)
    return stage_of(busy, Builder(is_slow=False)), busy


@pytest.mark.proves("helper:stop")
async def test_no_helper_starts_after_its_parent_was_stopped(database: Database) -> None:
    stage, busy = busy_stage(database)
    root, (helper,) = await family(stage, "Scout")
    busy.event = lambda: stage.service.lifecycle.stop(root.id, stage.origin())
    with pytest.raises(CommandError, match=r"^Clerk is at rest, so nothing was done\.$"):
        await stage.helpers.start(root, "Late", "Help", "")
    with pytest.raises(CommandError, match=r"^Scout is at rest, so nothing was done\.$"):
        await stage.helpers.start(helper, "Later", "Help", "")
    assert [each.name for each in await stage.views.agents(CHANNEL)] == ["Clerk", "Scout"]


@pytest.mark.proves("helper:stop")
async def test_no_finished_helper_continues_after_its_parent_was_stopped(database: Database) -> None:
    stage, busy = busy_stage(database)
    root, (helper,) = await family(stage, "Scout")
    await change(stage, helper, lambda each: each.become(Finished(), stage.clock.now()))
    busy.event = lambda: stage.service.lifecycle.stop(root.id, stage.origin())
    with pytest.raises(CommandError, match="Clerk is at rest"):
        await stage.helpers.message(root, "Scout", "One more thing.")
    assert (await present(stage, helper)).status == Finished()


@pytest.mark.proves("helper:stop")
async def test_stop_reaches_a_helper_that_started_meanwhile(database: Database) -> None:
    stage, busy = busy_stage(database)
    root, _ = await family(stage)
    busy.event = lambda: stage.helpers.start(root, "Late", "Help", "")
    await stage.service.lifecycle.stop(root.id, stage.origin())
    assert [each.status.kind for each in await stage.views.agents(CHANNEL)] == ["stopped", "stopped"]


@pytest.mark.proves("helper:stop")
@pytest.mark.parametrize("deleted", ["root", "helper"])
async def test_no_helper_starts_after_its_parent_was_deleted(database: Database, deleted: str) -> None:
    stage, busy = busy_stage(database)
    root, (helper,) = await family(stage, "Scout")
    gone = root if deleted == "root" else helper
    busy.event = lambda: stage.service.lifecycle.delete(gone.id, stage.origin())
    with pytest.raises(NotFound):
        await stage.helpers.start(helper, "Late", "Help", "")
    assert len(await stage.views.agents(CHANNEL)) == (0 if deleted == "root" else 1)


@pytest.mark.proves("helper:stop")
@pytest.mark.parametrize("delete", ["root, by a person", "helper, by a person", "helper, by its parent"])
async def test_deletion_reaches_a_helper_that_started_meanwhile(database: Database, delete: str) -> None:
    stage, busy = busy_stage(database)
    root, (helper,) = await family(stage, "Scout")
    busy.event = lambda: stage.helpers.start(helper, "Late", "Help", "")
    match delete:
        case "root, by a person":
            await stage.service.lifecycle.delete(root.id, stage.origin())
        case "helper, by a person":
            await stage.service.lifecycle.delete(helper.id, stage.origin())
        case _:
            await stage.helpers.delete(root, "Scout")
    assert len(await stage.views.agents(CHANNEL)) == (0 if delete.startswith("root") else 1)


async def test_a_helper_without_a_parent_can_be_stopped_and_deleted(database: Database) -> None:
    stage = stage_of(database, Builder(is_slow=False))
    root, (helper,) = await family(stage, "Scout")
    async with stage.database.begin() as work:
        work.agents.remove(await work.agents.get(CHANNEL, root.id))
        await work.commit()
    assert isinstance((await stage.service.lifecycle.stop(helper.id, stage.origin())).status, Stopped)
    await stage.service.lifecycle.delete(helper.id, stage.origin())
    assert await stage.views.agents(CHANNEL) == ()
