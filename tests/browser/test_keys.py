"""Single keys in a real browser: they move between cards and decide, but never on what was not in sight."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, open_context
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
LONG = "\n".join(f"line {number} of a report that takes more than one screen" for number in range(200))
# Presses the key once more as soon as another card has the focus.
AGAIN_ON_FOCUS = """() => {
    window.pressedAgain = false;
    document.addEventListener("focusin", event => {
        event.target.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
        window.pressedAgain = true;
    }, { once: true });
}"""
# Types a text in one go: on a busy machine the letters of a text come later than its pause allows.
TYPE_AT_ONCE = """text => {
    for (const key of text) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""
SETTLED = "() => [...document.querySelectorAll('.acts .go')].every(each => !each.ariaDisabled && isSettled(each, true))"


@pytest_asyncio.fixture(loop_scope="session")
async def ana(browser: Browser, address: str) -> AsyncIterator[BrowserChat]:
    chat = BrowserChat(await (await open_context(browser)).new_page(), address)
    await chat.call_me("ana")
    yield chat


def card(chat: BrowserChat, name: str) -> Locator:
    """A card; the agent that its model leaves without a reply pauses some time later, and is none."""
    return chat.page.get_by_role("article", name=re.compile(rf"{name}(?!.*paused)"))


def row(chat: BrowserChat, name: str) -> Locator:
    """The row of an agent that waits, in the list."""
    return chat.page.locator("#queue a.entry", has_text=re.compile(rf"\b{name}\b"))


def pick(chat: BrowserChat, name: str) -> Locator:
    """The checkbox of such a row."""
    return chat.page.get_by_role("checkbox", name=f"Select {name} ")


async def open_card(chat: BrowserChat, name: str) -> Locator:
    """Open the card of a row, and wait until it takes clicks."""
    await row(chat, name).click()
    await expect(card(chat, name)).to_be_focused()
    await chat.page.wait_for_function(SETTLED)
    return card(chat, name)


async def press(chat: BrowserChat, key: str) -> None:
    """Press a key once all buttons have settled."""
    await chat.page.wait_for_function(SETTLED)
    await chat.page.keyboard.press(key)


async def waiting(chat: BrowserChat, model: ScriptedModel, *names: str) -> None:
    for name in names:
        model.say(writing(f"{name}.md", "one"))
        await chat.new_agent(name, "writes", "Write a file")
        await chat.asks("write_to_file")
    await chat.page.goto(chat.base)


@pytest.mark.proves("page:keys")
async def test_the_list_is_decided_by_keys_alone_and_the_focus_goes_to_the_card_after_it(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob", "Cy")
    await press(ana, "j")
    await expect(card(ana, "Ada")).to_be_focused()
    await press(ana, "j")
    await expect(card(ana, "Bob")).to_be_focused()
    await press(ana, "a")
    await expect(row(ana, "Bob")).to_have_count(0)
    await expect(card(ana, "Cy")).to_be_focused()
    await press(ana, "r")
    await ana.page.keyboard.type("Another name, ?jka")
    await ana.page.keyboard.press("Tab")
    await press(ana, "Enter")
    await expect(row(ana, "Cy")).to_have_count(0)
    await expect(row(ana, "Ada")).to_have_count(1)
    await press(ana, "k")
    await press(ana, "x")
    await expect(ana.page.get_by_role("button", name="Approve 1 selected")).to_be_visible()


@pytest.mark.proves("page:keys")
async def test_a_key_pressed_twice_does_not_approve_the_next_card(
    browser: Browser, address: str, model: ScriptedModel
) -> None:
    ana = BrowserChat(await (await browser.new_context()).new_page(), address)  # with a clock that is not fast
    await ana.call_me("ana")
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "j")
    await ana.page.evaluate(AGAIN_ON_FOCUS)
    await press(ana, "a")
    await ana.page.wait_for_function("() => window.pressedAgain")
    await expect(card(ana, "Bob")).to_be_focused()
    await ana.page.wait_for_function(SETTLED)
    await expect(card(ana, "Bob")).to_have_count(1)
    await press(ana, "a")
    await expect(card(ana, "Bob")).to_have_count(0)


@pytest.mark.proves("page:keys")
async def test_a_key_brings_a_card_that_is_out_of_sight_back_instead_of_approving_it(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(reply_text("write_to_file", {"filename": "report.md", "text": LONG}))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    await ana.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    await ana.page.evaluate("document.getElementById('thread').style.marginTop = '3000px'")
    await press(ana, "a")
    await expect(ana.page.locator("#hint")).to_have_text("This card was out of sight. Read it, then press again.")
    await expect(ana.page.locator(".card.open")).to_have_count(1)


@pytest.mark.proves("page:keys")
async def test_keys_are_letters_while_one_writes_and_can_be_switched_off(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.md", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")
    await ana.page.get_by_label("Reply to Clerk").fill("")
    await ana.page.get_by_label("Reply to Clerk").press("a")
    await expect(ana.page.get_by_label("Reply to Clerk")).to_have_value("a")
    await ana.page.get_by_label("Reply to Clerk").fill("")
    await ana.page.evaluate("document.activeElement.blur()")
    await press(ana, "?")
    await ana.page.get_by_label("Use these keys in this browser").uncheck()
    await ana.page.keyboard.press("Escape")
    await ana.page.evaluate("document.activeElement.blur()")
    await press(ana, "a")
    await press(ana, "e")
    await expect(ana.page.locator(".card.open")).to_have_count(1)
    await expect(ana.page.locator(".pop:popover-open")).to_have_count(0)
    await ana.page.reload()
    await press(ana, "?")
    await ana.page.get_by_label("Use these keys in this browser").check()
    await ana.page.keyboard.press("Escape")
    await ana.page.evaluate("document.activeElement.blur()")
    await press(ana, "e")
    await expect(ana.page.get_by_label("filename")).to_be_visible()


@pytest.mark.proves("page:keys")
@pytest.mark.parametrize("clicks", [1, 2])
async def test_a_reason_typed_after_a_click_on_reject_stands_in_its_field_and_decides_nothing(
    ana: BrowserChat, model: ScriptedModel, clicks: int
) -> None:
    await waiting(ana, model, "Ada", "Bob")
    await ana.page.wait_for_function(SETTLED)
    await card(ana, "Ada").get_by_role("button", name="Reject").first.click(click_count=clicks, delay=40)
    reason = card(ana, "Ada").get_by_label("Reason")
    await expect(reason).to_be_focused()
    await ana.page.keyboard.type("not a good name")
    await expect(reason).to_have_value("not a good name")
    await expect(ana.page.locator("#queue li")).to_have_count(2)


@pytest.mark.proves("page:keys")
async def test_a_text_typed_where_nothing_takes_it_presses_nothing(
    ana: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "j")
    await expect(card(ana, "Ada")).to_be_focused()
    sent.clear()
    await ana.page.evaluate(TYPE_AT_ONCE, "not a good name: xera")
    await expect(ana.page.locator("#queue li")).to_have_count(2)
    await expect(ana.page.locator(":popover-open")).to_have_count(0)
    await expect(ana.page.locator(".pick:checked")).to_have_count(0)
    assert not sent
    await ana.page.keyboard.press("Escape")
    await press(ana, "a")
    await expect(row(ana, "Ada")).to_have_count(0)
    assert len(sent) == 1


@pytest.mark.proves("page:keys")
@pytest.mark.parametrize("sheet", ["Edit", "Approve ×N"])
async def test_what_is_typed_after_a_click_on_a_sheet_presses_no_button_of_the_card(
    ana: BrowserChat, model: ScriptedModel, sheet: str
) -> None:
    await waiting(ana, model, "Ada")
    await ana.page.wait_for_function(SETTLED)
    await card(ana, "Ada").get_by_role("button", name=sheet, exact=True).first.click()
    await expect(ana.page.locator(":popover-open")).to_have_count(1)
    await ana.page.wait_for_function("() => document.activeElement.closest(':popover-open')")
    await ana.page.keyboard.type("a b ")
    await expect(ana.page.locator(":popover-open")).to_have_count(1)
    await expect(ana.page.locator(".card.open")).to_have_count(1)


@pytest.mark.proves("page:keys")
async def test_copying_from_a_card_is_no_text_after_which_keys_do_nothing(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada")
    await press(ana, "j")
    await ana.page.keyboard.press("Control+c")
    await press(ana, "a")
    await expect(card(ana, "Ada")).to_have_count(0)
