"""Sends and takes back notifications of an agent that waits or is done: direct messages at once, reminders later."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent_core.errors import NotAllowed, PersonError, SurfaceBusy, SurfaceError, ThreadGone
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.loop.transitions import pause
from agent_core.model.agent import Agent, Awaiting, Finished
from agent_core.model.channel_settings import (
    LONGEST_REMINDER,
    OWNER,
    PREFERENCE,
    NotificationSettings,
    parse_notification_settings,
)
from agent_core.model.ids import TurnId
from agent_core.model.origin import Actor
from agent_core.model.records.notification import Notification
from agent_core.model.turn import Turn
from agent_core.oversight.policy import require_may_decide
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.ports.surface import Notifications

logger = logging.getLogger(__name__)

# A refused notification is tried again after a sixtieth of the time that the agent has waited, within these limits.
MIN_RETRY, MAX_RETRY, RETRY_SHARE = timedelta(seconds=30), timedelta(hours=1), 60


@dataclass(slots=True, kw_only=True)
class WaitNotifier:
    """Sends and takes back the notifications of one claimed agent. The agent's record says which ones stand.

    `is_busy`: the platform was too busy for one of them, so the agent's `wake_at` is the time of the next try.
    """

    claim: AgentClaim
    clock: Clock
    notifications: Notifications
    is_busy: bool = False

    async def update(self, agent: Agent) -> Agent:
        """Take back what is about a wait that is over, and send what is due; return the agent as saved.

        What is due is saved as planned before it is sent, so that another process looks for it if this one dies.
        """
        is_waiting = agent.calls_people and agent.thread is not None
        if not is_waiting and not agent.notifications:
            return agent
        standing = await self._take_back(agent, agent.notifications, lambda each: _is_over(each, agent))
        if not is_waiting:
            wake_at = self._wake_at(agent, None) if agent.is_at_rest else agent.wake_at
            return await self._save(agent, replace(agent, notifications=standing, wake_at=wake_at))
        settings, turn = await self._load(agent)
        pauses_at = agent.since + settings.reminders.pause_after if turn and settings.reminders.pause_after else None
        if pauses_at and self.clock.now() >= pauses_at:
            return await self._pause(agent, settings.reminders.pause_after)
        overdue = settings.reminders.count_overdue(agent.since, agent.reminded, self.clock.now())
        due = _due(agent, turn, settings, overdue)
        standing = await self._take_back(agent, standing, lambda each: each.is_planned and each not in due)
        told, known = tuple(each for each in standing if each not in due), agent.notifications
        planned = await self._save(agent, replace(agent, notifications=(*told, *due)))
        if planned.since != agent.since:  # the wait ended meanwhile
            return planned
        agent = planned
        sent = [await self._send(agent, turn, each, settings, may_exist=each in known) for each in due]
        reminded = agent.reminded + (overdue if any(not (each.to or each.is_planned) for each in sent) else 0)
        standing = (*told, *(each for each in sent if each.to or each.is_planned or each.address))
        newest = [each for each in standing if _is_reminder(each, agent)][-1:]
        standing = await self._take_back(agent, standing, lambda each: _is_reminder(each, agent) and each not in newest)
        due_at = settings.reminders.due_at(agent.since, reminded)
        wake_at = self._wake_at(agent, min(filter(None, (due_at, pauses_at)), default=None))
        return await self._save(agent, replace(agent, notifications=standing, reminded=reminded, wake_at=wake_at))

    async def _pause(self, agent: Agent, after: timedelta | None) -> Agent:
        """Let an agent rest on which nobody decided; its proposal stays open, and nothing is decided."""
        hours = round((after or timedelta()).total_seconds() / 3600, 1)
        why = f"Nobody decided for {hours:g} hours. The card still waits; Approve or Resume goes on."

        async def rest(_work: UnitOfWork, present: Agent) -> Outcome:
            is_same = isinstance(present.status, Awaiting) and present.since == agent.since
            return pause(present, why, self.clock.now()) if is_same else Outcome(agent=present)

        return (await self.claim.save_and_present(rest)).agent

    async def _load(self, agent: Agent) -> tuple[NotificationSettings, Turn | None]:
        """The channel's settings for this state of the agent, and the turn that waits for a decision, if one does."""
        async with self.claim.database.begin() as work:
            preferences = await work.preferences.list_by_prefix(agent.channel, PREFERENCE)
            newest = await work.turns.of(agent, last=1)
        settings = parse_notification_settings(preferences)
        if isinstance(agent.status, Finished):
            return self._for_end(settings, agent, newest), None
        waits = isinstance(agent.status, Awaiting) and newest and newest[-1].is_open
        return settings, newest[-1] if waits else None

    def _for_end(self, settings: NotificationSettings, agent: Agent, newest: Sequence[Turn]) -> NotificationSettings:
        """The settings for an agent that is done: people are told once, and not those who approved its end."""
        reminders = settings.reminders
        if not reminders.ends or self.clock.now() - agent.since > LONGEST_REMINDER:
            return NotificationSettings(reminders=replace(reminders, mentions=()))
        asked = (
            approval for turn in newest for approval in turn.approvals if not getattr(approval.decision, "under", "")
        )
        know = {approval.by.id for approval in asked}
        mentions = [each for each in reminders.mentions if (agent.owner.id if each == OWNER else each) not in know]
        return NotificationSettings(
            reminders=replace(reminders, mentions=tuple(mentions), after=reminders.after[:1]),
            direct=tuple(person for person in settings.direct if person not in know),
        )

    async def _take_back(
        self, agent: Agent, standing: Sequence[Notification], is_unwanted: Callable[[Notification], bool]
    ) -> tuple[Notification, ...]:
        """Take back those of the notifications that are unwanted; return those that still stand."""
        return tuple([each for each in standing if not is_unwanted(each) or not await self._is_taken_back(agent, each)])

    async def _is_taken_back(self, agent: Agent, notification: Notification) -> bool:
        """Take back a notification; return False if the platform is busy. One that it refuses to take back is over."""
        if not (notification.address or notification.is_planned):
            return True
        await self.claim.confirm()
        try:
            turn = await self._find_turn(agent, notification.turn)
            await self.notifications.take_back(agent, turn, notification)
        except SurfaceBusy:
            self.is_busy = True
            return False
        except (SurfaceError, PersonError) as fault:
            logger.warning("a notification could not be taken back", extra={"why": str(fault)[:300]})
        return True

    async def _find_turn(self, agent: Agent, turn_id: TurnId | None) -> Turn | None:
        if turn_id is None:
            return None
        async with self.claim.database.begin() as work:
            return await work.turns.get(agent.channel, turn_id)

    async def _send(
        self, agent: Agent, turn: Turn | None, planned: Notification, settings: NotificationSettings, *, may_exist: bool
    ) -> Notification:
        """Send a planned notification; return it as sent, or as planned if the platform is too busy.

        One that the platform refuses has no address and counts as sent: the next reminder is tried when it is due.
        """
        await self.claim.confirm()
        address = ""
        try:
            if planned.to:
                address = await self._send_direct(agent, turn, planned.to, may_exist=may_exist)
            else:
                called = settings.reminders.called(self.clock.now() - agent.since)
                mentions = [agent.owner.id if each == OWNER else each for each in called]
                address = await self.notifications.remind(agent, turn, mentions, may_exist=may_exist)
        except SurfaceBusy:
            self.is_busy = True
            return planned
        except (SurfaceError, PersonError) as fault:
            if isinstance(fault, ThreadGone) and not planned.to and agent.needs_people:
                raise
            level = logging.INFO if planned.to else logging.WARNING
            logger.log(level, "a notification was refused", extra={"why": str(fault)[:300]})
        return replace(planned, address=address, is_planned=False)

    async def _send_direct(self, agent: Agent, turn: Turn | None, person: str, *, may_exist: bool) -> str:
        try:
            member = await self.claim.surface.actor(agent.channel, Actor(id=person, display=person))
        except NotAllowed as fault:  # the platform does not tell now
            raise SurfaceBusy(str(fault)) from fault
        require_may_decide(agent, member)
        return await self.notifications.send_direct(agent, turn, person, may_exist=may_exist)

    def _wake_at(self, agent: Agent, planned: datetime | None) -> datetime | None:
        """When the agent is looked at again: as planned, or earlier if the platform was busy."""
        if not self.is_busy:
            return planned
        now = self.clock.now()
        retry = now + min(max((now - agent.since) / RETRY_SHARE, MIN_RETRY), MAX_RETRY)
        return min(planned, retry) if planned and planned > now else retry

    async def _save(self, agent: Agent, changed: Agent) -> Agent:
        """Save which notifications stand, and when the next try or reminder is due, unless nothing changed."""
        if changed == agent:
            return agent

        async def keep(_work: UnitOfWork, present: Agent) -> Outcome:
            kept = replace(present, notifications=changed.notifications)
            if present.since != agent.since:  # the wait ended meanwhile
                return Outcome(agent=kept)
            return Outcome(agent=replace(kept, reminded=changed.reminded, wake_at=changed.wake_at))

        return (await self.claim.save_and_present(keep)).agent


def _is_over(notification: Notification, agent: Agent) -> bool:
    return not agent.calls_people or notification.since != agent.since


def _is_reminder(notification: Notification, agent: Agent) -> bool:
    return not (notification.to or notification.is_planned or _is_over(notification, agent))


def _due(agent: Agent, turn: Turn | None, settings: NotificationSettings, overdue: int) -> tuple[Notification, ...]:
    """What is to be sent about the present wait: direct messages to all who have none, and one reminder for all due."""
    told = {each.to for each in agent.notifications if not (each.is_planned or _is_over(each, agent))}
    people = [person for person in settings.direct if person not in told]
    return tuple(
        Notification(since=agent.since, turn=turn.id if turn else None, to=to, is_planned=True, reminded=agent.reminded)
        for to in (*people, *([""] if overdue else []))
    )
