"""Lines about reminders that people type: what they mean, and that none takes the time that all agents share."""

import time
from datetime import timedelta

import pytest

from adapters.typed.notification_commands import NotificationCommands, reminders_text
from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.channel_settings import MAX_MENTIONS, ReminderSettings
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.testing.examples import ANA
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingNotifications, RecordingSurface

WHILE_ALL_WAIT = 0.5  # seconds
SLACK = ChannelScope("slack", "T1", "C1")
GUEST = Actor(id="eve", display="eve", kind="guest")


async def set_by(line: str, by: Actor = ANA) -> ReminderSettings:
    """The channel's settings after somebody typed this line."""
    stage = Stage(surface=RecordingSurface(name="slack", notifications=RecordingNotifications()))
    commands = NotificationCommands.of(stage.notifications, stage.loop.surfaces.values())
    await commands.reminders(line, Origin(by=by, channel=SLACK))
    return (await stage.notifications.settings(SLACK)).reminders


@pytest.mark.parametrize("times", ["10m 1h 2d", "10, 1h, 2d", "10 min., 1 H 2 d", "10,1h,2d,", " 10  m\n1h  2d."])
async def test_times_may_be_written_in_several_ways(times: str) -> None:
    minutes, hours, days = timedelta(minutes=10), timedelta(hours=1), timedelta(days=2)
    assert (await set_by(f"after {times}")).after == (minutes, hours, days)


@pytest.mark.parametrize("people", ["@ben @S1", "@ben, @S1,", "ben;S1"])
async def test_people_may_be_written_in_several_ways(people: str) -> None:
    assert (await set_by(f"call {people}")).mentions == ("ben", "S1")


async def test_a_backup_and_a_pause_are_set_in_words_and_taken_back() -> None:
    late = await set_by("backup @ben @S1 after 8h")
    assert (late.backup, late.backup_after) == (("ben", "S1"), timedelta(hours=8))
    assert (await set_by("pause 24h")).pause_after == (await set_by("pause after 24h")).pause_after == timedelta(days=1)
    assert (await set_by("backup off")) == (await set_by("pause off")) == ReminderSettings()
    assert "After 8 h it calls ben, S1 too." in reminders_text(late)


@pytest.mark.parametrize(
    "line",
    [
        "backup @ben",
        "backup after 8h",
        "backup @ben after 8h 9h",
        "pause",
        "pause @ben after 8h",
        f"after {'1' * 25}x",
        "after 12345",
        "after 1h30m",
        f"after 5m{' ' * 1_000}x",
        f"after {'5m ' * 1_000}",
        "call ,",
        f"call {'@a ' * (MAX_MENTIONS + 1)}",
        f"call {' ,' * 50_000}",
    ],
    ids=lambda line: line[:14],
)
async def test_a_wrong_list_is_refused_at_once(line: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidInput):
        await set_by(line)
    assert time.process_time() - begun < WHILE_ALL_WAIT


async def test_a_guest_is_told_that_guests_may_not_before_the_line_is_read() -> None:
    with pytest.raises(NotAllowed):
        await set_by("after soon", GUEST)
