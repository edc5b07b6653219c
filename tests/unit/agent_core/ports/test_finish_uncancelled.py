"""A step whose caller was cancelled may fail: asyncio must not log that its error was never retrieved."""

import asyncio
import gc
from collections.abc import Awaitable

import pytest
from sqlalchemy import select

from agent_core.errors import Superseded
from agent_core.loop.live_progress import THINKING_SECONDS, LiveThinking
from agent_core.model.ids import AgentId
from agent_core.persistence.connections import DecidedWrite, ServerConnections, Write, Writes
from agent_core.ports.database import finish_uncancelled
from agent_core.testing.clock import FakeClock

NOTHING = select()


class Gate:
    """A save that begins, waits for the gate, and fails."""

    def __init__(self) -> None:
        self.begun, self.opened = asyncio.Event(), asyncio.Event()

    def open_later(self) -> None:
        """Open the gate after what was begun by now, such as a cancellation."""
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, loop.call_soon, self.opened.set)

    async def save_and_present(self, _act: object) -> None:
        self.begun.set()
        await self.opened.wait()
        raise Superseded(AgentId("ada"))


async def cancelled(caller: Awaitable[None], gate: Gate) -> None:
    """Cancel the caller while its step waits; then let the step fail."""
    task = asyncio.ensure_future(caller)
    await gate.begun.wait()
    task.cancel()
    gate.open_later()
    with pytest.raises(asyncio.CancelledError):
        await task


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    gc.collect()
    return [record.message for record in caplog.records if record.name == "asyncio"]


@pytest.mark.slow
async def test_the_error_of_a_step_is_dropped_with_its_caller(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    await cancelled(finish_uncancelled(gate.save_and_present(None)), gate)
    assert complaints(caplog) == []


async def test_a_step_ends_however_often_its_caller_is_cancelled() -> None:
    begun, opened, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def step() -> None:
        begun.set()
        await opened.wait()
        ended.append("step")

    task = asyncio.ensure_future(finish_uncancelled(step()))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.wait((task,), timeout=0)
    assert not task.done()
    opened.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["step"]


@pytest.mark.slow
async def test_a_line_about_a_thought_may_fail_after_the_model_has_answered(caplog: pytest.LogCaptureFixture) -> None:
    gate, clock = Gate(), FakeClock()

    async def think() -> None:
        await gate.begun.wait()
        gate.open_later()

    thinking = LiveThinking(claim=gate, clock=clock)  # type: ignore[arg-type]
    task = asyncio.create_task(thinking.run(think()))
    await clock.until_sleeping()
    clock.advance(THINKING_SECONDS)
    await task
    assert complaints(caplog) == []


@pytest.mark.slow
async def test_a_write_may_fail_after_its_caller_was_cancelled(
    postgres: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connections, gate = ServerConnections(postgres), Gate()

    def decide(_rows: object) -> list[Write]:
        gate.begun.set()  # the answer to ROLLBACK comes later
        raise Superseded(AgentId("ada"))

    write = DecidedWrite(lock=NOTHING, query=NOTHING, values={}, decide=decide)
    await cancelled(connections.write(Writes([write])), gate)
    await connections.close()
    assert complaints(caplog) == []
