"""Tools and plugins in a real browser: both widths, light and dark, by keyboard."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, open_context
from tests.browser.test_glance_page import CHANNEL, SCREENS, passes
from tests.plugins import add_plugins, two_plugins
from tests.scenario.served import served

pytestmark = IN_A_BROWSER


@pytest_asyncio.fixture(loop_scope="session")
async def base(tmp_path: Path) -> AsyncIterator[str]:
    found = two_plugins()
    async with served(ScriptedModel(waits=True), tmp_path, prepared=lambda stage: add_plugins(stage, found)) as address:
        found.loaded[1].fault = "RuntimeError while wrapping count_words: tea is out"
        yield address


@pytest.mark.proves("plugin:switched")
@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_tools_are_found_and_switched_by_keyboard_and_the_page_passes_axe(
    browser: Browser, base: str, screen: ViewportSize, scheme: str
) -> None:
    page = await (await open_context(browser, viewport=screen, color_scheme=scheme)).new_page()
    await page.goto(f"{base}{CHANNEL}")
    await page.get_by_role("link", name="Tools and plugins").click()
    await expect(page.get_by_text("tea is out")).to_be_visible()
    await passes(page)
    await page.get_by_role("button", name="Switch word_counter off here").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("p[role=status]")).to_contain_text("word_counter is off here")
    await passes(page)
    await page.get_by_role("button", name="Switch word_counter on here").click()
    await expect(page.locator("p[role=status]")).to_contain_text("word_counter is on here")
