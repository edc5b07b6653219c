"""A tool server's prompt in a real browser: both widths, light and dark, by keyboard, until the agent exists."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.browser.browsing import IN_A_BROWSER, open_context
from tests.browser.test_glance_page import CHANNEL, SCREENS, passes
from tests.scenario.served import served
from tests.unit.adapters.web.test_prompt_page import TeaServer

pytestmark = IN_A_BROWSER


@pytest_asyncio.fixture(loop_scope="session")
async def base(tmp_path: Path) -> AsyncIterator[str]:
    tea = TeaServer()

    def prepared(stage: Stage) -> None:
        object.__setattr__(stage.views, "list_sources", tea.list_sources)  # surfaces have these views already

    async with served(ScriptedModel(waits=True), tmp_path, prepared=prepared) as address:
        yield address


@pytest.mark.proves("mcp:prompts")
@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_a_prompt_becomes_an_agent_by_keyboard_and_its_pages_pass_axe(
    browser: Browser, base: str, screen: ViewportSize, scheme: str
) -> None:
    page = await (await open_context(browser, viewport=screen, color_scheme=scheme)).new_page()
    await page.goto(f"{base}{CHANNEL}/new")
    await page.get_by_text("Start from a prompt of a tool server (1)").click()
    await passes(page)
    await page.get_by_role("link", name="Plan a tasting").press("Enter")
    await expect(page.get_by_role("heading", name="Plan a tasting")).to_be_visible()
    await passes(page)
    await page.get_by_role("link", name="Back").press("Enter")
    await page.get_by_text("Start from a prompt of a tool server (1)").click()
    await page.get_by_role("link", name="Plan a tasting").press("Enter")
    await page.get_by_label("tea").fill("ش" * 2_500)
    await page.get_by_role("button", name="Fill in the form").press("Enter")
    await expect(page.locator("p[role=alert]")).to_have_text("Not filled in yet: see below.")
    await expect(page.get_by_label("tea")).to_have_value("ش" * 2_500)
    await expect(page.get_by_label("tea")).to_be_focused()
    await passes(page)
    await page.get_by_label("tea").fill("oolong")
    await page.get_by_role("button", name="Fill in the form").press("Enter")
    await expect(page.locator("p[role=status]")).to_contain_text("Nothing is created yet.")
    await passes(page)
    assert (await page.get_by_label("Goals").input_value()).splitlines()[0] == "Find three kinds of oolong."
    await page.get_by_role("button", name="Create").last.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Plan a tasting")
