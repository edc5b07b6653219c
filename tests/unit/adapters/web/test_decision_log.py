"""The pages of the decision log, and a reply that could not be used, over HTTP and without scripts."""

import html
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

pytestmark = pytest.mark.slow

CHANNEL = "/c/web/local/general"
HOSTILE = "<script>alert(1)</script>\u202e\"'&"


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[PageChat]:
    """Ana, whose clerk ran one command, had one rejected, and asks for the next."""
    replies = (writing("a.txt", "one"), writing("b.txt", "two"), writing("c.txt", "three"))
    async with served(ScriptedModel(*replies), tmp_path) as address, PageChat.opened(address, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        await (await chat.asks("write_to_file")).press("Approve")
        await (await chat.asks("write_to_file")).press("Reject", reason=HOSTILE)
        await chat.asks("write_to_file")
        yield chat


async def get(ana: PageChat, path: str, **asked: str) -> str:
    async with ana.session.get(ana.base + path, params=asked) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.text()


def rows(page: str) -> list[str]:
    return [
        " ".join(text_of(row.replace("</td>", " </td>")).split())
        for row in re.findall(r"<tr id=[^>]*><td.*?</tr>", page, re.DOTALL)
    ]


async def test_the_page_of_a_channel_has_every_row_with_a_link_to_its_card(ana: PageChat) -> None:
    page = await get(ana, f"{CHANNEL}/audit")
    assert len(rows(page)) == 3
    assert "Change a.txt · +1 −0 @ana ✓ done" in rows(page)[1]
    card = re.search(r'href="([^"]+/t/[^"]+)" aria-label="Card of turn 1"', page)
    assert card
    assert "a.txt" in await get(ana, card[1])


async def test_what_others_wrote_never_becomes_part_of_the_page(ana: PageChat) -> None:
    page = await get(ana, f"{CHANNEL}/audit", agent=HOSTILE[:-2], person='"><script>')
    assert "<script>alert" not in page
    assert '"><script>' not in page
    assert "⟨U+202E⟩" in await get(ana, f"{CHANNEL}/audit")


async def test_rows_are_filtered_by_a_form_that_keeps_what_was_asked(ana: PageChat) -> None:
    page = await get(ana, f"{CHANNEL}/audit", agent="clerk", person="ana", risk="write", outcome="done")
    assert len(rows(page)) == 1
    assert "<option selected>done</option>" in page
    assert 'name="agent" value="clerk"' in page
    link = re.search(r'href="([^"]+channel-decision-log.jsonl[^"]*)"', page)
    assert link
    async with ana.session.get(ana.base + html.unescape(link[1])) as answer:
        assert [json.loads(line)["act"] for line in (await answer.text()).splitlines()] == ["ran"]
    assert "No matching rows." in await get(ana, f"{CHANNEL}/audit", person="nobody")


async def test_an_agents_page_and_files_are_its_own(ana: PageChat) -> None:
    assert len(rows(await get(ana, f"{ana.path}/audit"))) == 3
    for name in ("decision-log.jsonl", "decision-log.csv", "channel-decision-log.csv"):
        async with ana.session.get(f"{ana.base}{ana.path}/{name}") as answer:
            assert answer.headers["Content-Disposition"].startswith("attachment")
            assert "write_to_file" in (await answer.read()).decode()
    async with ana.session.get(f"{ana.base}{CHANNEL}/decision-log.csv") as answer:
        assert answer.status == 404


async def test_a_page_leads_to_older_rows_with_its_filter(ana: PageChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.service.reading.decision_log.PAGE_ROWS", 1)
    page = await get(ana, f"{CHANNEL}/audit", person="ana")
    older = re.search(r'href="(\?person=ana&amp;before=\w+)">Older', page)
    assert older
    rest = await get(ana, f"{CHANNEL}/audit{html.unescape(older[1])}")
    assert not set(rows(page)) & set(rows(rest))
    assert len(rows(page)) == len(rows(rest)) == 1
    assert ">Newest</a>" in rest
    assert "Nothing earlier." in await get(ana, f"{CHANNEL}/audit", before="nothing-of-that-id")


async def test_audit_in_the_reply_box_is_told_with_links_to_both_files(ana: PageChat) -> None:
    await ana.says("!audit channel")
    assert await ana.told("Decision log of this channel, newest first:")
    for name in ("channel-decision-log.jsonl", "channel-decision-log.csv"):
        assert f'href="{ana.path}/{name}" download' in ana.answered


async def test_an_agent_of_another_channel_has_no_page_here(ana: PageChat) -> None:
    agent = ana.path.rpartition("/")[2]
    async with ana.session.get(f"{ana.base}/c/web/local/other/a/{agent}/audit") as answer:
        assert answer.status == 404
    assert rows(await get(ana, "/c/web/local/other/audit")) == []
    async with ana.session.get(f"{ana.base}/c/web/local/other/a/{agent}/decision-log.jsonl") as answer:
        assert await answer.text() == ""


async def test_a_reply_that_could_not_be_used_is_folded_away_and_in_no_table(tmp_path: Path) -> None:
    said = f"Sure! {HOSTILE} " + "tea " * 500
    async with served(ScriptedModel(said, said, said), tmp_path) as address, PageChat.opened(address, "ana") as ana:
        await ana.new_agent("Clerk", "writes", "Write a file")
        await ana.sees("in the wrong format")
        page = await ana.page()
        assert "<script>alert" not in page
        folded = re.search(r"<summary>Show reply</summary>.*?</details>", page, re.DOTALL)
        assert folded
        assert "⟨U+202E⟩" in folded[0]
        assert "tea tea tea" not in page.replace(folded[0], "")
        assert "tea tea tea" not in await get(ana, CHANNEL)


@pytest.mark.proves("evidence:link")
async def test_each_record_has_a_link_that_shows_it_as_long_as_it_is_there(
    ana: PageChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await get(ana, f"{CHANNEL}/audit")
    links = re.findall(r'<tr id="(\w+)"><td><a href="([^"]+)\?record=(\w+)#(\w+)"', page)
    assert [{one, record, anchor} for one, _, record, anchor in links] == [{one} for one, *_ in links]
    monkeypatch.setattr("agent_core.service.reading.decision_log.PAGE_ROWS", 1)
    for (one, path, *_), row in zip(links, rows(page), strict=True):
        assert rows(await get(ana, path, record=one)) == [row]
