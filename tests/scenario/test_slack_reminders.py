"""Slack's reminders and direct messages when lines are odd, Slack is busy or refuses, and an agent is deleted."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent_core.model.agent import Agent, Stopped
from agent_core.model.origin import Actor, Origin
from agent_core.testing.language_model import ScriptedModel
from tests.patience import PATIENCE_SECONDS
from tests.scenario.slack_app import GENERAL, Office, Running, at_work, text_of
from tests.scenario.team import new_clerk
from tests.scenario.test_slack_notifications import MORE, WRITE, MovingClock, direct, reminders
from tests.standins.slack.forms import labels

ANA = Origin(by=Actor(id="U1", display="ana"), channel=GENERAL)
WHILE_ONE_WAITS = 0.5  # seconds of the process's time for one line that somebody typed


async def agent_that(running: Running, is_such: Callable[[Agent], bool]) -> Agent:
    """The agent, once it is saved like this."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_such(agent := await running.agent()):
            await running.stage.clock.sleep(0.02)
    return agent


def has_two_calls(agent: Agent) -> bool:
    """Whether both stand, and where is saved."""
    return len(agent.notifications) == 2 and all(each.address for each in agent.notifications)


async def test_a_guest_cannot_stop_the_process_with_a_line_about_reminders(office: Office, tmp_path: Path) -> None:
    """With nested repetition, 26 digits take seconds, and each further digit twice as long."""
    guest = office.team.person("U3", "gus", "guest")
    async with at_work(office, ScriptedModel(WRITE), tmp_path):
        begun = time.process_time()
        await guest.types("/agent", f"reminders after {'1' * 25}x", office.general)
        await office.told(guest, "eminders")
        assert time.process_time() - begun < WHILE_ONE_WAITS


@pytest.mark.slow
async def test_a_refused_reminder_leaves_the_agent_waiting_and_the_next_one_comes(
    office: Office, tmp_path: Path
) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await new_clerk(office, running)
        await office.card(1)
        await office.slack.settled()
        office.slack.fails("chat.postMessage", error="invalid_blocks", times=1)
        clock.moved = timedelta(minutes=5, seconds=1)
        agent = await agent_that(running, lambda agent: agent.reminded == 1)
        assert (agent.status.kind, reminders(office)) == ("awaiting", [])
        clock.moved = timedelta(minutes=31)
        await office.slack.until(lambda: len(reminders(office)) == 1)


@pytest.mark.slow
@pytest.mark.proves("attention:escalation")
async def test_a_backup_is_called_later_and_then_the_agent_pauses_undecided(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await new_clerk(office, running)
        await office.card(1)
        for line in ("after 1h", "backup <@U2|ben> after 8h", "pause 24h"):
            await office.ana.types("/agent", f"reminders {line}", office.general)
        await office.told(office.ana, "pauses")
        clock.moved = timedelta(hours=1, minutes=1)
        await office.slack.until(lambda: len(reminders(office)) == 1)
        assert "<@U2>" not in text_of(reminders(office)[0])
        clock.moved = timedelta(hours=8, minutes=1)
        await office.slack.until(lambda: "<@U2>" in text_of(reminders(office)[-1]))
        clock.moved = timedelta(hours=24, minutes=1)
        agent = await agent_that(running, lambda agent: agent.status.kind == "paused")
        turn = await running.stage.views.newest_turn(GENERAL, agent.id)
        assert turn
        assert (turn.state, turn.approvals) == ("proposed", ())
        await office.said("Nobody decided for 24 hours. The card still waits; Approve or Resume goes on.")


@pytest.mark.slow
async def test_deleting_an_agent_takes_its_calls_away(office: Office, tmp_path: Path) -> None:
    clock = MovingClock()
    async with at_work(office, ScriptedModel(WRITE, *MORE), tmp_path, clock=clock) as running:
        await office.ben.types("/agent", "notify me", office.general)
        await new_clerk(office, running)
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
        await new_clerk(office, running)
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
