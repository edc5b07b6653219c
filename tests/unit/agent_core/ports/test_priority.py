"""Who clicks goes before who works."""

import asyncio
import time
from functools import partial

import pytest

from agent_core.ports.priority import (
    IS_AWAITED,
    MAX_AGENT_WRITES,
    MAX_REST_SECONDS,
    SHARE_BESIDE_PEOPLE,
    Priority,
)
from tests.patience import PATIENCE_SECONDS


async def test_work_waits_while_somebody_is_served_and_then_goes_on() -> None:
    priority, order = Priority(), []

    async def work() -> None:
        async with priority.background():
            order.append("work")

    with priority.foreground():
        task = asyncio.create_task(work())
        for _ in range(5):
            await asyncio.wait((task,), timeout=0)
        order.append("click")
    await task
    assert order == ["click", "work"]


@pytest.mark.slow
async def test_work_is_not_held_up_for_ever() -> None:
    priority = Priority()
    with priority.foreground():
        async with asyncio.timeout(PATIENCE_SECONDS), priority.background():
            assert priority.people == 1


async def test_no_more_agents_save_at_a_time_than_there_are_desks() -> None:
    priority, inside, most = Priority(), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with priority.background():
            inside += 1
            most = max(most, inside)
            await asyncio.wait((asyncio.ensure_future(asyncio.to_thread(int)),))
            inside -= 1

    await asyncio.gather(*(work() for _ in range(10)))
    assert (most, inside) == (MAX_AGENT_WRITES, 0)


async def test_a_database_is_told_what_is_awaited() -> None:
    priority = Priority()
    seen = [IS_AWAITED.get()]
    with priority.foreground():
        seen.append(IS_AWAITED.get())
    assert [*seen, IS_AWAITED.get()] == [False, True, False]


async def count_steps_in_one_pass(priority: Priority, works: int) -> int:
    """How many of the works take their first step before a callback that was scheduled after them all."""
    stepped, seen = 0, []

    async def work() -> None:
        nonlocal stepped
        await pass_by()
        stepped += 1

    tasks = [asyncio.create_task(priority.run_stepwise(work)) for _ in range(works)]
    await pass_by()
    for _ in range(works * 2):
        before = stepped
        await pass_by()
        seen.append(stepped - before)
    await asyncio.gather(*tasks)
    return max(seen)


async def pass_by() -> None:
    """Let one pass of the event loop go by."""
    passed = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(passed.set_result, None)
    await passed


async def test_few_steps_of_agents_run_in_one_pass() -> None:
    priority = Priority()
    assert await count_steps_in_one_pass(priority, 20) <= 2
    with priority.foreground():
        assert await count_steps_in_one_pass(priority, 20) <= 2


async def test_work_gets_what_it_awaits_and_what_is_raised() -> None:
    async def work() -> str:
        assert await asyncio.to_thread(str, 7) == "7"
        with pytest.raises(ValueError, match="invalid literal"):
            await asyncio.to_thread(int, "x")
        await asyncio.gather(pass_by(), pass_by())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await pass_by()
        raise LookupError("at its end")

    with pytest.raises(LookupError, match="at its end"):
        await Priority().run_stepwise(work)


@pytest.mark.parametrize("queued", [False, True])
async def test_cancelled_work_cleans_up_even_if_its_step_is_queued(*, queued: bool) -> None:
    priority, ends = Priority(), []
    never = asyncio.get_running_loop().create_future()

    async def work() -> None:
        try:
            await never
        finally:
            await pass_by()
            ends.append("cleaned up")

    tasks = [asyncio.create_task(priority.run_stepwise(work)) for _ in range(12)]
    for _ in range(1 if queued else len(tasks)):
        await pass_by()
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert len(ends) <= 2 if queued else len(ends) == len(tasks)


async def test_what_shows_a_decision_goes_before_the_other_steps_of_agents() -> None:
    priority, order = Priority(), []

    async def work(name: str, *, is_shown: bool) -> None:
        if is_shown:
            priority.end_urgency()
        for _ in range(5):
            await pass_by()
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(30):
            group.create_task(priority.run_stepwise(partial(work, "at work", is_shown=True)))
        await pass_by()
        group.create_task(priority.run_stepwise(partial(work, "decided", is_shown=False)))
    assert order.index("decided") < 10, "it began last"


async def test_urgent_work_writes_while_people_wait_and_other_work_does_not() -> None:
    priority, wrote = Priority(), []

    async def work(name: str, *, is_shown: bool) -> None:
        if is_shown:
            priority.end_urgency()
        async with priority.background():
            wrote.append(name)

    with priority.foreground():
        waiting = [
            asyncio.create_task(priority.run_stepwise(partial(work, f"{number}", is_shown=True))) for number in range(5)
        ]
        await priority.run_stepwise(partial(work, "urgent", is_shown=False))
        assert wrote == ["urgent"]
    await asyncio.gather(*waiting)
    assert sorted(wrote[1:]) == [f"{number}" for number in range(5)]


def compute(seconds: float) -> None:
    """Hold up the event loop."""
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        pass


async def test_agents_take_a_small_part_of_the_time_while_people_wait() -> None:
    priority = Priority()

    async def work() -> None:
        for _ in range(5):
            compute(0.001)
            await pass_by()

    with priority.foreground():
        began = time.perf_counter()
        await asyncio.gather(*(priority.run_stepwise(work) for _ in range(4)))
        assert time.perf_counter() - began > 0.9 * 4 * 5 * 0.001 / SHARE_BESIDE_PEOPLE


@pytest.mark.slow
async def test_agents_go_on_as_soon_as_nobody_waits() -> None:
    priority, steps = Priority(), []

    async def work() -> None:
        for number in range(2):
            steps.append(number)
            compute(0.1)
            await pass_by()

    with priority.foreground():
        tasks = [asyncio.create_task(priority.run_stepwise(work)) for _ in range(2)]
        for _ in range(20):
            await pass_by()
        assert len(steps) == 1, "they rest"
    for _ in range(20):
        await pass_by()
    assert len(steps) == 4
    await asyncio.gather(*tasks)


@pytest.mark.slow
async def test_agents_do_not_rest_for_who_waits_for_long() -> None:
    priority = Priority()

    async def work() -> None:
        compute(0.3)  # the rest would take 2.7 seconds
        await pass_by()

    with priority.foreground():
        began = time.perf_counter()
        await priority.run_stepwise(work)
        assert time.perf_counter() - began < 2 * MAX_REST_SECONDS


async def test_a_cancelled_agent_that_rests_ends_at_once() -> None:
    priority = Priority()

    async def work() -> None:
        compute(0.05)
        await pass_by()
        await asyncio.get_running_loop().create_future()

    with priority.foreground():
        tasks = [asyncio.create_task(priority.run_stepwise(work)) for _ in range(3)]
        for _ in range(10):
            await pass_by()
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
