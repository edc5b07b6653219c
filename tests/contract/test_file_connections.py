"""Short reads and commits of a SQLite file run on the event loop's thread, long ones elsewhere, with columns' types."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import Connection, Executable, Select, bindparam, event, func, insert, literal, select, text, union_all
from sqlalchemy.exc import InvalidRequestError

from agent_core.errors import Conflict
from agent_core.persistence.checkpoints import COMMITS_BETWEEN_CHECKPOINTS
from agent_core.persistence.connections import Change, make_file_engine
from agent_core.persistence.file_connections import (
    READER_THREADS,
    FileConnections,
)
from agent_core.persistence.long_queries import MAX_WEIGHT, REMEMBERED_SECONDS, LongQueries
from agent_core.persistence.prepared_statements import change_rows
from agent_core.persistence.short_statements import (
    FAST_COMMIT_SECONDS,
    SLOW_REMEMBERED_SECONDS,
    STEPS_BETWEEN_CHECKS,
    ShortStatements,
)
from agent_core.persistence.tables import deliveries, preferences
from agent_core.persistence.timed_reads import TooLong
from agent_core.ports.loop_share import let_others_run

MANY = 200_000
DELIVERY = {"id": "a\0b", "at": datetime(2026, 3, 14, tzinfo=UTC)}


@pytest.fixture
async def connections(sqlite_url: str) -> AsyncIterator[FileConnections]:
    connections = FileConnections(sqlite_url)
    yield connections
    await connections.close()


def count_to(number: int) -> Select[int]:
    counted = select(literal(1).label("n")).cte("counted", recursive=True)
    counted = counted.union_all(select(counted.c.n + 1).where(counted.c.n < number))
    return select(func.max(counted.c.n).label("last"))


def change(statement: Executable, values: Mapping[str, object], connection: Connection) -> None:
    assert change_rows(connection, statement, values) == 1


async def test_a_long_read_is_interrupted_and_repeated_in_a_thread(connections: FileConnections) -> None:
    long, short = count_to(MANY), count_to(3)
    for _ in range(2):
        assert [row.last for row in await connections.rows(long, {})] == [MANY]
        assert [row.last for row in await connections.rows(short, {})] == [3]
    others = [count_to(number) for number in range(4, 14)]  # a loaded machine may interrupt some short reads, not each
    for other in others:
        await connections.rows(other, {})
    assert connections._long.weight(long)
    assert not all(connections._long.weight(each) for each in others)


@pytest.mark.slow
async def test_a_query_is_run_in_a_thread_at_once_when_it_is_often_long(connections: FileConnections) -> None:
    counted = select(literal(1).label("n")).cte("counted", recursive=True)
    counted = counted.union_all(select(counted.c.n + 1).where(counted.c.n < bindparam("most")))
    query = select(func.max(counted.c.n).label("last"))

    async def count_up_to(number: int) -> None:
        assert [row.last for row in await connections.rows(query, {"most": number})] == [number]

    await count_up_to(MANY)
    assert 0 < connections._long.weight(query) < MAX_WEIGHT, "once says nothing"
    for _ in range(100):  # a loaded machine may interrupt some of them
        await count_up_to(3)
    assert connections._long.weight(query) < MAX_WEIGHT
    for _ in range(MAX_WEIGHT):
        await count_up_to(MANY)
    assert connections._long.weight(query) == MAX_WEIGHT
    await count_up_to(3)
    assert connections._long.weight(query) == MAX_WEIGHT, "it ran in a thread"


def test_a_query_that_took_long_is_forgotten_after_a_while() -> None:
    elapsed, query = 0.0, count_to(3)
    queries = LongQueries(lambda: elapsed)
    for _ in range(MAX_WEIGHT):
        queries.note_long(query)
    assert queries.holds(query)
    queries.note_short(query)
    assert not queries.holds(query)
    assert queries.weight(query) == MAX_WEIGHT - 1
    elapsed = REMEMBERED_SECONDS
    assert queries.weight(query) == 0
    queries.note_long(query)
    assert not queries.holds(query)


async def test_many_first_reads_at_once_open_one_connection_for_short_reads(connections: FileConnections) -> None:
    opened: list[object] = []
    event.listen(connections._engine, "connect", lambda connection, _record: opened.append(connection))
    answers = await asyncio.gather(*(connections.rows(count_to(3), {}) for _ in range(50)))
    assert [row.last for rows in answers for row in rows] == [3] * 50
    assert len(opened) <= READER_THREADS + 1


async def test_a_read_of_few_long_rows_is_repeated_in_a_thread(connections: FileConnections) -> None:
    rows = [{"channel": "c", "key": f"{number}", "text": "x" * 2_000_000} for number in range(20)]
    for row in rows:
        await connections.write(partial(change, insert(preferences), row))
    query = select(preferences.c.text)
    assert [len(row.text) for row in await connections.rows(query, {})] == [2_000_000] * 20
    assert connections._long.weight(query)


async def test_between_many_short_reads_the_event_loop_does_its_other_work(connections: FileConnections) -> None:
    query = count_to(3)

    async def read_on() -> None:
        while True:
            await connections.rows(query, {})

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(read_on(), 0.05)


async def test_values_are_converted_by_the_types_of_the_columns(connections: FileConnections) -> None:
    await connections.write(partial(change, insert(deliveries), DELIVERY))
    query = select(deliveries.c.id, deliveries.c.at).where(deliveries.c.id == bindparam("the_id"))
    (row,) = await connections.rows(query, {"the_id": DELIVERY["id"]})
    assert (row.id, row.at) == tuple(DELIVERY.values())


async def test_text_and_lists_of_values_are_left_to_sqlalchemy(connections: FileConnections) -> None:
    (row,) = await connections.rows(text("SELECT :n + 1 AS next"), {"n": 1})
    assert row.next == 2
    listed = select(preferences.c.text).where(preferences.c.key.in_(bindparam("keys", expanding=True)))
    assert await connections.rows(listed, {"keys": ["a", "b"]}) == []


async def test_a_parameter_without_a_value_is_an_error(connections: FileConnections) -> None:
    with pytest.raises(InvalidRequestError, match="the_id"):
        await connections.rows(select(deliveries.c.at).where(deliveries.c.id == bindparam("the_id")), {})


def write_row(key: str) -> Change:
    return partial(change, insert(preferences), {"channel": "c", "key": key, "text": "x"})


async def keys(connections: FileConnections) -> list[str]:
    return [row.key for row in await connections.rows(select(preferences.c.key).order_by(preferences.c.key), {})]


async def test_a_commit_runs_on_the_thread_of_the_event_loop(connections: FileConnections) -> None:
    threads: list[str] = []

    def remember(connection: Connection) -> None:
        threads.append(threading.current_thread().name)
        write_row("a")(connection)

    assert await keys(connections) == []
    await connections.write(remember)
    assert threads == ["MainThread"]
    assert await keys(connections) == ["a"]


async def test_a_refused_commit_leaves_nothing(connections: FileConnections) -> None:
    assert await keys(connections) == []

    def refuse(connection: Connection) -> None:
        write_row("a")(connection)
        raise Conflict("somebody was faster")

    with pytest.raises(Conflict):
        await connections.write(refuse)
    await connections.write(write_row("b"))
    with pytest.raises(sqlite3.IntegrityError):
        await connections.write(write_row("b"))
    assert await keys(connections) == ["b"]


async def test_a_long_change_is_undone_and_repeated_in_a_thread(connections: FileConnections) -> None:
    assert await keys(connections) == []
    threads: list[str] = []

    def dawdle(connection: Connection) -> None:
        threads.append(threading.current_thread().name)
        write_row("a")(connection)
        connection.execute(count_to(MANY)).all()

    await connections.write(dawdle)
    assert threads[0] == "MainThread"
    assert threads[1:] == ["writes_0"]
    assert await keys(connections) == ["a"]


async def test_a_commit_waits_in_a_thread_for_another_process_that_writes(
    connections: FileConnections, sqlite_url: str
) -> None:
    assert await keys(connections) == []
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(connections.write(write_row("a")))
    await asyncio.wait((waiting,), timeout=0.01)
    more = asyncio.create_task(connections.write(write_row("b")))  # joins those that wait
    assert not waiting.done()
    other.execute("ROLLBACK")
    await asyncio.gather(waiting, more)
    other.close()
    assert await keys(connections) == ["a", "b"]


async def test_a_commit_waits_for_a_copy_of_the_journal_on_the_event_loop(
    connections: FileConnections, sqlite_url: str
) -> None:
    """In the writer thread it would draw all later commits there, and each of them takes several times as long."""
    assert await keys(connections) == []
    threads: list[str] = []

    def remember(key: str, connection: Connection) -> None:
        write_row(key)(connection)
        threads.append(threading.current_thread().name)

    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # keeps writers away, as a copy does
    copy = connections._copying = asyncio.get_running_loop().create_future()
    copy.add_done_callback(connections._end_copying)
    waiting = [asyncio.create_task(connections.write(partial(remember, key))) for key in "ab"]
    await asyncio.wait(waiting, timeout=0.01)
    assert threads == []
    other.execute("ROLLBACK")
    other.close()
    copy.set_result(None)
    await asyncio.gather(*waiting)
    assert threads == ["MainThread"] * 2
    assert await keys(connections) == ["a", "b"]


async def test_commits_that_wait_for_a_copy_of_the_journal_are_saved_before_the_connections_close(
    sqlite_url: str,
) -> None:
    connections = FileConnections(sqlite_url)
    assert await keys(connections) == []
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    copy = connections._copying = asyncio.get_running_loop().create_future()
    copy.add_done_callback(connections._end_copying)
    names = [f"{number:03}" for number in range(200)]  # more than are saved in one pass of the event loop
    waiting = [asyncio.create_task(connections.write(write_row(name))) for name in names]
    await let_others_run()
    closing = asyncio.create_task(connections.close())
    await let_others_run()
    other.execute("ROLLBACK")
    copy.set_result(None)
    await asyncio.gather(*waiting, closing)
    assert other.execute("SELECT key FROM preferences ORDER BY key").fetchall() == [(name,) for name in names]
    other.close()


async def test_a_failed_copy_of_the_journal_is_logged_and_tried_again(
    connections: FileConnections, caplog: pytest.LogCaptureFixture
) -> None:
    assert await keys(connections) == []
    copy = connections._copying = asyncio.get_running_loop().create_future()
    copy.add_done_callback(connections._end_copying)
    copy.set_exception(sqlite3.OperationalError("disk I/O error"))
    await let_others_run()
    (logged,) = (record for record in caplog.records if "write-ahead log" in record.message)
    assert vars(logged)["why"] == "disk I/O error"
    connections._since_checkpoint = COMMITS_BETWEEN_CHECKPOINTS
    await connections.write(write_row("a"))
    assert connections._copying is not None


@pytest.mark.parametrize(
    ("waited", "computed", "is_long"), [(0.01, 0.0, False), (0.03, 0.0, True), (0.002, 0.002, True)]
)
async def test_a_read_is_long_by_what_it_computes_and_not_because_the_machine_is_busy(
    sqlite_url: str, waited: float, computed: float, is_long: bool
) -> None:
    times = {"waited": 0.0, "computed": 0.0}
    connection = make_file_engine(sqlite_url).connect()
    short = ShortStatements(connection, lambda: times["waited"], lambda: times["computed"])

    def take(*_given: object) -> str:
        times["waited"] += waited
        times["computed"] += computed
        return "x"

    short._driver.create_function("take", 0, take)
    query = union_all(*(select(func.take().label("taken"), literal(number).label("n")) for number in range(3)))
    with pytest.raises(TooLong) if is_long else nullcontext():
        assert len(short.rows(query, {})) == 3
    short.close()


async def test_the_undoing_of_a_change_that_took_too_long_is_never_interrupted(sqlite_url: str) -> None:
    """SQLite adds up the steps of all runs of a statement: one in some hundred runs of ROLLBACK looks at the time."""
    now = 0.0
    connection = make_file_engine(sqlite_url).connect()
    short = ShortStatements(connection, lambda: now, lambda: now)
    driver = connection.connection.driver_connection

    def refuse(connection: Connection) -> None:
        nonlocal now
        write_row("a")(connection)
        now += 1.0
        raise Conflict("somebody was faster")

    for number in range(STEPS_BETWEEN_CHECKS):
        with pytest.raises(Conflict):
            short.commit(refuse)
        assert driver is not None
        assert not driver.in_transaction, f"the change {number} holds the lock of the database"
    short.close()


async def test_while_the_disk_is_slow_commits_run_in_a_thread(sqlite_url: str) -> None:
    now = 0.0
    short = ShortStatements(make_file_engine(sqlite_url).connect(), lambda: now)

    def commit(seconds: float) -> None:
        nonlocal now

        def take(connection: Connection) -> None:
            write_row(f"{now}")(connection)

        short._note_duration(seconds)
        short.commit(take)
        now += 0.1

    for _ in range(20):
        commit(0.0001)
        commit(0.0001)
        commit(FAST_COMMIT_SECONDS * 3)
    assert short.commits_fast, "one in three says nothing"
    for _ in range(MAX_WEIGHT):
        commit(FAST_COMMIT_SECONDS * 3)
    assert not short.commits_fast
    now += SLOW_REMEMBERED_SECONDS
    assert short.commits_fast, "it is tried again"
    short.close()
