"""Calls that a process sent and could not record before it died: they go away when the wait is over."""

from typing import Any

import pytest

from agent_core.model.agent import Agent, Awaiting
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.testing.surface import RecordingNotifications, RecordingSurface
from tests.unit.agent_core.loop.test_notifying import SLACK, Play


class Killed(BaseException):
    """The process dies."""


class DyingNotifications(RecordingNotifications):
    """Sends a reminder or a direct message, and then the process dies."""

    dies = True

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Any, *, may_exist: bool) -> str:
        """Post it."""
        address = await super().remind(agent, turn, mentions, may_exist=may_exist)
        return self._die_at(address)

    async def send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        """Send it."""
        return self._die_at(await super().send_direct(agent, turn, person, may_exist=may_exist))

    def _die_at(self, address: str) -> str:
        if self.dies:
            self.dies = False
            raise Killed
        return address


def dying() -> Play:
    """A play in which the process dies when it has sent its first call."""
    play = Play()
    play.calls = DyingNotifications()
    surface = play.stage.surface
    assert isinstance(surface, RecordingSurface)
    surface.notifications = play.calls
    return play


@pytest.mark.proves("attention:reminders")
async def test_a_reminder_of_a_killed_process_goes_away_after_the_decision() -> None:
    """A process dies between sending a reminder and saving it. Another process takes the decision, and goes on."""
    play = dying()
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    assert len(play.calls.standing) == 1
    agent = await play.decide(agent, Approve())
    assert isinstance(agent.status, Awaiting)
    assert play.calls.standing == {}


@pytest.mark.proves("attention:direct")
async def test_a_direct_message_of_a_killed_process_tells_how_the_wait_ended() -> None:
    play = dying()
    await play.notify()
    with pytest.raises(Killed):
        await play.create()
    agent = await play.stage.views.find_by_name(SLACK, "Clerk")
    assert agent
    await play.decide(agent, Approve())
    assert [state for _, state in play.calls.taken_back] == ["approved"]


@pytest.mark.proves("attention:reminders")
async def test_a_process_that_goes_on_in_the_same_wait_sends_nothing_twice() -> None:
    play = dying()
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    agent = await play.wait(agent, minutes=2)
    assert (len(play.calls.sent), agent.reminded, len(agent.notifications)) == (1, 1, 1)
    assert agent.notifications[0].address in play.calls.standing


@pytest.mark.proves("attention:reminders")
async def test_a_call_that_is_no_longer_wanted_when_the_next_process_starts_is_taken_back() -> None:
    play = dying()
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    await play.set_reminders(mentions=())
    agent = await play.wait(agent, minutes=2)
    assert (play.calls.standing, agent.notifications) == ({}, ())
