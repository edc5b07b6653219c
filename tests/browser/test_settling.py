"""A control accepts nothing in its first 700 ms where it stands. Time in the page is the test's own."""

import asyncio
import re
from datetime import timedelta

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from agent_core.testing.examples import NOON
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import BrowserChat
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]
SOON, LATER = 400, 1000
JUST_APPEARED = "This has just appeared: nothing was done. Read it, then press again."
CENTRE = "each => each.scrollIntoView({ block: 'center', behavior: 'instant' })"


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, address: str, model: ScriptedModel) -> Page:
    """Ana's page with a card that was there for a while; the clock of the page stands still."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    chat = BrowserChat(await context.new_page(), address)
    model.say(writing("a.txt", "one"))
    await chat.call_me("ana")
    await chat.new_agent("Clerk", "writes", "Write a file")
    await chat.asks("write_to_file")
    await chat.page.clock.install(time=NOON)
    await chat.page.reload()
    await chat.page.clock.pause_at(NOON + timedelta(hours=1))  # from here on only the test moves it
    await chat.page.clock.run_for(LATER)
    return chat.page


def asking(page: Page) -> Locator:
    return page.get_by_role("article", name=re.compile("needs approval"))


def approve(page: Page) -> Locator:
    return asking(page).get_by_role("button", name="Approve", exact=True)


async def click_at(control: Locator) -> None:
    """Click where the control is, whether it would take the click or not."""
    await control.evaluate(CENTRE)
    box = await control.bounding_box()
    assert box is not None
    await control.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


async def next_card(page: Page, model: ScriptedModel) -> Locator:
    """Approve the card and have the next one appear; its button is new at this moment of the page's clock."""
    model.say(reply_text("append_to_file", {"filename": "a.txt", "text": "two"}))
    await approve(page).evaluate(CENTRE)
    await page.clock.run_for(LATER)  # what scrolling moved has settled
    await click_at(approve(page))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while "append_to_file" not in await (await page.request.get(page.url)).text():
            continue
    following = asking(page).filter(has_text="append_to_file")
    for _ in range(500):  # what the page puts off for 30 ms happens when its clock is moved
        if await following.count():
            return following
        await page.clock.run_for(10)
        await expect(page.get_by_role("article").first).to_be_visible()
    raise AssertionError("the click on Approve brought no next card")


async def decided(page: Page) -> int:
    """How many turns were approved, as the server says."""
    answer = await page.request.get(page.url)
    return len(re.findall('<article class="card (?:good|busy)', await answer.text()))


@pytest.mark.proves("page:settles")
async def test_the_second_of_two_clicks_400_ms_apart_approves_nothing(page: Page, model: ScriptedModel) -> None:
    card = await next_card(page, model)
    await page.clock.run_for(SOON)
    await click_at(approve(page))
    await expect(page.locator("#hint")).to_have_text(JUST_APPEARED)
    assert await decided(page) == 1
    await page.clock.run_for(LATER)
    await click_at(approve(page))
    await expect(card.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    assert await decided(page) == 2


@pytest.mark.proves("page:settles")
@pytest.mark.parametrize("key", ["Enter", " "])
async def test_a_key_approves_nothing_that_has_just_appeared(page: Page, model: ScriptedModel, key: str) -> None:
    await next_card(page, model)
    await approve(page).focus()
    await page.clock.run_for(SOON)
    await page.keyboard.press(key)
    await expect(approve(page)).to_be_focused()
    assert await decided(page) == 1


@pytest.mark.proves("page:settles")
async def test_a_control_that_an_update_moved_accepts_no_click_and_one_that_has_settled_does(page: Page) -> None:
    await page.evaluate("document.getElementById('top').style.display = 'none'")  # the update draws it again
    await page.evaluate("refresh()")
    await click_at(approve(page))
    await expect(page.locator("#hint")).to_have_text(JUST_APPEARED)
    assert await decided(page) == 0
    await page.clock.run_for(LATER)
    await click_at(approve(page))
    await expect(approve(page)).to_have_count(0)
    assert await decided(page) == 1


@pytest.mark.proves("page:settles")
async def test_what_a_sheet_sends_settles_after_the_sheet_was_opened(page: Page) -> None:
    await asking(page).get_by_role("button", name="Reject", exact=True).click()
    send = page.locator("[popover]:popover-open").get_by_role("button", name="Reject")
    await click_at(send)
    await expect(send).to_be_visible()
    await expect(asking(page)).to_have_count(1)
    await page.clock.run_for(LATER)
    await click_at(send)
    await expect(asking(page)).to_have_count(0)
