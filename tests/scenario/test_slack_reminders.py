"""Slack's reminders and direct messages when lines are odd, Slack is busy or refuses, and an agent is deleted."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent_core.model.agent import Agent, Stopped
from agent_core.model.origin import Actor, Origin
from agent_core.testing.language_model import ScriptedModel
from tests.patience import PATIENCE_SECONDS
from tests.scenario.slack_app import GENERAL, Office, Running, at_work, text_of
from tests.scenario.team import SlackChat
from tests.scenario.test_slack_notifications import MORE, WRITE, MovingClock, direct, reminders
from tests.standins.slack.forms import labels
from tests.waking import wake

ANA = Origin(by=Actor(id="U1", display="ana"), channel=GENERAL)
SOME_SWEEPS = 3.0  # seconds
WHILE_ONE_WAITS = 0.5  # seconds of the process's time for one line that somebody typed


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with Office.opened() as opened:
        yield opened


async def agent_that(running: Running, is_such: Callable[[Agent], bool]) -> Agent:
    """The agent, once it is saved like this."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_such(agent := await running.agent()):
            await running.stage.clock.sleep(0.02)
    return agent


def has_two_calls(agent: Agent) -> bool:
    """Whether both stand, and where is saved."""
    return len(agent.notifications) == 2 and all(each.address for each in agent.notifications)


def is_tried_again(agent: Agent) -> bool:
    """Whether the next try is due before any reminder is."""
    return agent.wake_at is not None and agent.wake_at - agent.since < timedelta(minutes=2)


async def test_a_guest_cannot_stop_the_process_with_a_line_about_reminders(office: Office, tmp_path: Path) -> None:
    """With nested repetition, 26 digits take seconds, and each further digit twice as long."""
    guest = office.team.person("U3", "gus", "guest")
    async with at_work(office, ScriptedModel(WRITE), tmp_path):
        begun = time.process_time()
        await guest.types("/agent", f"reminders after {'1' * 25}x", office.general)
        await office.told(guest, "eminders")
        assert time.process_time() - begun < WHILE_ONE_WAITS


@pytest.mark.slow
async def test_a_direct_message_comes_although_slack_was_busy_for_a_moment(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await office.ben.types("/agent", "reminders call nobody", office.general)
        await office.told(office.ben, "remind nobody")
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await office.card(1)
        office.slack.fails("users.conversations", status=503)
        await office.ben.types("/agent", "notify me", office.general)
        await agent_that(running, is_tried_again)
        clock.moved = timedelta(minutes=10)
        await direct(office, office.ben, "turn 1")


@pytest.mark.slow
async def test_a_direct_message_that_slack_was_too_busy_for_is_sent_a_little_later(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await office.ben.types("/agent", "notify me", office.general)
        await office.ben.types("/agent", "reminders call nobody", office.general)
        await office.told(office.ben, "remind nobody")
        office.slack.fails("conversations.open", status=503)
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await agent_that(running, is_tried_again)
        clock.moved = timedelta(minutes=10)
        messages = office.team.direct(office.ben).messages
        await office.slack.until(lambda: any("turn 1" in text_of(each) for each in messages), seconds=2 * SOME_SWEEPS)


@pytest.mark.slow
async def test_a_refused_reminder_leaves_the_agent_waiting_and_the_next_one_comes(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await office.card(1)
        await office.slack.settled()
        office.slack.fails("chat.postMessage", error="invalid_blocks", times=1)
        clock.moved = timedelta(minutes=5, seconds=1)
        agent = await agent_that(running, lambda agent: agent.reminded == 1)
        assert (agent.status.kind, reminders(office)) == ("awaiting", [])
        clock.moved = timedelta(minutes=31)
        await office.slack.until(lambda: len(reminders(office)) == 1)


@pytest.mark.slow
async def test_a_reminder_that_slack_refuses_is_not_tried_every_second(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await office.card(1)
        await office.slack.settled()
        with office.slack.holding("chat.postMessage") as held:
            clock.moved = timedelta(minutes=11)
            await held.arrived()
            office.slack.fails("chat.postMessage", error="invalid_blocks", times=1000)
            held.release()
            with suppress(TimeoutError):
                await held.arrived(2, seconds=SOME_SWEEPS)
            assert held.count == 1, "the same reminder every second"


def called(office: Office) -> int:
    """How many mentions reminders have notified of."""
    return sum(each.kind == "signoff_reminder" for each in office.slack.notified)


async def called_once(office: Office) -> bool:
    """Wait until a reminder mentions somebody, and a few sweeps longer."""
    await office.slack.until(lambda: called(office) > 0)
    with suppress(TimeoutError):
        await office.slack.until(lambda: called(office) > 1, seconds=SOME_SWEEPS)
    return called(office) == 1


@pytest.mark.slow
async def test_who_was_waited_for_while_signoff_was_down_is_called_once(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await office.card(1)
    clock.moved = timedelta(hours=5)
    async with at_work(office, ScriptedModel(*MORE), tmp_path, clock=clock):
        assert await called_once(office)


@pytest.mark.slow
async def test_the_end_of_quiet_hours_calls_once(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    now = clock.now()
    quiet = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=5):%H:%M}"
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await office.ana.types("/agent", f"reminders quiet {quiet}", office.general)
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await office.card(1)
        clock.moved = timedelta(hours=5, minutes=1)
        wake(running.stage.engine, (await running.agent()).id)
        assert await called_once(office)


@pytest.mark.slow
async def test_a_reminder_goes_although_slack_was_busy_when_somebody_stopped_the_agent(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, transport="socket", clock=clock) as running:
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        card = await office.card(1)
        clock.moved = timedelta(minutes=5, seconds=1)
        await office.slack.until(lambda: len(reminders(office)) == 1)
        office.slack.fails("chat.delete", status=503)
        await office.ana.clicks(card, "Stop")
        await office.slack.until(lambda: "stopped by @ana" in text_of(office.general.messages))
        await agent_that(running, lambda agent: agent.is_at_rest and agent.wake_at is not None)
        clock.moved = timedelta(hours=2)
        await office.slack.until(lambda: not reminders(office))


@pytest.mark.slow
async def test_deleting_an_agent_takes_its_calls_away(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await office.ben.types("/agent", "notify me", office.general)
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await direct(office, office.ben, "turn 1")
        clock.moved = timedelta(minutes=5, seconds=1)
        await office.slack.until(lambda: len(reminders(office)) == 1)
        await agent_that(running, has_two_calls)
        await running.stage.service.lifecycle.delete((await running.agent()).id, ANA)
        await office.slack.settled()
        message = office.team.direct(office.ben).messages[-1]
        assert "Approve" not in labels(message["blocks"])
        assert reminders(office) == []


@pytest.mark.slow
@pytest.mark.proves("attention:reminders")
async def test_calls_that_a_process_sent_and_could_not_record_are_found_and_taken_back(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await office.ben.types("/agent", "notify me", office.general)
        await SlackChat(office, running, office.ana).new_agent("Clerk", "keeps notes", "Write a report")
        await direct(office, office.ben, "turn 1")
        clock.moved = timedelta(minutes=5, seconds=1)
        await agent_that(running, has_two_calls)
        agent, surface = await running.agent(), running.stage.surface
        assert surface.notifications
        for each in agent.notifications:
            lost = replace(each, address="", is_planned=True)
            await surface.notifications.take_back(agent.become(Stopped(ANA.by), clock.now()), None, lost)
        message = office.team.direct(office.ben).messages[-1]
        assert "Approve" not in labels(message["blocks"])
        assert reminders(office) == []
