"""Slack's reminders and direct messages when lines are odd, Slack is busy or refuses, and an agent is deleted."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.slack_app import Office, at_work
from tests.scenario.test_slack_notifications import WRITE

WHILE_ONE_WAITS = 0.5  # seconds of the process's time for one line that somebody typed


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with Office.opened() as opened:
        yield opened


async def test_a_guest_cannot_stop_the_process_with_a_line_about_reminders(office: Office, tmp_path: Path) -> None:
    """With nested repetition, 26 digits take seconds, and each further digit twice as long."""
    guest = office.team.person("U3", "gus", "guest")
    async with at_work(office, ScriptedModel(WRITE), tmp_path):
        begun = time.process_time()
        await guest.types("/agent", f"reminders after {'1' * 25}x", office.general)
        await office.told(guest, "eminders")
        assert time.process_time() - begun < WHILE_ONE_WAITS
