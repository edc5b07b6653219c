"""Words that were left in a sheet which was closed do not keep a card from showing what became of it."""

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER


@pytest_asyncio.fixture(loop_scope="session")
async def ana(context: BrowserContext, address: str) -> BrowserChat:
    return BrowserChat(await context.new_page(), address)


@pytest.mark.parametrize("place", ["thread", "list"])
async def test_a_card_is_done_after_a_reason_was_begun_the_sheet_closed_and_approve_pressed(
    ana: BrowserChat, model: ScriptedModel, place: str
) -> None:
    model.say(writing("a.md", "one\n"), reply_text("do_nothing"))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    if place == "list":
        await ana.page.goto(ana.base)
    waiting = ana.page.get_by_role("article", name="write_to_file, needs approval")
    await waiting.get_by_role("button", name="Reject", exact=True).click()
    await ana.page.get_by_label("Reason", exact=True).fill("hm, wait")
    await ana.page.keyboard.press("Escape")
    await waiting.get_by_role("button", name="Approve", exact=True).click()
    await expect(ana.page.get_by_role("article", name="do_nothing, needs approval")).to_be_visible()
    await expect(waiting, "it ran: nothing waits for a decision any more").to_have_count(0)
