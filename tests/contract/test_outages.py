"""A database server that restarts is away for a while, and nothing but away."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from procrastinate.exceptions import ConnectorException
from sqlalchemy import Connection

from agent_core.engines.job_queue import JobQueueEngine
from agent_core.engines.procrastinate_guards import RETRY_SECONDS
from agent_core.errors import DatabaseAway
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.persistence import connections, schema
from agent_core.persistence.connections import FileConnections, OutageLog, job_queue_address, make_engine
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import UnitOfWork, in_one_unit, queue_in_one_unit
from agent_core.ports.engine import EngineParts
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import an_agent, keep
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer

CLIENTS = 8
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"


@pytest.mark.slow
@pytest.mark.proves("database:restart")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_while_a_server_restarts_callers_get_nothing_but_away(
    own_postgres: PostgresServer,
    mode: Literal["fast", "immediate"],
) -> None:
    await schema.upgrade(own_postgres.url)
    database, is_over = SqlDatabase(own_postgres.url), asyncio.Event()
    agents = [an_agent(id=AgentId(f"agent-{number}"), name=f"Ada {number}") for number in range(CLIENTS)]
    await keep(database, *agents)

    clients = [asyncio.create_task(save_until(is_over, database, agent)) for agent in agents]
    for _ in range(3):
        await own_postgres.restart(mode)
        before = await all_turns(database, agents)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await all_turns(database, agents) < before + CLIENTS:
                assert not any(each.done() for each in clients)
    is_over.set()
    counts = await asyncio.gather(*clients)
    assert sum(away for _, away in counts) > 0
    for agent, (saved, away) in zip(agents, counts, strict=True):
        assert saved <= await turns_of(database, agent) <= saved + away  # the answer to a commit may be lost
    await database.close()


@pytest.mark.slow
@pytest.mark.proves("database:restart")
async def test_after_a_restart_no_call_fails_for_the_closed_connections_of_the_pool(
    own_postgres: PostgresServer,
) -> None:
    await schema.upgrade(own_postgres.url)
    database, agent = SqlDatabase(own_postgres.url), an_agent()
    await keep(database, agent)
    for _ in range(2):
        await asyncio.gather(*(turns_of_now(database, agent) for _ in range(CLIENTS)))
        await own_postgres.restart("fast")
        assert await asyncio.gather(*(turns_of_now(database, agent) for _ in range(CLIENTS))) == [0] * CLIENTS
        await own_postgres.restart("fast")
        await save_role(database, agent, "after the restart")
        await own_postgres.restart("fast")
        await queue_in_one_unit(database, lambda work: work.preferences.put(agent.channel, "key", "text"))
    await database.close()


@pytest.mark.slow
@pytest.mark.proves("database:restart")
async def test_statements_that_time_out_leave_no_sessions_on_the_server(
    own_postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "STATEMENT_SECONDS", 0.3)
    await schema.upgrade(own_postgres.url)
    database, agent = SqlDatabase(own_postgres.url), an_agent()
    await keep(database, agent)
    other = make_engine(own_postgres.url)
    with other.connect() as connection:
        for _ in range(12):
            connection.exec_driver_sql("LOCK TABLE budgets IN ACCESS EXCLUSIVE MODE")
            ends = asyncio.gather(*(turns_of_now(database, agent) for _ in range(CLIENTS)), return_exceptions=True)
            with pytest.raises(DatabaseAway, match="statement timeout"):
                async with database.begin() as work:
                    await work.budgets.of(agent.channel)
            await ends
            connection.rollback()
        assert connection.exec_driver_sql(SESSIONS).scalar_one() <= 2 * CLIENTS
        await database.close()
    other.dispose()


async def turns_of_now(database: SqlDatabase, agent: Agent) -> int:
    async with database.begin() as work:
        return (await work.agents.get(agent.channel, agent.id)).turns


async def save_until(is_over: asyncio.Event, database: SqlDatabase, agent: Agent) -> tuple[int, int]:
    """Save the agent again and again; return how often that succeeded, and how often the database was away."""

    async def count(work: UnitOfWork) -> None:
        present = await work.agents.get(agent.channel, agent.id)
        work.agents.save(replace(present, turns=present.turns + 1))

    saved = away = 0
    while not is_over.is_set():
        try:
            await in_one_unit(database, count)
            saved += 1
        except DatabaseAway:
            away += 1
            await SystemClock().sleep(0)  # a server that is away may refuse at once
    return saved, away


async def all_turns(database: SqlDatabase, agents: Sequence[Agent]) -> int:
    return sum([await turns_of(database, agent) for agent in agents])


async def turns_of(database: SqlDatabase, agent: Agent) -> int:
    """How often the agent was saved; asked until the database answers."""
    while True:
        try:
            return await turns_of_now(database, agent)
        except DatabaseAway:
            await SystemClock().sleep(0)


@pytest.mark.slow
@pytest.mark.proves("workers:outage")
async def test_the_queue_is_reached_soon_after_a_long_outage(own_postgres: PostgresServer) -> None:
    """Its pool by itself would have tried again after 1, 3, 7, 15 and 31 seconds."""
    parts = EngineParts(database=SqlDatabase(own_postgres.url), clock=SystemClock(), surfaces=("web",))
    engine, late = (JobQueueEngine(parts, job_queue_address(own_postgres.url)) for _ in range(2))
    async with engine.connect():
        await own_postgres.stop("immediate")
        began = SystemClock().elapsed()
        while SystemClock().elapsed() < began + 16:
            assert not await reaches_its_queue(engine)
        with pytest.raises(DatabaseAway):
            await late.connect().__aenter__()
        await own_postgres.start()
        async with asyncio.timeout(10):
            while not await reaches_its_queue(engine):
                pass


async def reaches_its_queue(engine: JobQueueEngine) -> bool:
    try:
        return await engine._app.check_connection_async()
    except ConnectorException:
        await SystemClock().sleep(RETRY_SECONDS)
        return False


@pytest.mark.slow
@pytest.mark.proves("database:restart")
async def test_a_full_disk_is_an_outage_and_what_was_saved_before_stays(sqlite_url: str) -> None:
    database, agent = SqlDatabase(sqlite_url), an_agent()
    await keep(database, agent)
    await limit_pages(database, is_full=True)
    with pytest.raises(DatabaseAway, match="full"):
        await save_role(database, agent, "x" * 3_000_000)
    await limit_pages(database, is_full=False)
    await save_role(database, agent, "x" * 3_000_000)
    await database.close()


@pytest.mark.slow
async def test_an_outage_is_logged_once_and_so_is_its_end(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    database, agent = SqlDatabase(sqlite_url), an_agent()
    await keep(database, agent)
    for _ in range(3):
        await limit_pages(database, is_full=True)
        with pytest.raises(DatabaseAway):
            await save_role(database, agent, "x" * 3_000_000)  # reads before it writes: reading is no end of the outage
    await limit_pages(database, is_full=False)
    for _ in range(2):
        await save_role(database, agent, "x" * 3_000_000)
    assert [record.message for record in caplog.records] == [
        "database away, work waits for it",
        "database back, work goes on",
    ]
    await database.close()


def test_a_call_that_began_before_an_outage_does_not_end_it() -> None:
    outages = OutageLog()
    with outages.watch(), pytest.raises(DatabaseAway), outages.watch():
        raise OSError("refused")
    assert outages.is_on
    with outages.watch():
        pass
    assert not outages.is_on


async def limit_pages(database: SqlDatabase, *, is_full: bool) -> None:
    """Let SQLite's file grow no further, as on a full disk, or again."""

    def limit(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if is_full else 10**6
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    connections = database._connections
    assert isinstance(connections, FileConnections)
    await connections._run_in_writer(limit)


async def save_role(database: SqlDatabase, agent: Agent, role: str) -> None:
    async with database.begin() as work:
        present = await work.agents.get(agent.channel, agent.id)
        work.agents.save(replace(present, role=role))
        await work.commit()
