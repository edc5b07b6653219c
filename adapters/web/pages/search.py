"""The page on which people search agents, names of files, turns and notes. Read-only."""

import asyncio
from dataclasses import dataclass, field

from aiohttp import web

from adapters.web.page_context import WebContext
from agent_core.model.records.text_search import MAX_QUERY_CHARACTERS, words_of
from agent_core.service.reading.text_search import MAX_AGENTS_FOUND, MAX_FILES_FOUND

SEARCH = "/search"
MAX_ID_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class SearchPages:
    """One page. What is found, and the query, is untrusted text.

    `search_lock`: one search at a time, so that many people who search do not take all threads that read.
    """

    workspace: WebContext
    search_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def routes(self) -> list[web.RouteDef]:
        return [web.get(SEARCH, self.page)]

    async def page(self, request: web.Request) -> web.StreamResponse:
        """What has all words of `?q=`, in one `?channel=` or in all that this page shows; `?before=` goes on."""
        query = " ".join(request.query.get("q", "").split())
        chosen = request.query.get("channel", "")
        shown = list(dict.fromkeys(count.channel for count in await self.workspace.views.census()))
        channels = [channel for channel in shown if chosen in ("", channel.key)]
        before = request.query.get("before", "")[:MAX_ID_CHARACTERS]
        words = words_of(query)
        async with self.search_lock:
            found = await self.workspace.views.searches.find(channels, words, before=before)
        return await self.workspace.answer(
            request,
            "search.html",
            query=query[:MAX_QUERY_CHARACTERS],
            is_cut=len(query) > MAX_QUERY_CHARACTERS,
            words=words,
            shown=shown,
            chosen=chosen,
            is_first=not before,
            found=found,
            most_agents=MAX_AGENTS_FOUND,
            most_files=MAX_FILES_FOUND,
        )
