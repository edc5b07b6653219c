"""One process at a time advances the agents of a database."""

import asyncio
from pathlib import Path

import pytest

from agent_core.errors import EngineTaken
from agent_core.persistence import schema
from agent_core.persistence.engine_lock import CHECK_SECONDS, engine_lock
from agent_core.providers.clock import SystemClock
from agent_core.testing.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer, own_postgres  # noqa: F401


@pytest.fixture(params=["sqlite_url", "postgres"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.mark.proves("engine:only-one")
async def test_a_second_engine_is_refused_until_the_first_has_ended(address: str) -> None:
    first, second = engine_lock(address, FakeClock(), "one"), engine_lock(address, FakeClock(), "two")
    await first.acquire()
    with pytest.raises(EngineTaken):
        await second.acquire()
    await first.release()
    await second.acquire()
    await second.release()


@pytest.mark.slow
@pytest.mark.proves("engine:only-one")
@pytest.mark.parametrize("is_taken", [False, True])
async def test_a_lock_that_was_lost_with_the_server_is_taken_again_or_the_engine_ends(
    own_postgres: PostgresServer,  # noqa: F811
    is_taken: bool,
) -> None:
    await schema.upgrade(own_postgres.url)
    clock = FakeClock()
    first, second = engine_lock(own_postgres.url, clock, "one"), engine_lock(own_postgres.url, FakeClock(), "two")
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


async def test_a_file_reached_by_a_link_is_the_same_database(sqlite_url: str, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "linked.db"
    link.parent.mkdir()
    link.symlink_to(sqlite_url.removeprefix("sqlite:///"))
    first, second = engine_lock(sqlite_url, FakeClock(), "one"), engine_lock(f"sqlite:///{link}", FakeClock(), "two")
    await first.acquire()
    with pytest.raises(EngineTaken):
        await second.acquire()
    await first.release()


@pytest.mark.proves("engine:only-one")
async def test_an_engine_that_starts_again_ends_what_its_last_process_left_at_the_server(postgres: str) -> None:
    left, again, other = (engine_lock(postgres, SystemClock(), owner) for owner in ("one", "one", "two"))
    await left.acquire()  # and its connection is lost, which the server has not noticed
    with pytest.raises(EngineTaken):
        await other.acquire()
    await again.acquire()
    with pytest.raises(EngineTaken):
        await other.acquire()
    for lock in (left, again, other):
        await lock.release()
