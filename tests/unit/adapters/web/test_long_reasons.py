"""A long reason from right to left: the card has some lines of it, in their own direction, and leads to all of it."""

import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.scenario.served import served

REASON = 'مرحبا، لا تقرأ الملف "notes.md" — 9:30. ' * 200


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[PageChat]:
    model = ScriptedModel(writing("a.txt", "one"), writing("b.txt", "two"), waits=True)
    async with served(model, tmp_path) as base, PageChat.opened(base, "ana") as chat:
        await chat.new_agent("Clerk", "writes", "Write a file")
        yield chat


@pytest.mark.slow
async def test_a_long_reason_is_cut_on_the_card_and_whole_on_the_page_of_its_turn(ana: PageChat) -> None:
    await (await ana.asks("write_to_file")).press("Reject", reason=REASON)
    await ana.asks("write_to_file")
    page = await ana.page()
    (name,) = re.findall(r'<article class="card bad"[^>]*aria-label="([^"]*)"', page)
    assert len(html.unescape(name)) < 350
    (row,) = re.findall(r'<details class="fold".*?</details>', page, re.DOTALL)
    (written,) = re.findall(r"<bdi>(مرحبا.*?)</bdi>", row)
    assert len(html.unescape(written)) < 300
    (whole,) = re.findall(r'<a href="([^"]+/t/[^"]+)">Show what it did</a>', row)
    assert " ".join(REASON.split()) in " ".join(
        html.unescape(await (await ana.session.get(f"{ana.base}{whole}")).text()).split()
    )


@pytest.mark.slow
async def test_a_short_reason_stands_whole_and_in_its_own_direction(ana: PageChat) -> None:
    await (await ana.asks("write_to_file")).press("Reject", reason="لا، 9:30 — من فضلك")
    await ana.asks("write_to_file")
    (row,) = re.findall(r'<details class="fold".*?</details>', await ana.page(), re.DOTALL)
    assert "<bdi>لا، 9:30 — من فضلك</bdi>" in row
