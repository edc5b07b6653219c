"""The page of a schedule by keyboard alone: its form is filled in and saved; the focus stays at Pause."""

from collections.abc import AsyncIterator

import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, open_context, open_tab

pytestmark = IN_A_BROWSER
MOST_STOPS = 60


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, address: str, model: ScriptedModel) -> AsyncIterator[Page]:
    """The page of the schedule of an agent that is done."""
    chat = BrowserChat(await (await open_context(browser)).new_page(), address)
    await chat.call_me("ana")
    model.say(reply_text("task_complete", {"reason": "All is written."}))
    await chat.new_agent("Clerk", "writes", "Write a file")
    await (await chat.asks("task_complete")).press("Approve")
    await chat.sees("Clerk is done")
    await open_tab(chat.page, "Settings")
    await chat.page.get_by_role("link", name="Schedule").click()
    await expect(chat.page.get_by_role("heading", name="Schedule of Clerk")).to_be_visible()
    yield chat.page


async def tab_to(page: Page, role: str, name: str) -> None:
    """Press Tab until the focus is there."""
    wanted = page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
    for _ in range(MOST_STOPS):
        if await wanted.count() and await wanted.evaluate("each => each === document.activeElement"):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"the focus does not come to {name}")


async def test_a_schedule_is_set_paused_and_resumed_by_keyboard_alone(page: Page) -> None:
    await tab_to(page, "textbox", "When")
    await page.keyboard.type("every weekday at 9")
    await tab_to(page, "textbox", "Time zone")
    await page.keyboard.type("Europe/Vienna")
    await tab_to(page, "button", "Show the times")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status").filter(has_text="Nothing is saved yet.")).to_be_visible()
    await tab_to(page, "button", "Set the schedule")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("At 09:00, Monday through Friday (Europe/Vienna)").first).to_be_visible()
    await tab_to(page, "button", "Pause")
    for label in ("Resume", "Pause", "Resume"):
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name=label, exact=True)).to_be_focused()
    await expect(page.get_by_text("It is paused.")).to_be_visible()
    found = await Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


async def test_what_is_wrong_has_the_focus_and_says_why(page: Page) -> None:
    await tab_to(page, "textbox", "When")
    await page.keyboard.type("now and then")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("textbox", name="When")).to_be_focused()
    await expect(page.locator("#problem-when")).to_contain_text("“now and then” is no time that Signoff knows.")
