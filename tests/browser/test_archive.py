"""Archived agents on the page: out of the navigation, behind a filter, and back."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, ana_on, open_tab
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]
ARABIC = "محفوظات الفريق"


ana = ana_on(SCREENS, ["desk", "phone"])


async def require_accessible(page: Page) -> None:
    found = await Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("archive:lists")
async def test_an_agent_goes_to_the_archive_and_comes_back(ana: BrowserChat, model: ScriptedModel) -> None:
    page = ana.page
    model.say(writing("a.md", "one"))
    await ana.new_agent(ARABIC, "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Stop")
    await open_tab(page, "Settings")
    await page.get_by_role("button", name="Archive", exact=True).click()
    await expect(page.get_by_role("button", name="Unarchive")).to_be_visible()
    await require_accessible(page)
    await ana.open_menu()
    rail = page.get_by_role("navigation")
    await expect(rail.get_by_role("link", name=ARABIC)).to_have_count(0)
    await rail.get_by_role("link", name="Archived 1").click()
    await expect(page.get_by_role("main").get_by_role("link", name=ARABIC)).to_be_visible()
    await require_accessible(page)
    await page.get_by_role("main").get_by_role("link", name="Agents", exact=True).click()
    await expect(page.get_by_text("All agents here are archived.")).to_be_visible()
    await page.get_by_role("link", name="Archived 1").last.click()
    await page.get_by_role("link", name=ARABIC).click()
    await open_tab(page, "Settings")
    await page.get_by_role("button", name="Unarchive").press("Enter")
    await expect(page.get_by_role("button", name="Archive", exact=True)).to_be_visible()
    await page.goto(f"{ana.base}/c/web/local/general")
    await require_accessible(page)
    await page.get_by_role("button", name=f"Archive {ARABIC}").press("Enter")
    await expect(page.get_by_text("All agents here are archived.")).to_be_visible()
