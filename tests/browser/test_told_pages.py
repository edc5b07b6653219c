"""The pages of a file and Activity are read again only after a change, and a person goes on reading there."""

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.chat import writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]
LONG = "".join(f"line {number} of {'a long ' * 40}report\n" for number in range(200))
NEXT_BEAT = """() => new Promise(resolve => {
    const stream = new EventSource("/events");
    stream.addEventListener("beat", () => { stream.close(); resolve(); });
})"""
SELECT = """pre => {
    const text = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT).nextNode();
    getSelection().setBaseAndExtent(text, 0, text, 6);
    pre.focus();
}"""


@pytest_asyncio.fixture(loop_scope="session", params=SCREENS, ids=["desk", "phone"])
async def ana(browser: Browser, address: str, model: ScriptedModel, request: pytest.FixtureRequest) -> BrowserChat:
    """Ana with an agent that has written a file, and asks to append to it."""
    chat = BrowserChat(await (await open_context(browser, viewport=request.param)).new_page(), address)
    await chat.call_me("ana")
    model.say(writing("report.txt", LONG))
    await chat.new_agent("Clerk", "writes", "Write a file")
    await (await chat.asks("write_to_file")).press("Approve")
    model.say(writing("report.txt", LONG + "the end"))
    await chat.asks("write_to_file")
    return chat


async def opened(ana: BrowserChat, behind: str) -> tuple[Page, list[str]]:
    """A page behind the thread in another tab, and the addresses that it reads from now on."""
    page, read = await ana.page.context.new_page(), list[str]()
    await page.goto(f"{ana.page.url}/{behind}")
    await page.evaluate(NEXT_BEAT)
    page.on("request", lambda request: read.append(request.url))
    return page, read


@pytest.mark.proves("page:told")
async def test_without_a_change_an_open_page_is_not_read_again(ana: BrowserChat) -> None:
    page, read = await opened(ana, "glance")
    await page.evaluate(NEXT_BEAT)
    assert [each for each in read if each.endswith("glance")] == []


@pytest.mark.proves("page:told")
async def test_after_a_change_focus_scroll_and_selection_stay(ana: BrowserChat) -> None:
    page, read = await opened(ana, "view/report.txt")
    text = page.locator("#preview pre")
    await text.evaluate(SELECT)
    await page.evaluate("scrollTo(0, 500)")
    await ana.page.locator("article.open").get_by_role("button", name="Approve", exact=True).click()
    await expect(text).to_contain_text("the end")
    assert read
    await expect(text).to_be_focused()
    assert await page.evaluate("getSelection().toString()") == "line 0"
    assert await page.evaluate("scrollY") == 500
