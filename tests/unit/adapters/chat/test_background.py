"""Background work ends with its process: what it begins at the end too, and nothing waits for its time then."""

import asyncio

import pytest

from adapters.chat.background import BackgroundTasks
from agent_core.errors import DatabaseAway
from agent_core.testing.clock import FakeClock


async def test_what_is_begun_while_it_closes_is_waited_for() -> None:
    soon, ended = BackgroundTasks(), []

    async def second() -> None:
        await asyncio.gather(soon.delay(FakeClock().sleep(1.0)))
        ended.append("second")

    async def first() -> None:
        await soon.delay(FakeClock().sleep(1.0))
        soon(second())
        ended.append("first")

    soon(first())
    await soon.close()
    assert ended == ["first", "second"]


async def test_what_hangs_is_cancelled_with_all_that_it_begins_then() -> None:
    soon, begun = BackgroundTasks(), []

    async def begin(name: str) -> None:
        begun.append(name)

    async def hang() -> None:
        try:
            await FakeClock().sleep(1.0)
        finally:
            soon(begin("at the end"))

    soon(hang())
    await soon.close(0.01)
    assert not soon.tasks
    assert begun in ([], ["at the end"])


async def test_an_error_of_what_is_waited_for_is_raised() -> None:
    async def fail() -> None:
        raise DatabaseAway("The database cannot be used now.")

    with pytest.raises(DatabaseAway):
        await BackgroundTasks().delay(fail())


async def test_who_waits_can_be_cancelled() -> None:
    soon, clock = BackgroundTasks(), FakeClock()
    waiting = asyncio.create_task(soon.delay(clock.sleep(1.0)))
    await clock.until_sleeping()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not soon.delays


async def test_work_that_is_cancelled_before_it_begins_leaves_no_warning() -> None:
    soon = BackgroundTasks()

    async def work() -> None:
        pass

    soon(work())
    [task] = soon.tasks
    task.cancel()
    await asyncio.wait([task])
    assert not soon.tasks
