"""The typed command `schedule`: says a schedule back in words with its next times, saves it, and lists a channel's."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from adapters.screens.ui_text import first_word
from adapters.typed.form_values import FormValues, dollars, draft_of
from adapters.typed.notification_commands import quiet_hours
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.origin import Origin
from agent_core.model.schedule import HOW, Schedule
from agent_core.service.agents import AgentService
from agent_core.service.schedules import AgentSchedules, SchedulePreview, Verb, WantedSchedule

OPTION = re.compile(r",\s*(?=(?:zone|turns|budget|quiet)\b)", re.IGNORECASE)
MAX_LINE_CHARACTERS = 500
IN_TERMINAL = " In a terminal, the run that is due begins when the agent is next opened."
HOW_QUIET = "Quiet hours: write them as 22:00-07:00, or nothing."
TOO_LONG = f"Schedule: at most {MAX_LINE_CHARACTERS} characters."
HOW_OPTIONS = "After it may stand: , zone Europe/Berlin, turns 20, budget 2, quiet 22:00-07:00"
HOW_SCHEDULE = f"Schedule: {HOW} {HOW_OPTIONS}. pause, resume, now and delete change it; list shows all here."


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCommands:
    """Runs `schedule`. Nothing is saved before the times were said back: `set` saves."""

    schedules: AgentSchedules

    async def run(self, agent: Agent, said: str, origin: Origin) -> str:
        """Show the agent's schedule, say a new one back, or change it. Raise a PersonError for what is not possible."""
        verb, rest = first_word(said)
        match verb:
            case "":
                return schedule_text(agent, self.schedules.clock.now())
            case "list" if not rest:
                return await self.list_all(origin)
            case "pause" | "resume" | "now" | "delete" if not rest:
                return _done(await self.schedules.act(agent.id, verb, origin), verb, self.schedules.clock.now())
            case "set" if rest:
                changed = await self.schedules.set(agent.id, wanted_of(rest), origin)
                return f"Saved. {schedule_text(changed, self.schedules.clock.now())}"
            case _:
                told = preview_text(await self.schedules.preview(wanted_of(said), origin), self.schedules.clock.now())
                told += IN_TERMINAL if origin.channel.surface == "terminal" else ""
                return f"{told}\nNothing is saved yet. To save it, write: !schedule set {said}"

    async def list_all(self, origin: Origin) -> str:
        """The schedules of the channel, each with its last run and its next."""
        now, found = self.schedules.clock.now(), await self.schedules.list_scheduled(origin.channel)
        lines = [
            f"• {agent.name}: {each.words}. {runs_text(each, now)}." for agent in found if (each := agent.schedule)
        ]
        return "\n".join(lines) or "No agent here has a schedule."


def wanted_of(said: str) -> WantedSchedule:
    """The schedule that a person typed: a phrase or cron line, then options after commas. Raise InvalidInput."""
    when, *options = OPTION.split(said.strip()[: MAX_LINE_CHARACTERS + 1])
    if len(said) > MAX_LINE_CHARACTERS or when.casefold() in get_args(Verb):
        raise InvalidInput({"schedule": TOO_LONG if len(said) > MAX_LINE_CHARACTERS else f"Nothing follows {when}."})
    wanted = WantedSchedule(when=when)
    for option in options:
        name, value = first_word(option)
        match name:
            case "zone":
                wanted = replace(wanted, zone=value)
            case "turns":
                wanted = replace(wanted, turns=turns_of(value))
            case "budget":
                wanted = replace(wanted, budget=dollars(value))
            case _:
                wanted = replace(wanted, quiet=quiet_hours(value, HOW_QUIET))
    return wanted


async def create_of_form(service: AgentService, form: FormValues, origin: Origin) -> Agent:
    """Create the agent of a form for a new agent, with its schedule, if any; raise InvalidInput for wrong fields."""
    schedule = None
    if line := form.get("schedule", "").strip():
        try:
            schedule = await service.schedules.preview(wanted_of(line), origin)
        except InvalidInput as wrong:
            raise InvalidInput({"schedule": str(wrong)}) from None
    return await service.lifecycle.create(draft_of(form), origin, schedule=schedule)


def turns_of(text: str) -> int:
    """The most turns of a run; 0, which is refused, for what is no number."""
    return int(text) if re.fullmatch(r"\d{1,4}", text.strip()) else 0


def preview_text(preview: SchedulePreview, now: datetime) -> str:
    """A schedule in words, with its next three times."""
    schedule = preview.schedule
    return f"{schedule.words}.\nNext: {schedule.list_times(preview.next, now)}.\n{schedule.limits}"


def schedule_text(agent: Agent, now: datetime) -> str:
    """The agent's schedule, what it did last and does next; how to set one if it has none."""
    schedule = agent.schedule
    if schedule is None:
        return f"{agent.name} has no schedule. {HOW_SCHEDULE}"
    return f"{agent.name}: {schedule.words}. {schedule.limits}\n{runs_text(schedule, now)}."


def runs_text(schedule: Schedule, now: datetime) -> str:
    """The last run of a schedule and the next: `Run 3 was Mon 30 Nov 09:00. Next: Tue 1 Dec 09:00`."""
    last = f"Run {schedule.runs} began {schedule.when(schedule.last_at, now)}. " if schedule.last_at else ""
    return f"{last}{f'Next: {schedule.when(schedule.next_at, now)}' if schedule.next_at else 'It is paused'}"


def _done(agent: Agent, verb: Verb, now: datetime) -> str:
    match verb:
        case "delete":
            return f"{agent.name} has no schedule any more. What its runs did stays."
        case "now":
            return f"A run of {agent.name} begins."
        case _:
            return f"{agent.name}: {runs_text(agent.schedule, now)}." if agent.schedule else ""
