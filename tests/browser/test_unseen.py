"""What was not in sight is not approved: neither by a key, nor by a line, nor by a click beside it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, is_seen, open_context
from tests.browser.test_needs_approval import ask, card, cards
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
OUT_OF_SIGHT = """id => {
    const { top, bottom } = document.getElementById(id).getBoundingClientRect();
    return bottom <= 0 || top >= innerHeight;
}"""

# Room below the card, so that it can be scrolled off the screen.
ROOM_BELOW = "document.querySelector('.pane').style.paddingBottom = '3000px'"
DESK, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)
LOW = ViewportSize(width=910, height=512)


@pytest_asyncio.fixture(loop_scope="session")
async def ana(browser: Browser, address: str) -> AsyncIterator[BrowserChat]:
    context = await open_context(browser, viewport=ViewportSize(width=1000, height=420))
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me("ana")
    yield chat


async def scroll_away(page: Page, identity: str) -> None:
    """Scroll by the wheel, as a reader does, until the card cannot be seen."""
    await page.evaluate(ROOM_BELOW)
    await page.mouse.move(800, 200)
    for _ in range(40):
        if await page.evaluate(OUT_OF_SIGHT, identity):
            return
        await page.mouse.wheel(0, 200)
        await page.evaluate("() => new Promise(requestAnimationFrame)")
    raise AssertionError("the card stays in sight")


@pytest.mark.proves("page:keys-in-sight")
async def test_keys_in_the_sheet_of_a_card_out_of_sight_approve_nothing(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy", "Dan")
    await expect(cards(ana)).to_have_count(4)
    ada = await card(ana, "Ada")
    identity = await ada.article.get_attribute("id") or ""
    await ada.article.get_by_role("button", name="Approve ×N").focus()
    await scroll_away(ana.page, identity)
    await ana.page.keyboard.press("Enter")
    await expect(ana.page.locator("[popover]:popover-open")).to_be_focused()
    await ana.page.get_by_role("button", name="Approve ×3").focus()
    await expect(ana.page.locator("button:focus")).to_be_enabled()
    assert await ana.page.evaluate(OUT_OF_SIGHT, identity)
    await ana.page.keyboard.press("Enter")
    await ana.page.evaluate("refresh()")
    await expect(cards(ana)).to_have_count(4, timeout=3000)


@pytest.mark.proves("page:keys-in-sight")
async def test_a_line_approves_no_proposal_that_came_out_of_sight(ana: BrowserChat, model: ScriptedModel) -> None:
    for number, letter in enumerate("abcd"):
        model.say(writing(f"{number}.md", "\n".join(f"{letter}{row} {letter}of{row}" for row in range(60))))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.keep_finished_turns_open()
    await ana.page.go_back()
    for _ in range(3):
        await (await ana.asks("write_to_file")).press("Approve")
    shown = await ana.asks("write_to_file")
    await ana.page.evaluate("scrollTo(0, 0)")
    await ana.page.wait_for_function(OUT_OF_SIGHT, arg=await shown.article.get_attribute("id"))
    other = BrowserChat(await ana.page.context.new_page(), ana.base)
    model.say(reply_text("write_to_file", {"filename": "secret.md", "text": "never seen"}))
    await other.page.goto(ana.page.url)
    await (await other.asks("write_to_file")).press("Approve")
    late = ana.page.get_by_role("article", name="secret").or_(ana.page.locator(".card.open", has_text="secret.md"))
    await expect(late).to_be_attached()
    identity = await late.get_attribute("id")
    assert await ana.page.evaluate(OUT_OF_SIGHT, identity)
    box = ana.page.get_by_label("Reply to")
    await box.focus()
    assert await ana.page.evaluate(OUT_OF_SIGHT, identity)
    await ana.page.keyboard.type("!approve")
    assert await ana.page.evaluate(OUT_OF_SIGHT, identity)
    await ana.page.keyboard.press("Enter")
    await ana.page.evaluate("refresh()")
    await expect(ana.page.locator(f"[id='{identity}']")).to_have_class("card open")


@pytest.mark.proves("page:keys-in-sight")
async def test_a_key_approves_no_card_of_which_only_the_last_pixels_are_left(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy", "Dan")
    await expect(cards(ana)).to_have_count(4)
    ada = await card(ana, "Ada")
    identity = await ada.article.get_attribute("id") or ""
    await ada.article.locator(".preview pre").scroll_into_view_if_needed()
    await ana.page.wait_for_function("id => read.has(document.getElementById(id).dataset.hash)", arg=identity)
    await ada.article.get_by_role("button", name="Approve", exact=True).focus()
    await ana.page.evaluate(ROOM_BELOW)
    await ana.page.evaluate(
        "id => scrollBy(0, document.getElementById(id).getBoundingClientRect().bottom - 30)", identity
    )
    await ana.page.wait_for_function(
        "id => document.getElementById(id).getBoundingClientRect().bottom < 35", arg=identity
    )
    await ana.page.keyboard.press("Enter")
    await ana.page.evaluate("refresh()")
    await expect(cards(ana)).to_have_count(4, timeout=3000)
    await expect(ana.page.locator("#hint")).to_have_text("This card was out of sight. Read it, then press again.")


async def click_where_it_is(page: Page, button: Locator) -> None:
    """Click as a hand does: at a place on the screen, without scrolling there."""
    box = await button.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 20, box["y"] + 12)
    await page.wait_for_function("() => performance.now() > 1000 * 800")  # the clock of tests is fast: 0.8 s
    await page.mouse.click(box["x"] + 20, box["y"] + 12)


# Scrolls until a change is at a place, from the top or the bottom of the screen, as if it had come from there.
SCROLL = """(change, at) => {
    scrollBy(0, change.getBoundingClientRect().top - (at < 0 ? innerHeight : 0) - at);
    read.clear();
    return new Promise(requestAnimationFrame);
}"""


async def with_long_thoughts(chat: BrowserChat, model: ScriptedModel) -> Locator:
    """The change of a card that is taller than the screen."""
    long = "\n".join(f"thought {number}" for number in range(60))
    model.say(reply_text("write_to_file", {"filename": "a.md", "text": "one\n"}, text=long), reply_text("do_nothing"))
    await chat.new_agent("Clerk", "writes", "Write a report")
    await chat.asks("write_to_file")
    await chat.page.evaluate("document.querySelector('main').style.paddingBottom = '3000px'")
    return chat.page.locator(".card.open .preview .add").first


@pytest.mark.proves("page:unseen")
@pytest.mark.parametrize(("screen", "at"), [(DESK, 70), (DESK, -100), (LOW, -100), (PHONE, 100), (PHONE, -60)])
async def test_a_change_behind_the_head_or_the_buttons_is_shown_before_it_is_approved(
    browser: Browser, address: str, model: ScriptedModel, screen: ViewportSize, at: int
) -> None:
    chat = BrowserChat(await (await open_context(browser, viewport=screen)).new_page(), address)
    change = await with_long_thoughts(chat, model)
    approve = chat.page.locator(".card.open .acts .go")
    await chat.page.get_by_label("Reply to").fill("a line\n" * 12)
    await change.evaluate(SCROLL, at)
    await expect(approve).to_be_in_viewport()
    assert not await is_seen(change)
    await click_where_it_is(chat.page, approve)
    await expect(chat.page.locator("#hint")).to_contain_text("not on the screen")
    assert await is_seen(change)
    await click_where_it_is(chat.page, approve)
    await expect(chat.page.get_by_role("article", name="do_nothing")).to_be_visible()


@pytest.mark.proves("page:unseen")
async def test_what_was_not_on_the_screen_does_not_run_from_the_sheet_of_edit_either(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    change = await with_long_thoughts(ana, model)
    await ana.page.evaluate("scrollTo(0, 0); read.clear()")
    await ana.page.keyboard.press("e")
    await expect(ana.page.locator("[popover]:popover-open textarea").last).to_be_focused()
    await ana.page.keyboard.press("Control+Enter")
    await expect(ana.page.locator("#hint")).to_contain_text("not on the screen")
    assert await is_seen(change)
    await expect(ana.page.locator(".card.open")).to_have_count(1)


@pytest.mark.proves("page:unseen")
async def test_what_a_page_passes_while_it_loads_is_not_read(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(writing("a.md", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")
    await ana.says("a line of a note\n" * 100)
    await expect(ana.page.get_by_label("Reply to")).to_be_empty()
    await ana.page.goto(f"{ana.page.url.partition('#')[0]}?#present")
    await ana.page.wait_for_function("noteRead.isOn")
    assert await ana.page.evaluate("scrollY > 0 && read.size === 0")


@pytest.mark.proves("page:unseen")
async def test_a_box_of_an_open_card_leads_to_its_command_and_then_selects_it(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await with_long_thoughts(ana, model)
    await ana.page.goto(ana.base)
    pick, add = ana.page.get_by_role("checkbox"), ana.page.locator(".card.open .preview .add")
    await pick.first.press("Space")
    assert await is_seen(add)
    await expect(pick.first).not_to_be_checked()
    await pick.first.press("Space")
    await expect(pick.first).to_be_checked()


async def test_a_command_without_arguments_is_read_once_its_title_was_on_the_screen(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy")
    model.say(reply_text("do_nothing"))
    await ana.new_agent("Dan", "waits", "Wait")
    await ana.asks("do_nothing")
    await ana.page.goto(ana.base)
    pick = ana.page.get_by_role("checkbox", name="Select Dan ")
    await ana.page.wait_for_function("() => read.size > 0")
    assert not await pick.evaluate("each => read.has(each.value.split(' ').pop())")
    dan = (await card(ana, "Dan")).article
    identity = await dan.get_attribute("id")
    await ana.page.wait_for_function("id => read.has(document.getElementById(id).dataset.hash)", arg=identity)
