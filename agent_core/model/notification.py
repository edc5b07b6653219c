"""Notifications: messages that tell that an agent waits for people or is done, and a channel's settings for them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from agent_core.model.ids import TurnId

FIRST_REMINDER = timedelta(minutes=5)  # the shortest time from the beginning of a wait to its first reminder
MAX_REMINDERS, LONGEST_REMINDER = 10, timedelta(days=7)
MAX_MENTIONS, MAX_DIRECT = 20, 50
OWNER = "owner"
PREFERENCE = "notify"  # the channel's preference with its settings; with a person's id behind it, that of a person
PERSON = f"{PREFERENCE}/"
SATURDAY = 5
MAX_QUIET_DAYS = 8

NotificationKind = Literal["reminder", "direct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message that was sent about one wait of an agent, and that is taken back when the wait ends.

    `since`: when the wait began. `turn`: the turn that waits, or None while the agent is paused.
    `to`: the person who got it as a direct message, or "" for a reminder in the agent's thread.
    `address`: where the surface posted it, or "" if it could not be delivered and is not tried again.
    `is_planned`: it is about to be sent. If the process dies meanwhile it may stand, and the surface looks for it.
    `reminded`: how many reminders of the wait were no longer due when it was sent.
    """

    since: datetime
    turn: TurnId | None = None
    to: str = ""
    address: str = ""
    is_planned: bool = False
    reminded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A time of day without reminders, in the channel's time zone; it may pass midnight."""

    begins: time
    ends: time

    def end_after(self, local: datetime) -> datetime:
        """The end of the quiet hours in which `local` lies, or `local` if it lies in none."""
        moment = local.time()
        is_within = self.begins <= moment < self.ends
        passes_midnight = self.begins > self.ends
        if passes_midnight:
            is_within = moment >= self.begins or moment < self.ends
        if not is_within:
            return local
        day = local + timedelta(days=1) if passes_midnight and moment >= self.begins else local
        ends = self.ends.replace(fold=local.fold)  # within the hour that a clock shows twice, in the same round
        return datetime.combine(day.date(), ends, tzinfo=local.tzinfo)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderSettings:
    """When agents of a channel remind people, and whom they mention.

    `ends`: whether people are also told, once, that an agent is done.
    `mentions`: `owner`, and the platform's ids of people and groups; nobody is reminded if it is empty.
    `after`: the times from the beginning of a wait to each reminder, ascending.
    `quiet`, `weekends`, `zone`: no reminders in the quiet hours or, unless `weekends`, on Saturday and Sunday, in the
    time zone `zone` (a name of the IANA database, such as Europe/Berlin). They are sent when that time is over.
    """

    mentions: tuple[str, ...] = (OWNER,)
    after: tuple[timedelta, ...] = (FIRST_REMINDER, timedelta(minutes=30), timedelta(hours=4))
    quiet: QuietHours | None = None
    weekends: bool = True
    ends: bool = True
    zone: str = "UTC"

    def due_at(self, since: datetime, sent: int) -> datetime | None:
        """When the next reminder of a wait is due after `sent` reminders; None if there is none."""
        if not self.mentions or sent >= len(self.after):
            return None
        local = (since + self.after[sent]).astimezone(ZoneInfo(self.zone))
        for _ in range(MAX_QUIET_DAYS):
            later = self._end_of_quiet(local)
            if later == local:
                break
            local = later
        return local.astimezone(since.tzinfo)

    def count_overdue(self, since: datetime, sent: int, now: datetime) -> int:
        """How many reminders of a wait are due by `now` after `sent` reminders."""
        due = (self.due_at(since, number) for number in range(sent, len(self.after)))
        return sum(each is not None and each <= now for each in due)

    def _end_of_quiet(self, local: datetime) -> datetime:
        if not self.weekends and local.weekday() >= SATURDAY:
            monday = local.date() + timedelta(days=7 - local.weekday())
            return datetime.combine(monday, time(), tzinfo=local.tzinfo)
        return self.quiet.end_after(local) if self.quiet else local


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSettings:
    """A channel's settings, with the ids of the people who asked for direct messages."""

    reminders: ReminderSettings = field(default_factory=ReminderSettings)
    direct: tuple[str, ...] = ()


def parse_notification_settings(preferences: Mapping[str, str]) -> NotificationSettings:
    """Parse a channel's preferences that begin with PREFERENCE."""
    direct = sorted(key.removeprefix(PERSON) for key, text in preferences.items() if key.startswith(PERSON) and text)
    return NotificationSettings(
        reminders=parse_reminder_settings(preferences.get(PREFERENCE)), direct=tuple(direct[:MAX_DIRECT])
    )


def parse_reminder_settings(text: str | None) -> ReminderSettings:
    """Parse the stored settings; None gives the defaults."""
    if not text:
        return ReminderSettings()
    stored = json.loads(text)
    given = {each.name: stored[each.name] for each in fields(ReminderSettings) if each.name in stored}
    if "mentions" in given:
        given["mentions"] = tuple(given["mentions"])
    if "after" in given:
        given["after"] = tuple(timedelta(seconds=seconds) for seconds in given["after"])
    if given.get("quiet"):
        begins, ends = map(time.fromisoformat, given["quiet"])
        given["quiet"] = QuietHours(begins=begins, ends=ends)
    return ReminderSettings(**given)


def serialise_reminder_settings(settings: ReminderSettings, before: str | None = None) -> str:
    """The settings to store. What a newer release keeps beside them in `before`, the text stored so far, stays."""
    quiet = [settings.quiet.begins.isoformat(), settings.quiet.ends.isoformat()] if settings.quiet else None
    plain = asdict(settings) | {"after": _seconds(settings.after), "quiet": quiet}
    return json.dumps({**(json.loads(before) if before else {}), **plain})


def _seconds(times: Sequence[timedelta]) -> list[float]:
    return [each.total_seconds() for each in times]
