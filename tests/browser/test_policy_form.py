"""The form of a policy and the form of a copy, by keyboard and at both widths."""

import re

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, ana_on, open_context, open_tab
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]


ana = ana_on(SCREENS, ["desk", "phone"])


def free(page: Page, risk: str) -> Locator:
    """The box of a class under what runs without asking; what two people approve has boxes of the same names."""
    return page.get_by_role("checkbox", name=f"{risk}: runs without asking")


async def require_accessible(page: Page) -> None:
    found = await Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("policy:open-card")
async def test_a_policy_is_changed_by_keyboard_and_the_open_card_still_waits(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    page = ana.page
    model.say(writing("a.md", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")
    await open_tab(page, "Settings")
    await page.get_by_role("link", name="Change the policy").click()
    await require_accessible(page)
    await page.get_by_label("Who may approve").select_option("owner")
    await free(page, "write").press("Space")
    await page.get_by_role("button", name="Set the policy").press("Enter")
    await expect(page.get_by_role("article", name="write_to_file, needs approval")).to_be_visible()
    await ana.sees("@ana set the policy: who may approve: only @ana; runs without asking: write.")


@pytest.mark.proves("policy:chooser")
async def test_a_form_from_before_another_person_set_a_class_free_is_shown_anew_and_says_so(
    ana: BrowserChat, model: ScriptedModel, browser: Browser, address: str
) -> None:
    page = ana.page
    model.say(writing("a.md", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")
    await open_tab(page, "Settings")
    await page.get_by_role("link", name="Change the policy").click()
    ben = BrowserChat(await (await open_context(browser)).new_page(), address)
    await ben.call_me("ben")
    await ben.page.goto(page.url)
    await free(ben.page, "write").press("Space")
    await ben.page.get_by_role("button", name="Set the policy").press("Enter")
    await ben.sees("@ben set the policy: runs without asking: write.")
    await free(page, "network").press("Space")
    await page.get_by_role("button", name="Set the policy").press("Enter")
    await expect(page.get_by_role("group", name="What a command needs")).to_have_accessible_description(
        re.compile("as @ben chose: write")
    )
    await expect(free(page, "write")).to_be_checked()
    await expect(free(page, "network")).to_be_checked()
    await require_accessible(page)
    await page.get_by_role("button", name="Set the policy").press("Enter")
    await ana.sees("@ana set the policy: runs without asking: network.")


@pytest.mark.proves("create:copy")
async def test_a_copy_is_a_form_with_the_settings_of_the_agent(ana: BrowserChat, model: ScriptedModel) -> None:
    page = ana.page
    model.say(writing("a.md", "one"))
    await ana.new_agent("مدير الملفات", "writes", "Write a file")
    await ana.asks("write_to_file")
    await open_tab(page, "Settings")
    await page.get_by_role("link", name="Duplicate").click()
    await expect(page.get_by_role("status").filter(has_text="nothing is created yet")).to_be_visible()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("مدير الملفات 2")
    await expect(page.get_by_label("Goals")).to_have_value("Write a file")
    await require_accessible(page)
