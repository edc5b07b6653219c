"""What the operator reads while a start waits for the database."""

import signal
from pathlib import Path

import pytest

from agent_core.testing.clock import FakeClock
from bot.bootstrap import WHAT_TO_CHECK
from bot.startup import REMINDER_SECONDS, OutageReminder
from tests.e2e.process import running

REFUSING = "postgresql://somebody:hunter22@127.0.0.1:1/x"


@pytest.mark.proves("start:waits")
def test_the_operator_is_told_at_once_and_then_once_a_minute() -> None:
    told, clock = list[str](), FakeClock()
    reminder = OutageReminder(database="postgresql://db/s", clock=clock, tell=told.append)
    for _ in range(int(2.5 * REMINDER_SECONDS)):
        reminder.remind("No route to host.")
        clock.advance(1)
    assert told == [
        "postgresql://db/s does not answer: the start waits for it. No route to host.",
        f"postgresql://db/s has not answered for 1 minute. No route to host. {WHAT_TO_CHECK}",
        f"postgresql://db/s has not answered for 2 minutes. No route to host. {WHAT_TO_CHECK}",
    ]


@pytest.mark.parametrize(("waited", "said"), [(True, ["postgresql://db/s answers: the start goes on."]), (False, [])])
def test_the_operator_is_told_when_the_wait_ends(waited: bool, said: list[str]) -> None:
    told = list[str]()
    reminder = OutageReminder(database="postgresql://db/s", clock=FakeClock(), tell=told.append)
    if waited:
        reminder.remind("No route to host.")
    reminder.end()
    assert told[int(waited) :] == said


@pytest.mark.slow
@pytest.mark.proves("start:waits")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_start_that_waits_ends_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    async with running(tmp_path, "bot", "worker", DATABASE_URL=REFUSING) as process:
        await process.says("does not answer: the start waits for it.")
        process.send(number)
        assert await process.ended() == 0
        await process.listen()
    assert (len(process.lines), "hunter22" in process.output) == (1, False)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["solo", "migrate"])
async def test_a_command_that_ends_by_itself_does_not_wait(tmp_path: Path, command: str) -> None:
    async with running(tmp_path, "bot", command, DATABASE_URL=REFUSING) as process:
        assert await process.ended() == 2
        await process.listen()
    assert "cannot be reached" in process.lines[-1]
