"""When an agent works by itself: its schedule, the times of its runs, and the run that is open.

Times follow Debian's cron over changes of the clock (https://manpages.debian.org/cron): a run at a time that does not
exist begins right after the change, one at a time that exists twice begins once. Lines with a `*` for the hour follow
the clock.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import dropwhile, islice
from typing import Self
from zoneinfo import ZoneInfo

from cron_descriptor import FormatError, Options, get_description
from cronsim import CronSim, CronSimError

from agent_core.model.channel_settings import QuietHours
from agent_core.model.origin import Actor
from agent_core.text.lines import counted, quoted

DEFAULT_TURNS, MAX_TURNS = 20, 500
MAX_CHARACTERS = 500  # of a cron line
MOST_LATE = timedelta(days=1)
MOST_SKIPPED = 1_440  # times in the quiet hours, of a whole day, before a schedule counts as one that never runs
LAST_YEAR = 2200  # until then a time outside the quiet hours is looked for: later ones would take a long time to find
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
EVERY_MINUTES, EVERY_HOURS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30), (1, 2, 3, 4, 6, 8, 12)
PHRASE = re.compile(
    r"every\s+(?:(?P<number>\d{1,2})\s+)?(?P<unit>minutes?|hours?|days?|weekdays?|weekends?|(?:"
    + "|".join(DAYS)
    + r")s?)(?:\s+at\s+(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>am|pm)?)?",
    re.IGNORECASE,
)
# What cron_descriptor and cronsim read alike: values, ranges and lists, or the last day, or the first Monday as 1#1.
_VALUES = r"(?:\d{1,2}|[a-z]{3})(?:-(?:\d{1,2}|[a-z]{3}))?"
PLAIN = re.compile(rf"\*|{_VALUES}(?:,{_VALUES})*|l|[0-7]#[1-5]", re.IGNORECASE)
STEPS = frozenset(f"*/{each}" for each in EVERY_MINUTES), frozenset(f"*/{each}" for each in EVERY_HOURS)
HOW = (
    "Write every day, every weekday, every Monday … at 9:00, every hour, every 15 minutes, or a cron line such as "
    "0 9 1 * * (minute, hour, day of the month, month, day of the week)."
)
EXAMPLES = "Examples: every weekday at 9:00 · every 15 minutes · 0 9 1 * * (at 9:00 on the first of each month)."
MAX_QUOTED_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that has not ended: its number, the time for which it was due, and what the agent had done before it.

    `after_turn`: the number of the last turn before. `spent`: the agent's spending before, in US dollars.
    """

    number: int
    due: datetime
    after_turn: int
    spent: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When an agent's runs begin, and the most that each may take.

    `cron`: five fields as in crontab(5), read in the time zone `zone`. `quiet`: no run begins in these hours there.
    `turns`, `budget`: a run ends after so many turns, or when it has spent so many US dollars.
    `next_at`: when the next run is due, None while the schedule is paused.
    `runs`, `last_at`: how many runs have begun, and when the last one did. `open`: the run that has not ended.
    `is_left_out`: people were told that a run was left out, and none has begun since.
    """

    cron: str
    zone: str = "UTC"
    by: Actor
    turns: int = DEFAULT_TURNS
    budget: Decimal | None = None
    quiet: QuietHours | None = None
    next_at: datetime | None = None
    runs: int = 0
    last_at: datetime | None = None
    open: Run | None = None
    is_left_out: bool = False

    @property
    def words(self) -> str:
        """The times in words, with the time zone: `At 09:00, Monday through Friday (Europe/Vienna)`."""
        quiet = f", not from {self.quiet.begins:%H:%M} to {self.quiet.ends:%H:%M}" if self.quiet else ""
        return f"{_in_words(self.cron)}{quiet} ({self.zone})"

    @property
    def limits(self) -> str:
        """The most that a run may take, in words."""
        dollars = f" or ${self.budget:,.2f}" if self.budget is not None else ""
        return f"A run ends after {counted(self.turns, 'turn')}{dollars} at the latest."

    def times(self, after: datetime) -> Iterator[datetime]:
        """The times after that one at which runs are due, in UTC; none if all of the next 1,440 are quiet hours.

        In the second round of an hour that comes twice, cronsim gives the times of the first again.
        """
        found = self._outside_quiet(CronSim(self.cron, after.astimezone(ZoneInfo(self.zone))))
        return dropwhile(lambda at: at <= after, found)

    def last_due(self, now: datetime) -> datetime:
        """The latest time at which a run was due; `next_at` has come."""
        earlier = CronSim(self.cron, now.astimezone(ZoneInfo(self.zone)), reverse=True)
        last = next(self._outside_quiet(earlier), now)
        return max(self.next_at or now, last) if last < now else self.next_at or now

    def from_now(self, now: datetime) -> Self:
        """The schedule with its next run after now."""
        return replace(self, next_at=next(self.times(now), None))

    def after(self, before: "Schedule | None") -> Self:
        """The schedule in the place of another one, whose runs count on and whose open run goes on."""
        return replace(self, runs=before.runs, last_at=before.last_at, open=before.open) if before else self

    def quiet_until(self, now: datetime) -> datetime:
        """The end of the quiet hours in which a late run would begin; now, if it would begin in none."""
        local = now.astimezone(ZoneInfo(self.zone))
        return self.quiet.end_after(local).astimezone(UTC) if self.quiet else now

    def is_due(self, now: datetime) -> bool:
        return self.next_at is not None and self.next_at <= now

    def begin(self, due: datetime, now: datetime, *, after_turn: int, spent: Decimal) -> Self:
        """The schedule with a run that begins now. A paused one stays paused."""
        run = Run(number=self.runs + 1, due=due, after_turn=after_turn, spent=spent)
        begun = replace(self, runs=run.number, last_at=now, open=run, is_left_out=False)
        return begun if self.next_at is None else begun.from_now(now)

    def title(self, due: datetime) -> str:
        """The day and time of a run: `Monday 9:00 CET`."""
        return f"{due.astimezone(ZoneInfo(self.zone)):%A %-H:%M %Z}"

    def when(self, at: datetime, now: datetime) -> str:
        """A time in the schedule's zone, for people: `Mon 30 Nov 09:00 CET`; with the year, if it is not this year."""
        local, here = at.astimezone(ZoneInfo(self.zone)), now.astimezone(ZoneInfo(self.zone))
        return f"{local:%a %-d %b{'' if local.year == here.year else ' %Y'} %H:%M %Z}"

    def list_times(self, times: Iterable[datetime], now: datetime) -> str:
        return ", ".join(self.when(at, now) for at in times)

    def _outside_quiet(self, found: Iterator[datetime]) -> Iterator[datetime]:
        skipped = 0
        for at in found:
            if self.quiet and self.quiet.end_after(at) != at:
                skipped += 1
                if skipped >= MOST_SKIPPED or at.year > LAST_YEAR:
                    return
                continue
            skipped = 0
            yield at.astimezone(UTC)


