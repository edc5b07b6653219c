"""What people set for a channel (sites, tools, reminders): what it refuses, when it reminds, and the stored form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from agent_core.model.command import CommandSpec

SITES_KEY = "sites"  # the channel's preference that holds them


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Host names; each includes its subdomains. An empty `allow` allows every site that is not in `deny`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def refusal(self, host: str) -> str:
        """Why the host is refused, as a sentence; "" if it is allowed."""
        name = host.rstrip(".").casefold()
        if _is_one_of(name, self.deny):
            return f"{name} is denied in this channel."
        if self.allow and not _is_one_of(name, self.allow):
            return f"{name} is not among the sites allowed in this channel: {', '.join(self.allow)}."
        return ""


def parse_sites(text: str | None) -> Sites:
    """Parse the stored lists; None gives empty lists."""
    lists = json.loads(text) if text else {}
    return Sites(**{each.name: tuple(lists.get(each.name, ())) for each in fields(Sites)})


def serialise_sites(sites: Sites, before: str | None = None) -> str:
    """The lists to store. What a newer release keeps beside them in `before`, the text stored so far, stays."""
    return json.dumps({**(json.loads(before) if before else {}), **asdict(sites)})


def _is_one_of(name: str, sites: tuple[str, ...]) -> bool:
    return any(name == site or name.endswith(f".{site}") for site in sites)


NO_TOOLS_KEY = "no tools"  # a preference of a whole workspace; anything but "" keeps tools off
TOOLS_KEY = "tools"  # the channel's preference that holds the switches
HOW_TO_SWITCH = "/agent tools, or the page Tools and plugins, says what is on."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSwitches:
    """Names of tool sources and of their commands.

    `only`: if it is not empty, everything that neither it nor its source is named here is off.
    `off`: what is off besides. Signoff's own commands are not touched by either.
    `are_denied`: the operator keeps all tools off in this workspace, whatever the channel chose.
    """

    only: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    are_denied: bool = False

    def is_source_on(self, name: str) -> bool:
        """Whether the source itself is on, with what it does besides its commands."""
        return not self.are_denied and name not in self.off and (not self.only or name in self.only)

    def allows(self, spec: CommandSpec) -> bool:
        """Whether agents of the channel may use the command; True for Signoff's own."""
        if not spec.source:
            return True
        names = {spec.name, spec.source_name}
        return not self.are_denied and names.isdisjoint(self.off) and (not self.only or not names.isdisjoint(self.only))

    def refusal(self, spec: CommandSpec) -> str:
        """Why the command is refused, as a sentence; "" if it is allowed."""
        if self.are_denied and spec.source:
            return (
                f"{spec.name} is off in this workspace: only the operator turns tools of plugins and servers on there."
            )
        return "" if self.allows(spec) else f"{spec.name} is switched off in this channel. {HOW_TO_SWITCH}"

    def turn_off(self, names: Iterable[str]) -> "ToolSwitches":
        """The switches with these sources and commands off."""
        return replace(self, off=_added(self.off, names))

    def turn_on(self, names: Iterable[str]) -> "ToolSwitches":
        """The switches with these sources and commands on, also if only others were."""
        wanted = set(names)
        off = tuple(name for name in self.off if name not in wanted)
        return replace(self, only=_added(self.only, names) if self.only else (), off=off)


ALL_ON = ToolSwitches()


def parse_tool_switches(text: str | None) -> ToolSwitches:
    """Parse the stored switches; None switches nothing off."""
    lists = json.loads(text) if text else {}
    return ToolSwitches(only=tuple(lists.get("only", ())), off=tuple(lists.get("off", ())))


def serialise_tool_switches(switches: ToolSwitches, before: str | None = None) -> str:
    """The switches to store. What a newer release keeps beside them in `before`, the text stored so far, stays."""
    return json.dumps({**(json.loads(before) if before else {}), "only": switches.only, "off": switches.off})


def _added(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))


