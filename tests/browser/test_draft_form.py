"""A new agent from a sentence, in a real browser: by keyboard, with progress, and with nothing lost."""

import json

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import open_context

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]
DRAFT = json.dumps({"name": "String Scout", "role": "a patient researcher", "goals": ["Find five", "قارن بينها"]})
SENTENCE = "Describe it in a sentence"


async def open_form(browser: Browser, address: str, *, width: int, scheme: str = "light") -> Page:
    height = 800 if width > 900 else 740
    context = await open_context(browser, viewport={"width": width, "height": height}, color_scheme=scheme)
    page = await context.new_page()
    await page.goto(f"{address}/c/web/local/general/new")
    return page


async def look(page: Page, width: int) -> None:
    """Nothing is wider than the screen, and axe finds no fault."""
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    found = await Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:draft")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
async def test_a_sentence_and_enter_fill_in_the_form_and_a_long_wait_is_said(
    browser: Browser, address: str, model: ScriptedModel, scheme: str, width: int
) -> None:
    page = await open_form(browser, address, width=width, scheme=scheme)
    await look(page, width)
    await page.get_by_label("Role", exact=True).fill("mine")
    await page.get_by_label(SENTENCE).fill("research the best tennis strings")
    await page.get_by_label(SENTENCE).press("Enter")
    await expect(page.get_by_role("button", name="Drafting…")).to_be_disabled()
    await page.get_by_label("Role", exact=True).fill("mine, still")
    model.say(DRAFT)
    await expect(page.get_by_label("Name", exact=True)).to_have_value("String Scout")
    await expect(page.get_by_label("Goals")).to_have_value("Find five\nقارن بينها")
    await expect(page.get_by_label("Role", exact=True)).to_have_value("mine, still")
    await expect(page.locator("#drafting")).to_contain_text("nothing is created yet")
    await expect(page.get_by_label(SENTENCE)).to_have_value("research the best tennis strings")
    assert len(model.prompts) == 1
    await look(page, width)
    await page.get_by_label(SENTENCE).fill("")
    await page.get_by_role("button", name="Draft").click()
    await expect(page.locator("#alert .alert")).to_be_visible()
    await look(page, width)


async def test_enter_in_another_field_creates_the_agent_and_drafts_nothing(
    browser: Browser, address: str, model: ScriptedModel
) -> None:
    page = await open_form(browser, address, width=1280)
    await page.get_by_label("Goals").fill("Write a file")
    await page.get_by_label("Name", exact=True).fill("Clerk")
    await page.get_by_label("Name", exact=True).press("Enter")
    await expect(page.get_by_role("heading", name="Clerk")).to_be_visible()


async def test_without_scripts_the_button_drafts_too(browser: Browser, address: str, model: ScriptedModel) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{address}/c/web/local/general/new")
    model.say(DRAFT)
    await page.get_by_label(SENTENCE).fill("research the best tennis strings")
    await page.get_by_role("button", name="Draft").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("String Scout")
