"""Keys while what one did has not been answered yet."""

import asyncio

from playwright.async_api import Route, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat
from tests.browser.test_keys import SETTLED, card, press, row, waiting
from tests.browser.two_people import asking, decide, expect_nothing_done, hint, press_when_lost, start_one_turn
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER


async def hold_answers(chat: BrowserChat, path: str) -> asyncio.Event:
    """Keep the answers to what the page posts there until the event is set."""
    released = asyncio.Event()

    async def answer(route: Route) -> None:
        response = await route.fetch()
        await released.wait()
        await route.fulfill(response=response)

    await chat.page.route(path, answer)
    return released


async def test_a_late_answer_to_a_line_takes_back_neither_the_page_nor_what_one_turned_to(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await start_one_turn(ana, model)
    released = await hold_answers(ana, "**/say")
    await ana.page.locator("#reply").fill("!help")
    await ana.page.keyboard.press("Enter")
    await ana.page.mouse.click(5, 5)
    await press(ana, "j")
    model.say(writing("two.md", "two"))
    sent.clear()
    await press_when_lost(ana, "a")
    await decide(ben, "Ada")
    await expect_nothing_done(ana, sent)
    await expect(asking(ana, "two.md")).to_have_count(1)
    released.set()
    await expect(ana.page.locator("#told > *")).not_to_have_count(0)
    await expect(ana.page.locator("article.card.open")).to_have_count(1)


async def test_a_second_opinion_is_no_decision(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    await start_one_turn(ana, model)
    released = await hold_answers(ana, "**/press")
    model.say("It looks fine.")
    await ana.page.wait_for_function(SETTLED)
    await card(ana, "Ada").get_by_role("button", name="More", exact=True).click()
    await card(ana, "Ada").get_by_role("button", name="Review").click()
    await expect(card(ana, "Ada").get_by_text("It looks fine.")).to_be_visible()
    await ana.page.mouse.click(5, 5)
    model.say(writing("two.md", "two"))
    sent.clear()
    await press_when_lost(ana, "a")
    await decide(ben, "Ada")
    await expect_nothing_done(ana, sent)
    released.set()


async def test_an_own_line_that_approves_does_not_hold_the_next_key_back(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await start_one_turn(ana, model)
    released = await hold_answers(ana, "**/say")
    model.say(writing("two.md", "two"))
    await ana.page.wait_for_function(SETTLED)
    await ana.page.locator("#reply").fill("!approve")
    await ana.page.keyboard.press("Enter")
    await ana.page.mouse.click(5, 5)
    await expect(asking(ana, "two.md")).to_have_count(1)
    released.set()
    await press(ana, "a")
    await expect(asking(ana, "two.md")).to_have_count(0)


async def test_an_answer_that_comes_late_leaves_what_was_told_since(ana: BrowserChat, model: ScriptedModel) -> None:
    await start_one_turn(ana, model)
    released = await hold_answers(ana, "**/press")
    model.say(writing("two.md", "two"))
    await ana.page.mouse.click(5, 5)
    await press(ana, "a")
    await expect(asking(ana, "two.md")).to_have_count(1)
    await ana.page.locator("#reply").fill("!help")
    await ana.page.keyboard.press("Enter")
    await expect(ana.page.locator("#told > *")).not_to_have_count(0)
    async with ana.page.expect_response("**/press"):
        released.set()
    await expect(asking(ana, "two.md")).to_have_count(1)
    await expect(ana.page.locator("#told > *")).not_to_have_count(0)


async def test_a_page_that_comes_late_does_not_take_a_new_name_back(ana: BrowserChat) -> None:
    released, asked = asyncio.Event(), asyncio.Event()

    async def answer(route: Route) -> None:
        response = await route.fetch()
        if route.request.resource_type == "xhr":
            asked.set()
            await released.wait()
        await route.fulfill(response=response)

    await ana.page.goto(ana.base)
    await ana.page.route(f"{ana.base}/", answer)
    await ana.page.evaluate("void refresh()")
    await asked.wait()
    other = BrowserChat(await ana.page.context.new_page(), ana.base)
    await other.call_me("anna")
    async with ana.page.expect_event("requestfinished"):
        released.set()
    await other.page.reload()
    await expect(other.page.get_by_label("You are")).to_have_value("anna")


async def test_a_page_that_was_asked_for_before_a_row_was_opened_does_not_take_the_card_back(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "j")
    await expect(card(ana, "Ada")).to_be_focused()
    released = await hold_answers(ana, "**/?open=*")
    await ana.page.evaluate("window.drawn = 0; document.addEventListener('htmx:afterRequest', () => window.drawn++)")
    async with ana.page.expect_request("**/?open=*"):
        await row(ana, "Bob").click()
    await ana.page.evaluate("void refresh()")  # htmx sends it after the row's, with the address of before
    released.set()
    await ana.page.wait_for_function("() => window.drawn >= 2")
    await expect(card(ana, "Bob")).to_be_focused()
    await expect(row(ana, "Bob")).to_have_attribute("aria-current", "true")
    await ana.page.unroute_all(behavior="wait")


async def test_an_agent_with_a_name_like_ones_own_decision_lets_no_late_key_pass(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel, sent: list[str]
) -> None:
    model.say(writing("one.md", "one"))
    await ana.new_agent("Ada by @ana", "writes", "Write a file")
    await ana.asks("write_to_file")
    model.say(writing("two.md", "two"))
    sent.clear()
    await press_when_lost(ana, "a")
    await decide(ben, "Ada")
    await expect_nothing_done(ana, sent)


async def test_a_refusal_that_comes_late_names_its_card_above_another_one(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    await waiting(ana, model, "Ada", "Bob")
    await press(ana, "j")
    released = asyncio.Event()

    async def send(route: Route) -> None:
        await released.wait()
        await route.continue_()

    await ana.page.route("**/press", send)
    await ana.page.keyboard.press("a")
    await decide(ben, "Ada")
    await expect(card(ana, "Bob")).to_be_visible()
    released.set()
    await expect(ana.page.locator("#alert")).to_contain_text("“Ada”: already approved by @ben")


async def test_the_focus_goes_to_the_entry_that_took_the_card_in_before_the_answer_came(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    for number in range(7):
        model.say(writing(f"{number}.md", "one"))
    await ana.new_agent("Ada", "writes", "Write files")
    asks = await ana.asks("write_to_file")
    await ana.page.wait_for_function(SETTLED)
    released = await hold_answers(ana, "**/press")
    await asks.press("Approve ×10")
    title = ana.page.locator("#thread > .run > summary")
    await expect(title).to_contain_text("6 commands ran")
    released.set()
    await expect(title).to_be_focused()


async def test_an_own_decision_whose_answer_is_late_does_not_hold_the_next_key_back(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await start_one_turn(ana, model)
    await ana.page.mouse.click(5, 5)
    await press(ana, "j")
    released = await hold_answers(ana, "**/press")
    model.say(writing("two.md", "two"))
    await press(ana, "a")
    await ana.page.keyboard.press("a")
    await expect(hint(ana)).to_have_text("Your decision is being sent.")
    await expect(asking(ana, "two.md")).to_have_count(1)
    released.set()
    await press(ana, "a")
    await expect(asking(ana, "two.md")).to_have_count(0)
