"""A status is sent a moment after it changed, and only the last of several changes."""

from dataclasses import replace

import pytest

from adapters.cards import status_text
from adapters.chat.background import BackgroundTasks
from adapters.chat.status_updates import StatusUpdates
from agent_core.model.agent import Agent, Paused, Stopped
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
