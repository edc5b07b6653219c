"""The page *Activity* of an agent or a channel: its turns, its waits and its spending in numbers. Read-only."""

from dataclasses import dataclass

from aiohttp import web

from adapters.web.page_context import WebContext
from adapters.web.requests import AGENT, CHANNEL, agent_id_of, channel_of, turn_before
from agent_core.model.records.timing import TurnTimes

TURNS_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class GlancePages:
    """One handler for an agent, and one for a channel."""

    workspace: WebContext

    def routes(self) -> list[web.RouteDef]:
        return [web.get(f"{AGENT}/glance", self.agent), web.get(f"{CHANNEL}/glance", self.channel)]

    async def agent(self, request: web.Request) -> web.StreamResponse:
        """The newest turns, or those before the turn number in `?before=`."""
        channel, views = channel_of(request), self.workspace.views
        agent = await views.agent(channel, agent_id_of(request))
        glance = await views.glances.of_agent(channel, agent.id)
        before = turn_before(request)
        turns, earlier = _page_of(glance.turns, before)
        return await self.workspace.answer(
            request,
            "glance.html",
            channel=channel,
            agent=agent,
            glance=glance,
            turns=turns,
            earlier=earlier,
            is_newest=before is None,
        )

    async def channel(self, request: web.Request) -> web.StreamResponse:
        """The waits and the spending of the channel's agents together."""
        channel = channel_of(request)
        glance = await self.workspace.views.glances.of_channel(channel)
        return await self.workspace.answer(
            request, "glance.html", channel=channel, glance=glance, turns=(), earlier=None, is_newest=True
        )


def _page_of(turns: tuple[TurnTimes, ...], before: int | None) -> tuple[tuple[TurnTimes, ...], int | None]:
    """The newest TURNS_PER_PAGE turns below number `before`, and the number to pass for those before them."""
    listed = [turn for turn in turns if before is None or turn.timing.number < before]
    page = tuple(listed[-TURNS_PER_PAGE:])
    return page, page[0].timing.number if len(listed) > len(page) else None
