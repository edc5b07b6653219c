"""Agents found by their thread, by who made them and by whether a reply to them matters: on every database."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, BEN, NOON, an_agent, keep

HERE = ChannelScope("slack", "T1", "C1")
THREAD = ThreadRef(HERE, "1719.0001")
ADA = an_agent(channel=HERE, thread=THREAD)
MINUTE = timedelta(minutes=1)


def another(name: str, channel: ChannelScope = HERE, **changes: Any) -> Agent:
    return replace(ADA, id=AgentId(f"agent-{name}"), name=name, channel=channel, **{"thread": None} | changes)


async def in_thread(database: Database, thread: ThreadRef = THREAD) -> Agent | None:
    async with database.begin() as work:
        return await work.agents.in_thread(thread)


async def owned(database: Database, workspace: str = "T1", person: str = ANA.id) -> tuple[Agent, ...]:
    async with database.begin() as work:
        return await work.agents.list_by_owner("slack", workspace, person)


async def listening(database: Database, since: datetime = NOON) -> tuple[Agent, ...]:
    async with database.begin() as work:
        return await work.agents.list_with_thread("slack", since)


async def test_an_agent_is_found_by_its_thread(database: Database) -> None:
    await keep(database, another("none"), ADA, another("eva", thread=ThreadRef(HERE, "1719.0002")))
    assert await in_thread(database) == ADA


@pytest.mark.parametrize(
    "thread",
    [
        ThreadRef(HERE, "1719.000"),
        ThreadRef(ChannelScope("slack", "T1", "C2"), THREAD.thread),
        ThreadRef(ChannelScope("slack", "T2", "C1"), THREAD.thread),
        ThreadRef(ChannelScope("discord", "T1", "C1"), THREAD.thread),
    ],
    ids=str,
)
async def test_another_thread_is_nobodys(database: Database, thread: ThreadRef) -> None:
    await keep(database, ADA, another("none"))
    assert await in_thread(database, thread) is None


async def test_an_agent_is_found_once_its_thread_is_opened(database: Database) -> None:
    await keep(database, replace(ADA, thread=None))
    async with database.begin() as work:
        opened = replace(await work.agents.locate(ADA.id), thread=THREAD)
        work.agents.save(opened)
        assert await work.agents.in_thread(THREAD) is None
        await work.commit()
    async with database.begin() as work:
        assert await work.agents.in_thread(THREAD) == opened
        work.agents.save(replace(opened, fence=1))
        assert await work.agents.in_thread(THREAD) == replace(opened, fence=1)
        work.agents.remove(opened)
        assert await work.agents.in_thread(THREAD) is None
        await work.commit()
    assert await in_thread(database) is None


async def test_of_several_in_a_thread_the_newest_is_found(database: Database) -> None:
    newest = another("zoe", thread=THREAD)
    await keep(database, newest, ADA)
    assert await in_thread(database) == newest


async def test_a_person_owns_what_they_made_in_any_channel_of_the_workspace(database: Database) -> None:
    eva = another("eva", ChannelScope("slack", "T1", "C/2"))
    await keep(database, another("bob", owner=BEN), eva, ADA)
    assert await owned(database) == (ADA, eva)


@pytest.mark.parametrize("workspace", ["T", "T12"])
async def test_a_person_owns_nothing_in_another_workspace(database: Database, workspace: str) -> None:
    await keep(database, ADA, another("eva", ChannelScope("discord", workspace, "C1")))
    assert await owned(database, workspace) == ()


@pytest.mark.parametrize("status", [Thinking(), Awaiting(), Acting()], ids=repr)
async def test_who_thinks_asks_or_acts_listens_however_long(database: Database, status: AgentStatus) -> None:
    await keep(database, replace(ADA, status=status))
    assert [agent.id for agent in await listening(database, NOON + 99 * MINUTE)] == [ADA.id]


@pytest.mark.parametrize("status", [Paused("rest"), Stopped(ANA), Finished()], ids=repr)
async def test_who_rests_listens_for_a_while(database: Database, status: AgentStatus) -> None:
    resting = replace(ADA, status=status)
    await keep(database, resting)
    assert await listening(database, NOON - MINUTE) == await listening(database, NOON) == (resting,)
    assert await listening(database, NOON + timedelta(microseconds=1)) == ()


async def test_who_comes_to_rest_and_is_resumed_listens_by_its_new_status(database: Database) -> None:
    await keep(database, ADA)
    for status, is_heard in ((Finished(), False), (Thinking(), True)):
        async with database.begin() as work:
            work.agents.save((await work.agents.locate(ADA.id)).become(status, NOON + MINUTE))
            await work.commit()
        assert bool(await listening(database, NOON + 2 * MINUTE)) is is_heard


async def test_only_threads_of_the_surface_are_listened_to_oldest_first(database: Database) -> None:
    elsewhere = ChannelScope("discord", "T1", "C1")
    bob = another("bob", ChannelScope("slack", "T2", "C9"), thread=ThreadRef(HERE, "2"), status=Finished())
    eva = another("eva", elsewhere, thread=ThreadRef(elsewhere, "3"))
    await keep(database, bob, another("none"), eva, ADA)
    assert await listening(database) == (ADA, bob)


async def test_deliveries_of_long_ago_are_forgotten(database: Database) -> None:
    async with database.begin() as work:
        for delivery, at in (("old", NOON - MINUTE), ("on the dot", NOON), ("new", NOON + MINUTE)):
            assert await work.deliveries.first_time(delivery, at)
        await work.commit()
    async with database.begin() as work:
        work.deliveries.forget(NOON)
        assert not await work.deliveries.first_time("old", NOON)
        await work.commit()
    async with database.begin() as work:
        assert [await work.deliveries.first_time(each, NOON) for each in ("old", "on the dot", "new")] == [
            True,
            False,
            False,
        ]


async def test_the_agents_with_a_thread_whose_status_changed_last_are_found(database: Database) -> None:
    eva = another("eva", thread=ThreadRef(HERE, "1719.0002"), since=ADA.since + MINUTE)
    left_out = (
        another("none", since=ADA.since + 9 * MINUTE),
        another("out", thread=ThreadRef(HERE, "1719.0003"), archived_at=ADA.since),
        another("away", ChannelScope("discord", "T1", "C1"), thread=ThreadRef(HERE, "7"), since=ADA.since + MINUTE),
    )
    await keep(database, ADA, eva, *left_out)
    async with database.begin() as work:
        assert await work.agents.list_changed_last(["slack", "web"], 9) == (eva, ADA)
        assert await work.agents.list_changed_last(["slack"], 1) == (eva,)
