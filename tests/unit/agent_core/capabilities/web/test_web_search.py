"""Searching the web: Google's API over HTTP, the library in a thread, and what the model reads of it."""

import pytest

from agent_core.capabilities.web.search import WebSearchCommands
from agent_core.capabilities.web.search_engines import GoogleSearch, MetaSearch
from agent_core.capabilities.web.search_services import brave_search, searxng_search, tavily_search
from agent_core.errors import CommandError
from agent_core.model.command import CommandCall
from agent_core.ports.web import Search, WebHit
from agent_core.testing.examples import an_agent
from agent_core.testing.files import InMemoryFiles
from agent_core.toolset.registry import CommandContext, Commands
from tests.standins.google import google_standin
from tests.standins.search_services import KEY, SearchStandIn, search_standin


async def run(search: Search, query: str = "tennis strings") -> str:
    commands = Commands.of(*WebSearchCommands(search).commands)
    call = commands.checked(CommandCall("web_search", {"input": query}))
    context = CommandContext(agent=an_agent(), files=InMemoryFiles())
    return (await commands.get(call.name).run(call.arguments, context)).text


def service(name: str, standin: SearchStandIn, key: str = KEY) -> Search:
    match name:
        case "brave":
            return brave_search(key, f"{standin.url}/res/v1/web/search", "A_KEY")
        case "tavily":
            return tavily_search(key, f"{standin.url}/search", "A_KEY")
        case _:
            return searxng_search(f"{standin.url}/", "AN_ADDRESS")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("brave", {"q": "tennis strings", "count": "8", "text_decorations": "false"}),
        ("tavily", {"query": "tennis strings", "max_results": 8}),
        ("searxng", {"q": "tennis strings", "format": "json"}),
    ],
)
async def test_each_service_is_asked_in_its_own_way_and_told_alike(name: str, asked: dict[str, object]) -> None:
    async with search_standin() as standin:
        told = await run(service(name, standin))
    assert told.startswith("1. Hit 1\n   https://1.example\n   words of it\n2. Hit 2\n")
    assert told.count("https://") == (8 if name == "searxng" else 2)
    assert standin.asked == [asked]


@pytest.mark.parametrize("name", ["brave", "tavily"])
async def test_a_wrong_key_of_a_service_is_told_by_its_setting(name: str) -> None:
    async with search_standin() as standin:
        search = service(name, standin, "k-wrong")
        with pytest.raises(CommandError, match="401: the operator should check A_KEY,") as refused:
            await run(search)
    assert "k-wrong" not in f"{refused.value} {search}"


async def test_a_searxng_server_without_json_says_what_to_change() -> None:
    async with search_standin() as standin:
        standin.has_json = False
        with pytest.raises(CommandError, match=r"403: the operator should check AN_ADDRESS, whether json is in search"):
            await run(service("searxng", standin))


@pytest.mark.parametrize(
    ("status", "said"), [(422, "shorter query"), (429, "too many"), (432, "used up"), (500, "later")]
)
async def test_what_a_service_refuses_is_told(status: int, said: str) -> None:
    async with search_standin() as standin:
        standin.status = status
        with pytest.raises(CommandError, match=said):
            await run(service("tavily", standin))


async def test_google_is_asked_with_key_and_engine_and_told_in_lines() -> None:
    async with google_standin() as standin:
        told = await run(GoogleSearch(api_key="k-secret", engine="cx-1", url=standin.url))
    assert told == "1. Hit 1\n   https://1.example\n   words of it\n2. Hit 2\n   https://2.example\n   words of it"
    assert standin.asked == [{"q": "tennis strings", "num": "8", "key": "k-secret", "cx": "cx-1"}]


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "check SOME_KEY"), (429, "too many searches"), (500, "try again later"), (302, "302")],
)
async def test_a_refusal_is_told_without_the_key(status: int, said: str) -> None:
    async with google_standin() as standin:
        standin.status, standin.body = status, "k-secret is no good"
        with pytest.raises(CommandError, match=said) as refused:
            await run(GoogleSearch(api_key="k-secret", url=standin.url, settings="SOME_KEY"))
    assert "k-secret" not in str(refused.value)


@pytest.mark.parametrize("body", ["<html>", "[" * 100_000, "x" * 2_100_000])
async def test_an_answer_that_cannot_be_read_is_told(body: str) -> None:
    async with google_standin() as standin:
        standin.body = body
        with pytest.raises(CommandError, match=r"cannot be read|can be read"):
            await run(GoogleSearch(url=standin.url))


@pytest.mark.parametrize("body", [{"items": "x"}, {"items": [3, None]}, {"other": 1}, ["x"]])
async def test_an_answer_of_another_shape_is_no_hit(body: object) -> None:
    async with google_standin() as standin:
        standin.body = body
        assert await run(GoogleSearch(url=standin.url)) == "Nothing was found."


async def test_a_search_that_cannot_be_reached_is_told() -> None:
    with pytest.raises(CommandError, match="cannot be reached"):
        await run(GoogleSearch(url="http://127.0.0.1:1/customsearch/v1"))


async def test_what_the_library_finds_is_told_alike_and_bounded() -> None:
    def find(query: str, most: int) -> list[dict[str, object]]:
        assert (query, most) == ("tennis strings", 8)
        return [{"title": "T" * 900, "href": "https://a.example", "body": "b\n" * 900}] * 20

    hits = await MetaSearch(find).search("tennis strings", 8)
    assert hits[0] == WebHit("T" * 900, "https://a.example", "b\n" * 900)
    told = await run(MetaSearch(find))
    assert told.count("https://a.example") == 8
    assert max(map(len, told.splitlines())) < 420
