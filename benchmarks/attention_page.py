"""Twenty decisions in the local workspace, in a real Chromium, counted as the person has them."""

from pathlib import Path
from typing import Literal

from playwright.async_api import Locator, async_playwright, expect

from agent_core.capabilities.web.browser_pages import chromium
from benchmarks.attention_work import AT_ONCE, COMMANDS, Costs, scripted
from tests.browser.browsing import BrowserChat, open_context
from tests.browser.conftest import ARGUMENTS
from tests.scenario.served import served

PageWay = Literal["one by one", "×5", "list"]
IS_IN_VIEW = """button => {
    const { x, y, width, height } = button.getBoundingClientRect();
    return button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""
VISIBLE_TEXT = """() => {
    const texts = [], range = document.createRange();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        if (!node.textContent.trim() || !node.parentElement.checkVisibility()) continue;
        range.selectNodeContents(node);
        const { top, bottom, width, height } = range.getBoundingClientRect();
        if (bottom > 0 && top < innerHeight && width && height) {
            const inView = Math.min(bottom, innerHeight) - Math.max(top, 0);
            const words = node.textContent.trim().split(/\\s+/);
            texts.push(words.slice(0, Math.ceil(words.length * inView / (bottom - top))).join(" "));
        }
    }
    return texts.join(" ").split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length;
}"""


async def on_page(folder: Path, way: PageWay, *, width: int = 1280, height: int = 800) -> Costs:
    """Create the agent and decide until twenty commands ran; count from its first proposal on."""
    model, costs = scripted(), Costs()
    async with served(model, folder) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        page = await (await open_context(browser, viewport={"width": width, "height": height})).new_page()
        chat = BrowserChat(page, address)
        await page.goto(address)
        await chat.new_agent("Clerk", "keeps our notes", "Write twenty notes")
        if way == "list":
            await page.goto(address)
        page.on("load", lambda _page: _count_load(costs))
        for _ in range(0, COMMANDS, AT_ONCE if way == "×5" else 1):
            await _decide(chat, way, costs)
        await browser.close()
    return costs


async def _decide(chat: BrowserChat, way: PageWay, costs: Costs) -> None:
    """Take one decision on the newest proposal."""
    page, card = chat.page, (await chat.asks("write_to_file")).article
    costs.decisions += 1
    costs.words += await page.evaluate(VISIBLE_TEXT)
    if way == "×5":
        await _click(card.get_by_role("button", name="Approve ×N", exact=True), costs)
        sheet = page.locator("[popover]:popover-open")
        await _click(sheet.get_by_role("button", name=f"Approve ×{AT_ONCE}", exact=True), costs)
    else:
        await _click(card.get_by_role("button", name="Approve", exact=True), costs)


async def _click(button: Locator, costs: Costs) -> None:
    await expect(button).to_be_visible()
    if not await button.evaluate(IS_IN_VIEW):
        costs.scrolls += 1
        await button.scroll_into_view_if_needed()
    costs.clicks += 1
    await button.page.mouse.move(0, 0)  # what scrolls under a pointer that rests there accepts no click yet
    await button.click()


def _count_load(costs: Costs) -> None:
    costs.loads += 1
