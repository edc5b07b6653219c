"""What may work on a database at the same time: one engine on SQLite, many on PostgreSQL, and an import alone."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_core.errors import EngineTaken
from agent_core.persistence import schema
from agent_core.persistence.locks import CHECK_SECONDS, engine_lock, import_lock, leader_lock
from agent_core.testing.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer


@pytest.mark.proves("engine:only-one")
async def test_a_second_engine_on_sqlite_is_refused_until_the_first_has_ended(sqlite_url: str) -> None:
    first, second = engine_lock(sqlite_url, FakeClock()), engine_lock(sqlite_url, FakeClock())
    await first.acquire()
    with pytest.raises(EngineTaken):
        await second.acquire()
    await first.release()
    await second.acquire()
    await second.release()


@pytest.mark.proves("engine:only-one")
@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_an_import_is_alone_on_a_database(url: str) -> None:
    engine, imports = engine_lock(url, FakeClock()), import_lock(url, FakeClock())
    await engine.acquire()
    with pytest.raises(EngineTaken):
        await imports.acquire()
    await engine.release()
    await imports.acquire()
    with pytest.raises(EngineTaken):
        await engine.acquire()
    for lock in (engine, imports):
        await lock.release()


@pytest.mark.slow
@pytest.mark.proves("workers:many")
async def test_many_engines_share_a_postgresql_database_and_one_of_them_leads(postgres: str) -> None:
    engines = [engine_lock(postgres, FakeClock()) for _ in range(3)]
    leader, other = (leader_lock(postgres, FakeClock(), "discord") for _ in range(2))
    for lock in (*engines, leader):
        await lock.acquire()
    with pytest.raises(EngineTaken):
        await other.acquire()
    await leader.release()
    await other.acquire()
    for lock in (*engines, other):
        await lock.release()


@pytest.mark.slow
@pytest.mark.proves("engine:only-one")
@pytest.mark.parametrize("is_taken", [False, True])
async def test_a_lock_that_was_lost_with_the_server_is_taken_again_or_the_engine_ends(
    own_postgres: PostgresServer,
    is_taken: bool,
) -> None:
    await schema.upgrade(own_postgres.url)
    clock = FakeClock()
    first, second = engine_lock(own_postgres.url, clock), import_lock(own_postgres.url, FakeClock())
    await first.acquire()
    watching = asyncio.create_task(first.watch())
    await clock.until_sleeping()
    await own_postgres.restart("immediate")
    if is_taken:
        await second.acquire()
    clock.advance(CHECK_SECONDS)
    async with asyncio.timeout(PATIENCE_SECONDS):
        if is_taken:
            with pytest.raises(EngineTaken):
                await watching
        else:
            await clock.until_sleeping()
            with pytest.raises(EngineTaken):
                await second.acquire()
    watching.cancel()
    for lock in (first, second):
        await lock.release()


@pytest.mark.slow
async def test_a_lock_is_given_back_after_a_check_that_was_cancelled(own_postgres: PostgresServer) -> None:
    clock = FakeClock()
    lock = engine_lock(own_postgres.url, clock)
    await lock.acquire()
    watching = asyncio.create_task(lock.watch())
    await clock.until_sleeping()
    with suspended(own_postgres):
        clock.advance(CHECK_SECONDS)
        await asyncio.wait({watching}, timeout=0.1)  # it has asked, and there is no answer
        watching.cancel()
        await asyncio.wait({watching})
    await lock.release()


@contextmanager
def suspended(server: PostgresServer) -> Iterator[None]:
    """Nothing is answered inside the with-block."""
    sessions = server.server.get_postmaster_info().process.children()
    for each in sessions:
        each.suspend()
    try:
        yield
    finally:
        for each in sessions:
            each.resume()


async def test_a_file_reached_by_a_link_is_the_same_database(sqlite_url: str, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "linked.db"
    link.parent.mkdir()
    link.symlink_to(sqlite_url.removeprefix("sqlite:///"))
    first, second = engine_lock(sqlite_url, FakeClock()), engine_lock(f"sqlite:///{link}", FakeClock())
    await first.acquire()
    with pytest.raises(EngineTaken):
        await second.acquire()
    await first.release()
