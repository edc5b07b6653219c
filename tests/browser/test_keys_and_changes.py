"""Keys while the page changes: the only card that asks becomes another one, selected cards go."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from agent_core.model.model_calls import Message, Reply
from agent_core.ports.models import CallOptions
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat
from tests.browser.test_keys import SETTLED, card, open_card, pick, press, row, waiting
from tests.browser.two_people import (
    TEXT_IS_OVER,
    asking,
    decide,
    expect_nothing_done,
    hint,
    press_when_lost,
    sent_by,
    start_one_turn,
    visit,
)
from tests.scenario.chat import writing
from tests.scenario.served import served
from tests.scenario.tools import ModelOfEach, Tools

pytestmark = IN_A_BROWSER
# Presses a key as soon as the focus moves to another card.
PRESS_ON_FOCUS = """key => document.addEventListener("focusin", event => {
    event.target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    window.pressedOnFocus = true;
}, { once: true })"""


class SilentAtTheEnd(ModelOfEach):
    """Answers no more when it has said all."""

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        try:
            return await super().complete(messages, options)
        except IndexError:
            await asyncio.Event().wait()
            raise


async def reach_second_turn(ana: BrowserChat, model: ScriptedModel) -> None:
    """Let Ana approve the first turn by a key, without a card in focus before."""
    await start_one_turn(ana, model)
    await ana.page.mouse.click(5, 5)
    model.say(writing("two.md", "two"))
    await press(ana, "a")
    await expect(asking(ana, "two.md")).to_have_count(1)
    await ana.page.wait_for_function(SETTLED)


@pytest.mark.proves("page:settles")
async def test_a_key_for_the_only_card_that_somebody_decided_does_not_approve_the_next_turn(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await reach_second_turn(ana, model)
    sent.clear()
    model.say(writing("three.md", "three"))
    await press_when_lost(ana, "a")
    await decide(ben, "Ada")
    await expect_nothing_done(ana, sent)
    await expect(asking(ana, "three.md")).to_have_count(1)
    await ana.page.wait_for_function(SETTLED)
    await ana.page.wait_for_function(TEXT_IS_OVER)
    await ana.page.keyboard.press("a")
    await expect(asking(ana, "three.md")).to_have_count(0)


async def test_a_key_does_not_approve_another_card_while_one_looks_at_a_finished_one(
    ana: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await reach_second_turn(ana, model)
    sent.clear()
    for _ in range(3):
        await press(ana, "k")
    await press(ana, "a")
    await expect(hint(ana)).to_have_text("There is no Approve on this card.")
    assert sent == []


@pytest.mark.parametrize("turned", ["to it", "to none"])
async def test_a_second_press_does_not_approve_the_card_of_a_helper(
    browser: Browser, tmp_path: Path, turned: str
) -> None:
    start = reply_text("start_agent", {"name": "Finder", "task": "Find it"})
    model = SilentAtTheEnd(Clerk=(start, writing("clerk.md", "one")), Finder=(writing("finder.md", "one"),))
    async with served(model, tmp_path, prepared=Tools().register) as address:
        ana = await visit(browser, address, "ana", height=2000)
        await ana.new_agent("Clerk", "writes", "Write a report")
        await (await ana.asks("start_agent")).press("Approve")
        for name in ("finder.md", "clerk.md"):
            await expect(asking(ana, name)).to_have_count(1)
        ben = await visit(browser, address, "ben", height=2000)
        await ben.page.goto(ana.page.url)
        for chat in (ana, ben):
            await chat.page.wait_for_function(SETTLED)
        await ana.page.mouse.click(5, 5)
        if turned == "to it":
            await asking(ana, "clerk.md").evaluate("card => { card.tabIndex = -1; card.focus(); }")
        sent = sent_by(ana)
        await press_when_lost(ana, "a")
        await asking(ben, "clerk.md").locator(".acts .go").first.click()
        await expect_nothing_done(ana, sent)


async def test_a_key_does_not_approve_a_card_while_one_looks_at_several_that_ran(
    ana: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    for number in range(11):
        model.say(writing(f"{number}.md", "one"))
    await ana.new_agent("Ada", "writes", "Write files")
    await (await ana.asks("write_to_file")).press("Approve ×10")
    await expect(asking(ana, "10.md")).to_have_count(1)
    await ana.page.mouse.click(5, 5)
    for _ in range(3):
        await press(ana, "k")
    await expect(ana.page.locator("#thread > .run > summary")).to_be_focused()
    sent.clear()
    await press(ana, "a")
    await expect(hint(ana)).not_to_be_empty()
    assert sent == []


async def test_the_keys_go_on_beside_a_card_whose_neighbour_was_drawn_again(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob", "Cy", "Dan")
    for name in ("Ada", "Bob", "Cy"):
        await press(ana, "j")
        await expect(card(ana, name)).to_be_focused()
    await decide(ben, "Cy")
    await expect(row(ana, "Cy")).to_have_count(0)
    await ana.page.wait_for_function("() => lostAt > 0")  # its line stands for five seconds
    await open_card(ben, "Bob")
    await ben.page.locator("#top").get_by_role("link", name="Bob").click()
    await ben.says("!budget 5")
    await ben.sees("of $5.00")
    await press(ana, "j")
    await expect(card(ana, "Dan")).to_be_focused()
    await press(ana, "k")
    await expect(card(ana, "Bob")).to_be_focused()


@pytest.mark.proves("page:keys")
async def test_cards_are_selected_and_approved_by_keys_and_one_that_others_decide_is_told(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob", "Cy", "Dan")
    for name in ("Ada", "Bob", "Cy"):
        await press(ana, "j")
        await expect(card(ana, name)).to_be_focused()
        await press(ana, "x")
        await expect(pick(ana, name)).to_be_checked()
    await decide(ben, "Ada")
    await expect(row(ana, "Ada")).to_have_count(0)
    await expect(ana.page.get_by_role("button", name="Approve 2 selected")).to_be_visible()
    await press(ana, "a")
    await expect(hint(ana)).to_contain_text("Enter approves the 2 selected cards.")
    await press(ana, "Enter")
    for name in ("Bob", "Cy"):
        await expect(row(ana, name)).to_have_count(0)
    await expect(row(ana, "Dan")).to_have_count(1)


async def test_the_first_refresh_draws_nothing_again_that_is_as_it_was(ana: BrowserChat, model: ScriptedModel) -> None:
    await waiting(ana, model, "Ada")
    await ana.page.evaluate("for (const each of document.querySelectorAll('#page *')) each.wasHere = true")
    await ana.page.evaluate("refresh()")
    assert await ana.page.evaluate("[...document.querySelectorAll('#page *')].every(each => each.wasHere)")


async def test_the_button_of_the_selected_approves_at_the_first_press(ana: BrowserChat, model: ScriptedModel) -> None:
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "j")
    await press(ana, "x")
    await ana.page.wait_for_function("() => isSettled(document.getElementById('approve-selected'), true)")
    await ana.page.get_by_role("button", name="Approve 1 selected").click()
    await expect(row(ana, "Ada")).to_have_count(0)


async def test_ctrl_enter_sends_a_reason(ana: BrowserChat, model: ScriptedModel) -> None:
    await waiting(ana, model, "Ada")
    await press(ana, "j")
    await press(ana, "r")
    await ana.page.keyboard.type("Another name")
    await ana.page.wait_for_function("() => isSettled(document.querySelector(':popover-open .stop'))")
    await ana.page.keyboard.press("Control+Enter")
    await expect(card(ana, "Ada")).to_have_count(0)


async def test_what_is_written_beside_the_list_stays_when_the_navigation_changes(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    await ana.page.goto(ana.base)
    await ana.page.get_by_role("button", name="Open or make a channel").click()
    field = ana.page.get_by_label("Name of the channel")
    await field.fill("research")
    await waiting(ben, model, "Zed")
    await expect(card(ana, "Zed")).to_have_count(1)
    await expect(field).to_have_value("research")
