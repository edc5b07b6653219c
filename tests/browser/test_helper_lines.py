"""A line to a helper, which begins with its name, approves only what was on the screen, as a line without a name."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, ViewportSize, expect

from agent_core.testing.language_model import reply_text
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.served import served
from tests.scenario.tools import ModelOfEach, Tools

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]
LONG = "\n".join(f"line {number} of thoughts that take more than one screen" for number in range(200))
SECRET = reply_text("write_to_file", {"filename": "secret.md", "text": "never on the screen"}, text=LONG)
START = reply_text("start_agent", {"name": "Finder", "task": "Find it"})
COMMAND_IS_BELOW = (
    """id => document.querySelector(`[id='${id}'] .preview pre`).getBoundingClientRect().top > innerHeight"""
)


@pytest.mark.proves("page:keys-in-sight")
async def test_a_line_to_a_helper_approves_no_command_that_was_never_on_the_screen(
    browser: Browser, tmp_path: Path
) -> None:
    """The heading of the helper's card is on the screen, and its command is not."""
    model = ModelOfEach(Clerk=(START, reply_text("do_nothing")), Finder=(SECRET, reply_text("do_nothing")))
    async with served(model, tmp_path, prepared=Tools().register) as address:
        context = await open_context(browser, viewport=ViewportSize(width=1280, height=800))
        ana = BrowserChat(await context.new_page(), address)
        await ana.page.goto(address)
        await ana.new_agent("Clerk", "writes", "Write a report")
        await (await ana.asks("start_agent")).press("Approve")
        card = ana.page.locator(".card.open", has=ana.page.locator("h2", has_text="Finder"))
        await expect(card).to_be_attached()
        await ana.asks("do_nothing")
        identity = await card.get_attribute("id")
        thread = ana.page.url.partition("#")[0]
        ana = BrowserChat(await context.new_page(), address)
        await ana.page.goto(f"{thread}#{identity}")  # without a fragment, the page shows the end of the thread
        assert await ana.page.evaluate(COMMAND_IS_BELOW, identity)
        read = await ana.page.evaluate("id => read.has(document.getElementById(id).dataset.hash)", identity)
        assert not read  # so a click on Approve would be held back
        await ana.page.get_by_label("Reply to").focus()
        await ana.page.keyboard.type("@Finder !approve")
        assert await ana.page.evaluate(COMMAND_IS_BELOW, identity)
        async with ana.page.expect_response(lambda answer: answer.url.endswith("/say")):
            await ana.page.keyboard.press("Enter")
        await ana.page.reload()
        await expect(ana.page.locator(f"[id='{identity}']")).to_have_class("card open", timeout=3000)
