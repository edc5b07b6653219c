"""The decision log of a channel or an agent as a page with a filter, and as files. Read-only."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from aiohttp import web

from adapters.screens.decision_log import CHANNEL_PREFIX, CSV_FILE, JSON_FILE, OUTCOMES, log_files
from adapters.web.page_context import WebContext
from adapters.web.requests import AGENT, CHANNEL, agent_id_of, channel_of, download
from agent_core.errors import NotFound
from agent_core.service.reading.decision_log import LogFilter

FIELDS = ("agent", "person", "command", "risk", "outcome")
FILE = rf"{{file:(?:{CHANNEL_PREFIX})?decision-log\.(?:jsonl|csv)}}"
MAX_FILTER_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class LogPages:
    """Serves the page and the files of the log, below the URL of a channel and of an agent."""

    workspace: WebContext

    def routes(self) -> list[web.RouteDef]:
        pages = [web.get(f"{place}/audit", self.page) for place in (CHANNEL, AGENT)]
        return [*pages, *(web.get(f"{place}/{FILE}", self.file) for place in (CHANNEL, AGENT))]

    async def page(self, request: web.Request) -> web.StreamResponse:
        """The page of the newest matching rows, of those older than the row in `?before=`, or from `?record=` on."""
        origin, given = self.workspace.origin(request), _given(request)
        views, (before, record) = self.workspace.views, (request.query.get(name, "") for name in ("before", "record"))
        agent = await views.agent(origin.channel, agent_id_of(request)) if _is_of_agent(request) else None
        return await self.workspace.answer(
            request,
            "audit.html",
            channel=channel_of(request),
            agent=agent,
            log=await views.log.page(origin, _wanted(request, given), before=before, upto=record),
            given={name: given.get(name, "") for name in FIELDS},
            query=urlencode(given),
            outcomes=OUTCOMES,
            is_newest=not (before or record),
            files=[f"{'' if agent else CHANNEL_PREFIX}{name}" for name in (JSON_FILE, CSV_FILE)],
        )

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file of all matching rows: of the channel if the file's name says so, else of the agent in the URL."""
        name = request.match_info["file"]
        is_channel, wanted = name.startswith(CHANNEL_PREFIX), _wanted(request, _given(request))
        if is_channel:
            wanted = replace(wanted, agent_id=None)
        elif not _is_of_agent(request):
            raise NotFound("file", name)
        origin = self.workspace.origin(request)
        entries = [entry async for entry in self.workspace.views.log.rows(origin, wanted)]
        files = await log_files(entries, is_channel=is_channel)
        return download({file.name: file.data for file in files}[name], name)


def _given(request: web.Request) -> Mapping[str, str]:
    """The filter fields that are filled in."""
    typed = {name: " ".join(request.query.get(name, "").split())[:MAX_FILTER_CHARACTERS] for name in FIELDS}
    return {name: value for name, value in typed.items() if value}


def _wanted(request: web.Request, given: Mapping[str, str]) -> LogFilter:
    return LogFilter(**given, agent_id=agent_id_of(request) if _is_of_agent(request) else None)


def _is_of_agent(request: web.Request) -> bool:
    return "agent" in request.match_info
