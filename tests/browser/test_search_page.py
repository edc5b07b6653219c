"""Search in a real browser: by the key, by the box in the navigation, and to the very turn."""

import re

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import IN_A_BROWSER, BrowserChat, ana_on

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]
TEXTS = ("Der Preis an der Straße", "هذا تقرير عن السوق والأسعار", "third")


ana = ana_on(SCREENS, ["desk", "phone"])


async def three_turns(chat: BrowserChat, model: ScriptedModel) -> None:
    """An agent with two finished turns and an open one."""
    for number, text in enumerate(TEXTS):
        model.say(reply_text("write_to_file", {"filename": f"r{number}.md", "text": text}))
    await chat.new_agent("Clerk", "writes", "Write a file")
    for _ in TEXTS[:-1]:
        await (await chat.asks("write_to_file")).press("Approve")
    await chat.asks("write_to_file")


@pytest.mark.proves("page:search")
async def test_the_key_opens_the_box_and_a_result_leads_to_its_turn_which_is_not_folded(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await three_turns(ana, model)
    await ana.page.evaluate("document.activeElement.blur()")
    await ana.page.keyboard.press("/")
    box = ana.page.get_by_role("searchbox", name="Search agents, files, turns and notes")
    await expect(box).to_be_focused()
    await ana.page.keyboard.type("STRASSE preis / ?")
    await expect(box).to_have_value("STRASSE preis / ?")
    await box.fill("STRASSE preis")
    await ana.page.keyboard.press("Enter")
    await expect(ana.page.locator("mark")).to_have_text(["Preis", "Straße"])
    await ana.page.get_by_role("link", name=re.compile("Clerk · turn 1")).press("Enter")
    turn = ana.page.get_by_role("article", name=re.compile("turn 1"))
    await expect(turn).to_be_in_viewport()
    await expect(turn.locator("details.fold")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.proves("page:accessible")
async def test_the_search_page_passes_axe_and_fits_its_screen(
    ana: BrowserChat, model: ScriptedModel, scheme: str
) -> None:
    await three_turns(ana, model)
    await ana.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for query in ("السوق", "r", "unicorn", ""):
        await ana.page.goto(f"{ana.base}/search?q={query}")
        found = await Axe().run(ana.page)
        assert found.violations_count == 0, found.generate_report()
        assert await ana.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await ana.page.goto(f"{ana.base}/search?q=السوق")
    await ana.page.get_by_role("link", name=re.compile("turn 2")).click()
    await expect(ana.page.get_by_role("article", name=re.compile("turn 2"))).to_be_in_viewport()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await ana.page.goto(f"{ana.base}/search?q=clerk")
    await ana.page.get_by_label("Channel", exact=True).select_option("# general")
    await ana.page.get_by_role("button", name="Search", exact=True).click()
    await expect(ana.page).to_have_url(re.compile("channel=web%2Flocal%2Fgeneral"))
    await expect(ana.page.get_by_role("listitem")).not_to_have_count(0)


async def test_an_open_search_is_not_repeated_when_agents_change(ana: BrowserChat, model: ScriptedModel) -> None:
    await three_turns(ana, model)
    await ana.page.goto(f"{ana.base}/search?q=clerk")
    fetched: list[str] = []
    ana.page.on("request", lambda request: fetched.append(request.url))
    async with ana.page.expect_response(f"{ana.base}/search"):
        await ana.page.evaluate("refresh()")
    await expect(ana.page.get_by_role("heading", name="Agents", exact=True)).to_be_visible()
    assert not [url for url in fetched if "q=" in url]
