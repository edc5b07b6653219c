"""The local workspace while its database is away: a sentence, what people wrote, and no traceback."""

import html
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientResponse

from adapters.screens.ui_text import AWAY, MAYBE_SAVED
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served
from tests.standins.interrupted import DatabaseSwitch

NEW = "/c/web/local/general/new"
FIELDS = {"name": "Clerk", "role": "writes <b>", "goals": "One thing\r\nAnother", "budget": "5", "approvers": "owner"}
FIELD = re.compile(r'<(?:textarea|input)[^>]* name="([^"]+)"(?:[^>]* value="([^"]*)")?[^>]*>(?:\n([^<]*)</textarea>)?')


@pytest.fixture
def database() -> DatabaseSwitch:
    return DatabaseSwitch()


@pytest.fixture
async def ana(database: DatabaseSwitch, tmp_path: Path) -> AsyncIterator[PageChat]:
    model = ScriptedModel(writing("a.txt", "one"), waits=True)
    async with served(model, tmp_path, open_database=database.open) as base, PageChat.opened(base, "ana") as chat:
        yield chat


async def said(answer: ClientResponse) -> str:
    """The page of an outage, after its status and headers were checked."""
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    return await answer.text()


def fields_in(page: str) -> dict[str, str]:
    """The fields of the only form of the page."""
    form = re.search(r"<form.*?</form>", page, re.DOTALL)
    return {name: html.unescape(value or text) for name, value, text in FIELD.findall(form[0] if form else "")}


@pytest.mark.proves("page:outage")
@pytest.mark.parametrize("path", ["/", "/c/web/local/general", NEW, "/c/web/local/x/a/y", "/nothing", "/c/fax/x/y"])
async def test_a_page_says_that_the_database_is_away(
    ana: PageChat, database: DatabaseSwitch, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    database.is_off = True
    async with ana.session.get(ana.base + path) as answer:
        page = await said(answer)
    assert AWAY in text_of(page)
    assert "data-reloads" in page
    database.is_off = False
    assert not [record for record in caplog.records if record.exc_info and record.name != "bot.worker"]


@pytest.mark.slow
@pytest.mark.proves("page:outage")
async def test_the_form_of_a_new_agent_comes_back_and_can_be_sent_again(
    ana: PageChat, database: DatabaseSwitch
) -> None:
    database.is_off = True
    async with ana.session.post(ana.base + NEW, data=FIELDS) as answer:
        page = await said(answer)
    assert AWAY in text_of(page)
    assert fields_in(page) == FIELDS
    assert f'action="{NEW}"' in page
    assert "data-reloads" not in page
    database.is_off = False
    async with ana.session.post(ana.base + NEW, data=fields_in(page)) as made:
        assert (made.status, "/a/" in made.url.path) == (200, True)


@pytest.mark.slow
@pytest.mark.proves("page:outage")
async def test_a_reply_comes_back_and_a_button_does_not(ana: PageChat, database: DatabaseSwitch) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    line = await ana.writes("Use another name")
    database.is_off = True
    status, page = await ana.send("say", line.fields)
    assert (status, fields_in(page)) == (503, line.fields)
    status, page = await ana.send("press", {"button": card.button("reject"), "text": "Not that name"})
    assert (status, fields_in(page), "Not that name" in page) == (503, {}, True)
    status, page = await ana.send("delete", {"name": "Clerk"})
    assert (status, fields_in(page), AWAY in text_of(page)) == (503, {}, True)
    database.is_off = False
    await line.arrives()
    assert await ana.sees("Use another name")


@pytest.mark.slow
@pytest.mark.proves("page:outage")
async def test_after_a_deletion_nobody_reads_that_nothing_was_done(
    ana: PageChat, database: DatabaseSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")  # else its step waits for the database, also at the end of the test

    def take_away(*_: object) -> str:
        database.is_off = True
        return ""

    monkeypatch.setattr("adapters.web.post_routes.deleted_text", take_away)
    status, page = await ana.send("delete", {"name": "Clerk"})
    assert (status, MAYBE_SAVED in text_of(page)) == (503, True)


@pytest.mark.proves("page:outage")
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_a_load_balancer_is_told_to_wait(
    ana: PageChat, database: DatabaseSwitch, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    database.is_off = True
    with caplog.at_level(logging.ERROR, "aiohttp"):
        async with ana.session.get(ana.base + path) as answer:
            assert (answer.status, await answer.json()) == (503, {"status": "database away"})
        async with ana.session.get(f"{ana.base}/livez") as answer:  # a restart would mend nothing
            assert (answer.status, await answer.json()) == (200, {"status": "ok"})
    database.is_off = False
    async with ana.session.get(ana.base + path) as answer:
        assert answer.status == 200
    assert not [record for record in caplog.records if record.name.startswith("aiohttp")]


@pytest.mark.proves("page:outage")
async def test_metrics_of_the_process_are_told_while_the_database_is_away(
    ana: PageChat, database: DatabaseSwitch
) -> None:
    seen = []
    for away in (True, False):
        database.is_off = away
        async with ana.session.get(f"{ana.base}/metrics") as answer:
            text = await answer.text()
            seen.append((answer.status, "signoff_build_info{" in text, "signoff_workers " in text))
    assert seen == [(200, True, False), (200, True, True)]


async def test_an_error_while_a_refusal_is_shown_is_told_in_a_sentence(ana: PageChat, database: DatabaseSwitch) -> None:
    """The frame of a refusal reads the database, which may be away by then."""
    database.is_off = True
    async with ana.session.post(f"{ana.base}/channels", data={"name": ""}) as answer:
        assert AWAY in text_of(await said(answer))
