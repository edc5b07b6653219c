"""A status is sent a moment after it changed, and only the last of several changes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from adapters.chat.background import BackgroundTasks
from adapters.chat.status_updates import StatusUpdates
from adapters.screens.cards import status_text
from agent_core.errors import DatabaseAway, SignoffError, SurfaceBusy, ThreadGone
from agent_core.model.agent import Agent, Paused, Stopped, Thinking
from agent_core.model.decision import Policy
from agent_core.model.origin import ThreadRef
from agent_core.testing.clock import START, FakeClock
from agent_core.testing.examples import ANA, an_agent

AGENT = an_agent()
AWAY = DatabaseAway("The database cannot be used now.")
IN_THREAD = replace(AGENT, thread=ThreadRef(AGENT.channel, "thread-1"))


def facts(agent: Agent) -> object:
    return agent.policy.free


def sending(
    send: Callable[[Agent], Awaitable[None]], clock: FakeClock | None = None, delay: float = 0
) -> StatusUpdates:
    return StatusUpdates(send=send, facts_of=facts, soon=BackgroundTasks(), clock=clock or FakeClock(), delay=delay)


def refusing(tried: list[str], seconds: float) -> Callable[[Agent], Awaitable[None]]:
    """A platform that is busy each time, and says for how long."""

    async def send(agent: Agent) -> None:
        tried.append(status_text(agent))
        raise SurfaceBusy("ratelimited", seconds)

    return send


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def updates(sent: list[str]) -> StatusUpdates:
    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))

    return sending(send)


async def test_of_several_changes_the_last_is_sent(updates: StatusUpdates, sent: list[str]) -> None:
    updates.update(replace(IN_THREAD, status=Paused("Its budget is spent.")))
    updates.update(replace(IN_THREAD, status=Stopped(ANA)))
    await asyncio.gather(*updates.soon.tasks)
    assert sent == [f"stopped by {ANA}"]


async def test_a_status_that_is_shown_is_not_sent_again_until_it_is_forgotten(
    updates: StatusUpdates, sent: list[str]
) -> None:
    stopped = replace(IN_THREAD, status=Stopped(ANA))
    for _ in range(2):
        updates.update(stopped)
        await asyncio.gather(*updates.soon.tasks)
    assert len(sent) == 1
    updates.forget(stopped.id)
    updates.update(stopped)
    await asyncio.gather(*updates.soon.tasks)
    assert len(sent) == 2


async def test_an_agent_without_a_thread_and_a_helper_have_no_status_line(
    updates: StatusUpdates, sent: list[str]
) -> None:
    updates.update(AGENT)
    updates.update(replace(IN_THREAD, parent=AGENT.id))
    await asyncio.gather(*updates.soon.tasks)
    assert sent == []


async def test_what_is_forgotten_while_it_is_sent_is_sent_again() -> None:
    """Somebody else changed the line meanwhile, and this process was told of it."""
    sent: list[str] = []

    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))
        if len(sent) == 1:
            lines.forget(agent.id)

    lines = sending(send)
    lines.update(replace(IN_THREAD, status=Stopped(ANA)))
    await lines.soon.close()
    assert sent == [f"stopped by {ANA}"] * 2


async def test_a_line_that_waits_for_its_time_is_sent_when_the_process_ends(sent: list[str]) -> None:
    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))

    clock = FakeClock()
    lines = sending(send, clock, delay=0.5)
    lines.update(replace(IN_THREAD, status=Stopped(ANA)))
    await clock.until_sleeping()
    await lines.soon.close()
    assert sent == [f"stopped by {ANA}"]


async def test_the_newest_line_is_sent_if_the_one_before_it_was_refused() -> None:
    sent: list[str] = []

    async def send(agent: Agent) -> None:
        if isinstance(agent.status, Thinking):
            lines.update(replace(IN_THREAD, status=Stopped(ANA)))
            raise SurfaceBusy("Slack is busy (ratelimited)", 1.0)
        sent.append(status_text(agent))

    lines = sending(send)
    lines.update(replace(IN_THREAD, status=Thinking()))
    await lines.soon.close()
    assert sent == [f"stopped by {ANA}"]


@pytest.mark.parametrize(
    ("fault", "seconds"), [(SurfaceBusy("ratelimited", 7.0), 7.0), (SurfaceBusy("no answer"), 1.0), (AWAY, 1.0)]
)
async def test_a_line_is_sent_again_once_the_platform_takes_it(fault: SignoffError, seconds: float) -> None:
    """The agent is at rest: no later change would send its line."""
    sent: list[str] = []

    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))
        if len(sent) == 1:
            raise fault

    clock = FakeClock()
    lines = sending(send, clock)
    lines.update(replace(IN_THREAD, status=Stopped(ANA)))
    await clock.until_sleeping()
    clock.advance(seconds)
    await asyncio.gather(*lines.soon.tasks)
    assert sent == [f"stopped by {ANA}"] * 2
    assert clock.elapsed() == START.timestamp() + seconds


async def test_a_platform_that_stays_busy_is_asked_ten_times_for_one_line_and_again_at_the_next_change() -> None:
    tried: list[str] = []
    clock = FakeClock()
    lines = sending(refusing(tried, 1.0), clock)
    for change in (1, 2):
        lines.update(replace(IN_THREAD, status=Stopped(ANA)))
        for _ in range(9):
            await clock.until_sleeping()
            clock.advance(1.0)
        await asyncio.gather(*lines.soon.tasks)
        assert len(tried) == 10 * change


async def test_a_newer_line_has_ten_tries_of_its_own() -> None:
    tried: list[str] = []
    clock = FakeClock()
    lines = sending(refusing(tried, 1.0), clock)
    lines.update(replace(IN_THREAD, status=Paused("Its budget is spent.")))
    for number in range(18):
        await clock.until_sleeping()
        if number == 8:
            lines.update(replace(IN_THREAD, status=Stopped(ANA)))
        clock.advance(1.0)
    await asyncio.gather(*lines.soon.tasks)
    assert tried == ["paused: Its budget is spent."] * 9 + [f"stopped by {ANA}"] * 10


async def test_a_newer_line_is_sent_if_the_one_before_it_could_not_be() -> None:
    sent: list[str] = []

    async def send(agent: Agent) -> None:
        if isinstance(agent.status, Thinking):
            lines.update(replace(IN_THREAD, status=Stopped(ANA)))
            raise ThreadGone("Slack says that it is gone.")
        sent.append(status_text(agent))

    lines = sending(send)
    lines.update(replace(IN_THREAD, status=Thinking()))
    await asyncio.gather(*lines.soon.tasks)
    assert sent == [f"stopped by {ANA}"]


async def test_what_is_shown_beside_the_status_is_sent_when_it_changes(updates: StatusUpdates, sent: list[str]) -> None:
    stopped = replace(IN_THREAD, status=Stopped(ANA))
    for agent in (stopped, replace(stopped, policy=Policy(free=("write",)))):
        updates.update(agent)
        await asyncio.gather(*updates.soon.tasks)
    assert len(sent) == 2


async def test_the_end_of_a_process_does_not_wait_for_a_busy_platform() -> None:
    tried: list[str] = []
    clock = FakeClock()
    lines = sending(refusing(tried, 30.0), clock)
    lines.update(replace(IN_THREAD, status=Stopped(ANA)))
    await clock.until_sleeping()
    await lines.soon.close()
    assert len(tried) == 2
