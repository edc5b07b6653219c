"""A diff as people meet it: colours, both sides where there is room, a phone, what is copied, and a table's preview."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from agent_core.model.agent import Awaiting
from agent_core.model.command import CommandCall, Preview, Proposal, Thoughts
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.persistence.database import SqlDatabase
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.text.diffs import diff_of
from tests.browser.browsing import IN_A_BROWSER, open_context, press_settled
from tests.browser.test_unseen import SCROLL
from tests.scenario.served import served
from tests.tables import make_tables

pytestmark = IN_A_BROWSER
CODE = 'import os\n\n\ndef tax(of):\n    # rounded\n    return round(of * 0.2, "2")\n\n\nlast = 1\n'
TABLE = "# Rates\n\n| a | b |\n|---|---|\n| 1 | ![x](https://x.example/y.png) |\n"
PARAGRAPHS = [f"{number}: {'a paragraph that goes on for some lines ' * 9}\n" for number in range(40)]
CHANGES = {
    "code": ("tax.py", CODE, CODE.replace("0.2", "0.19")),
    "table": ("rates.md", "# Rates\n", TABLE),
    "paragraphs": ("notes.txt", "".join(PARAGRAPHS), "".join([*PARAGRAPHS[:30], "Changed\n", *PARAGRAPHS[31:]])),
    "long": ("list.txt", "", "".join(f"{number}\n" for number in range(900))),
}


@pytest_asyncio.fixture(loop_scope="session")
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """A workspace with an agent for each change, which asks to write it."""
    url, now = f"sqlite:///{tmp_path / 'signoff.db'}", SystemClock().now()
    await make_tables(url)
    database = SqlDatabase(url)
    for name, (path, old, new) in CHANGES.items():
        agent = an_agent(id=AgentId(name), name=name.title(), created_at=now, since=now, turns=1, status=Awaiting())
        preview = Preview(title=f"{path} · changed", body=diff_of(old, new).body, kind="diff", target=path)
        call = CommandCall("write_to_file", {"filename": path, "text": new})
        proposal = Proposal(thoughts=Thoughts(text="I write."), call=call, preview=preview)
        turn = a_turn(agent, id=TurnId(new_id(now)), proposal=proposal, proposed_at=now, asked_at=now)
        await keep(database, agent, turn)
    await database.close()
    async with served(ScriptedModel(waits=True), tmp_path) as base:
        yield base


async def shown(browser: Browser, address: str, name: str, width: int) -> Page:
    page = await (await open_context(browser, viewport={"width": width, "height": 900})).new_page()
    await page.goto(f"{address}/c/{an_agent().channel.key}/a/{name}")
    return page


@pytest.mark.parametrize("width", [360, 1280, 1920])
async def test_a_diff_with_colours_is_accessible_at_every_width(browser: Browser, address: str, width: int) -> None:
    page = await shown(browser, address, "code", width)
    await expect(page.locator("pre.diff .hue-word")).to_have_text(["def", "return", "return"])
    assert await page.locator("pre.diff ins").all_inner_texts() == ["19"]
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert (await Axe().run(page)).response["violations"] == []


async def test_removed_and_added_lines_are_side_by_side_where_there_is_room(browser: Browser, address: str) -> None:
    tops_of = """diff => ["cut", "add"].map(kind => diff.querySelector(`.${kind}`).getBoundingClientRect().top)"""
    tops = {}
    for width in (1280, 1920):
        diff = (await shown(browser, address, "code", width)).locator("pre.diff")
        tops[width] = await diff.evaluate(tops_of)
        assert await diff.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert tops[1920][0] == tops[1920][1]
    assert tops[1280][0] < tops[1280][1]


async def test_a_phone_shows_the_change_first_and_one_number(browser: Browser, address: str) -> None:
    page = await shown(browser, address, "code", 360)
    assert await page.locator("pre.diff .keep:visible").count() == 3
    numbers = (
        """line => ["::before", "::after"].filter(part => getComputedStyle(line, part).content !== "none").length"""
    )
    assert await page.locator("pre.diff .cut").evaluate(numbers) == 1
    assert await page.locator("pre.diff .keep").last.evaluate(numbers) == 1


@pytest.mark.parametrize("width", [1280, 1920])
async def test_what_is_copied_has_no_numbers_and_no_signs(browser: Browser, address: str, width: int) -> None:
    page = await shown(browser, address, "code", width)
    select = "diff => { getSelection().selectAllChildren(diff); return getSelection().toString(); }"
    copied = await page.locator("pre.diff").evaluate(select)
    old, new = ('    return round(of * 0.2, "2")\n', '    return round(of * 0.19, "2")\n')
    assert copied == f"⋯ 3 lines as before\ndef tax(of):\n    # rounded\n{old}{new}\n"


async def test_a_table_in_markdown_has_a_preview_that_loads_nothing(browser: Browser, address: str) -> None:
    page = await shown(browser, address, "table", 1280)
    await page.get_by_text("Preview", exact=True).click()
    await page.evaluate("refresh()")
    await expect(page.get_by_role("cell", name="picture not loaded")).to_be_visible()
    assert await page.locator("main img").count() == 0


async def test_a_refusal_names_the_agent_whose_card_it_was(browser: Browser, address: str) -> None:
    page, other = [await shown(browser, address, "table", 1280) for _ in range(2)]
    await page.goto(address)
    await page.locator("#queue a.entry", has_text="Table").click()
    await page.evaluate("refresh = async () => {}")
    for each in (other, page):
        await press_settled(each.get_by_role("button", name="Approve", exact=True))
    await expect(page.locator("#alert")).to_contain_text("“Table”: already approved")


@pytest.mark.proves("page:unseen")
async def test_a_change_is_not_read_while_only_the_lines_around_it_are_on_the_screen(
    browser: Browser, address: str
) -> None:
    page = await shown(browser, address, "paragraphs", 1280)
    await page.set_viewport_size({"width": 1280, "height": 590})
    await page.wait_for_function("noteRead.isOn")
    await page.locator(".keep").first.evaluate(SCROLL, 300)
    assert await page.evaluate("read.size") == 0
    await page.get_by_role("button", name="Approve", exact=True).evaluate("each => each.click()")
    await expect(page.locator("#hint")).to_contain_text("not on the screen")
    await expect(page.locator("pre.diff .cut").first).to_be_in_viewport()


async def test_the_end_of_a_very_long_diff_is_behind_a_line(browser: Browser, address: str) -> None:
    page = await shown(browser, address, "long", 1280)
    last = page.get_by_role("row", name="added: 899", exact=True)
    await expect(last).to_be_hidden()
    await page.get_by_text("Show all 900 lines").click()
    await expect(last).to_be_visible()
