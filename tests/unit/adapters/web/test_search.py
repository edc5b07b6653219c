"""The search page over HTTP."""

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(waits=True)


@pytest.fixture
async def ana(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[PageChat]:
    async with served(model, tmp_path) as base, PageChat.opened(base, "ana") as chat:
        yield chat


async def page_of(chat: PageChat, query: str, **more: str) -> str:
    """The main part of the page that a query leads to."""
    async with chat.session.get(f"{chat.base}/search", params={"q": query, **more}) as answer:
        assert answer.status == 200
        source = await answer.text()
    return source[source.index("<main") : source.index("</main>")]


def links(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'<li><a (?:class="whom" )?href="([^"]+)"', page)]


def marked(page: str) -> list[str]:
    return re.findall(r"<mark>(.*?)</mark>", page)


@pytest.mark.slow
@pytest.mark.proves("page:search")
async def test_agents_files_turns_and_notes_are_found_with_a_link_to_each(ana: PageChat, model: ScriptedModel) -> None:
    model.say(writing("umsatz.md", "Der UMSATZ an der Straße"))
    await ana.new_agent("Umsatz", "counts", "Write a file")
    card = await ana.asks("write_to_file")
    await card.press("Approve")
    assert await ana.sees("done")
    await ana.send("say", {"text": "Denk an den Umsatz!"})
    assert await ana.sees("Denk an den")
    page = await page_of(ana, "umsatz")
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == ["Agents", "Files", "Turns and notes"]
    agent, file, note, turn = links(page)
    assert (agent, file) == (ana.path, f"{ana.path}/view/umsatz.md")
    assert re.fullmatch(rf"{ana.path}\?found=(.+)#\1", note)
    assert turn == f"{ana.path}?found={card.turn}#{card.turn}"
    assert {each.casefold() for each in marked(page)} == {"umsatz"}
    assert links(await page_of(ana, "UMSATZ strasse")) == [turn]


@pytest.mark.slow
@pytest.mark.proves("page:search")
async def test_a_turn_that_is_opened_from_a_search_is_not_folded(ana: PageChat, model: ScriptedModel) -> None:
    model.say(writing("a.md", "one"), writing("b.md", "two"), writing("c.md", "three"))
    await ana.new_agent("Ada", "writes", "Write files")
    for _ in range(2):
        await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("write_to_file")
    *_, link = links(await page_of(ana, "a.md"))
    folded = [await _folded(ana, each) for each in (ana.path, link)]
    assert (len(folded[0]), folded[1]) == (2, folded[0][1:])
    assert f"found={folded[0][0]}#" in link


async def _folded(chat: PageChat, path: str) -> list[str]:
    """The ids of the turns that are folded on a page."""
    async with chat.session.get(f"{chat.base}{path}") as answer:
        return re.findall(r'<details class="fold" id="fold-([^"]+)"', await answer.text())


@pytest.mark.slow
@pytest.mark.proves("page:search")
async def test_what_is_not_there_is_not_found_and_the_page_says_what_was_searched(
    ana: PageChat, model: ScriptedModel
) -> None:
    model.say(writing("a.md", "one"))
    await ana.new_agent("Ada", "writes", "Write a file")
    await ana.asks("write_to_file")
    page = text_of(await page_of(ana, "ada unicorn"))
    assert "Nothing was found for ada unicorn" in page
    assert "Searched: all agents, names of files in 1 workspace, all turns and notes." in page
    assert "Nothing is searched for without a word." in text_of(await page_of(ana, "   "))


@pytest.mark.slow
async def test_an_excerpt_is_text_and_shows_what_is_invisible(ana: PageChat, model: ScriptedModel) -> None:
    evil = "before <script>alert(1)</script> needle \u202e\u200b</mark><img src=x onerror=alert(1)> after"
    model.say(reply_text("write_to_file", {"filename": "a.md", "text": evil}))
    await ana.new_agent("Ada", "writes", "Write a file")
    await ana.asks("write_to_file")
    page = await page_of(ana, "needle")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <mark>needle</mark> ⟨U+202E⟩⟨U+200B⟩&lt;/mark&gt;&lt;img" in page
    assert "<script" not in page
    query = '"><script>alert(2)</script>'
    assert html.escape(query) in (await page_of(ana, query)).replace("&#34;", "&quot;")


@pytest.mark.slow
@pytest.mark.proves("page:search-sealed")
async def test_a_channel_limits_the_search_and_an_unknown_one_has_nothing(ana: PageChat, model: ScriptedModel) -> None:
    model.say(writing("a.md", "needle"))
    await ana.new_agent("Ada", "writes", "Write a file")
    await ana.asks("write_to_file")
    assert len(links(await page_of(ana, "needle", channel="web/local/general"))) == 1
    for other in ("web/local/other", "slack/T1/C1", "%", "web/local/general/x", "\x00"):
        assert links(await page_of(ana, "needle", channel=other)) == []


@pytest.mark.proves("page:search-bounded")
async def test_long_and_hostile_queries_are_bounded(ana: PageChat, model: ScriptedModel) -> None:
    model.say(writing("a.md", "needle"))
    await ana.new_agent("Ada", "writes", "Write a file")
    await ana.asks("write_to_file")
    page = await page_of(ana, "needle " * 800)
    assert "Only the first 200 characters were searched for." in page
    assert len(links(page)) == 1
    async with ana.session.get(f"{ana.base}/search?q={'x' * 10_000}") as answer:
        assert answer.status == 400
    for query in ("%", "_", "!", "\\", "'; DROP TABLE turns; --", "\x00", "(((((", "a*" * 90, "ß" * 190, "%\ud83d"):
        encoded = quote(query, errors="surrogatepass")
        async with ana.session.get(f"{ana.base}/search?q={encoded}&before=%00'&channel=") as answer:
            assert answer.status == 200
