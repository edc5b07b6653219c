"""Stop all: a full member stops every agent of the local workspace that is at work, each by the ordinary Stop."""

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


async def stop_all(service: AgentService, views: AgentViews, person: Actor) -> str:
    """Stop what is at work in the local workspace's channels; how many stopped. Raise NotAllowed for who may not."""
    if not may_stop_all(person):
        raise NotAllowed("stop all agents here: a full member does.")
    busy = await _list_at_work(views)
    for agent in sorted(busy, key=lambda each: bool(each.parent)):  # with an agent its helpers stop
        with suppress(NotPossible, NotFound):  # it stopped or was deleted meanwhile
            await service.lifecycle.stop(agent.id, Origin(by=person, channel=agent.channel))
    left = {agent.id for agent in await _list_at_work(views)} & {agent.id for agent in busy}
    still = f" {len(left)} still at work." if left else ""
    return f"{counted(len(busy) - len(left), 'agent')} stopped.{still} Nothing is lost: Resume continues each."


async def _list_at_work(views: AgentViews) -> list[Agent]:
    places = {each.channel for each in await views.census() if each.status in AT_WORK and is_own(each.channel)}
    return [agent for place in places for agent in await views.agents(place) if not agent.is_at_rest]
