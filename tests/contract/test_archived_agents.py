"""What archiving an agent hides, what it keeps, and who may do it when."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import InvalidInput, NotAllowed, NotPossible
from agent_core.model.agent import ARCHIVED, Agent, Awaiting, Finished, Headcount, Paused, Thinking
from agent_core.model.decision import Approve, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.records.deletion import Retention
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})
START = reply_text("start_agent", {"name": "Scout", "task": "Find strings", "prompt": "Only gut."})
DONE = reply_text("task_complete", {"reason": "It is done."})
GUEST = replace(BEN, kind="guest")
MANY = 300


def stage_of(database: Database) -> Stage:
    return Stage(database=database, model=ScriptedModel(*[WRITE] * 9))


async def make(stage: Stage, name: str, **draft: object) -> Agent:
    return await stage.service.lifecycle.create(AgentDraft(name=name, goals=("Write",), **draft), stage.origin())  # type: ignore[arg-type]


async def rest(stage: Stage, agent: Agent, status: Finished | Paused = Finished("done")) -> Agent:  # noqa: B008 - frozen
    async with stage.database.begin() as work:
        present = await work.agents.get(CHANNEL, agent.id)
        work.agents.save(present.become(status, stage.clock.now()))
        await work.commit()
    return await stage.views.agent(CHANNEL, agent.id)


async def names(stage: Stage) -> list[str]:
    return [agent.name for agent in await stage.views.agents(CHANNEL)]


async def archived(stage: Stage) -> list[str]:
    return [agent.name for agent in await stage.views.list_archived(CHANNEL)]


@pytest.mark.proves("archive:lists")
async def test_an_archived_agent_leaves_every_list_and_what_waits_for_people(database: Database) -> None:
    stage = stage_of(database)
    old, working = await make(stage, "Old"), await make(stage, "Working")
    await rest(stage, old, Paused("Look at it."))
    await stage.service.archive.archive(old.id, stage.origin())
    assert await names(stage) == [working.name]
    assert await archived(stage) == ["Old"]
    assert await stage.views.queue.list_agents(ANA, [CHANNEL]) == ()
    assert [agent.name for agent in await stage.views.list_by_owner("web", "local", ANA.id)] == ["Working"]
    assert await stage.views.census() == (Headcount(CHANNEL, ARCHIVED, 1), Headcount(CHANNEL, "thinking", 1))
    assert await stage.views.count_archived(CHANNEL) == 1


@pytest.mark.proves("archive:lists")
async def test_an_archived_agent_keeps_its_thread_its_name_and_its_place_in_the_log(database: Database) -> None:
    stage = stage_of(database)
    agent = await rest(stage, await make(stage, "Old"))
    await stage.service.archive.archive(agent.id, stage.origin())
    thread = await stage.views.thread(CHANNEL, agent.id)
    assert [entry.text for entry in thread.entries if entry.id and hasattr(entry, "text")] == [
        "archived by @ana. Resume brings it back."
    ]
    assert [entry.act for entry in await stage.views.audit(CHANNEL, agent.id)] == ["created", "archived"]
    assert await stage.views.find_by_name(CHANNEL, "old") is not None
    with pytest.raises(InvalidInput, match="taken in this channel by an archived agent"):
        await make(stage, "Old")


@pytest.mark.proves("archive:rest")
@pytest.mark.parametrize(
    ("status", "why"), [(Thinking(), "at work"), (Awaiting(), "needs approval")], ids=["thinks", "asks"]
)
async def test_an_agent_that_is_not_at_rest_is_not_archived(
    database: Database, status: Thinking | Awaiting, why: str
) -> None:
    stage = stage_of(database)
    await keep(database, an_agent(status=status))
    with pytest.raises(NotPossible, match=why):
        await stage.service.archive.archive(AgentId("agent-ada"), stage.origin())
    assert await names(stage) == ["Ada"]


@pytest.mark.proves("archive:rest")
async def test_who_may_delete_an_agent_may_archive_it_and_nobody_else(database: Database) -> None:
    stage = stage_of(database)
    agent = await rest(stage, await make(stage, "Old", policy=Policy(approvers="owner")))
    for by in (BEN, GUEST):
        with pytest.raises(NotAllowed, match="archive agents here"):
            await stage.service.archive.archive(agent.id, stage.origin(by))
    await stage.service.archive.archive(agent.id, stage.origin())
    with pytest.raises(NotPossible, match="archived already"):
        await stage.service.archive.archive(agent.id, stage.origin())
    with pytest.raises(NotAllowed, match="unarchive agents here"):
        await stage.service.archive.unarchive(agent.id, stage.origin(BEN))
    with pytest.raises(NotPossible, match="is archived and does nothing"):
        await stage.service.lifecycle.stop(agent.id, stage.origin())


@pytest.mark.proves("archive:rest")
async def test_resume_and_unarchive_bring_an_agent_back(database: Database) -> None:
    stage = stage_of(database)
    agent = await rest(stage, await make(stage, "Old"))
    await stage.service.archive.archive(agent.id, stage.origin())
    back = await stage.service.archive.unarchive(agent.id, stage.origin())
    assert (await names(stage), back.status) == (["Old"], Finished("done"))
    with pytest.raises(NotPossible, match="is not archived"):
        await stage.service.archive.unarchive(agent.id, stage.origin())
    await stage.service.archive.archive(agent.id, stage.origin())
    resumed = await stage.service.lifecycle.resume(
        agent.id, stage.origin()
    )  # at the very moment at which it was archived
    assert (await names(stage), resumed.status.kind, resumed.archived_at) == (["Old"], "thinking", None)


async def test_helpers_are_archived_and_come_back_with_their_agent(database: Database) -> None:
    stage = Stage(database=database, model=ScriptedModel(START, WRITE, DONE))
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    root = await stage.create()
    await stage.decide(root, Approve())
    await stage.wait_until_settled(root)
    (helper,) = await stage.views.family(CHANNEL, root.id)
    await stage.service.lifecycle.stop(root.id, stage.origin())
    with pytest.raises(NotPossible, match="is a helper"):
        await stage.service.archive.archive(helper.id, stage.origin())
    await stage.service.archive.archive(root.id, stage.origin())
    assert await names(stage) == []
    assert [each.name for each in await stage.views.family(CHANNEL, root.id)] == ["Scout"]
    await stage.service.lifecycle.resume(helper.id, stage.origin())
    assert await names(stage) == [root.name, "Scout"]


@pytest.mark.proves("retention:agents")
async def test_an_archived_agent_is_deleted_when_its_time_at_rest_is_over(database: Database) -> None:
    stage = Stage(database=database, model=ScriptedModel(WRITE), retention=Retention(history_days=30))
    agent = await rest(stage, await make(stage, "Old"))
    stage.fake_clock.advance(20 * 24 * 3600.0)
    await stage.service.archive.archive(agent.id, stage.origin())
    stage.fake_clock.advance(11 * 24 * 3600.0)
    await stage.core.retention.apply()
    assert await archived(stage) == []


async def test_an_agent_that_the_release_before_resumed_is_listed_again(database: Database) -> None:
    stage = stage_of(database)
    later = NOON + timedelta(seconds=1)
    await keep(database, an_agent(archived_at=NOON, status=Finished()).become(Thinking(), later))
    async with database.begin() as work:
        work.agents.save(replace(await work.agents.get(CHANNEL, AgentId("agent-ada")), archived_at=NOON))
        await work.commit()
    assert await names(stage) == ["Ada"]
    assert await archived(stage) == []


@pytest.mark.slow
@pytest.mark.proves("archive:scale")
async def test_a_list_reads_no_archived_agent(database: Database) -> None:
    stage = stage_of(database)
    for number in range(MANY):
        agent = an_agent(id=AgentId(f"agent-{number:05}"), name=f"Old {number}", status=Finished())
        await keep(database, agent.archive(NOON + timedelta(seconds=number)))
    await make(stage, "New")
    assert await names(stage) == ["New"]
    assert (await stage.views.count_archived(CHANNEL), len(await archived(stage))) == (MANY, 200)
    assert (await archived(stage))[0] == f"Old {MANY - 1}"
