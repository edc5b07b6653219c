"""Phrases and cron lines, and the times at which runs are due."""

import locale
import warnings
from datetime import UTC, datetime, time

import pytest

from agent_core.model.channel_settings import QuietHours
from agent_core.model.schedule import Schedule, cron_of, next_times
from agent_core.testing.examples import ANA

PHRASES = {
    "every weekday at 9:00": "0 9 * * 1-5",
    "Every Monday at 17:30": "30 17 * * 1",
    "every sundays at 9 pm": "0 21 * * 0",
    "every day at 12am": "0 0 * * *",
    "every weekend at 8": "0 8 * * 0,6",
    "every hour": "0 * * * *",
    "every 6 hours": "0 */6 * * *",
    "every minute": "* * * * *",
    "every  15   minutes": "*/15 * * * *",
    "0 9,17 1 * *": "0 9,17 1 * *",
    "0 9 L * *": "0 9 L * *",
    "0 9 * JAN-MAR 1#1": "0 9 * JAN-MAR 1#1",
}
WRONG = {
    "": "When\\?",
    "tomorrow": "“tomorrow” is no time that Signoff knows",
    "every day": "At what time?",
    "every day at 25:00": "25:00 is no time of day",
    "every Monday at 13 pm": "13 pm is no time of day",
    "every 7 minutes": "one of 1, 2, 3",
    "every 2 days at 9": "Only minutes and hours take a number",
    "every hour at 9": "without a time",
    "61 * * * *": "no cron line: bad minute",
    "0 0 30 2 *": "no cron line|never comes",
    "0 9 * * 07": "more than Signoff can say back",
    "0 9 */2 * *": "more than Signoff can say back",
    "0 9 1 * 1": "more than Signoff can say back",
    "0 9 1/1 * *": "more than Signoff can say back",
    "0 9 * * 1,3#2": "more than Signoff can say back",
    "*/90 * * * *": "more than Signoff can say back",
    "*/7 * * * *": "more than Signoff can say back",
    "0 */25 * * *": "more than Signoff can say back",
    "59/5 * * * *": "more than Signoff can say back",
    "0 9 * * 7/2": "more than Signoff can say back",
    "0 9 L/2 * *": "more than Signoff can say back",
    "x" * 10_000: "xxx…” is no time",
    f"{'0,' * 300}0 9 * * *": "no time that Signoff knows",
}


def schedule(cron: str, zone: str = "Europe/Vienna", quiet: QuietHours | None = None) -> Schedule:
    return Schedule(cron=cron, zone=zone, by=ANA, quiet=quiet)


def local(of: Schedule, after: datetime, number: int = 3) -> list[str]:
    """The next times, in the clock of the schedule's zone."""
    return [of.when(at, after).rpartition(" ")[0] for at in next_times(of, after, number)]


@pytest.mark.parametrize(("phrase", "cron"), PHRASES.items())
def test_a_phrase_stands_for_a_cron_line(phrase: str, cron: str) -> None:
    assert cron_of(phrase) == cron


@pytest.mark.parametrize(("phrase", "said"), WRONG.items())
def test_what_is_no_schedule_says_how_one_is_written(phrase: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as fault:
        cron_of(phrase)
    sentence, *more = str(fault.value).split("\n")
    assert (len(sentence) < 150, len(more) < 2, all(line.startswith("Examples: ") for line in more)) == (True,) * 3


def test_a_time_of_another_year_has_the_year() -> None:
    monthly, now = schedule("0 9 1 * *"), datetime(2026, 11, 30, 12, tzinfo=UTC)
    times = next_times(monthly, now)
    assert monthly.list_times(times, now) == "Tue 1 Dec 09:00 CET, Fri 1 Jan 2027 09:00 CET, Mon 1 Feb 2027 09:00 CET"
    assert schedule("0 0 1 1 *").when(datetime(2026, 12, 31, 23, tzinfo=UTC), now) == "Fri 1 Jan 2027 00:00 CET"


def test_it_is_said_in_english_whatever_the_machine_speaks() -> None:
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "C")
        with warnings.catch_warnings(action="error"):  # that the machine speaks no language
            assert schedule("1 9 * * 1-5").words == "At 09:01, Monday through Friday (Europe/Vienna)"
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def test_it_is_said_back_in_words() -> None:
    quiet = QuietHours(begins=time(22), ends=time(7))
    assert schedule("0 9 * * 1-5").words == "At 09:00, Monday through Friday (Europe/Vienna)"
    assert schedule("*/15 * * * *", quiet=quiet).words == "Every 15 minutes, not from 22:00 to 07:00 (Europe/Vienna)"


@pytest.mark.parametrize(
    ("cron", "after", "times"),
    [
        ("30 2 * * *", datetime(2027, 3, 27, 12, tzinfo=UTC), ["Sun 28 Mar 03:00", "Mon 29 Mar 02:30"]),
        ("30 2 * * *", datetime(2027, 10, 30, 12, tzinfo=UTC), ["Sun 31 Oct 02:30", "Mon 1 Nov 02:30"]),
        ("0 9 * * *", datetime(2027, 3, 27, 12, tzinfo=UTC), ["Sun 28 Mar 09:00", "Mon 29 Mar 09:00"]),
        ("0 * * * *", datetime(2027, 3, 28, 0, 30, tzinfo=UTC), ["Sun 28 Mar 03:00", "Sun 28 Mar 04:00"]),
    ],
)
def test_a_time_that_does_not_exist_comes_right_after_and_one_that_exists_twice_once(
    cron: str, after: datetime, times: list[str]
) -> None:
    assert local(schedule(cron), after, 2) == times


def test_in_the_second_round_of_an_hour_no_time_of_the_first_comes_again() -> None:
    second_round = datetime(2027, 10, 31, 1, 10, tzinfo=UTC)
    assert local(schedule("30 2 * * *"), second_round, 1) == ["Mon 1 Nov 02:30"]


def test_no_run_is_due_in_the_quiet_hours() -> None:
    quiet = QuietHours(begins=time(18), ends=time(8))
    assert local(schedule("0 */6 * * *", quiet=quiet), datetime(2027, 6, 1, 12, tzinfo=UTC), 2) == [
        "Wed 2 Jun 12:00",
        "Thu 3 Jun 12:00",
    ]
    assert (
        next_times(
            schedule("0 9 * * *", quiet=QuietHours(begins=time(8), ends=time(10))), datetime(2027, 6, 1, tzinfo=UTC)
        )
        == ()
    )


@pytest.mark.slow
@pytest.mark.parametrize("cron", ["0 9 1 1 *", "0 9 29 2 *"])
def test_a_rare_time_in_the_quiet_hours_never_comes(cron: str) -> None:
    quiet = QuietHours(begins=time(8), ends=time(10))
    assert next_times(schedule(cron, quiet=quiet), datetime(2027, 6, 1, tzinfo=UTC)) == ()


def test_after_downtime_the_last_time_counts() -> None:
    daily = schedule("0 9 * * *", "UTC")
    planned = daily.from_now(datetime(2027, 6, 1, 12, tzinfo=UTC))
    assert planned.last_due(datetime(2027, 6, 5, 11, tzinfo=UTC)) == datetime(2027, 6, 5, 9, tzinfo=UTC)
    assert planned.last_due(datetime(2027, 6, 2, 9, tzinfo=UTC)) == datetime(2027, 6, 2, 9, tzinfo=UTC)
