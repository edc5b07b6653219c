"""The page of an agent's schedule: shows the times in words before they are saved; pauses, begins a run, deletes."""

from dataclasses import dataclass
from typing import get_args

from aiohttp import web

from adapters.typed.form_values import FormValues, dollars
from adapters.typed.notification_commands import quiet_hours
from adapters.typed.schedule_commands import HOW_QUIET, turns_of
from adapters.web.identity import person_of
from adapters.web.page_context import WebContext
from adapters.web.pages.form_pages import NOTHING, FormState, with_errors_shown
from adapters.web.requests import AGENT, agent_id_of, channel_of, form_of, is_own, redirect_to
from agent_core.model.schedule import DEFAULT_TURNS, HOW, Schedule, next_times
from agent_core.service.schedules import SchedulePreview, Verb, WantedSchedule

SCHEDULE = f"{AGENT}/schedule"


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """Shows the schedule and its form. `Show the times` saves nothing."""

    workspace: WebContext

    def get_routes(self) -> list[web.RouteDef]:
        return [web.get(SCHEDULE, self.page)]

    def post_routes(self) -> list[web.RouteDef]:
        return [web.post(SCHEDULE, with_errors_shown(self.change, self.page))]

    async def page(
        self, request: web.Request, asked: FormState = NOTHING, preview: SchedulePreview | None = None
    ) -> web.Response:
        channel = channel_of(request)
        agent = await self.workspace.views.agent(channel, agent_id_of(request))
        schedule = agent.schedule
        return await self.workspace.answer(
            request,
            "schedule.html",
            **asked.values,
            channel=channel,
            agent=agent,
            schedule=schedule,
            next=next_times(schedule, self.workspace.clock.now()) if schedule and schedule.next_at else (),
            preview=preview,
            chosen=dict(asked.given) or _fields_of(schedule),
            how=HOW,
            is_own=is_own(channel),
            can_decide=is_own(channel)
            and not agent.head
            and self.workspace.views.may_decide(agent, person_of(request)),
        )

    async def change(self, request: web.Request) -> web.StreamResponse:
        """Carry out the button that was pressed: `show` the times, `set` the schedule, or one of its verbs."""
        form, origin = await form_of(request), self.workspace.own(request)
        schedules, agent_id, verb = self.workspace.service.schedules, agent_id_of(request), form.get("do", "")
        for known in get_args(Verb):
            if verb == known:
                await schedules.act(agent_id, known, origin)
                return redirect_to(request.rel_url.raw_path)
        wanted = _wanted(form)
        if verb == "set":
            await schedules.set(agent_id, wanted, origin)
            return redirect_to(request.rel_url.raw_path)
        return await self.page(request, FormState(form), await schedules.preview(wanted, origin))


def _wanted(form: FormValues) -> WantedSchedule:
    quiet = form.get("quiet", "").strip()
    return WantedSchedule(
        when=form.get("when", ""),
        zone=form.get("zone", "").strip(),
        turns=turns_of(form.get("turns", "")),
        budget=dollars(form.get("budget", "")),
        quiet=quiet_hours(quiet, HOW_QUIET) if quiet else None,
    )


def _fields_of(schedule: Schedule | None) -> dict[str, str]:
    """The form fields of a schedule."""
    if schedule is None:
        return {"turns": str(DEFAULT_TURNS)}
    quiet = f"{schedule.quiet.begins:%H:%M}-{schedule.quiet.ends:%H:%M}" if schedule.quiet else ""
    return {
        "when": schedule.cron,
        "zone": schedule.zone,
        "turns": str(schedule.turns),
        "budget": str(schedule.budget or ""),
        "quiet": quiet,
    }
