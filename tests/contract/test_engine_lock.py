"""One process at a time advances the agents of a database."""

import asyncio

import pytest

from agent_core.errors import EngineTaken
from agent_core.persistence import schema
from agent_core.persistence.engine_lock import CHECK_SECONDS, engine_lock
from agent_core.testing.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.standins.postgres import PostgresServer, own_postgres  # noqa: F401


@pytest.fixture(params=["sqlite_url", "postgres"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.mark.proves("engine:only-one")
async def test_a_second_engine_is_refused_until_the_first_has_ended(address: str) -> None:
    first, second = engine_lock(address, FakeClock()), engine_lock(address, FakeClock())
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
    first, second = engine_lock(own_postgres.url, clock), engine_lock(own_postgres.url, FakeClock())
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
