"""A line that was typed before the page was left, and sent after a person came back to it."""

import pytest
from playwright.async_api import Browser, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.chat import writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]
LONG = "\n".join(f"line {number}" for number in range(200))


@pytest.mark.proves("page:keys-in-sight")
async def test_a_line_typed_about_one_proposal_approves_no_later_one_after_the_way_back(
    browser: Browser, address: str, model: ScriptedModel
) -> None:
    """Ana types !approve below turn 1 and looks at another page. Somebody decides it; she goes back
    and presses Enter.
    """
    context = await open_context(browser, viewport={"width": 1280, "height": 800})
    ana = BrowserChat(await context.new_page(), address)
    await ana.page.goto(address)
    model.say(writing("shown.md", "one\n"))
    await ana.new_agent("Clerk", "writes", "Write a report")
    await ana.asks("write_to_file")
    await ana.page.get_by_label("Reply to").click()
    await ana.page.keyboard.type("!approve")
    other = BrowserChat(await context.new_page(), address)
    await other.page.goto(ana.page.url)
    model.say(reply_text("write_to_file", {"filename": "secret.md", "text": LONG}))
    await (await other.asks("write_to_file")).press("Approve")
    second = ana.page.locator(".card.open", has_text="secret.md")
    await expect(second).to_be_attached()
    await ana.page.goto(f"{address}/search")
    await ana.page.go_back()
    box = ana.page.get_by_label("Reply to")
    assert await box.input_value() == "!approve", "this browser does not restore what was typed"
    await box.focus()
    await ana.page.keyboard.press("Enter")
    await expect(ana.page.locator("#alert .alert")).to_be_visible()  # and the line stays in the box
    await expect(box).to_have_value("!approve")
    await ana.page.evaluate("refresh()")
    await expect(second).to_have_class("card open", timeout=3000)


async def test_an_edit_of_one_command_does_not_stand_in_the_form_of_another_after_the_way_back(
    browser: Browser, address: str, model: ScriptedModel
) -> None:
    """Ana changes the text of turn 1 and does not send it. After the way back, Edit of turn 2 holds turn 2."""
    context = await open_context(browser, viewport={"width": 1280, "height": 800})
    ana = BrowserChat(await context.new_page(), address)
    await ana.page.goto(address)
    model.say(writing("first.md", "one\n"))
    await ana.new_agent("Clerk", "writes", "Write a report")
    card = await ana.asks("write_to_file")
    await card.article.get_by_role("button", name="Edit", exact=True).click()
    await ana.page.locator("[popover]:popover-open").get_by_label("text", exact=True).fill("changed by Ana")
    other = BrowserChat(await context.new_page(), address)
    await other.page.goto(ana.page.url)
    await ana.page.goto(f"{address}/search")
    model.say(reply_text("write_to_file", {"filename": "second.md", "text": "two"}))
    await (await other.asks("write_to_file")).press("Approve")
    await other.asks("write_to_file")
    await ana.page.go_back()
    second = ana.page.locator(".card.open", has_text="second.md")
    await second.get_by_role("button", name="Edit", exact=True).click()
    sheet = ana.page.locator("[popover]:popover-open")
    values = [await sheet.get_by_label(name, exact=True).input_value() for name in ("filename", "text")]
    assert values == ["second.md", "two"]
