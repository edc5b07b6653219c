"""What people set in a channel for reminders and direct messages: checks it, saves it, and wakes who waits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from zoneinfo import ZoneInfo

from agent_core.errors import InvalidInput, NotAllowed, NotPossible
from agent_core.model.channel_settings import (
    FIRST_REMINDER,
    LONGEST_REMINDER,
    MAX_DIRECT,
    MAX_MENTIONS,
    MAX_REMINDERS,
    PERSON,
    PREFERENCE,
    NotificationSettings,
    ReminderSettings,
    parse_notification_settings,
    parse_reminder_settings,
    serialise_reminder_settings,
)
from agent_core.model.origin import ChannelScope, Origin
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import TransactionalService

T = TypeVar("T")
NOT_HERE = "There are no reminders and direct messages here: the page and the terminal call people in their own way."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelNotifications(TransactionalService):
    """Saves the settings. A change also holds for the agents that wait already."""

    async def settings(self, channel: ChannelScope) -> NotificationSettings:
        async with self.database.begin() as work:
            return parse_notification_settings(await work.preferences.list_by_prefix(channel, PREFERENCE))

    async def set_reminders(
        self, change: Callable[[ReminderSettings], ReminderSettings], origin: Origin, detail: str
    ) -> ReminderSettings:
        """Change when agents of the channel remind people, and whom; return the settings as saved.

        Raise NotAllowed unless a full member asks, InvalidInput for unusable settings.
        """
        require_may_set_reminders(origin)
        _require_chat_platform(origin.channel)

        async def act(work: UnitOfWork) -> ReminderSettings:
            before = await work.preferences.get(origin.channel, PREFERENCE)
            changed = change(parse_reminder_settings(before))
            _require_usable(changed)
            if not await self.is_repeated(work, origin):
                text = serialise_reminder_settings(changed, before)
                work.preferences.exchange(origin.channel, PREFERENCE, before, text)
                self.audit_channel(work, origin, "set the channel's reminders", detail)
            return changed

        return await self._save_and_wake(origin.channel, act)

    async def set_direct(self, origin: Origin, *, is_wanted: bool) -> None:
        """Let the person get direct messages about this channel's agents, or no longer.

        Raise NotAllowed unless a full member asks, NotPossible if too many people of the channel get them.
        """
        _require_chat_platform(origin.channel)
        if is_wanted:
            _require_member(origin, "decide here, so a direct message would be of no use to you")

        async def act(work: UnitOfWork) -> None:
            stored = await work.preferences.list_by_prefix(origin.channel, PERSON)
            others = sum(bool(text) for key, text in stored.items() if key != f"{PERSON}{origin.by.id}")
            if is_wanted and others >= MAX_DIRECT:
                raise NotPossible(f"{MAX_DIRECT} people get direct messages about this channel, and no more can.")
            if not await self.is_repeated(work, origin):
                work.preferences.put(origin.channel, f"{PERSON}{origin.by.id}", "on" if is_wanted else "")
                self.audit_channel(work, origin, "set direct messages", "on" if is_wanted else "off")

        await self._save_and_wake(origin.channel, act)

    async def _save_and_wake(self, channel: ChannelScope, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        async def act_and_wake(work: UnitOfWork) -> T:
            saved = await act(work)
            for agent in await work.agents.of(channel):
                if agent.needs_people:
                    self.waker.wake(work, agent.id)
            return saved

        return await self.save(act_and_wake)


def require_may_set_reminders(origin: Origin) -> None:
    """Raise NotAllowed unless a full member asks."""
    _require_member(origin, "set reminders here")


def _require_member(origin: Origin, what: str) -> None:
    if origin.by.kind != "member":
        raise NotAllowed(f"{what}: a full member of the channel does.")


def _require_chat_platform(channel: ChannelScope) -> None:
    if not channel.has_notifications:
        raise NotPossible(NOT_HERE)


def _require_usable(settings: ReminderSettings) -> None:
    problems = {}
    if not 0 < len(settings.after) <= MAX_REMINDERS or list(settings.after) != sorted(set(settings.after)):
        problems["after"] = f"Reminders: 1 to {MAX_REMINDERS} different times, the shortest first."
    elif settings.after[0] < FIRST_REMINDER or settings.after[-1] > LONGEST_REMINDER:
        problems["after"] = "Reminders: times from 5 minutes to 7 days."
    late = [each for each in (settings.backup_after, settings.pause_after) if each is not None]
    if any(not FIRST_REMINDER <= each <= LONGEST_REMINDER for each in late):
        problems["late"] = "Backup and pause: times from 5 minutes to 7 days."
    if len(settings.mentions) > MAX_MENTIONS:
        problems["mentions"] = f"Reminders: at most {MAX_MENTIONS} people and groups."
    if settings.quiet and settings.quiet.begins == settings.quiet.ends:
        problems["quiet"] = "Quiet hours: two different times, as in quiet 18:00-08:00."
    try:
        ZoneInfo(settings.zone)
    except (KeyError, ValueError, OSError):
        problems["zone"] = f"{settings.zone[:60]} is no time zone. Write its name, as in zone Europe/Berlin."
    if problems:
        raise InvalidInput(problems)
