"""Who clicks goes before who works."""

import asyncio

from agent_core.ports.write_priority import IS_AWAITED, MAX_AGENT_WRITES, WritePriority
from tests.patience import PATIENCE_SECONDS


async def test_work_waits_while_somebody_is_served_and_then_goes_on() -> None:
    write_priority, order = WritePriority(), []

    async def work() -> None:
        async with write_priority.background():
            order.append("work")

    with write_priority.foreground():
        task = asyncio.create_task(work())
        for _ in range(5):
            await asyncio.wait((task,), timeout=0)
        order.append("click")
    await task
    assert order == ["click", "work"]


async def test_work_is_not_held_up_for_ever() -> None:
    write_priority = WritePriority()
    with write_priority.foreground():
        async with asyncio.timeout(PATIENCE_SECONDS), write_priority.background():
            assert write_priority.people == 1


async def test_no_more_agents_save_at_a_time_than_there_are_desks() -> None:
    write_priority, inside, most = WritePriority(), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with write_priority.background():
            inside += 1
            most = max(most, inside)
            await asyncio.wait((asyncio.ensure_future(asyncio.to_thread(int)),))
            inside -= 1

    await asyncio.gather(*(work() for _ in range(10)))
    assert (most, inside) == (MAX_AGENT_WRITES, 0)


async def test_a_database_is_told_what_is_awaited() -> None:
    write_priority = WritePriority()
    seen = [IS_AWAITED.get()]
    with write_priority.foreground():
        seen.append(IS_AWAITED.get())
    assert [*seen, IS_AWAITED.get()] == [False, True, False]
