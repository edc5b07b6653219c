"""Blocking calls, and work that begins often, let the event loop do its other work."""

import asyncio
from typing import Any

import pytest

from agent_core.ports.loop_share import OneInEachPass, let_others_run


async def test_nothing_is_left_of_a_wait_that_was_cancelled() -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, fault: faults.append(fault))
    task = asyncio.create_task(let_others_run())
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    await let_others_run()
    assert not faults


async def test_work_begins_in_its_order_one_in_each_pass_of_the_event_loop() -> None:
    gate, begun, passes = OneInEachPass(), list[tuple[str, int]](), 0

    def count_pass() -> None:
        nonlocal passes
        passes += 1
        asyncio.get_running_loop().call_soon(count_pass)

    async def begin(name: str) -> None:
        await gate.wait_for_turn()
        begun.append((name, passes))

    tasks = {name: asyncio.create_task(begin(name)) for name in "abcde"}
    asyncio.get_running_loop().call_soon(count_pass)
    asyncio.get_running_loop().call_soon(tasks["c"].cancel)
    await asyncio.wait(tasks.values())
    assert "".join(name for name, _ in begun) == "abde"
    assert len({number for _, number in begun}) == 4
    await let_others_run()
    await let_others_run()
    before = passes
    await gate.wait_for_turn()
    assert passes == before, "nobody else begins"
