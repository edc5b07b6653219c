"""Web search by Brave, Tavily or a SearXNG server."""

from collections.abc import Callable
from dataclasses import dataclass, field

from agent_core.capabilities.web.search_engines import SearchRequest, request_hits
from agent_core.ports.web import WebHit

BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"
TAVILY_URL = "https://api.tavily.com/search"
MAX_RESULTS = 20  # of Brave (`count`) and Tavily (`max_results`)


@dataclass(frozen=True, slots=True)
class ServiceSearch:
    """Implements `Search` by one request to a service.

    `settings`: the settings to check if the service refuses, as named in error messages.
    """

    request: Callable[[str, int], SearchRequest] = field(repr=False)
    settings: str

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Send one request without a retry: the model sees the error and may try again."""
        return (await request_hits(self.request(query, min(most, MAX_RESULTS)), self.settings))[:most]


def brave_search(key: str, url: str, settings: str) -> ServiceSearch:
    """Brave's Web Search API."""

    def request(query: str, most: int) -> SearchRequest:
        return SearchRequest(
            url=url,
            parameters={"q": query, "count": str(most), "text_decorations": "false"},
            headers={"X-Subscription-Token": key},
            under=("web", "results"),
            names=("title", "url", "description"),
        )

    return ServiceSearch(request, settings)


def tavily_search(key: str, url: str, settings: str) -> ServiceSearch:
    """Tavily's search."""

    def request(query: str, most: int) -> SearchRequest:
        return SearchRequest(
            url=url,
            body={"query": query, "max_results": most},
            headers={"Authorization": f"Bearer {key}"},
            under=("results",),
            names=("title", "url", "content"),
        )

    return ServiceSearch(request, settings)


def searxng_search(url: str, settings: str) -> ServiceSearch:
    """A SearXNG server. Its settings have to allow JSON (`search.formats`), else it answers 403."""

    def request(query: str, _most: int) -> SearchRequest:
        return SearchRequest(
            url=f"{url.rstrip('/').removesuffix('/search')}/search",
            parameters={"q": query, "format": "json"},
            under=("results",),
            names=("title", "url", "content"),
        )

    return ServiceSearch(request, f"{settings}, whether json is in search.formats of that server's settings")
