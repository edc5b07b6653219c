"""Heads of decision logs that are posted once a day: where the policy says so, once, and only if the log has grown."""

import asyncio
from dataclasses import replace

import pytest

from agent_core.model.agent import Agent
from agent_core.model.channel_policy import ChannelPolicy
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import ChannelScope
from agent_core.persistence.decision_log.checking import check_log
from agent_core.ports.database import Database, queue_in_one_unit
from agent_core.service.housekeeping.head_posting import POSTED_KEY
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

DAY = 24 * 3600.0
WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})
ELSEWHERE = ChannelScope("web", "local", "elsewhere")


def stage_of(database: Database) -> Stage:
    return Stage(database=database, model=ScriptedModel(*[WRITE] * 9))


async def switch(stage: Stage, channel: ChannelScope = CHANNEL, *, on: bool = True) -> None:
    def change(present: ChannelPolicy) -> ChannelPolicy:
        return replace(present, posts_heads=on)

    await stage.agent_settings.set_channel_policy(change, replace(stage.origin(), channel=channel))


async def posted(stage: Stage, agent: Agent) -> list[str]:
    async with stage.database.begin() as work:
        notices = await work.notes.notices(agent)
    return [each.text for each in notices if each.text.startswith("Head of the decision log")]


async def post(stage: Stage) -> int:
    return await stage.retention.head_posting.post_all()


@pytest.mark.proves("evidence:posted")
async def test_a_head_is_posted_once_a_day_in_the_thread_of_the_agent_that_acted_last(
    url: str, database: Database
) -> None:
    stage = stage_of(database)
    first = await stage.create()
    assert await post(stage) == 0  # off by default
    await switch(stage)
    stage.fake_clock.advance(60)
    other = await stage.service.lifecycle.create(AgentDraft(name="Other", goals=("Write",)), stage.origin())
    await stage.wait_until_settled(other)
    assert (await post(stage), await post(stage)) == (1, 0)
    assert await posted(stage, first) == []
    (said,) = await posted(stage, other)
    (report,) = await check_log(url, {})
    assert said.endswith(f" {CHANNEL.key}={report.head[0]}:{report.head[1]}")
    await stage.loop.pause(other.id, "The thread was deleted.", loses_thread=True)
    stage.fake_clock.advance(DAY)
    await stage.service.decisions.grant_lease(first.id, 2, stage.origin())
    assert (await post(stage), len(await posted(stage, first))) == (1, 1)


@pytest.mark.proves("evidence:posted")
@pytest.mark.parametrize("before", ["2031-01-01 1", "2026-01-01 x", "x"])
async def test_a_clock_that_was_ahead_or_a_damaged_note_of_the_last_posting_silences_nothing(
    database: Database, before: str
) -> None:
    stage = stage_of(database)
    await stage.create()
    await switch(stage)
    await queue_in_one_unit(database, lambda work: work.preferences.exchange(CHANNEL, POSTED_KEY, None, before))
    assert (await post(stage), await post(stage)) == (1, 0)


@pytest.mark.proves("evidence:posted")
async def test_a_log_that_has_not_grown_is_not_posted_again_and_one_that_has_is_the_next_day(
    database: Database,
) -> None:
    stage = stage_of(database)
    agent = await stage.create()
    await switch(stage)
    assert await post(stage) == 1
    await stage.wait_until_settled(agent)  # posts it: no record
    assert stage.shown.notices
    for _ in range(3):
        stage.fake_clock.advance(DAY)
        assert await post(stage) == 0
    await stage.service.decisions.grant_lease(agent.id, 2, stage.origin())
    assert (await post(stage), await post(stage)) == (1, 0)
    await stage.service.decisions.revoke(agent.id, stage.origin())
    assert await post(stage) == 0  # the log has grown, on the same day
    stage.fake_clock.advance(DAY)
    await switch(stage, on=False)
    assert await post(stage) == 0
    assert len(await posted(stage, agent)) == 2


@pytest.mark.proves("evidence:posted")
async def test_of_two_workers_at_once_one_posts(database: Database) -> None:
    stage = stage_of(database)
    agent = await stage.create()
    await switch(stage)
    for _ in range(3):
        assert sum(await asyncio.gather(post(stage), post(stage_of(database)), post(stage))) == 1
        stage.fake_clock.advance(DAY)
        await stage.service.decisions.grant_lease(agent.id, 2, stage.origin())
    assert len(await posted(stage, agent)) == 3


@pytest.mark.proves("evidence:posted")
async def test_a_channel_without_agents_waits_for_one(database: Database) -> None:
    stage = stage_of(database)
    await switch(stage, ELSEWHERE)
    assert await post(stage) == 0
    origin = replace(stage.origin(), channel=ELSEWHERE)
    agent = await stage.service.lifecycle.create(AgentDraft(name="Ada", goals=("Write",)), origin)
    agent = await stage.wait_until_settled(agent)
    assert await post(stage) == 1
    assert len(await posted(stage, agent)) == 1
