"""Stop all: a full member stops every agent of the local workspace that is at work, each by the ordinary Stop.

The schedules of agents between two runs are paused, so that nothing begins by itself.
"""

from collections.abc import Sequence
from contextlib import suppress

from adapters.web.requests import is_own
from agent_core.errors import NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Agent, Headcount
from agent_core.model.origin import Actor, Origin
from agent_core.service.agents import AgentService
from agent_core.service.reading.views import AgentViews
from agent_core.text.lines import counted

STOP_ALL = "/stop-all"
AT_WORK = ("thinking", "acting", "awaiting")


def may_stop_all(person: Actor) -> bool:
    return person.kind == "member"


def count_at_work(census: Sequence[Headcount]) -> int:
    """How many agents *Stop all* stops."""
    return sum(each.number for each in census if each.status in AT_WORK and is_own(each.channel))


def offer_text(at_work: int, schedules: int) -> str:
    """What *Stop all* would do, "" if nothing: `Stop 2 agents and pause 1 schedule`."""
    stop = [f"stop {counted(at_work, 'agent')}"] if at_work else []
    pause = [f"pause {counted(schedules, 'schedule')}"] if schedules else []
    return " and ".join(stop + pause).capitalize()


async def stop_all(service: AgentService, views: AgentViews, person: Actor) -> str:
    """Stop what is at work in the local workspace's channels, pause schedules there, and say how many.

    Raise NotAllowed for who may not.
    """
    if not may_stop_all(person):
        raise NotAllowed("stop all agents here: a full member does.")
    paused = await _pause_schedules(service, views, person)
    busy = await _list_at_work(views)
    for agent in sorted(busy, key=lambda each: bool(each.parent)):  # with an agent its helpers stop
        with suppress(NotPossible, NotFound):  # it stopped or was deleted meanwhile
            await service.lifecycle.stop(agent.id, Origin(by=person, channel=agent.channel))
    left = {agent.id for agent in await _list_at_work(views)} & {agent.id for agent in busy}
    still = f" {len(left)} still at work." if left else ""
    said = f"{counted(len(busy) - len(left), 'agent')} stopped.{still}" if busy or not paused else ""
    said += f" {counted(paused, 'schedule')} paused, until Resume on the agent's page Schedule." if paused else ""
    return f"{said.strip()} Nothing is lost: Resume continues each."


async def _pause_schedules(service: AgentService, views: AgentViews, person: Actor) -> int:
    places = list(dict.fromkeys(each.channel for each in await views.census() if is_own(each.channel)))
    paused = 0
    for agent in (await views.queue.survey(person, places)).between_runs:
        with suppress(NotPossible, NotFound):  # it was paused or deleted meanwhile
            await service.schedules.act(agent.id, "pause", Origin(by=person, channel=agent.channel), is_stop=True)
            paused += 1
    return paused


async def _list_at_work(views: AgentViews) -> list[Agent]:
    places = {each.channel for each in await views.census() if each.status in AT_WORK and is_own(each.channel)}
    return [agent for place in places for agent in await views.agents(place) if not agent.is_at_rest]
