"""Calls that a process sent and could not record before it died: they go away when the wait is over."""

from typing import Any

import pytest

from agent_core.model.agent import Agent, Awaiting
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.testing.surface import RecordingNotifications, RecordingSurface
from tests.unit.agent_core.loop.test_notifying import Play


class Killed(BaseException):
    """The process dies."""


class DyingNotifications(RecordingNotifications):
    """Sends a reminder, and then the process dies."""

    dies = True

    async def remind(self, agent: Agent, turn: Turn | None, mentions: Any, *, may_exist: bool) -> str:
        """Post it."""
        address = await super().remind(agent, turn, mentions, may_exist=may_exist)
        if self.dies:
            self.dies = False
            raise Killed
        return address


@pytest.mark.proves("attention:reminders")
async def test_a_reminder_of_a_killed_process_goes_away_after_the_decision() -> None:
    """A process dies between sending a reminder and saving it. Another process takes the decision, and goes on."""
    play = Play()
    play.calls = DyingNotifications()
    surface = play.stage.surface
    assert isinstance(surface, RecordingSurface)
    surface.notifications = play.calls
    agent = await play.create()
    with pytest.raises(Killed):
        await play.wait(agent, minutes=6)
    assert len(play.calls.standing) == 1
    agent = await play.decide(agent, Approve())
    assert isinstance(agent.status, Awaiting)
    assert play.calls.standing == {}
