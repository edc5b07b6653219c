"""Tells people that an agent waits for them: direct messages at once, reminders after a while; takes both back."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from agent_core.errors import PersonError, SurfaceBusy, SurfaceError
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.ids import TurnId
from agent_core.model.notification import (
    OWNER,
    PREFERENCE,
    Notification,
    NotificationSettings,
    parse_notification_settings,
)
from agent_core.model.turn import Turn
from agent_core.oversight.policy import require_may_decide
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.ports.surface import Notifications

logger = logging.getLogger(__name__)

RETRY_LATER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitNotifier:
    """Sends and takes back the notifications of one claimed agent. The agent's record says which ones stand."""

    claim: AgentClaim
    clock: Clock
    notifications: Notifications

    async def update(self, agent: Agent, *, may_exist: bool) -> Agent:
        """Take back what is about a wait that is over, and send what is due; return the agent as saved.

        `may_exist`: the messages may have been sent before a crash, so the surface looks for them first.
        """
        is_waiting = agent.needs_people and agent.thread is not None
        if not is_waiting and not agent.notifications:
            return agent
        standing = await self._take_back(agent, [each for each in agent.notifications if _is_over(each, agent)])
        if not is_waiting:
            return await self._save(agent, standing)
        settings, turn = await self._load(agent)
        standing += await self._send_direct(agent, turn, settings, may_exist=may_exist)
        reminders = await self._remind(agent, turn, settings, may_exist=may_exist)
        return await self._save(agent, (*standing, *reminders), settings)

    async def _load(self, agent: Agent) -> tuple[NotificationSettings, Turn | None]:
        """The channel's settings, and the turn that waits for a decision, if one does."""
        async with self.claim.priority.background(), self.claim.database.begin() as work:
            preferences = await work.preferences.list_by_prefix(agent.channel, PREFERENCE)
            newest = await work.turns.of(agent, last=1)
        waits = isinstance(agent.status, Awaiting) and newest and newest[-1].is_open
        return parse_notification_settings(preferences), newest[-1] if waits else None

    async def _take_back(self, agent: Agent, over: Sequence[Notification]) -> tuple[Notification, ...]:
        """Take back these notifications; return those of the agent that still stand."""
        gone = set()
        for each in over:
            await self.claim.confirm()
            try:
                if each.address:
                    await self.notifications.take_back(agent, await self._find_turn(agent, each.turn), each)
            except SurfaceBusy:
                continue
            except (SurfaceError, PersonError) as fault:
                logger.warning("a notification could not be taken back", extra={"why": str(fault)[:300]})
            gone.add(each)
        return tuple(each for each in agent.notifications if each not in gone)

    async def _find_turn(self, agent: Agent, turn_id: TurnId | None) -> Turn | None:
        if turn_id is None:
            return None
        async with self.claim.priority.background(), self.claim.database.begin() as work:
            return await work.turns.get(agent.channel, turn_id)

    async def _send_direct(
        self, agent: Agent, turn: Turn | None, settings: NotificationSettings, *, may_exist: bool
    ) -> tuple[Notification, ...]:
        """Send direct messages to all who asked for them and have none about this wait."""
        told = {each.to for each in agent.notifications if not _is_over(each, agent)}
        sent = []
        for person in settings.direct:
            if person in told:
                continue
            await self.claim.confirm()
            address = ""
            try:
                member = await self.claim.surface.actor(agent.channel, Actor(id=person, display=person))
                require_may_decide(agent, member)
                address = await self.notifications.send_direct(agent, turn, person, may_exist=may_exist)
            except SurfaceBusy:
                continue
            except (SurfaceError, PersonError) as fault:
                logger.info("a direct message was not sent", extra={"why": str(fault)[:300]})
            sent.append(_notification(agent, turn, address, to=person))
        return tuple(sent)

    async def _remind(
        self, agent: Agent, turn: Turn | None, settings: NotificationSettings, *, may_exist: bool
    ) -> tuple[Notification, ...]:
        """Post the reminder that is due in place of the one before it; return what was posted."""
        due_at = settings.reminders.due_at(agent.since, agent.reminded)
        if due_at is None or due_at > self.clock.now():
            return ()
        await self.claim.confirm()
        mentions = [agent.owner.id if each == OWNER else each for each in settings.reminders.mentions]
        try:
            address = await self.notifications.remind(agent, turn, mentions, may_exist=may_exist)
        except SurfaceBusy:
            return ()
        return (_notification(agent, turn, address),)

    async def _save(
        self, agent: Agent, standing: tuple[Notification, ...], settings: NotificationSettings | None = None
    ) -> Agent:
        """Save which notifications stand, and when the next reminder is due, unless nothing changed."""
        older = [each for each in standing if not each.to and each in agent.notifications]
        is_reminded = any(not each.to and each not in agent.notifications for each in standing)
        if is_reminded:  # the new reminder replaces the one before it
            await self._take_back(agent, older)
            standing = tuple(each for each in standing if each not in older)
        reminded = agent.reminded + is_reminded
        next_at = settings.reminders.due_at(agent.since, reminded) if settings else agent.wake_at
        if next_at and settings and not is_reminded and next_at <= self.clock.now():  # the surface is busy
            next_at = self.clock.now() + RETRY_LATER
        changed = replace(agent, notifications=standing, reminded=reminded, wake_at=next_at)
        if changed == agent:
            return agent

        async def keep(_work: UnitOfWork, present: Agent) -> Outcome:
            if present.since != agent.since:  # the wait ended meanwhile
                return Outcome(agent=replace(present, notifications=standing))
            return Outcome(agent=replace(present, notifications=standing, reminded=reminded, wake_at=next_at))

        return (await self.claim.save_and_present(keep)).agent


def _is_over(notification: Notification, agent: Agent) -> bool:
    return not agent.needs_people or notification.since != agent.since


def _notification(agent: Agent, turn: Turn | None, address: str, *, to: str = "") -> Notification:
    return Notification(since=agent.since, turn=turn.id if turn else None, to=to, address=address)
