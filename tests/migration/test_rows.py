"""What an older release kept is all there after the upgrade."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection, column, insert, table, text

from agent_core.model.agent import Agent, Finished
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Budget
from agent_core.model.origin import Actor, ChannelScope, ThreadRef
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.memory import Memory, MemoryVersion, Vector
from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import UtcDateTime, agents
from agent_core.testing.examples import NOON, a_turn, an_agent
from tests.standins.everyone import everyone
from tests.tables import on_database

pytestmark = pytest.mark.slow

HERE = ChannelScope("slack", "T_1", "C/1")
ADA = an_agent(channel=HERE, thread=ThreadRef(HERE, "1719.0001"))
BOB = replace(ADA, id=AgentId("agent-bob"), name="Bob", thread=None)
EVA = replace(
    ADA,
    id=AgentId("agent-eva"),
    name="Eva",
    thread=ThreadRef(HERE, "strange \\ \x00"),
    owner=Actor(id="u\\eva", display="eva"),
    status=Finished(),
    since=datetime(2026, 3, 14, 23, 30, tzinfo=UTC),
)
AGENTS = (ADA, BOB, EVA)
TURN = a_turn(ADA)
ADD_AGENT = text(
    "INSERT INTO agents (id, channel, surface, name_key, status, fence, revision, data)"
    " VALUES (:id, :channel, 'slack', :name_key, :status, 0, 1, :data)"
)
ADD_TURN = text(
    "INSERT INTO turns (id, channel, agent_id, number, state, stage, shown_stage, shown_as, revision, data)"
    " VALUES (:id, :channel, :agent_id, 1, 'open', 'open', '', '', 1, :data)"
)
FIRST_AUDIT = table("audit", *map(column, ("id", "channel", "agent_id", "data")), column("at", UtcDateTime))


def _agent(agent: Agent) -> dict[str, object]:
    return {
        "id": agent.id,
        "channel": agent.channel.key,
        "name_key": agent.name.casefold(),
        "status": agent.status.kind,
        "data": encode(agent),
    }


def _add(connection: Connection) -> None:
    connection.execute(ADD_AGENT, [_agent(agent) for agent in AGENTS])
    values = {"id": TURN.id, "channel": HERE.key, "agent_id": ADA.id, "data": encode(TURN)}
    connection.execute(ADD_TURN, values)


async def run(url: str, act: Callable[[Connection], Any]) -> Any:
    return await on_database(url, act)


async def test_agents_of_the_first_release_are_found_in_every_way(url: str) -> None:
    await schema.migrate(url, "0001")
    await run(url, _add)
    await schema.upgrade(url)
    database = SqlDatabase(url)
    async with database.begin() as work:
        assert await everyone(work) == AGENTS
        assert await work.turns.of(ADA, last=9) == (TURN,)
        assert await work.text_search.turns([HERE], ["poem"], most=9) == (TURN,)
        assert await work.text_search.agents([HERE], ["eva"], most=9) == (EVA,)
        assert [await work.agents.in_thread(agent.thread) for agent in AGENTS if agent.thread] == [ADA, EVA]
        assert await work.agents.list_by_owner("slack", "T_1", "u-ana") == (ADA, BOB)
        assert await work.agents.list_by_owner("slack", "T_1", "u\\eva") == (EVA,)
        assert await work.agents.list_with_thread("slack", EVA.since) == (ADA, EVA)
        assert await work.agents.list_with_thread("slack", EVA.since + timedelta(seconds=1)) == (ADA,)
        work.agents.save(replace(await work.agents.locate(ADA.id), fence=1))
        work.agents.add(replace(BOB, id=AgentId("agent-new"), name="New", since=NOON))
        await work.commit()
    await database.close()


async def test_agents_of_the_second_release_remember_and_spend_after_the_way_up(url: str) -> None:
    await schema.migrate(url, "0001")
    await run(url, _add)
    await schema.migrate(url, "0002")
    await schema.upgrade(url)
    database = SqlDatabase(url)
    memory = Memory.of("Ducks quack.", source="turn 1", at=NOON, turn=1)
    async with database.begin() as work:
        assert await everyone(work) == AGENTS
        assert await work.memories.list_agents_unindexed("here", most=9) == ()
        assert await work.budgets.of(HERE) == Budget()
        work.memories.add(ADA, [memory])
        work.memories.put(ADA, "here", {memory.id: Vector(b"1234")})
        work.budgets.add_spending(HERE, Decimal(1))
        await work.commit()
    async with database.begin() as work:
        assert await work.memories.of(ADA, most=9) == (memory,)
        assert await work.memories.version(ADA) == MemoryVersion(added=1)
        assert await work.budgets.of(HERE) == Budget(spent=Decimal(1))
        assert await work.reservations.workers() == ()
        assert await work.turns.of(ADA, last=9) == (TURN,)
    await database.close()


@pytest.mark.proves("delete:later")
async def test_agents_that_an_older_release_deleted_are_erased_once_more(url: str) -> None:
    await schema.migrate(url, "0004")
    entries = [AuditEntry.on(each, "deleted", by=ADA.owner, at=NOON) for each in (ADA, BOB, BOB)]
    entries.append(AuditEntry.in_channel(HERE, "set the channel's budget", by=ADA.owner, at=NOON))

    def add(connection: Connection) -> None:
        given = {"surface": "slack", "workspace": "slack/T_1", "owner": ADA.owner.id, "since": NOON, "fence": 0}
        connection.execute(insert(agents), {**given, **_agent(ADA)})
        for each in entries:
            columns = {"id": each.id, "channel": HERE.key, "agent_id": each.agent_id, "at": NOON, "data": encode(each)}
            connection.execute(insert(FIRST_AUDIT), columns)

    await run(url, add)
    await schema.upgrade(url)
    database = SqlDatabase(url)
    async with database.begin() as work:
        (left,) = await work.deletions.page(most=9)
    assert (left.agent_id, left.channel, left.head, left.index) == (BOB.id, HERE, None, "")
    await database.close()


ADD_BUDGET = text("INSERT INTO budgets (channel, allowed, spent) VALUES (:channel, 2000000000, 500000000)")


async def test_budgets_of_the_fourth_release_are_the_same_after_the_upgrade(url: str) -> None:
    await schema.migrate(url, "0004")
    await run(url, lambda connection: connection.execute(ADD_BUDGET, {"channel": HERE.key}))
    await schema.upgrade(url)
    database = SqlDatabase(url)
    async with database.begin() as work:
        assert await work.budgets.of(HERE) == Budget(limit=Decimal(2), spent=Decimal("0.5"))
    await database.close()
