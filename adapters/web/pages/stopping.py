"""Stop all: a full member stops every agent of the local workspace that is at work, each by the ordinary Stop."""

from collections.abc import Sequence
from contextlib import suppress

from adapters.web.page_context import WebContext
from adapters.web.requests import is_own
from agent_core.errors import NotAllowed, NotFound, NotPossible
from agent_core.model.agent import Headcount
from agent_core.model.origin import Actor, Origin
from agent_core.text.lines import counted

STOP_ALL = "/stop-all"
AT_WORK = ("thinking", "acting", "awaiting")


def may_stop_all(person: Actor) -> bool:
    return person.kind == "member"


def count_at_work(census: Sequence[Headcount]) -> int:
    """How many agents *Stop all* stops."""
    return sum(each.number for each in census if each.status in AT_WORK and is_own(each.channel))


async def stop_all(workspace: WebContext, person: Actor) -> str:
    """Stop what is at work in the local workspace's channels; how many stopped. Raise NotAllowed for who may not."""
    if not may_stop_all(person):
        raise NotAllowed("stop all agents here: a full member does.")
    places = {each.channel for each in await workspace.views.census() if each.status in AT_WORK}
    before = [agent for place in filter(is_own, places) for agent in await workspace.views.agents(place)]
    busy = [agent for agent in before if not agent.is_at_rest]
    for agent in sorted(busy, key=lambda each: bool(each.parent)):  # with an agent its helpers stop
        with suppress(NotPossible, NotFound):  # it stopped or was deleted meanwhile
            await workspace.service.lifecycle.stop(agent.id, Origin(by=person, channel=agent.channel))
    left = {agent.id for place in {each.channel for each in busy} for agent in await workspace.views.agents(place) if not agent.is_at_rest}
    gone = [agent for agent in busy if agent.id not in left]
    still = f" {counted(len(busy) - len(gone), 'agent')} still at work." if len(gone) < len(busy) else ""
    return f"{counted(len(gone), 'agent')} stopped.{still} Nothing is lost: Resume continues each."
