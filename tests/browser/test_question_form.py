"""The form in which people answer a tool server, in a real browser: both widths, by keyboard, kept when refused."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, open_context
from tests.browser.test_glance_page import SCREENS, passes
from tests.scenario.page import PageChat
from tests.scenario.surfaces import opened
from tests.scenario.test_tool_server_story import DONE, serving

pytestmark = IN_A_BROWSER


@pytest_asyncio.fixture(loop_scope="session")
async def ana(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[PageChat]:
    """Her agent runs a command whose server asks."""
    question = getattr(request, "param", "order")
    model = ScriptedModel(reply_text("inquiring.order", {"question": question}), DONE)
    async with opened("web", model, tmp_path) as scene, serving(scene, "inquiring", tmp_path):
        await scene.ana.new_agent("Clerk", "orders tea", "Order tea")
        await (await scene.ana.asks("inquiring.order")).press("Approve")
        await scene.ana.is_asked()
        assert isinstance(scene.ana, PageChat)
        yield scene.ana


@pytest.mark.proves("mcp:form")
@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_the_form_stands_in_needs_approval_keeps_what_was_typed_and_passes_axe(
    browser: Browser, ana: PageChat, screen: ViewportSize, scheme: str
) -> None:
    page = await (await open_context(browser, viewport=screen, color_scheme=scheme)).new_page()
    await page.goto(ana.base)
    await expect(page).to_have_title("(1) Needs approval · Signoff")
    await passes(page)
    if screen["width"] < 1000:  # a phone shows the list or a card
        await page.locator("#queue a.entry").click()
    await page.get_by_role("button", name="Answer", exact=True).press("Enter")
    sheet = page.locator("[popover]:popover-open")
    await expect(sheet.get_by_role("heading")).to_have_text("The tool server inquiring asks")
    await expect(sheet.locator("blockquote")).to_have_text("How do you want it?⟨U+200B⟩")
    await expect(sheet.get_by_label("tea")).to_have_value("choice.1")  # what the server suggests
    await passes(page)
    await sheet.get_by_label("cups").fill("12")
    await sheet.get_by_label("Your address").fill("ana@example.org")
    await sheet.get_by_role("button", name="Answer").press("Enter")
    await expect(sheet.get_by_role("alert")).to_have_text("cups must be at most 9.")
    await expect(sheet.get_by_label("Your address")).to_have_value("ana@example.org")
    await expect(sheet.get_by_label("cups")).to_be_focused()
    await expect(sheet.get_by_label("cups")).to_have_attribute("aria-invalid", "true")
    await passes(page)
    await sheet.get_by_label("cups").fill("2")
    await sheet.get_by_role("button", name="Answer").press("Enter")
    await expect(page.locator("#queue").get_by_text("Finish")).to_be_visible()
    await expect(page.get_by_role("button", name="Decline")).to_have_count(0)


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("ana", ["large"], indirect=True)
async def test_a_long_form_scrolls_on_a_small_screen_and_cuts_nothing_that_was_typed(
    browser: Browser, ana: PageChat
) -> None:
    page = await (await open_context(browser, viewport={"width": 360, "height": 500})).new_page()
    await page.goto(ana.base + ana.path)
    await page.get_by_role("button", name="Answer", exact=True).click()
    sheet = page.locator("[popover]:popover-open")
    for edge in (sheet.get_by_role("heading"), sheet.get_by_role("button", name="Cancel")):
        await edge.scroll_into_view_if_needed()
        await expect(edge).to_be_in_viewport()
    await expect(sheet.get_by_label("grams")).to_have_attribute("inputmode", "decimal")
    await sheet.get_by_label("tea").select_option("Green, mild")
    await sheet.get_by_label("more").fill("ن" * 10_000)
    await sheet.get_by_role("button", name="Answer").click()
    await expect(sheet.get_by_role("alert")).to_have_text("more must be at most 40 characters.")
    await expect(sheet.get_by_label("more")).to_have_value("ن" * 10_000)


@pytest.mark.proves("mcp:form")
@pytest.mark.parametrize("ana", ["large"], indirect=True)
async def test_without_scripts_a_refused_form_is_a_page_that_keeps_every_field(browser: Browser, ana: PageChat) -> None:
    context = await open_context(browser, java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = await context.new_page()
    await page.goto(ana.base + ana.path)
    await page.get_by_role("button", name="Answer", exact=True).click()
    sheet = page.locator("[popover]:popover-open")
    await sheet.get_by_label("tea").select_option("Green, mild")
    await sheet.get_by_label("milk").check()
    await sheet.get_by_label("lemon; or lime").check()
    await sheet.get_by_label("grams").fill("many")
    await sheet.get_by_role("button", name="Answer").click()
    await expect(page.locator(".problem")).to_have_text("grams must be a number.")
    await expect(page.get_by_label("milk")).to_be_checked()
    await expect(page.get_by_label("sugar")).not_to_be_checked()
    await expect(page.get_by_role("textbox", name="when (may be empty)")).to_have_value("2026-12-24")
    await page.get_by_role("textbox", name="grams (may be empty)").fill("3")
    await page.get_by_role("button", name="Answer").click()
    await ana.asks("task_complete")
    await page.goto(ana.base + ana.path)
    await page.locator(".fold > summary").first.click()
    await page.get_by_role("link", name="Show what it did").first.click()
    await expect(page.get_by_text("answered: tea, also, when, grams")).to_be_visible()
