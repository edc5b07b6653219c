"""The page calls a person who does not look at it: by its title, its icon, and a notification after a click."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, open_context
from tests.scenario.chat import adding, writing

pytestmark = IN_A_BROWSER
# The system that shows notifications is outside the browser: what the page hands over to it is recorded.
RECORD = """{
    window.notified = [];
    class Recorded extends EventTarget {
        static permission = "default";
        static async requestPermission() { return Recorded.permission = "granted"; }
        constructor(title, { body }) { super(); window.notified.push(`${title}: ${body}`); }
        close() {}
    }
    window.Notification = Recorded;
    window.hide = is => Object.defineProperty(document, "hidden", { value: is, configurable: true });
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def ana(browser: Browser, address: str) -> AsyncIterator[BrowserChat]:
    context = await open_context(browser)
    await context.add_init_script(RECORD)
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me("ana")
    yield chat


async def test_title_and_icon_tell_how_many_agents_need_approval(ana: BrowserChat, model: ScriptedModel) -> None:
    icon = ana.page.locator("link[rel=icon]")
    await ana.new_agent("Clerk", "writes", "Write a file")
    await expect(ana.page).to_have_title("Clerk · #general · Signoff")
    await expect(icon).to_have_attribute("href", "/static/icon.svg")
    model.say(writing("a.md", "secret"))
    card = await ana.asks("write_to_file")
    await expect(ana.page).to_have_title("(1) Clerk · #general · Signoff")
    await expect(icon).to_have_attribute("href", "/static/icon-due.svg")
    assert (await ana.page.request.get(f"{ana.base}/static/icon-due.svg")).ok
    await card.press("Approve")
    await expect(ana.page).to_have_title("Clerk · #general · Signoff")
    await expect(icon).to_have_attribute("href", "/static/icon.svg")


async def test_who_asked_for_it_is_notified_with_the_headline_alone_while_the_page_is_not_in_view(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    model.say(writing("a.md", "secret"))
    await (await ana.asks("write_to_file")).press("Approve")
    await ana.open_settings()
    notify = ana.page.get_by_role("button", name="Notify me")
    await notify.click()
    await expect(notify).to_be_hidden()
    await ana.page.keyboard.press("Escape")
    model.say(writing("b.md", "secret"))
    await (await ana.asks("write_to_file")).press("Approve")
    assert await ana.page.evaluate("notified") == [], "the page was in view"
    await expect(ana.page).to_have_title("Clerk · #general · Signoff")
    await ana.page.evaluate("hide(true)")
    model.say(adding("b.md", "another secret"))
    await ana.asks("append_to_file")
    headline = "Signoff: Clerk · turn 3 · append_to_file, needs approval"
    await ana.page.wait_for_function("headline => notified.at(-1) === headline", arg=headline)
    assert {*await ana.page.evaluate("notified")} <= {headline, "Signoff: An agent waits for you."}


@pytest.mark.proves("page:finished")
async def test_the_owner_is_notified_that_an_agent_is_done(ana: BrowserChat, model: ScriptedModel) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.open_settings()
    await ana.page.get_by_role("button", name="Notify me").click()
    await ana.page.keyboard.press("Escape")
    model.say(reply_text("task_complete", {"reason": "secret"}))
    card = await ana.asks("task_complete")
    await ana.page.evaluate("hide(true)")
    await card.press("Approve")
    await ana.page.wait_for_function("() => notified.length > 0")
    assert await ana.page.evaluate("notified") == ["Signoff: Clerk is done"]


async def test_who_did_not_ask_for_it_is_not_notified(ana: BrowserChat, model: ScriptedModel) -> None:
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.page.evaluate("hide(true)")
    model.say(writing("a.md", "one"))
    await ana.asks("write_to_file")
    await expect(ana.page).to_have_title("(1) Clerk · #general · Signoff")
    assert await ana.page.evaluate("notified") == []
