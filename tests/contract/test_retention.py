"""What the operator's retention deletes, when, and what it leaves."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.screens.ui_text import deletion_note
from agent_core.model.agent import Agent, Finished, Stopped
from agent_core.model.draft import FORM_LIFETIME, AgentDraft, FormDraft
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.deletion import KEEP_ALL, Retention
from agent_core.ports.database import Database, queue_in_one_unit
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.trash import list_trash, move_to_trash
from tests.contract.test_helper_tree import BusyDatabase

DAY = 24 * 3600.0
THIRTY = Retention(history_days=30)
WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})


def stage_of(database: Database, retention: Retention = THIRTY) -> Stage:
    return Stage(database=database, model=ScriptedModel(*[WRITE] * 9), retention=retention)


async def make(stage: Stage, name: str) -> Agent:
    return await stage.service.lifecycle.create(AgentDraft(name=name, goals=("Write",)), stage.origin())


async def rest(stage: Stage, agent: Agent) -> None:
    async with stage.database.begin() as work:
        present = await work.agents.get(CHANNEL, agent.id)
        work.agents.save(present.become(Finished("done"), stage.clock.now()))
        await work.commit()


async def names(stage: Stage) -> list[str]:
    return [agent.name for agent in await stage.views.agents(CHANNEL)]


async def log(stage: Stage) -> list[AuditEntry]:
    async with stage.database.begin() as work:
        return list(await work.audit.in_channel(CHANNEL))


@pytest.mark.proves("retention:agents")
async def test_an_agent_that_was_at_rest_for_so_many_days_is_deleted_with_everything(database: Database) -> None:
    stage = stage_of(database)
    old, working = await make(stage, "Old"), await make(stage, "Working")
    await stage.workspaces.of(old).write("a.txt", b"one")
    await rest(stage, old)
    stage.fake_clock.advance(DAY)
    young = await make(stage, "Young")
    await rest(stage, young)
    stage.fake_clock.advance(29 * DAY)
    assert await stage.retention.apply() == (0, 0)
    stage.fake_clock.advance(1)
    assert await stage.retention.apply() == (1, 0)
    assert await names(stage) == ["Working", "Young"]
    assert await stage.workspaces.of(old).list_files() == ()
    last = (await log(stage))[-1]
    assert (last.act, last.agent_name, str(last.by)) == ("deleted", "Old", "@Signoff")
    assert last.detail == "0 turns, history, memory and files, at rest for 30 days"
    assert working.name == "Working"


@pytest.mark.proves("retention:agents")
@pytest.mark.parametrize("helper_rests", [False, True])
async def test_an_agent_is_kept_as_long_as_one_of_its_helpers(memory: Database, helper_rests: bool) -> None:
    stage = stage_of(memory)
    root = await make(stage, "Root")
    helper = await stage.helpers.start(root, "Scout", "Look", "")
    await rest(stage, root)
    stage.fake_clock.advance(20 * DAY)
    if helper_rests:
        await rest(stage, helper)
    stage.fake_clock.advance(20 * DAY)
    assert await stage.retention.apply() == (0, 0)
    stage.fake_clock.advance(20 * DAY)
    assert await stage.retention.apply() == ((1, 0) if helper_rests else (0, 0))
    assert await names(stage) == ([] if helper_rests else ["Root", "Scout"])


@pytest.mark.proves("retention:agents")
async def test_a_helper_at_rest_is_kept_with_its_root_agent(memory: Database) -> None:
    stage = stage_of(memory)
    root = await make(stage, "Root")
    await rest(stage, await stage.helpers.start(root, "Scout", "Look", ""))
    stage.fake_clock.advance(99 * DAY)
    assert await stage.retention.apply() == (0, 0)


@pytest.mark.proves("retention:agents")
async def test_an_agent_that_is_resumed_meanwhile_is_kept(database: Database) -> None:
    busy = BusyDatabase(database)
    stage = stage_of(busy)
    agent = await make(stage, "Old")
    await rest(stage, agent)
    stage.fake_clock.advance(31 * DAY)
    (found,) = await listed(stage)
    busy.event = lambda: stage.service.lifecycle.resume(agent.id, stage.origin())
    before = stage.clock.now() - timedelta(days=30)
    assert not await stage.service.lifecycle.delete_at_rest(found, before, ANA)
    assert await names(stage) == ["Old"]


async def listed(stage: Stage) -> tuple[Agent, ...]:
    async with stage.database.begin() as work:
        return await work.agents.list_at_rest(stage.clock.now(), most=9)


async def test_pages_of_agents_at_rest_follow_each_other(database: Database) -> None:
    stage = stage_of(database)
    for name in ("One", "Two", "Three"):
        await rest(stage, await make(stage, name))
    stage.fake_clock.advance(1)
    async with database.begin() as work:
        first = await work.agents.list_at_rest(stage.clock.now(), most=2)
        second = await work.agents.list_at_rest(stage.clock.now(), most=2, after=first[-1].id)
        assert await work.agents.list_at_rest(stage.clock.now() - timedelta(seconds=1), most=2) == ()
    assert [agent.name for agent in (*first, *second)] == ["One", "Two", "Three"]


@pytest.mark.slow
async def test_several_workers_may_apply_the_retention_at_once(database: Database) -> None:
    stage = stage_of(database, Retention(history_days=30, audit_days=60))
    for number in range(5):
        await rest(stage, await make(stage, f"Agent {number}"))
    stage.fake_clock.advance(31 * DAY)
    workers = [stage_on(stage) for _ in range(3)]
    done = await asyncio.gather(*(worker.retention.apply() for worker in workers))
    assert sum(agents for agents, _ in done) == 5
    assert await names(stage) == []
    assert [entry.act for entry in await log(stage)].count("deleted") == 5


def stage_on(stage: Stage) -> Stage:
    """Another worker."""
    return Stage(
        database=stage.database,
        workspaces=stage.workspaces,
        clock=stage.clock,
        retention=stage.retention.retention,
    )


@pytest.mark.proves("retention:log")
async def test_entries_of_the_log_are_deleted_at_their_age_in_batches(database: Database) -> None:
    stage = stage_of(database, Retention(audit_days=90))
    agent = await make(stage, "Clerk")
    async with database.begin() as work:
        for number in range(250):
            work.audit.append(AuditEntry.on(agent, "old", by=ANA, at=stage.clock.now(), detail=str(number)))
        await work.commit()
    stage.fake_clock.advance(1)
    await stage.service.lifecycle.stop(agent.id, stage.origin())
    stage.fake_clock.advance(90 * DAY - 1)
    assert await stage.retention.apply() == (0, 0)
    stage.fake_clock.advance(0.5)
    assert await stage.retention.apply() == (0, 251)
    assert [entry.act for entry in await log(stage)] == ["stopped"]
    assert await names(stage) == ["Clerk"]


@pytest.mark.proves("retention:log")
async def test_without_settings_nothing_is_ever_deleted(memory: Database) -> None:
    stage = stage_of(memory, KEEP_ALL)
    await rest(stage, await make(stage, "Clerk"))
    stage.fake_clock.advance(9_999 * DAY)
    assert await stage.retention.apply() == (0, 0)
    assert (await names(stage), len(await log(stage))) == (["Clerk"], 1)


@pytest.mark.proves("discord:forms")
async def test_forms_are_deleted_when_they_have_expired(database: Database) -> None:
    stage = stage_of(database, KEEP_ALL)
    begun = stage.clock.now()
    form = FormDraft(channel=CHANNEL, person=ANA.id, key="k", expires_at=begun + FORM_LIFETIME)
    await queue_in_one_unit(database, lambda work: work.form_drafts.put(form))
    for is_left in (True, False):
        await stage.retention.apply()
        async with database.begin() as work:
            assert bool(await work.form_drafts.get(CHANNEL, ANA.id, "k", begun)) == is_left
        stage.fake_clock.advance(FORM_LIFETIME.total_seconds())


async def test_the_job_runs_every_hour(memory: Database) -> None:
    stage = stage_of(memory, Retention(history_days=1))
    await rest(stage, await make(stage, "Clerk"))
    job = asyncio.create_task(stage.retention.run())
    await stage.fake_clock.until_sleeping()
    assert await names(stage) == ["Clerk"]
    stage.fake_clock.advance(DAY + 3600)
    await stage.fake_clock.until_sleeping()
    assert await names(stage) == []
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


@pytest.mark.proves("trash:kept")
async def test_deleted_files_are_kept_for_30_days(memory: Database) -> None:
    stage = stage_of(memory, KEEP_ALL)
    files = stage.workspaces.of(await make(stage, "Clerk"))
    for name in ("old.txt", "new.txt"):
        await files.write(name, b"x")
        await move_to_trash(files, name, expected=None)
        stage.fake_clock.advance(20 * DAY)
    assert await stage.retention.empty_trashes() == 1
    assert [each.path for each in await list_trash(files)] == ["new.txt"]


@pytest.mark.proves("retention:said")
async def test_the_day_of_the_deletion_is_said_for_agents_at_rest_alone(memory: Database) -> None:
    stage = stage_of(memory)
    root = await make(stage, "Root")
    helper = await stage.helpers.start(root, "Scout", "Look", "")
    resting = replace(root, status=Stopped(ANA), since=stage.clock.now())
    later = replace(helper, status=Finished(), since=stage.clock.now() + timedelta(days=2))
    assert deletion_note(root, [helper], THIRTY) == deletion_note(resting, [helper], THIRTY) == ""
    assert deletion_note(resting, [later], KEEP_ALL) == deletion_note(later, [], THIRTY) == ""
    assert deletion_note(resting, [], THIRTY) == " · deleted on 4 Feb 2026"
    assert deletion_note(resting, [later], THIRTY) == " · deleted on 6 Feb 2026"
