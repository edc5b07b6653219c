"""Archiving in the local workspace: the button, the filter of the channel's page, and who may."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

pytestmark = pytest.mark.slow

CHANNEL = "/c/web/local/general"


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(writing("a.txt", "one"), waits=True), tmp_path) as address:
        yield address


@pytest.fixture
async def ana(base: str) -> AsyncIterator[PageChat]:
    async with PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        await chat.asks("write_to_file")
        yield chat


async def navigation(chat: PageChat) -> str:
    return text_of((await chat.page()).partition("<h2>Agents here</h2>")[2].partition("</nav>")[0])


async def channel(chat: PageChat, query: str = "") -> str:
    async with chat.session.get(f"{chat.base}{CHANNEL}{query}") as answer:
        return text_of((await answer.text()).partition("<main")[2])


async def channel_source(chat: PageChat, query: str = "") -> str:
    async with chat.session.get(f"{chat.base}{CHANNEL}{query}") as answer:
        return (await answer.text()).partition("<main")[2]


@pytest.mark.proves("archive:lists")
async def test_an_agent_is_archived_and_brought_back_in_the_list_and_the_list_is_shown_again(ana: PageChat) -> None:
    await ana.send("say", {"text": "!stop"})
    assert 'aria-label="Archive Clerk"' in await channel_source(ana)
    _, page = await ana.send("archive", {"to": CHANNEL})
    assert "All agents here are archived." in page
    assert 'aria-label="Unarchive Clerk"' in await channel_source(ana, "?archived")
    _, page = await ana.send("unarchive", {"to": f"{CHANNEL}?archived"})
    assert "No agent here is archived." in page
    _, page = await ana.send("archive", {"to": "//evil.example"})
    assert "<title>Needs approval" in page


@pytest.mark.proves("archive:lists")
async def test_an_archived_agent_is_found_behind_a_filter_and_its_thread_can_be_read(ana: PageChat) -> None:
    await ana.send("say", {"text": "!stop"})
    status, page = await ana.send("archive", {})
    assert (status, "archived by @ana. Resume brings it back." in page, "Unarchive" in page) == (200, True, True)
    assert "Stopped by <bdi>@ana</bdi>, " in page  # at that time
    assert "Clerk" not in await navigation(ana)
    assert "Archived 1" in await navigation(ana)
    assert "All agents here are archived." in await channel(ana)
    assert "stopped by @ana · archived" in await channel(ana, "?archived")
    assert (await ana.send("unarchive", {}))[0] == 200
    assert "Clerk" in await navigation(ana)
    assert "No agent here is archived." in await channel(ana, "?archived")


@pytest.mark.proves("archive:rest")
async def test_an_agent_that_waits_is_not_archived_and_the_page_says_why(ana: PageChat) -> None:
    shown = await ana.page()
    assert "/archive" not in shown
    assert "Not archived: Clerk needs approval. Decide or stop it first." in shown
    assert "Archive Clerk" not in await channel_source(ana)
    status, page = await ana.send("archive", {})
    assert (status, "Not archived: Clerk needs approval. Decide or stop it first." in page) == (
        409,
        True,
    )


async def test_a_typed_line_archives_and_brings_back(ana: PageChat) -> None:
    await ana.send("say", {"text": "!stop"})
    await ana.send("say", {"text": "!archive"})
    assert "Archived 1" in await navigation(ana)
    await ana.send("say", {"text": "!resume"})
    assert "Archived" not in await navigation(ana)
