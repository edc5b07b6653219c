"""Quiet hours that end within the hour that a clock shows twice, when summer time ends."""

from datetime import UTC, datetime, time, timedelta

from agent_core.model.notification import FIRST_REMINDER, QuietHours, ReminderSettings


def test_a_reminder_is_not_due_before_its_time_when_summer_time_ends() -> None:
    """The wait begins at 02:10 by the second round of the clock in Berlin. It is quiet until 02:30."""
    settings = ReminderSettings(quiet=QuietHours(begins=time(18), ends=time(2, 30)), zone="Europe/Berlin")
    since = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    due = settings.due_at(since, 0)
    assert due is not None
    assert (due >= since + FIRST_REMINDER, due - since) == (True, timedelta(minutes=20))
