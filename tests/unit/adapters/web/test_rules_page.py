"""The page of standing rules: from a card to a rule that covers the next command, and back."""

import html
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.scenario.served import served

WORDS = "Always allow write_to_file with filename in docs/** (any text) for Clerk"


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[PageChat]:
    writes = (writing(f"docs/{number}.txt", "one") for number in range(3))
    async with (
        served(ScriptedModel(*writes, writing("other.txt", "one")), tmp_path) as address,
        PageChat.opened(address, "ana") as chat,
    ):
        await chat.new_agent("Clerk", "writes", "Write a file")
        yield chat


async def rules(chat: PageChat, **fields: str) -> tuple[int, str]:
    status, page = await chat.send("rules", fields)
    return status, html.unescape(page)


@pytest.mark.slow
@pytest.mark.proves("rules:allow")
async def test_a_card_leads_to_rules_that_it_suggests_and_the_saved_one_covers_what_comes(ana: PageChat) -> None:
    card = await ana.asks("write_to_file")
    turn = (await ana.page()).partition("/rules?turn=")[2].partition('"')[0]
    page = html.unescape(await ana.page(f"/rules?turn={turn}"))
    assert page.index('filename is "docs/0.txt"') < page.index(WORDS)
    chosen = [part.partition('"')[0] for part in page.split('name="suggested" value="')[1:]]
    assert (await rules(ana, turn=turn, suggested="0"))[0] == 422
    status, page = await rules(ana, turn=turn, suggested=chosen[1], times="many", all="on")
    kept = (f'value="{chosen[1]}" checked', 'name="all" checked', 'value="many"')
    assert (status, [text for text in kept if text not in page]) == (422, [])
    assert f'value="{chosen[0]}" checked' not in page
    status, page = await rules(ana, turn=turn, suggested=chosen[1], times="2")
    assert (status, f"{WORDS}, 2 more times · by @ana · ran 0 times" in page) == (200, True)
    await card.press("Approve")
    assert "other.txt" in (await ana.asks("write_to_file")).text
    page = html.unescape(await ana.page("/rules"))
    assert "ran 2 times" in page
    rule_id = page.partition('name="revoke" value="')[2].partition('"')[0]
    assert "There are no rules." in (await rules(ana, revoke=rule_id))[1]


@pytest.mark.slow
async def test_a_refused_rule_is_shown_again_with_what_was_typed(ana: PageChat) -> None:
    await ana.asks("write_to_file")
    status, page = await rules(ana, rule="allow write_to_file path is a")
    assert (status, "write_to_file has no argument path" in page, 'value="allow write_to_file path is a"' in page) == (
        422,
        True,
        True,
    )