FIRST_REMINDER = timedelta(minutes=5)  # the shortest time from the beginning of a wait to its first reminder
MAX_REMINDERS, LONGEST_REMINDER = 10, timedelta(days=7)
MAX_MENTIONS, MAX_DIRECT = 20, 50
OWNER = "owner"
PREFERENCE = "notify"  # the channel's preference with its settings; with a person's id behind it, that of a person
PERSON = f"{PREFERENCE}/"
SATURDAY = 5
MAX_QUIET_DAYS = 8


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
    `backup`: whom reminders call besides from `backup_after` on, which is a time of one more reminder.
    `pause_after`: when an agent that nobody decides on pauses; None for never.
    `quiet`, `weekends`, `zone`: no reminders in the quiet hours or, unless `weekends`, on Saturday and Sunday, in the
    time zone `zone` (a name of the IANA database, such as Europe/Berlin). They are sent when that time is over.
    """

    mentions: tuple[str, ...] = (OWNER,)
    after: tuple[timedelta, ...] = (FIRST_REMINDER, timedelta(minutes=30), timedelta(hours=4))
    quiet: QuietHours | None = None
    weekends: bool = True
    ends: bool = True
    zone: str = "UTC"
    backup: tuple[str, ...] = ()
    backup_after: timedelta | None = None
    pause_after: timedelta | None = None

    @property
    def times(self) -> tuple[timedelta, ...]:
        """The times of all reminders, with that which calls the backup."""
        late = {self.backup_after} if self.backup and self.backup_after else set()
        return tuple(sorted({*self.after, *late}))

    def called(self, waited: timedelta) -> tuple[str, ...]:
        """Whom a reminder calls after so long a wait."""
        is_late = self.backup_after is not None and waited >= self.backup_after
        return tuple(dict.fromkeys((*self.mentions, *(self.backup if is_late else ()))))

    def due_at(self, since: datetime, sent: int) -> datetime | None:
        """When the next reminder of a wait is due after `sent` reminders; None if there is none."""
        if not (self.mentions or self.backup) or sent >= len(self.times):
            return None
        local = (since + self.times[sent]).astimezone(ZoneInfo(self.zone))
        for _ in range(MAX_QUIET_DAYS):
            later = self._end_of_quiet(local)
            if later == local:
                break
            local = later
        return local.astimezone(since.tzinfo)

    def count_overdue(self, since: datetime, sent: int, now: datetime) -> int:
        """How many reminders of a wait are due by `now` after `sent` reminders."""
        due = (self.due_at(since, number) for number in range(sent, len(self.times)))
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
    if "backup" in given:
        given["backup"] = tuple(given["backup"])
    for name in ("backup_after", "pause_after"):
        if given.get(name) is not None:
            given[name] = timedelta(seconds=given[name])
    if "after" in given:
        given["after"] = tuple(timedelta(seconds=seconds) for seconds in given["after"])
    if given.get("quiet"):
        begins, ends = map(time.fromisoformat, given["quiet"])
        given["quiet"] = QuietHours(begins=begins, ends=ends)
    return ReminderSettings(**given)


def serialise_reminder_settings(settings: ReminderSettings, before: str | None = None) -> str:
    """The settings to store. What a newer release keeps beside them in `before`, the text stored so far, stays."""
    quiet = [settings.quiet.begins.isoformat(), settings.quiet.ends.isoformat()] if settings.quiet else None
    late = {name: time and time.total_seconds() for name, time in _late(settings)}
    plain = asdict(settings) | {"after": _seconds(settings.after), "quiet": quiet} | late
    return json.dumps({**(json.loads(before) if before else {}), **plain})


def _late(settings: ReminderSettings) -> tuple[tuple[str, timedelta | None], ...]:
    return ("backup_after", settings.backup_after), ("pause_after", settings.pause_after)


def _seconds(times: Sequence[timedelta]) -> list[float]:
    return [each.total_seconds() for each in times]
