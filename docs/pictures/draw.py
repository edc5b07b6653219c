"""Draws the pictures of these pages from the running product: `python -m docs.pictures.draw`.

Real server, real files, real browser. What the agents say is written here, or comes from the rehearsal model; `cards`
draws the states of a card from the values in `scenes`.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, ViewportSize, async_playwright, expect

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.model.draft import AgentDraft
from agent_core.ports.models import LanguageModel
from agent_core.testing.language_model import ScriptedModel
from docs.pictures.cards import draw_cards
from tests.browser.browsing import BrowserChat
from tests.browser.conftest import ARGUMENTS, chromium
from tests.scenario.served import served

HERE = Path(__file__).parent
WIDE = ViewportSize(width=1280, height=900)
PHONE = ViewportSize(width=390, height=844)

RATINGS = """ticker,sector,price_to_book,yield,view
CLX,coal,0.7,6.1 %,sell
NXG,gas,1.1,4.2 %,hold
WND,wind,1.4,2.9 %,buy
"""
OLD_REPORT = """# Energy: three candidates

## Conclusion

Coal producers look cheapest on every measure.
"""
NEW_REPORT = """# Energy: three candidates

## Conclusion

| Ticker | P/B | Yield | For | Against |
|---|---|---|---|---|
| NXG | 1.1 | 4.2 % | low debt | one region |
| WND | 1.4 | 2.9 % | contracts to 2031 | subsidy risk |
"""
ENERGY = AgentDraft(
    name="Energy-GPT",
    role="helps the desk compare opportunities in the energy sector",
    goals=(
        "Compare the candidates in ratings.csv by value",
        "Replace the conclusion of report.md with the pros and cons of each",
    ),
    budget=Decimal(2),
)
READS = {
    "thoughts": {"text": "The ratings are in the workspace. I read them before I write anything."},
    "command": {"name": "read_file", "args": {"filename": "ratings.csv"}},
}
TIDIES = {
    "thoughts": {"text": "I have the figures I need and tidy up."},
    "command": {"name": "delete_file", "args": {"filename": "ratings.csv"}},
}
WRITES = {
    "thoughts": {
        "text": "Without coal two candidates are left. I put them side by side in place of the old conclusion.",
        "plan": "- replace the conclusion\n- finish with a short summary",
        "reasoning": "A table shows price, yield and risk at a glance.",
        "criticism": "Two figures each are few to judge a company by.",
    },
    "command": {"name": "write_to_file", "args": {"filename": "report.md", "text": NEW_REPORT}},
}
FIRST = AgentDraft(
    name="Clerk",
    role="keeps the notes of our team",
    goals=('Write "Stand-up at 9:30" to notes.md', 'Append the line "Ben brings cake" to notes.md', "Read notes.md"),
)


async def main() -> None:
    """Draw every picture anew."""
    async with async_playwright() as playwright:
        path = chromium()
        browser = await playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        await draw_workspace(browser)
        await draw_tutorial(browser)
        await draw_cards(browser)
        await browser.close()


async def draw_workspace(browser: Browser) -> None:
    """One agent with a turn that was approved, a note, a rejected turn and one that waits."""
    model = ScriptedModel(label="Scripted for this picture", cost=Decimal("0.012"), waits=True)
    async with serving(model) as (address, folder):
        ana = await person(browser, address, "Ana")
        ben = await person(browser, address, "Ben")
        await create(ana, ENERGY, "energy-desk")
        files = FolderFiles(folder / "workspaces" / ana.page.url.rpartition("/")[2])
        await files.write("ratings.csv", RATINGS.encode())
        await files.write("report.md", OLD_REPORT.encode())
        model.say(json.dumps(READS))
        await ben.page.goto(ana.page.url)
        await (await ben.asks("read_file")).press("Approve")
        await ben.sees("approved by @Ben")
        await ben.says("Leave out coal, please. Gas and renewables only.")
        await ben.sees("Leave out coal")
        model.say(json.dumps(TIDIES))
        await (await ana.asks("delete_file")).press("Reject", reason="Keep it: the desk works with it too.")
        model.say(json.dumps(WRITES))
        await ana.asks("write_to_file")
        height = await ana.page.evaluate("document.documentElement.scrollHeight")
        await ana.page.set_viewport_size(ViewportSize(width=WIDE["width"], height=height))
        await keep(ana.page, "workspace")


async def draw_tutorial(browser: Browser) -> None:
    """The form, a card that waits, the sheet behind Edit, and the same thread on a phone at night."""
    async with serving(RehearsalModel()) as (address, _):
        ana = await person(browser, address, "Ana", viewport={**WIDE, "height": 760})
        await fill(ana, FIRST, "general")
        await keep(ana.page, "form")
        await ana.page.get_by_role("button", name="Create").click()
        await ana.asks("write_to_file")
        await keep(ana.page, "card")
        phone = await person(browser, address, "Ana", viewport=PHONE, color_scheme="dark", device_scale_factor=1.5)
        await phone.page.goto(ana.page.url)
        await (await phone.asks("write_to_file")).article.scroll_into_view_if_needed()
        await keep(phone.page, "phone")
        await phone.page.close()
        await ana.page.get_by_role("button", name="Approve", exact=True).click()
        card = await ana.asks("append_to_file")
        await card.article.get_by_role("button", name="Edit", exact=True).click()
        await expect(ana.page.locator("[popover]:popover-open")).to_be_visible()
        await keep(ana.page, "edit")


@asynccontextmanager
async def serving(model: LanguageModel) -> AsyncIterator[tuple[str, Path]]:
    """A workspace in a folder of its own: its address and the folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with served(model, folder) as address:
            yield address, folder


async def person(browser: Browser, address: str, name: str, **options: Any) -> BrowserChat:
    """Somebody at a browser of their own."""
    context = await browser.new_context(**{"viewport": WIDE, **options})
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me(name)
    return chat


async def fill(chat: BrowserChat, draft: AgentDraft, channel: str) -> None:
    """Fill in the form of a new agent."""
    page = chat.page
    await page.goto(f"{chat.base}/c/web/local/{channel}/new")
    await page.get_by_label("Name", exact=True).fill(draft.name)
    await page.get_by_label("Role", exact=True).fill(draft.role)
    await page.get_by_label("Goals").fill("\n".join(draft.goals))
    if draft.budget is not None:
        await page.get_by_text("More", exact=True).click()
        await page.get_by_label("Budget in US dollars").fill(str(draft.budget))


async def create(chat: BrowserChat, draft: AgentDraft, channel: str) -> None:
    """Fill in the form and send it."""
    await fill(chat, draft, channel)
    await chat.page.get_by_role("button", name="Create").click()
    await expect(chat.page.get_by_role("heading", name=draft.name, level=1)).to_be_visible()


async def keep(page: Page, name: str) -> None:
    """Save what the page shows, without the mark of where one would type next."""
    await page.evaluate("document.activeElement?.blur()")
    await expect(page.locator("[aria-disabled=true]")).to_have_count(0)  # controls that settle are pale
    await page.screenshot(path=HERE / f"{name}.png", animations="disabled", caret="hide")


if __name__ == "__main__":
    asyncio.run(main())
