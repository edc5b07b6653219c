"""Web search by Google Custom Search or public engines (`ddgs`), and the request that all search services share."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_core.errors import NothingReceived
from agent_core.ports.web import WebHit
from agent_core.providers.limited_replies import MAX_JSON_BYTES, ReplyTooLong, read_limited
from agent_core.providers.outbound_proxy import is_loopback

if TYPE_CHECKING:
    from aiohttp import ClientResponse

GOOGLE_URL = "https://www.googleapis.com/customsearch/v1"
MAX_GOOGLE_RESULTS = 10  # developers.google.com/custom-search/v1/reference/rest/v1/cse/list: num is from 1 to 10
SEARCH_TIMEOUT_SECONDS = 20.0

FindResults = Callable[[str, int], Sequence[Mapping[str, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A request to a search service, by POST if it has a JSON `body`, and where its answer has the results.

    `under`: the members that lead to the list of results; `names`: those of a result for title, address and excerpt.
    """

    url: str
    under: tuple[str, ...]
    names: tuple[str, str, str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Mapping[str, object] | None = None


async def request_hits(request: SearchRequest, settings: str) -> tuple[WebHit, ...]:
    """Send the request; raise NothingReceived with a sentence that has no key. `settings` are those to check."""
    from aiohttp import ClientError, ClientSession, ClientTimeout  # imported late

    timeout, method = ClientTimeout(total=SEARCH_TIMEOUT_SECONDS), "GET" if request.body is None else "POST"
    try:
        async with (
            ClientSession(timeout=timeout, trust_env=not is_loopback(request.url)) as session,
            session.request(
                method,
                request.url,
                params=request.parameters,
                headers=request.headers,
                json=request.body,
                allow_redirects=False,
            ) as response,
        ):
            return _hits(await _answer(response, settings), request.under, request.names)
    except TimeoutError:
        raise NothingReceived("The search did not answer in time.") from None
    except (ClientError, OSError):
        raise NothingReceived("The search cannot be reached.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleSearch:
    """Implements `Search` with Google's Custom Search JSON API, or a compatible service at `url`.

    `settings`: the settings to check if Google refuses the key, as named in error messages.
    """

    api_key: str = field(default="", repr=False)
    engine: str = ""
    url: str = GOOGLE_URL
    settings: str = "the key and the engine's id"

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Send one request without a retry: the model sees the error and may try again."""
        query_parameters = {
            "q": query,
            "num": str(min(most, MAX_GOOGLE_RESULTS)),
            "key": self.api_key,
            "cx": self.engine,
        }
        parameters = {name: value for name, value in query_parameters.items() if value}
        names = ("title", "link", "snippet")
        request = SearchRequest(url=self.url, parameters=parameters, under=("items",), names=names)
        return (await request_hits(request, self.settings))[:most]


def search_engines(query: str, most: int) -> Sequence[Mapping[str, object]]:
    """Search with `ddgs`, blocking; raise NothingReceived if no engine answers."""
    from ddgs import DDGS  # imported late
    from ddgs.exceptions import DDGSException

    try:
        found: Sequence[Mapping[str, object]] = DDGS(timeout=int(SEARCH_TIMEOUT_SECONDS / 2)).text(
            query, max_results=most
        )
    except (DDGSException, OSError, ValueError) as fault:
        if "No results" in str(fault):
            return []
        raise NothingReceived("The search engines gave no answer. Try again later.") from None
    return found


@dataclass(frozen=True, slots=True)
class MetaSearch:
    """Implements `Search` with several public search engines, by the library `ddgs` in a thread."""

    find: FindResults = search_engines

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        try:
            async with asyncio.timeout(SEARCH_TIMEOUT_SECONDS):
                found = await asyncio.to_thread(self.find, query, most)
        except TimeoutError:
            raise NothingReceived("The search engines did not answer in time.") from None
        return _hits(list(found), (), ("title", "href", "body"))[:most]


async def _answer(response: "ClientResponse", settings: str) -> object:
    if response.status != 200:
        raise NothingReceived(f"The search answered {response.status}: {_advice(response.status, settings)}")
    try:
        return json.loads(await read_limited(response, MAX_JSON_BYTES))
    except ReplyTooLong:
        raise NothingReceived("The search answered more than can be read.") from None
    except (ValueError, RecursionError):
        raise NothingReceived("The search answered something that cannot be read.") from None


def _advice(status: int, settings: str) -> str:
    if status in (400, 401, 402, 403, 432):  # Tavily's limit of a plan is 432
        return f"the operator should check {settings}, and whether the searches of the account are used up."
    if status == 422:
        return "try a shorter query."
    return "too many searches for now; try again later." if status == 429 else "try again later."


def _hits(answer: object, under: Sequence[str], names: tuple[str, str, str]) -> tuple[WebHit, ...]:
    for name in under:
        answer = answer.get(name) if isinstance(answer, dict) else None
    items = [item for item in answer if isinstance(item, dict)] if isinstance(answer, list) else []
    return tuple(WebHit(*(str(item.get(name) or "") for name in names)) for item in items)
