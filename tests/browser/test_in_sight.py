"""What a decision needs is in sight without scrolling, on a desk and on a phone, whatever the card contains."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, is_seen, open_context
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
DESK, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)
LONG = "\n".join(f"line {number} of a report that takes more than one screen" for number in range(200))
IS_IN_SIGHT = """selector => {
    const found = [...document.querySelectorAll(selector)].map(each => each.getBoundingClientRect());
    const ends = Math.min(innerHeight, document.querySelector("form.reply").getBoundingClientRect().top);
    return found.length > 0 && found.every(({ top, bottom }) => top >= 0 && bottom <= ends);
}"""
ARE_ONE_ROW = "all => new Set(all.map(each => each.offsetTop + each.offsetHeight / 2)).size === 1"
OPEN, ROOM_PX = ".card.open", 180


@pytest_asyncio.fixture(loop_scope="session", params=[DESK, PHONE], ids=["desk", "phone"])
async def ana(browser: Browser, address: str, request: pytest.FixtureRequest) -> AsyncIterator[BrowserChat]:
    chat = BrowserChat(await (await open_context(browser, viewport=request.param)).new_page(), address)
    await chat.page.goto(address)
    yield chat


async def is_in_sight(page: Page, selector: str) -> None:
    """Wait until the element is whole between the top of the screen and the reply box, and nothing covers it."""
    await page.wait_for_function(IS_IN_SIGHT, arg=selector, timeout=1000 * PATIENCE_SECONDS)
    assert await is_seen(page.locator(selector).first)


async def test_turn_command_risk_and_buttons_stay_in_sight_wherever_one_reads_in_a_long_card(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("report.md", LONG))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    for share in (0, 0.3, 0.6, 1):
        card = f"document.querySelector('{OPEN}')"
        await ana.page.evaluate(f"scrollTo(0, {card}.offsetTop + {share} * ({card}.offsetHeight - innerHeight))")
        await is_in_sight(ana.page, f"{OPEN} .acts .go")
        await is_in_sight(ana.page, "#top .stop")
        if share:
            await is_in_sight(ana.page, f"{OPEN} .head h2")
            await is_in_sight(ana.page, f"{OPEN} .head .class")
    assert await ana.page.locator(f"{OPEN} .below > .acts > :is(button, .split)").evaluate_all(ARE_ONE_ROW)
    await ana.page.evaluate("scrollTo(0, 0)")
    await (more := ana.page.get_by_role("link", name="More below ↓")).click()
    await expect(more).to_be_hidden()


async def test_a_new_proposal_and_its_buttons_are_in_sight_without_scrolling(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(*(writing(f"{number}.md", LONG) for number in range(3)))
    await ana.new_agent("Clerk", "writes", "Write a report")
    for _ in range(3):
        card = await ana.asks("write_to_file")
        await is_in_sight(ana.page, f"{OPEN} .acts .go")
        await is_in_sight(ana.page, f"{OPEN} .head h2")
        await card.press("Approve")


async def test_a_reopened_thread_shows_the_open_card_from_its_head_and_the_first_approve_counts(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.md", LONG), "Because.", reply_text("do_nothing"))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    await ana.says("!ask Why this?")
    await ana.sees("Because.")
    await ana.page.reload()
    await is_in_sight(ana.page, f"{OPEN} .head h2")
    await ana.page.get_by_role("button", name="Approve", exact=True).click()
    await expect(ana.page.locator(f"{OPEN} h2")).to_have_text("Wait")


async def test_navigation_stays_in_sight_and_leads_on_with_two_clicks(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(writing("a.md", LONG), reply_text("do_nothing"))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    await ana.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    await ana.open_menu()
    channel = ana.page.get_by_role("navigation").get_by_role("link", name="general")
    await expect(channel).to_be_in_viewport()
    await channel.click()
    await expect(ana.page.get_by_role("heading", name="# general")).to_be_visible()


async def test_the_menu_of_a_phone_stays_open_while_the_page_changes(
    browser: Browser, address: str, model: ScriptedModel
) -> None:
    chat = BrowserChat(await (await open_context(browser, viewport=PHONE)).new_page(), address)
    await chat.page.goto(address)
    await chat.new_agent("Clerk", "writes", "Write a report")
    await chat.open_menu()
    model.say(writing("a.md", "one"))
    await expect(chat.page.locator("#rail .sign.awaiting")).to_be_visible()
    await expect(chat.page.locator("#find")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await expect(chat.page.locator("#find")).to_be_hidden()


async def test_a_proposal_that_comes_with_the_answer_to_a_click_is_in_sight_too(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(*(writing(f"{number}.md", LONG) for number in range(2)))
    await ana.new_agent("Clerk", "writes", "Write a report")
    card = await ana.asks("write_to_file")
    await is_in_sight(ana.page, f"{OPEN} .acts .go")
    thread = ana.page.url

    async def answer_late(route: Route) -> None:
        """Let the click take effect, and answer it with the page on which the next proposal stands."""
        await route.fetch()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "turn 2 ·" not in (page := await (await ana.page.request.get(thread)).text()):
                continue
        await route.fulfill(body=page, content_type="text/html")

    await ana.page.evaluate("refresh = () => {}")  # only the answer to the click updates the page
    await ana.page.route("**/press", answer_late)
    await card.press("Approve")
    await expect(ana.page.locator(OPEN)).to_contain_text("1.md")
    await is_in_sight(ana.page, f"{OPEN} .acts .go")
    share = await ana.page.evaluate(f"document.querySelector('{OPEN}').getBoundingClientRect().top / innerHeight")
    assert share < 0.15, "the page shows the new card from its beginning, not the folded one before it"


@pytest.mark.proves("page:keys-in-sight")
async def test_a_key_approves_nothing_that_was_scrolled_away_and_brings_it_back(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    texts = ("\n".join(f"{letter}{row} {letter}of{row}" for row in range(100)) for letter in "abcdefg")
    model.say(*(writing(f"{number}.md", text) for number, text in enumerate(texts)), reply_text("do_nothing"))
    await ana.keep_finished_turns_open()
    await ana.new_agent("Clerk", "writes", "Write a report")
    for _ in range(6):
        await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("write_to_file")
    approve = ana.page.locator(f"{OPEN} .acts .go")
    await approve.focus()
    await ana.page.evaluate("scrollTo(0, 0)")
    await ana.page.wait_for_function("selector => !(" + IS_IN_SIGHT + ")(selector)", arg=f"{OPEN} .head h2")
    await ana.page.keyboard.press("Enter")
    await expect(ana.page.locator("#hint")).to_have_text("This card was out of sight. Read it, then press again.")
    await is_in_sight(ana.page, f"{OPEN} .head h2")
    await expect(ana.page.locator(OPEN)).to_contain_text("6.md")
    await approve.focus()
    await ana.page.keyboard.press("Enter")
    await ana.asks("do_nothing")


async def test_a_reply_has_room_at_every_width_and_heads_of_other_pages_are_whole(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.md", "one"))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    for width in (360, 901, 960, 1100):
        await ana.page.set_viewport_size(ViewportSize(width=width, height=740))
        box = await ana.page.locator("#reply").bounding_box()
        assert box
        assert box["width"] >= ROOM_PX
    await ana.page.set_viewport_size(PHONE)
    await ana.page.get_by_role("button", name="More").click()
    await ana.page.get_by_role("link", name="Always allow").click()
    await expect(ana.page.get_by_role("heading", name="Standing rules")).to_be_visible()
    assert await ana.page.locator("#hint").text_content() == "", "the card still asks"
    assert await ana.page.locator("main h1").evaluate("each => each.scrollWidth <= each.clientWidth")
