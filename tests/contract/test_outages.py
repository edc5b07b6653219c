"""A database server that restarts is away for a while, and nothing but away."""

import asyncio
from dataclasses import replace
from typing import Literal

import pytest
from sqlalchemy import Connection

from agent_core.errors import DatabaseAway
from agent_core.model.agent import Agent
from agent_core.persistence import schema
from agent_core.persistence.connections import FileConnections
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import UnitOfWork, in_one_unit
from agent_core.testing.examples import an_agent, keep
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer, own_postgres  # noqa: F401

CLIENTS = 8


@pytest.mark.slow
@pytest.mark.proves("database:restart")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_while_a_server_restarts_callers_get_nothing_but_away(
    own_postgres: PostgresServer,  # noqa: F811
    mode: Literal["fast", "immediate"],
) -> None:
    await schema.upgrade(own_postgres.url)
    database, agent, is_over = SqlDatabase(own_postgres.url), an_agent(), asyncio.Event()
    await keep(database, agent)

    clients = [asyncio.create_task(save_until(is_over, database, agent)) for _ in range(CLIENTS)]
    for _ in range(3):
        await own_postgres.restart(mode)
        before = await turns_of(database, agent)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await turns_of(database, agent) < before + CLIENTS:
                assert not any(each.done() for each in clients)
    is_over.set()
    counts = await asyncio.gather(*clients)
    saved, away = (sum(column) for column in zip(*counts, strict=True))
    assert away > 0
    assert saved <= await turns_of(database, agent) <= saved + away  # the answer to a commit may be lost
    await database.close()


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
    return saved, away


async def turns_of(database: SqlDatabase, agent: Agent) -> int:
    """How often the agent was saved; asked until the database answers."""
    while True:
        try:
            async with database.begin() as work:
                return (await work.agents.get(agent.channel, agent.id)).turns
        except DatabaseAway:
            continue


@pytest.mark.proves("database:restart")
async def test_a_full_disk_is_an_outage_and_what_was_saved_before_stays(sqlite_url: str) -> None:
    database, agent = SqlDatabase(sqlite_url), an_agent()
    await keep(database, agent)
    limit_pages(database, is_full=True)
    with pytest.raises(DatabaseAway, match="full"):
        await save_role(database, agent, "x" * 3_000_000)
    limit_pages(database, is_full=False)
    await save_role(database, agent, "x" * 3_000_000)
    await database.close()


def limit_pages(database: SqlDatabase, *, is_full: bool) -> None:
    """Let SQLite's file grow no further, as on a full disk, or again."""

    def limit(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if is_full else 10**6
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    connections = database._connections
    assert isinstance(connections, FileConnections)
    connections._writer.submit(connections._connections.run, limit).result()


async def save_role(database: SqlDatabase, agent: Agent, role: str) -> None:
    async with database.begin() as work:
        present = await work.agents.get(agent.channel, agent.id)
        work.agents.save(replace(present, role=role))
        await work.commit()
