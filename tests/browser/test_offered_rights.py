"""The thread of an agent for which another person decides, in a real browser."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.chat import writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.proves("page:rights")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
async def test_who_may_not_decide_reads_who_does_and_can_stop(
    browser: Browser, context: BrowserContext, address: str, model: ScriptedModel, scheme: str, width: int
) -> None:
    ana = BrowserChat(await context.new_page(), address)
    await ana.call_me("ana")
    model.say(writing("a.txt", "one"))
    await ana.page.goto(f"{address}/c/web/local/general/new")
    await ana.page.get_by_label("Name", exact=True).fill("Own")
    await ana.page.get_by_label("Goals").fill("Write a file")
    await ana.page.locator("summary", has_text="More").click()
    await ana.page.get_by_label("Who may approve").select_option("owner")
    await ana.page.get_by_role("button", name="Create").click()
    await ana.asks("write_to_file")
    other = await open_context(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    ben = BrowserChat(await other.new_page(), address)
    await ben.page.goto(ana.page.url)
    card = await ben.asks("write_to_file")
    await expect(card.article.get_by_text("Decisions here: @ana")).to_be_visible()
    await expect(card.article.locator(".acts")).to_have_count(0)
    await expect(ben.page.locator("#top .acts button")).to_have_text(["Stop"])
    await ben.page.keyboard.press("j")
    await ben.page.keyboard.press("a")
    found = await Axe().run(ben.page)
    assert found.violations_count == 0, found.generate_report()
    assert await ben.page.evaluate("document.documentElement.scrollWidth") <= width
    await card.press("Stop")
    await expect(ana.page.get_by_text("stopped by").first).to_be_visible()
    await expect(ben.page.locator("#present").get_by_text("Decisions here: @ana")).to_be_visible()
