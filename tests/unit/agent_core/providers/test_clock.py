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


async def test_nobody_wakes_before_the_time() -> None:
    clock, woken = FakeClock(), list[float]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeps(clock, 10, woken))
        await clock.until_sleeping()
        clock.advance(9.5)
        still_asleep = clock.sleeping
        clock.set(START + timedelta(seconds=10))
    assert (still_asleep, clock.sleeping, woken) == (1, 0, [10])
