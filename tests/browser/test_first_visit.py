"""What a first-time user meets on the page: a deleted agent in another tab, a phone, the keyboard, a list of files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, ViewportSize, expect

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.testing.language_model import ScriptedModel
from bot.commands import link_file
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, is_seen, open_context, open_tab
from tests.scenario.served import served

pytestmark = IN_A_BROWSER
PHONE, DESK = ViewportSize(width=360, height=740), ViewportSize(width=1280, height=800)
TUTORIAL = (
    'Write "Stand-up at 9:30" to notes.md',
    'Append the line "Ben brings cake" to notes.md',
    "Read notes.md",
)


@pytest_asyncio.fixture(loop_scope="session")
async def demo(tmp_path: Path) -> AsyncIterator[str]:
    """A served workspace in demo mode."""
    async with served(RehearsalModel(), tmp_path) as base:
        yield base


async def visit(browser: Browser, demo: str, screen: ViewportSize) -> BrowserChat:
    """A new person's browser."""
    chat = BrowserChat(await (await open_context(browser, viewport=screen)).new_page(), demo)
    await chat.page.goto(demo)
    return chat


async def test_a_page_of_an_agent_that_was_deleted_elsewhere_says_so_and_asks_no_more(
    browser: Browser, demo: str
) -> None:
    ana, ben = await visit(browser, demo, DESK), await visit(browser, demo, DESK)
    await ana.new_agent("Clerk", "keeps the notes of our team", *TUTORIAL)
    await ana.asks("write_to_file")
    await ben.page.goto(ana.page.url)
    await ben.asks("write_to_file")
    await open_tab(ana.page, "Settings")
    await ana.page.locator("details.danger summary").click()
    await ana.page.locator("#confirm").fill("Clerk")
    await ana.page.get_by_role("button", name="Delete").click()
    await expect(ana.page.get_by_text("Clerk was deleted by")).to_be_visible()
    await ben.page.evaluate("refresh()")
    await expect(ben.page.get_by_text("deleted").first).to_be_visible()
    await expect(ben.page.locator(".card.open .acts .go")).to_have_count(0)


async def test_the_link_that_skips_to_the_content_can_be_seen_on_a_phone(browser: Browser, demo: str) -> None:
    chat = await visit(browser, demo, PHONE)
    await chat.page.keyboard.press("Tab")
    skip = chat.page.locator("a.skip")
    await expect(skip).to_be_focused()
    assert await is_seen(skip), "the bar lies over it"


async def test_a_filled_in_agent_can_be_created_without_scrolling(browser: Browser, demo: str) -> None:
    chat = await visit(browser, demo, DESK)
    await chat.page.goto(f"{demo}/c/web/local/general/new")
    await chat.page.get_by_role("link", name="Weekly report from files").click()
    await expect(chat.page.get_by_label("Name", exact=True)).to_have_value("Weekly reporter")
    await expect(chat.page.get_by_role("button", name="Create")).to_be_in_viewport()


async def test_links_to_several_files_are_large_enough_for_a_finger(browser: Browser, demo: str) -> None:
    chat = await visit(browser, demo, DESK)
    await chat.page.get_by_role("button", name="Take the tour").click()
    await chat.asks("list_files")
    await chat.page.get_by_role("radio", name="Files").check()
    await expect(chat.page.locator("[data-tab=files] .files a")).to_have_count(6)  # a page and a download for each
    found = await Axe().run(chat.page, options={"runOnly": ["target-size"]})
    assert not found.response["violations"], found.generate_report()


@pytest.mark.proves("page:key")
async def test_the_file_that_opens_the_page_leads_back_to_the_same_person(
    context: BrowserContext, tmp_path: Path
) -> None:
    key = "5ca1ab1e" * 4
    async with served(ScriptedModel(waits=True), tmp_path, key=key) as plain:
        file = link_file(f"{plain.replace('://', f'://signoff:{key}@')}/enter", tmp_path).as_uri()
        page, names = await context.new_page(), list[str]()
        for _ in range(2):
            await page.goto(file)
            await page.wait_for_url(f"{plain}/**")
            names.append(await page.locator("#me").input_value())
        assert names[0] == names[1] != ""
