"""A status is sent a moment after it changed, and only the last of several changes."""

import asyncio
from dataclasses import replace

import pytest

from adapters.cards import status_text
from adapters.chat.background import BackgroundTasks
from adapters.chat.status_updates import StatusUpdates
from agent_core.errors import SurfaceBusy
from agent_core.model.agent import Agent, Paused, Stopped, Thinking
from agent_core.model.channels import ThreadRef
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import ANA, an_agent

AGENT = an_agent()
IN_THREAD = replace(AGENT, thread=ThreadRef(AGENT.channel, "thread-1"))


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def updates(sent: list[str]) -> StatusUpdates:
    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))

    return StatusUpdates(send=send, soon=BackgroundTasks(), clock=FakeClock(), delay=0)


async def test_of_several_changes_the_last_is_sent(updates: StatusUpdates, sent: list[str]) -> None:
    updates.update(replace(IN_THREAD, status=Paused("Its budget is spent.")))
    updates.update(replace(IN_THREAD, status=Stopped(ANA)))
    await updates.soon.close()
    assert sent == [f"stopped by {ANA}"]


async def test_a_status_that_is_shown_is_not_sent_again_until_it_is_forgotten(
    updates: StatusUpdates, sent: list[str]
) -> None:
    stopped = replace(IN_THREAD, status=Stopped(ANA))
    for _ in range(2):
        updates.update(stopped)
        await updates.soon.close()
    assert len(sent) == 1
    updates.forget(stopped.id)
    updates.update(stopped)
    await updates.soon.close()
    assert len(sent) == 2


async def test_an_agent_without_a_thread_and_a_helper_have_no_status_line(
    updates: StatusUpdates, sent: list[str]
) -> None:
    updates.update(AGENT)
    updates.update(replace(IN_THREAD, parent=AGENT.id))
    await updates.soon.close()
    assert sent == []


async def test_what_is_forgotten_while_it_is_sent_is_sent_again() -> None:
    """Somebody else changed the line meanwhile, and this process was told of it."""
    sent: list[str] = []

    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))
        if len(sent) == 1:
            lines.forget(agent.id)

    lines = StatusUpdates(send=send, soon=BackgroundTasks(), clock=FakeClock(), delay=0)
    lines.update(replace(IN_THREAD, status=Stopped(ANA)))
    await lines.soon.close()
    assert sent == [f"stopped by {ANA}"] * 2


async def test_a_line_that_waits_for_its_time_is_sent_when_the_process_ends(sent: list[str]) -> None:
    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))

    clock = FakeClock()
    lines = StatusUpdates(send=send, soon=BackgroundTasks(), clock=clock, delay=0.5)
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

    lines = StatusUpdates(send=send, soon=BackgroundTasks(), clock=FakeClock(), delay=0)
    lines.update(replace(IN_THREAD, status=Thinking()))
    await lines.soon.close()
    assert sent == [f"stopped by {ANA}"]


async def test_a_line_that_was_refused_is_sent_at_the_next_change() -> None:
    sent: list[str] = []

    async def send(agent: Agent) -> None:
        sent.append(status_text(agent))
        if len(sent) == 1:
            raise SurfaceBusy("Slack is busy (ratelimited)", 1.0)

    lines = StatusUpdates(send=send, soon=BackgroundTasks(), clock=FakeClock(), delay=0)
    for _ in range(2):
        lines.update(replace(IN_THREAD, status=Stopped(ANA)))
        await asyncio.gather(*lines.soon.tasks)
    assert sent == [f"stopped by {ANA}"] * 2
