"""Time as the machine has it, and as tests set it."""

import asyncio
from datetime import UTC, timedelta

from agent_core.providers.clock import SystemClock
from agent_core.testing.clock import START, FakeClock


async def sleeps(clock: FakeClock, seconds: float, woken: list[float]) -> None:
    await clock.sleep(seconds)
    woken.append(seconds)


async def test_the_machines_time_is_aware_and_its_sleep_returns() -> None:
    clock = SystemClock()
    before = clock.now()
    await clock.sleep(-1)
    assert clock.now() >= before
    assert before.tzinfo is UTC


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock, woken = FakeClock(), list[float]()
    async with asyncio.TaskGroup() as tasks:
        for seconds in (30, 10, 20):
            tasks.create_task(sleeps(clock, seconds, woken))
        await clock.until_sleeping(3)
        clock.advance(60)
    assert woken == [10, 20, 30]
    assert clock.now() == START + timedelta(seconds=60)


async def test_nobody_wakes_before_the_time() -> None:
    clock, woken = FakeClock(), list[float]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeps(clock, 10, woken))
        await clock.until_sleeping()
        clock.advance(9.5)
        still_asleep = clock.sleeping
        clock.set(START + timedelta(seconds=10))
    assert (still_asleep, clock.sleeping, woken) == (1, 0, [10])


async def test_a_sleeper_that_was_cancelled_is_not_waited_for() -> None:
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(5))
    await clock.until_sleeping()
    task.cancel()
    await asyncio.wait([task])
    assert clock.sleeping == 0
    clock.advance(10)


async def test_no_time_at_all_is_not_waited_for() -> None:
    await FakeClock().sleep(0)
