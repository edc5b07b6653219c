"""The typed commands `reminders` and `notify`: show and change when people are reminded, and who is messaged."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import time, timedelta
from functools import partial
from typing import Self

from adapters.screens.ui_text import first_word
from agent_core.errors import InvalidInput
from agent_core.model.channel_settings import MAX_MENTIONS, OWNER, QuietHours, ReminderSettings
from agent_core.model.origin import Origin, SurfaceName
from agent_core.ports.surface import ChatSurface, Notifications
from agent_core.service.notifications import NOT_HERE, ChannelNotifications, require_may_set_reminders

FindMention = Callable[[str, str], str]  # a Slack workspace or Discord server, and what was typed → an id or ""

HOW_REMINDERS = (
    "Reminders: write call owner, call nobody or call @PEOPLE; after 5m 30m 4h; backup @PEOPLE after 8h or backup off; "
    "pause after 24h or pause off; quiet 18:00-08:00 or quiet off; "
    "weekends on or off; done on or off; zone Europe/Berlin."
)
NOTIFIED = "You get a direct message whenever an agent of this channel needs your approval, or is done."
HOW_NOTIFY = "Direct messages: write notify me or notify off."
MAX_LINE_CHARACTERS = 2_000  # of a line about reminders
BETWEEN_DURATIONS, BETWEEN_MENTIONS = re.compile(r",? (?=\d)|,(?=\d)"), re.compile(r"[\s,;]+")
DURATION = re.compile(r"(\d{1,4}) ?(m|min|h|d)?\.?,?", re.IGNORECASE)
UNITS = {"m": "minutes", "h": "hours", "d": "days"}
QUIET = re.compile(r"(\d{1,2}:\d{2})\s*[-–]\s*(\d{1,2}:\d{2})")
ON_OFF = {"on": True, "off": False}

Change = Callable[[ReminderSettings], ReminderSettings]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationCommands:
    """Runs `reminders` and `notify`. `find_mention`: how each surface finds the person or group that was typed."""

    notifications: ChannelNotifications
    find_mention: Mapping[SurfaceName, FindMention]

    @classmethod
    def of(cls, notifications: ChannelNotifications, surfaces: Iterable[ChatSurface]) -> Self:
        """The commands for these surfaces; those without notifications refuse them."""
        found = {name: each.find_mention for name, each in notifications_of(surfaces).items()}
        return cls(notifications=notifications, find_mention=found)

    async def reminders(self, said: str, origin: Origin) -> str:
        """Show the channel's settings, changed before if there is a text.

        Raise NotAllowed for a change unless a full member asks, InvalidInput for another text.
        """
        self._require_chat_platform(origin)
        if not said:
            return reminders_text((await self.notifications.settings(origin.channel)).reminders)
        require_may_set_reminders(origin)
        if len(said) > MAX_LINE_CHARACTERS:
            raise InvalidInput({"reminders": HOW_REMINDERS})
        change = self._change(said, origin)
        return reminders_text(await self.notifications.set_reminders(change, origin, said))

    async def notify(self, said: str, origin: Origin) -> str:
        """Send the person direct messages about this channel's agents from now on (`me`), or no longer (`off`)."""
        self._require_chat_platform(origin)
        match said.casefold():
            case "me" | "on":
                await self.notifications.set_direct(origin, is_wanted=True)
                return f"{NOTIFIED} notify off ends that."
            case "off":
                await self.notifications.set_direct(origin, is_wanted=False)
                return "You get no more direct messages about agents of this channel."
            case "":
                people = (await self.notifications.settings(origin.channel)).direct
                return f"You get {'' if origin.by.id in people else 'no '}direct messages here. {HOW_NOTIFY}"
            case _:
                raise InvalidInput({"notify": HOW_NOTIFY})

    def _change(self, said: str, origin: Origin) -> Change:
        verb, rest = first_word(said)
        match verb:
            case "call" if rest:
                mentions = self._mentions(rest, origin)
                return lambda present: replace(present, mentions=mentions)
            case "backup" | "pause" if rest:
                return self._late(verb, rest, origin)
            case "after" if rest:
                after = tuple(_durations(rest))
                return lambda present: replace(present, after=after)
            case "quiet" if rest:
                quiet = quiet_hours(rest, HOW_REMINDERS)
                return lambda present: replace(present, quiet=quiet)
            case "weekends" if rest.casefold() in ON_OFF:
                return lambda present: replace(present, weekends=ON_OFF[rest.casefold()])
            case "done" if rest.casefold() in ON_OFF:
                return lambda present: replace(present, ends=ON_OFF[rest.casefold()])
            case "zone" if rest:
                return lambda present: replace(present, zone=rest)
            case _:
                raise InvalidInput({"reminders": HOW_REMINDERS})

    def _late(self, verb: str, said: str, origin: Origin) -> Change:
        """When the backup is called, or the agent pauses, or neither."""
        if said.casefold() == "off":
            off: Change = partial(replace, backup=(), backup_after=None)
            return off if verb == "backup" else partial(replace, pause_after=None)
        people, _, time = f" {said}".rpartition(" after ")
        times = _durations(time)
        if len(times) != 1 or bool(people.strip()) != (verb == "backup"):
            raise InvalidInput({"reminders": HOW_REMINDERS})
        if verb == "pause":
            return partial(replace, pause_after=times[0])
        return partial(replace, backup=self._mentions(people.strip(), origin), backup_after=times[0])

    def _mentions(self, said: str, origin: Origin) -> tuple[str, ...]:
        if said.casefold() == "nobody":
            return ()
        find = self.find_mention[origin.channel.surface]
        words, found = [word for word in BETWEEN_MENTIONS.split(said) if word], []
        if not 0 < len(words) <= MAX_MENTIONS:
            raise InvalidInput({"reminders": f"Reminders: 1 to {MAX_MENTIONS} people and groups, or call nobody."})
        for word in words:
            mention = OWNER if word.casefold().removeprefix("@") == OWNER else find(origin.channel.workspace, word)
            if not mention:
                raise InvalidInput(
                    {"reminders": f"Reminders: {word[:60]} is nobody whom Signoff knows here, or several people."}
                )
            found.append(mention)
        return tuple(dict.fromkeys(found))

    def _require_chat_platform(self, origin: Origin) -> None:
        if origin.channel.surface not in self.find_mention:
            raise InvalidInput({"reminders": NOT_HERE})


