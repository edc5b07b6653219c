"""What people do about an agent's schedule: set, pause, resume and delete it, begin a run now, and read the list."""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias
from zoneinfo import available_timezones

from agent_core.errors import InvalidInput, NotPossible
from agent_core.model.agent import Agent, Finished
from agent_core.model.channel_settings import PREFERENCE, QuietHours, parse_reminder_settings
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, Origin
from agent_core.model.schedule import DEFAULT_TURNS, MAX_TURNS, Schedule, cron_of, next_times
from agent_core.oversight.policy import require_may_decide, require_may_speak
from agent_core.ports.database import UnitOfWork
from agent_core.service.transactional import TransactionalService

MAX_BUDGET_USD = 1_000_000
SETTING = "set schedules here"  # completes "you may not …"
Verb: TypeAlias = Literal["pause", "resume", "now", "delete"]
SAID: dict[Verb, str] = {
    "pause": "paused the schedule",
    "resume": "resumed the schedule",
    "now": "began a run of the schedule",
    "delete": "deleted the schedule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSchedule:
    """What a person wrote: `when` is a phrase or a cron line, `zone` an IANA name, "" for that of the channel."""

    when: str
    zone: str = ""
    turns: int = DEFAULT_TURNS
    budget: Decimal | None = None
    quiet: QuietHours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePreview:
    """A schedule that is not saved yet, with its next three times."""

    schedule: Schedule
    next: tuple[datetime, ...]

    @property
    def said(self) -> str:
        return f"{self.schedule.words}. {self.schedule.limits}"

    def put_on(self, agent: Agent, now: datetime) -> tuple[Agent, str]:
        """The agent with this schedule in the place of another one, and what people are told of it."""
        schedule = self.schedule.after(agent.schedule).from_now(now)
        told = f"{schedule.by} set the schedule: {self.said} Next: {schedule.list_times(self.next, now)}."
        return replace(agent, schedule=schedule), told


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSchedules(TransactionalService):
    """Checks schedules and saves them. The loop begins the runs."""

    async def preview(self, wanted: WantedSchedule, origin: Origin) -> SchedulePreview:
        """What the schedule would be, with its next times; nothing is saved. Raise InvalidInput."""
        async with self.database.begin() as work:
            zone = wanted.zone or await _zone_of(work, origin.channel)
        known = {name.casefold(): name for name in available_timezones()}
        return self._checked(wanted, known.get(zone.casefold(), zone), origin)

    async def set(self, agent_id: AgentId, wanted: WantedSchedule, origin: Origin) -> Agent:
        """Give the agent a schedule, or another one; raise NotAllowed, InvalidInput, NotPossible for a helper."""
        checked = await self.preview(wanted, origin)

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            _require_may_schedule(agent, origin)
            scheduled, told = checked.put_on(agent, self.clock.now())
            self.announce(work, agent, "changed", told)
            return scheduled

        return await self.change(agent_id, origin, "set the schedule", change, checked.said)

    async def act(self, agent_id: AgentId, verb: Verb, origin: Origin, *, is_stop: bool = False) -> Agent:
        """Pause, resume or delete the schedule, or begin a run now; raise NotAllowed, or NotPossible with the reason.

        A run that is open goes on. Deleting keeps what the runs did. `is_stop`: it is a pause by somebody who stops all
        agents, and takes no more right than to stop one.
        """

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            if is_stop and verb == "pause":
                require_may_speak(origin.by, "stop agents here")
            else:
                _require_may_schedule(agent, origin)
            if agent.schedule is None:
                raise NotPossible(f"{agent.name} has no schedule.")
            if verb == "now":
                return self._begin(work, agent, origin)
            changed = _changed(agent.schedule, verb, self.clock.now())
            ends = changed is None and agent.schedule.open and not agent.is_at_rest
            still = f" Run {agent.schedule.runs} goes on, without limits of its own." if ends else ""
            self.announce(work, agent, "changed", f"{origin.by} {SAID[verb]}.{still}")
            return replace(agent, schedule=changed)

        return await self.change(agent_id, origin, SAID[verb], change)

    async def list_scheduled(self, channel: ChannelScope) -> tuple[Agent, ...]:
        """The channel's agents with a schedule, in the order of their next runs, paused ones last."""
        async with self.database.begin() as work:
            found = [agent for agent in await work.agents.of(channel) if agent.schedule]
        return tuple(sorted(found, key=lambda each: (each.scheduled_at is None, each.scheduled_at, each.id)))

    def _begin(self, work: UnitOfWork, agent: Agent, origin: Origin) -> Agent:
        if not isinstance(agent.status, Finished):
            raise NotPossible(f"{agent.name} is not finished: a run begins when nothing else is open. See !status.")
        begun, title = agent.begin_run(self.clock.now(), self.clock.now())
        self.announce(work, agent, "resumed", f"{title}, begun by {origin.by}")
        return begun

    def _checked(self, wanted: WantedSchedule, zone: str, origin: Origin) -> SchedulePreview:
        """The schedule, if it is usable; else raise InvalidInput with all problems by field."""
        problems: dict[str, str] = {}
        cron = ""
        if zone not in available_timezones():
            problems["zone"] = f"Time zone: {zone[:60]} is none. Write a name such as Europe/Berlin or UTC."
        if not 1 <= wanted.turns <= MAX_TURNS:
            problems["turns"] = f"Turns of a run: 1 to {MAX_TURNS}."
        if wanted.budget is not None and not (
            wanted.budget.is_finite() and Decimal("0.01") <= wanted.budget < MAX_BUDGET_USD
        ):
            problems["budget"] = "Budget of a run: an amount in US dollars from 0.01, or nothing for no limit."
        try:
            cron = cron_of(wanted.when)
        except ValueError as fault:
            problems["when"] = f"Schedule: {fault}"
        if problems:
            raise InvalidInput(problems)
        schedule = Schedule(
            cron=cron, zone=zone, by=origin.by, turns=wanted.turns, budget=wanted.budget, quiet=wanted.quiet
        )
        if not (times := next_times(schedule, self.clock.now())):
            raise InvalidInput({"when": "Schedule: it never comes, since all of its times are in the quiet hours."})
        return SchedulePreview(schedule=schedule, next=times)


async def _zone_of(work: UnitOfWork, channel: ChannelScope) -> str:
    """The time zone of the channel's reminders."""
    return parse_reminder_settings(await work.preferences.get(channel, PREFERENCE)).zone


def _require_may_schedule(agent: Agent, origin: Origin) -> None:
    require_may_decide(agent, origin.by, SETTING)
    if agent.head:
        raise NotPossible(f"{agent.name} is a helper: it works when the agent it helps asks it to.")
    if agent.is_archived:
        raise NotPossible(f"{agent.name} is archived and does nothing. Resume brings it back.")


def _changed(schedule: Schedule, verb: Verb, now: datetime) -> Schedule | None:
    match verb:
        case "pause" if schedule.next_at is None:
            raise NotPossible("The schedule is paused already.")
        case "resume" if schedule.next_at is not None:
            raise NotPossible("The schedule is not paused.")
        case "pause":
            return replace(schedule, next_at=None)
        case "resume":
            return schedule.from_now(now)
        case _:
            return None
