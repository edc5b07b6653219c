"""Blocking calls let the event loop do its other work."""

import asyncio
from typing import Any

import pytest

from agent_core.ports.loop_share import let_others_run


async def test_nothing_is_left_of_a_wait_that_was_cancelled() -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, fault: faults.append(fault))
    task = asyncio.create_task(let_others_run())
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    await let_others_run()
    assert not faults