def next_times(schedule: Schedule, now: datetime, number: int = 3) -> tuple[datetime, ...]:
    return tuple(islice(schedule.times(now), number))


def cron_of(text: str) -> str:
    """The cron line that a phrase stands for, or the text itself if it is one.

    Raise ValueError with a sentence that says what is wrong, and a line of examples.
    """
    said = " ".join(text.split())
    if found := PHRASE.fullmatch(said):
        return _cron_of_phrase(found)
    if len(said) > MAX_CHARACTERS or len(said.split()) != len("mhdMw"):
        raise _not_usable(f"{quoted(said, MAX_QUOTED_CHARACTERS)} is no time that Signoff knows." if said else "When?")
    line = quoted(said, MAX_QUOTED_CHARACTERS)
    try:
        next(CronSim(said, datetime(2026, 1, 1, tzinfo=UTC)))
    except StopIteration:
        raise _not_usable(f"{line} never comes.") from None
    except CronSimError as fault:
        raise _not_usable(f"{line} is no cron line: {str(fault).lower()}.") from fault
    if not (_is_plain(said.split()) and _has_words(said)):
        raise _not_usable(f"{line} is more than Signoff can say back in words: write it more simply.")
    return said


def _not_usable(fault: str) -> ValueError:
    return ValueError(f"{fault}\n{EXAMPLES}")


def _has_words(cron: str) -> bool:
    try:
        return re.search(r"\b(\w+) through \1\b", _in_words(cron)) is None  # Sunday through Sunday: one day, or all?
    except FormatError:
        return False


def _is_plain(fields: Sequence[str]) -> bool:
    """Whether each field is simple, steps are even over a day, and days are given by month or by week, not by both."""
    steps = (*STEPS, (), (), ())
    are_simple = all(PLAIN.fullmatch(field) or field in step for field, step in zip(fields, steps, strict=True))
    return are_simple and "*" in (fields[2], fields[4])


def _cron_of_phrase(found: re.Match[str]) -> str:
    unit, number = found["unit"].casefold().removesuffix("s"), int(found["number"] or 1)
    if unit in ("minute", "hour"):
        return _cron_of_steps(unit, number, has_time=found["hour"] is not None)
    if found["number"]:
        raise _not_usable("Only minutes and hours take a number.")
    at = _time_of(found)
    day = {"day": "*", "weekday": "1-5", "weekend": "0,6"}.get(unit) or str(DAYS.index(unit))
    return f"{at.minute} {at.hour} * * {day}"


def _cron_of_steps(unit: str, number: int, *, has_time: bool) -> str:
    fitting = EVERY_MINUTES if unit == "minute" else EVERY_HOURS
    if number not in fitting or has_time:
        listed = ", ".join(map(str, fitting))
        raise ValueError(f"Every so many {unit}s: one of {listed}, and without a time, so that each day is the same.")
    step = "*" if number == 1 else f"*/{number}"
    return f"{step} * * * *" if unit == "minute" else f"0 {step} * * *"


def _time_of(found: re.Match[str]) -> time:
    """The time of day of a phrase; raise ValueError if it has none."""
    if found["hour"] is None:
        raise ValueError(f"At what time? As in: every {found['unit']} at 9:00.")
    hour, half = int(found["hour"]), (found["half"] or "").casefold()
    if half:
        if not 1 <= hour <= 12:
            raise _not_usable(f"{hour} {half} is no time of day.")
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        return time(hour, int(found["minute"] or 0))
    except ValueError as fault:
        raise _not_usable(f"{hour}:{found['minute'] or '00'} is no time of day.") from fault


@lru_cache(256)
def _in_words(cron: str) -> str:
    options = Options(use_24hour_time_format=True, locale_code="en_US")  # not the language of the machine
    said = str(get_description(cron.upper(), options))
    return f"Every day at {said.removeprefix('At ')}" if cron.endswith(" * * *") and said.startswith("At ") else said
