"""Quiet hours that end within the hour that a clock shows twice, when summer time ends."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.model.channel_settings import FIRST_REMINDER, QuietHours, ReminderSettings

CHANGES = [datetime(2026, 3, 28, 18, tzinfo=UTC), datetime(2026, 10, 24, 18, tzinfo=UTC)]  # before each, in Berlin
QUARTERS = st.integers(0, 95).map(lambda number: time(number // 4, number % 4 * 15))


@pytest.mark.proves("attention:reminders")
def test_a_reminder_is_not_due_before_its_time_when_summer_time_ends() -> None:
    """The wait begins at 02:10 by the second round of the clock in Berlin. It is quiet until 02:30."""
    settings = ReminderSettings(quiet=QuietHours(begins=time(18), ends=time(2, 30)), zone="Europe/Berlin")
    since = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    due = settings.due_at(since, 0)
    assert due is not None
    assert (due >= since + FIRST_REMINDER, due - since) == (True, timedelta(minutes=20))


@pytest.mark.slow
@given(st.sampled_from(CHANGES), st.integers(0, 900), QUARTERS, QUARTERS, st.booleans())
def test_no_reminder_is_due_before_its_time(
    change: datetime, minutes: int, begins: time, ends: time, is_on: bool
) -> None:
    quiet = QuietHours(begins=begins, ends=ends)
    since = change + timedelta(minutes=minutes)
    due = ReminderSettings(quiet=quiet, weekends=is_on, zone="Europe/Berlin").due_at(since, 0)
    assert due is not None
    assert due >= since + FIRST_REMINDER
