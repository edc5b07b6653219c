"""A single key decides on the card that the person means, also when somebody else decides at the same time."""

import pytest
from playwright.async_api import expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat
from tests.browser.test_keys import SETTLED, card, pick, press, row, waiting
from tests.browser.two_people import TEXT_IS_OVER, decide, expect_nothing_done, press_when_lost, start_one_turn
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER


async def look_at_ada(ana: BrowserChat, model: ScriptedModel, sent: list[str]) -> None:
    """Put the focus on Ada's card, the first of two in the list."""
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "j")
    await expect(card(ana, "Ada")).to_be_focused()
    await ana.page.wait_for_function(SETTLED)
    sent.clear()


@pytest.mark.proves("page:settles")
async def test_a_key_for_a_card_that_somebody_decided_approves_no_other(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await look_at_ada(ana, model, sent)
    await decide(ben, "Ada")
    await expect(card(ana, "Ada")).to_have_count(0)
    await ana.page.keyboard.press("a")
    await press(ana, "a")
    await ana.page.reload()
    await expect(card(ana, "Bob")).to_have_count(1)
    assert sent == []


@pytest.mark.proves("page:keys")
async def test_the_keys_go_on_beside_the_card_that_somebody_decided(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob", "Cy", "Dan")
    for _ in range(2):
        await press(ana, "j")
    await expect(card(ana, "Bob")).to_be_focused()
    await decide(ben, "Bob")
    await expect(row(ana, "Bob")).to_have_count(0)
    await expect(card(ana, "Cy")).to_have_count(1)
    await press(ana, "k")
    await expect(card(ana, "Ada")).to_be_focused()
    await press(ana, "j")
    await expect(card(ana, "Cy")).to_be_focused()
    await decide(ben, "Cy")
    await expect(row(ana, "Cy")).to_have_count(0)
    await decide(ben, "Ada")
    await expect(row(ana, "Ada")).to_have_count(0)
    await press(ana, "j")
    await expect(card(ana, "Dan")).to_be_focused()


async def test_a_decision_goes_on_to_the_first_card_that_others_left(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob", "Cy", "Dan")
    for name in ("Ada", "Bob"):
        await press(ana, "j")
        await expect(card(ana, name)).to_be_focused()
    await press(ana, "r")
    await ana.page.keyboard.type("Not now")
    await decide(ben, "Cy")
    await expect(row(ana, "Cy")).to_have_count(0)
    await ana.page.keyboard.press("Tab")
    await press(ana, "Enter")
    await expect(row(ana, "Bob")).to_have_count(0)
    await expect(card(ana, "Dan")).to_be_focused()


async def test_a_refusal_in_a_list_names_the_card(ana: BrowserChat, ben: BrowserChat, model: ScriptedModel) -> None:
    await waiting(ana, model, "Ada", "Bob")
    await ana.page.evaluate("refresh = async () => {}")  # a page that has not heard of it yet
    await press(ana, "j")
    await decide(ben, "Ada")
    await press(ana, "a")
    await expect(ana.page.locator("#alert")).to_contain_text("“Ada”: already approved by @ben, ")


@pytest.mark.proves("page:keys")
async def test_a_key_that_does_nothing_says_why(ana: BrowserChat, model: ScriptedModel) -> None:
    hint = ana.page.locator("#hint")
    await ana.page.keyboard.press("a")
    await expect(hint).to_have_text("No card here asks for your approval.")
    await ana.page.keyboard.press("j")
    await expect(hint).to_have_text("There is no card here.")
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "a")
    await expect(hint).to_have_text("Which card? Press j or k to go to one.")
    await press(ana, "j")
    await ana.page.keyboard.press("q")
    await ana.page.keyboard.press("a")
    await expect(hint).to_have_text("Nothing was done. After typed text keys rest for a second.")
    await ana.page.wait_for_function(TEXT_IS_OVER)
    await press(ana, "a")
    await expect(card(ana, "Bob")).to_be_focused()


async def test_a_key_without_a_focus_decides_nothing_in_a_list(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await look_at_ada(ana, model, sent)
    await ana.page.mouse.click(5, 5)
    await press(ana, "a")
    await decide(ben, "Ada")
    await expect(card(ana, "Ada")).to_have_count(0)
    await press(ana, "a")
    assert sent == []


async def test_a_reason_for_a_card_of_a_list_that_somebody_decided_approves_no_other(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await look_at_ada(ana, model, sent)
    await press(ana, "r")
    await expect(card(ana, "Ada").get_by_label("Reason")).to_be_focused()
    await decide(ben, "Ada")
    await expect(card(ana, "Ada")).to_have_count(0)
    await ana.page.wait_for_function(TEXT_IS_OVER)
    await ana.page.keyboard.type("a bad name")
    assert sent == []


async def test_a_key_for_a_turn_in_focus_that_somebody_decided_does_not_approve_the_next_turn(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await start_one_turn(ana, model)
    await ana.page.mouse.click(5, 5)
    await press(ana, "j")
    sent.clear()
    model.say(writing("two.md", "two"))
    await press_when_lost(ana, "a")
    await decide(ben, "Ada")
    await expect_nothing_done(ana, sent)
    await ana.page.wait_for_function(TEXT_IS_OVER)
    await press(ana, "j")
    await press(ana, "a")
    await expect(ana.page.locator("article.card.open", has_text="two.md")).to_have_count(0)


async def test_a_thread_is_decided_by_one_key_turn_after_turn(ana: BrowserChat, model: ScriptedModel) -> None:
    await start_one_turn(ana, model)
    await ana.page.mouse.click(5, 5)
    for name, following in (("one.md", "two.md"), ("two.md", "three.md"), ("three.md", "four.md")):
        model.say(writing(following, "more"))
        await press(ana, "a")
        await expect(ana.page.locator("article.card.open", has_text=name)).to_have_count(0)
        await expect(ana.page.locator("article.card.open", has_text=following)).to_have_count(1)


async def test_enter_on_a_checkbox_of_the_list_decides_nothing(
    ana: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await look_at_ada(ana, model, sent)
    await press(ana, "x")
    await pick(ana, "Bob").focus()
    await ana.page.keyboard.press("Enter")
    assert sent == []
