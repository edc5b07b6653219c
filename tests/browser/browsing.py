"""The Chat of somebody at a real browser; buttons are found by role and label, as a screen reader finds them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect

from agent_core.text.reply_meaning import meaning_of
from tests.patience import PATIENCE_SECONDS

FAST_CLOCK = "{ const now = performance.now.bind(performance); performance.now = () => 1000 * now(); }"

IN_A_BROWSER = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.asyncio(loop_scope="session"),
]

expect.set_options(timeout=1000 * PATIENCE_SECONDS)


async def open_context(browser: Browser, **options: Any) -> BrowserContext:
    """A person's browser whose pages' clock runs a thousand times as fast.

    Controls settle in under a millisecond, so no click of a test falls into that time. Without it a click can be
    ignored on a busy machine: the page scrolls between the moment the control is found ready and the click.
    """
    context = await browser.new_context(**options)
    await context.add_init_script(FAST_CLOCK)
    return context


IS_SETTLED = """control => control.type === 'button' || (isSettled(control, true)
    && (SAFE.test(control.value) || [undefined, ...read].includes(control.closest('article')?.dataset.hash)))"""


async def press_settled(control: Locator) -> None:
    """Press a button once it takes clicks: not one that has just come or moved, or whose command is unread."""
    await control.scroll_into_view_if_needed()
    await control.page.wait_for_function(IS_SETTLED, arg=await control.element_handle())
    await control.click()


IS_SEEN = """element => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const found = document.elementFromPoint(x + width / 2, y + height / 2);
    return found !== null && element.contains(found);
}"""


async def is_seen(element: Locator) -> bool:
    """Whether the middle of the element is on the screen and nothing lies over it."""
    return bool(await element.evaluate(IS_SEEN))


async def open_menu(page: Page) -> None:
    """Open the navigation, which a narrow screen hides behind a button."""
    menu = page.get_by_role("button", name="Menu")
    if await menu.is_visible():
        await menu.click()


async def open_settings(page: Page) -> None:
    """Open the sheet with the name, the settings and the way out."""
    await open_menu(page)
    await page.get_by_role("button", name="settings, sign out").click()


@dataclass(frozen=True, slots=True)
class BrowserCard:
    """An article on the page."""

    page: Page
    article: Locator
    text: str

    async def press(self, label: str, **filled: str) -> None:
        """Press a button; where it opens a sheet, fill that in and press its own button."""
        opener = "Approve ×N" if "×" in label else label
        await self.page.mouse.move(0, 0)  # what scrolls under a pointer that rests there accepts no click yet
        place = self.page.locator("#top") if label == "Stop" else self.article
        await press_settled(place.get_by_role("button", name=opener, exact=True))
        sheet = self.page.locator("[popover]:popover-open")
        match label:
            case "Edit":
                for name, value in filled.items():
                    await sheet.get_by_label(name, exact=True).fill(value)
                await press_settled(sheet.get_by_role("button", name="Run edited"))
            case "Reject":
                await sheet.get_by_label("Reason", exact=True).fill(filled["reason"])
                await press_settled(sheet.get_by_role("button", name="Reject"))
            case _ if "×" in label:
                await press_settled(sheet.get_by_role("button", name=label, exact=True))
            case _:
                pass


async def open_tab(page: Page, name: str) -> None:
    """Open a tab of what is about an agent, on a phone in its sheet."""
    tab, about = page.get_by_role("radio", name=name), page.get_by_role("button", name="About")
    if not await tab.is_visible():
        await about.click()
    await tab.check()


@dataclass(slots=True)
class BrowserChat:
    """One person in a browser context of their own."""

    page: Page
    base: str
    seen: set[str] = field(default_factory=set)

    async def call_me(self, name: str) -> None:
        """Say who you are."""
        await self.page.goto(self.base)
        await self.open_settings()
        await self.page.get_by_label("You are").fill(name)
        async with self.page.expect_navigation():  # until styles say whether the menu is a button
            await self.page.get_by_role("button", name="Change", exact=True).click()
        await expect(self.page.get_by_label("You are")).to_have_value(name)

    async def open_settings(self) -> None:
        await open_settings(self.page)

    async def open_menu(self) -> None:
        await open_menu(self.page)

    async def new_agent(self, name: str, role: str, *goals: str) -> None:
        """Fill in the form of a new agent."""
        await self.page.goto(f"{self.base}/c/web/local/general")
        await self.page.get_by_role("link", name="New agent").first.click()
        await self.page.get_by_label("Name", exact=True).fill(name)
        await self.page.get_by_label("Role", exact=True).fill(role)
        await self.page.get_by_label("Goals").fill("\n".join(goals))
        await self.page.get_by_role("button", name="Create").click()
        await expect(self.page.get_by_role("heading", name=name, level=1)).to_be_visible()

    async def keep_finished_turns_open(self) -> None:
        """Choose, as in the sheet *Settings*, that finished turns are not folded in this browser."""
        await self.page.goto(self.base)
        await self.page.evaluate("localStorage.setItem('signoff.folds-open', '1')")

    async def asks(self, command: str) -> BrowserCard:
        """Wait for an open card that was not looked at."""
        cards = self.page.get_by_role("article", name=re.compile(rf"{command}, needs approval"))
        fresh = cards.and_(self.page.locator("article" + "".join(f":not([id='{known}'])" for known in self.seen)))
        await expect(fresh).to_be_visible()
        identity = await fresh.get_attribute("id") or ""
        self.seen.add(identity)
        return BrowserCard(self.page, self.page.locator(f"[id='{identity}']"), await fresh.inner_text())

    async def says(self, text: str) -> None:
        """Write into the reply box, choose beside it if this is a reason to reject, and press Enter."""
        box = self.page.get_by_label("Reply to")
        await box.fill(text)  # a phone shows the switch beside words
        mode = {"feedback": "Reject with reason", "question": "Ask"}.get(meaning_of(text), "Note")
        if await (choice := self.page.get_by_role("radio", name=mode, exact=True)).count():
            await choice.check(force=True)  # its label is what one sees
        await box.press("Enter")

    async def resume(self) -> None:
        """Press Resume."""
        await self.page.get_by_role("button", name="Resume").click()

    async def sees(self, text: str) -> bool:
        """Wait until the page shows this."""
        await expect(self.page.locator("main").get_by_text(text).first).to_be_visible()
        return True

    async def file(self, path: str) -> str:
        """Download a file by its link."""
        await open_tab(self.page, "Files")
        async with self.page.expect_download() as download:
            await self.page.get_by_role("link", name=f"Download {path}", exact=True).click()
        return _text(await (await download.value).path())


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def ana_on(screens: Sequence[ViewportSize], ids: Sequence[str]) -> Any:
    """A fixture: Ana's page, on each of these screens in turn."""

    @pytest_asyncio.fixture(loop_scope="session", params=screens, ids=ids)
    async def ana(browser: Browser, address: str, request: pytest.FixtureRequest) -> BrowserChat:
        chat = BrowserChat(await (await open_context(browser, viewport=request.param)).new_page(), address)
        await chat.call_me("ana")
        return chat

    return ana
