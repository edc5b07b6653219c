"""Who clicks goes before who works."""

import asyncio

from agent_core.ports.write_priority import DESKS, IS_AWAITED, Precedence


async def test_work_waits_while_somebody_is_served_and_then_goes_on() -> None:
    precedence, order = Precedence(), []

    async def work() -> None:
        async with precedence.after():
            order.append("work")

    with precedence.first():
        task = asyncio.create_task(work())
        for _ in range(5):
            await asyncio.wait((task,), timeout=0)
        order.append("click")
    await task
    assert order == ["click", "work"]


async def test_work_is_not_held_up_for_ever() -> None:
    precedence = Precedence()
    with precedence.first():
        async with asyncio.timeout(5), precedence.after():
            assert precedence.people == 1


async def test_no_more_agents_save_at_a_time_than_there_are_desks() -> None:
    precedence, inside, most = Precedence(), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with precedence.after():
            inside += 1
            most = max(most, inside)
            await asyncio.wait((asyncio.ensure_future(asyncio.to_thread(int)),))
            inside -= 1

    await asyncio.gather(*(work() for _ in range(10)))
    assert (most, inside) == (DESKS, 0)


async def test_a_database_is_told_what_is_awaited() -> None:
    precedence = Precedence()
    seen = [IS_AWAITED.get()]
    with precedence.first():
        seen.append(IS_AWAITED.get())
    assert [*seen, IS_AWAITED.get()] == [False, True, False]
