"""Commits and reads on a real PostgreSQL: what is lost, cancelled, or waits too long."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from datetime import datetime
from itertools import permutations
from typing import Literal

import pytest
from sqlalchemy import Integer, Text, bindparam, column, func, insert, select, table, update

from agent_core.errors import CommitUnknown, Conflict, DatabaseAway
from agent_core.model.ids import ReservationId
from agent_core.model.model_calls import FREE
from agent_core.model.records.reservation import Account, Reservation
from agent_core.persistence import connections as module
from agent_core.persistence.connections import ServerConnections, Write, Writes, make_engine
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.tables import deliveries, preferences
from agent_core.testing.examples import CHANNEL, NOON
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres_gate import PostgresGate, postgres_gate

PREPARED_AFTER = 8  # psycopg prepares a statement when it was run some times, which takes trips of its own
MANY = 40  # more than the pool has connections
VERY_SLOW = select(func.pg_sleep(600))
ACTIVITY = table("pg_stat_activity", column("query", Text), column("state", Text), column("pid", Integer))
SLEEPERS = select(func.count().label("number")).where(
    ACTIVITY.c.state == "active", ACTIVITY.c.query.contains("pg_sleep"), ACTIVITY.c.pid != func.pg_backend_pid()
)
IDS = select(deliveries.c.id).order_by(deliveries.c.id)
REPLACE = update(preferences).where(
    preferences.c.channel == bindparam("in_channel"), preferences.c.key == bindparam("under")
)


@pytest.fixture
def url(postgres: str) -> str:
    """The fixture `database` is on PostgreSQL."""
    return postgres


@pytest.fixture
async def connections(database: SqlDatabase) -> ServerConnections:
    assert isinstance(database._connections, ServerConnections)
    return database._connections


@pytest.fixture
async def gate(postgres: str) -> AsyncIterator[PostgresGate]:
    async with postgres_gate(postgres) as gate:
        yield gate


@pytest.fixture
async def behind(gate: PostgresGate, database: SqlDatabase) -> AsyncIterator[SqlDatabase]:
    """The database by a client on the other side of the gate, which has made each kind of commit before."""
    behind = SqlDatabase(gate.url)
    for _ in range(PREPARED_AFTER):
        await save(behind, "before")
        await reserve(behind, 0)
    yield behind
    await behind.close()


def claim(delivery: str, at: datetime = NOON) -> Write:
    return Write(insert(deliveries), {"id": delivery, "at": at})


def replace_text(key: str) -> Write:
    return Write(REPLACE, {"in_channel": "there", "under": key, "text": "new"}, checked=True)


async def ids(connections: ServerConnections) -> Sequence[str]:
    return [row.id for row in await connections.rows(IDS, {})]


async def save(database: SqlDatabase, text: str) -> None:
    """Commit two writes."""
    async with database.begin() as work:
        work.preferences.put(CHANNEL, "one", text)
        work.preferences.put(CHANNEL, "two", text)
        await work.commit()


async def saved(database: SqlDatabase) -> list[str | None]:
    async with database.begin() as work:
        return [await work.preferences.get(CHANNEL, key) for key in ("one", "two")]


async def reserve(database: SqlDatabase, number: int) -> None:
    """Commit a reservation, for which the transaction reads before it writes."""
    reservation = Reservation(
        id=ReservationId(f"reservation-{number}"),
        account=Account(channel=CHANNEL),
        worker="one",
        kind="chat",
        model="m",
        spent=FREE,
        held=FREE,
        since=NOON,
    )
    async with database.begin() as work:
        work.reservations.take(reservation, FREE)
        await work.commit()


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_a_conflict_anywhere_in_a_commit_undoes_all_of_it(
    connections: ServerConnections, order: Sequence[int]
) -> None:
    writes = (claim("a"), replace_text("missing"), claim("b"))
    with pytest.raises(Conflict, match="saved elsewhere"):
        await connections.write(Writes([writes[number] for number in order]))
    assert await ids(connections) == []


async def requests_of(gate: PostgresGate, work: Awaitable[None]) -> int:
    """How many requests something takes."""
    before = gate.requests
    await work
    return gate.requests - before


@pytest.mark.slow
@pytest.mark.proves("database:restart")
@pytest.mark.parametrize(("lost", "kept"), [("request", "before"), ("answer", "after")])
async def test_a_commit_whose_answer_is_lost_is_unknown_and_not_repeated(
    database: SqlDatabase, behind: SqlDatabase, gate: PostgresGate, lost: Literal["request", "answer"], kept: str
) -> None:
    requests = await requests_of(gate, save(behind, "before"))
    gate.lose(lost, after=requests - 1)
    with pytest.raises(CommitUnknown):
        await save(behind, "after")
    assert await saved(database) == await saved(behind) == [kept] * 2
    await save(behind, "again")
    assert await saved(database) == ["again"] * 2


@pytest.mark.slow
@pytest.mark.proves("database:restart")
@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_what_is_lost_before_the_commit_is_done_again_on_another_session(
    database: SqlDatabase, behind: SqlDatabase, gate: PostgresGate, lost: Literal["request", "answer"]
) -> None:
    requests = await requests_of(gate, reserve(behind, 0))
    for trip in range(requests - 1):
        gate.lose(lost, after=trip)
        await reserve(behind, 1 + trip)
    async with database.begin() as work:
        for trip in range(requests - 1):
            assert await work.reservations.find(ReservationId(f"reservation-{1 + trip}"))


@pytest.mark.slow
async def test_the_read_of_a_cancelled_caller_ends_on_the_server_and_others_go_on(
    postgres: str, database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the latest by the limit of a statement: the server may be told before it has begun."""
    monkeypatch.setattr(module, "STATEMENT_SECONDS", 1)
    connections = ServerConnections(postgres)
    for ticks in range(12):
        reading = asyncio.create_task(connections.rows(VERY_SLOW, {}))
        for _ in range(ticks):
            await asyncio.wait({reading}, timeout=0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await connections.rows(SLEEPERS, {}))[0].number:
                continue
    assert len(await asyncio.gather(*(connections.rows(IDS, {}) for _ in range(MANY)))) == MANY
    await connections.close()


@pytest.mark.slow
async def test_a_save_that_waits_too_long_for_a_lock_ends_on_the_server_and_saves_nothing(
    postgres: str, database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STATEMENT_SECONDS", 0.3)
    hasty, other = SqlDatabase(postgres), make_engine(postgres)
    with other.connect() as connection:
        connection.exec_driver_sql("LOCK TABLE preferences IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DatabaseAway, match="statement timeout"):
            await save(hasty, "late")
    other.dispose()
    assert await saved(hasty) == await saved(database) == [None] * 2
    await save(hasty, "in time")
    assert await saved(database) == ["in time"] * 2
    await hasty.close()
