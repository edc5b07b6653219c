"""The times of schedules are those that another implementation of cron finds."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from agent_core.model.schedule import Schedule, next_times
from agent_core.testing.examples import ANA

LINES = st.tuples(
    st.sampled_from(["*", "0", "30", "*/15", "5,35", "10-12"]),
    st.sampled_from(["*", "9", "*/6", "2", "8-17"]),
    st.sampled_from(["*", "1", "15,31"]),
    st.sampled_from(["*", "3", "10-12"]),
    st.sampled_from(["*", "1-5", "0", "7", "MON"]),
).map(" ".join)
MOMENTS = st.datetimes(*map(datetime.fromisoformat, ("2026-01-01", "2030-01-01")))
STEADY = st.sampled_from(["UTC", "Asia/Kolkata", "America/Phoenix"])  # where croniter gives no time twice


@given(LINES, MOMENTS, STEADY)
def test_the_times_are_those_of_croniter(cron: str, after: datetime, zone: str) -> None:
    begin = after.replace(tzinfo=UTC)
    other = croniter(cron, begin.astimezone(ZoneInfo(zone)))
    expected = tuple(other.get_next(datetime) for _ in range(3))
    assert next_times(Schedule(cron=cron, zone=zone, by=ANA), begin) == expected