def notifications_of(surfaces: Iterable[ChatSurface]) -> dict[SurfaceName, Notifications]:
    """What calls people, of the surfaces that have it."""
    return {each.name: each.notifications for each in surfaces if each.notifications}


def reminders_text(settings: ReminderSettings) -> str:
    """The settings in two or three sentences."""
    if not (settings.mentions or settings.backup):
        return f"Agents here remind nobody when they wait. reminders call owner changes that.{_pause_text(settings)}"
    people = _named(settings.mentions) or "nobody"
    times = ", ".join(map(duration_text, settings.after))
    quiet = settings.quiet
    rests = [f"from {quiet.begins:%H:%M} to {quiet.ends:%H:%M}"] if quiet else []
    rests += [] if settings.weekends else ["on weekends"]
    rest = f" No reminders {' and '.join(rests)} ({settings.zone})." if rests else ""
    ends = f" When it is done, it tells them once, after {duration_text(settings.after[0])}." if settings.ends else ""
    late = settings.backup_after
    more = f" After {duration_text(late)} it calls {_named(settings.backup)} too." if late and settings.backup else ""
    return f"An agent that waits reminds {people} after {times}.{more}{_pause_text(settings)}{ends}{rest}"


def _named(people: Iterable[str]) -> str:
    return ", ".join("the owner" if each == OWNER else each for each in people)


def _pause_text(settings: ReminderSettings) -> str:
    after = settings.pause_after
    return f" After {duration_text(after)} without a decision it pauses; its card stays open." if after else ""


def duration_text(duration: timedelta) -> str:
    """A time in its largest whole unit: `5 min`, `4 h`, `2 d`."""
    minutes = int(duration.total_seconds() // 60)
    for unit, size in (("d", 1440), ("h", 60)):
        if minutes % size == 0:
            return f"{minutes // size} {unit}"
    return f"{minutes} min"


def _durations(said: str) -> list[timedelta]:
    """The times in a list such as `10m, 1h 2d`; the parts are matched one by one, so no text takes long."""
    durations = []
    for part in BETWEEN_DURATIONS.split(" ".join(said.split())):
        found = DURATION.fullmatch(part)
        if not found:
            raise InvalidInput({"reminders": HOW_REMINDERS})
        durations.append(timedelta(**{UNITS[(found[2] or "m")[0].casefold()]: int(found[1])}))
    return durations


def quiet_hours(said: str, how: str) -> QuietHours | None:
    """The quiet hours `18:00-08:00`, or None for `off`; raise InvalidInput with the sentence `how`."""
    if said.casefold() == "off":
        return None
    found = QUIET.fullmatch(said.strip())
    try:
        begins, ends = (time.fromisoformat(part.zfill(5)) for part in found.groups()) if found else (None, None)
    except ValueError:
        begins = ends = None
    if begins is None or ends is None:
        raise InvalidInput({"quiet": how})
    return QuietHours(begins=begins, ends=ends)
