"""The list of all agents that need approval: people decide there, one after another, without leaving it."""

import re
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserCard, BrowserChat, ana_on, open_context
from tests.scenario.chat import writing

pytestmark = IN_A_BROWSER
UNREAD = "What this does was not on the screen yet. Read it, then press again."
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]


ana = ana_on(SCREENS, ["desk", "phone"])


async def ask(chat: BrowserChat, model: ScriptedModel, *names: str) -> None:
    """Make agents that each propose to write a file of their name, in this order."""
    for name in names:
        model.say(writing(f"{name}.md", "one"))
        await chat.new_agent(name, "writes", "Write a file")
        await chat.asks("write_to_file")
    await chat.page.goto(chat.base)


def cards(chat: BrowserChat) -> Locator:
    """The rows of the list: one for each agent that waits."""
    return chat.page.locator("#queue li")


async def card(chat: BrowserChat, name: str) -> BrowserCard:
    """The card of this agent, opened from its row; a phone shows the list or a card."""
    opened = chat.page.get_by_role("article", name=re.compile(f"^{name} "))
    back, row = chat.page.locator(".back"), chat.page.locator("#queue a.entry", has_text=re.compile(rf"\b{name}\b"))
    if not await opened.is_visible():
        if await back.is_visible():
            await back.click()
        await row.click()
    await expect(opened).to_be_visible()
    identity = await opened.get_attribute("id") or ""
    return BrowserCard(chat.page, chat.page.locator(f"[id='{identity}']"), await opened.inner_text())


async def see(chat: BrowserChat, name: str) -> None:
    """Look at a card and go back to the list, as one does before selecting it."""
    opened = await card(chat, name)
    shown = await opened.article.get_attribute("data-hash")
    await chat.page.wait_for_function("hash => read.has(hash)", arg=shown)
    if await chat.page.locator(".back").is_visible():
        await chat.page.locator(".back").click()


async def select(chat: BrowserChat, name: str) -> None:
    """Look at a card, and tick its row by the keyboard."""
    await see(chat, name)
    pick = chat.page.get_by_role("checkbox", name=f"Select {name} ")
    await pick.focus()
    await chat.page.keyboard.press("Space")
    await expect(pick).to_be_checked()


async def test_one_decision_after_another_without_leaving_the_list(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy")
    await expect(cards(ana)).to_have_count(3)
    assert "Ada.md" in (await card(ana, "Ada")).text, "what is approved is on the card"
    await (await card(ana, "Ada")).press("Approve")
    await expect(cards(ana)).to_have_count(2)
    await expect(ana.page.locator("article:focus")).to_have_attribute(
        "aria-label", "Bob · turn 1 · write_to_file, needs approval"
    )
    await (await card(ana, "Bob")).press("Reject", reason="Another name")
    await expect(cards(ana)).to_have_count(1)
    await (await card(ana, "Cy")).press("Approve ×3")
    await expect(ana.page.get_by_text("You’re all caught up.")).to_be_visible()
    assert urlsplit(ana.page.url).path == "/"
    await expect(ana.page.locator("#outcomes")).to_contain_text("Done · Cy: Write Cy.md +1")
    await ana.page.locator("#outcomes").get_by_role("link", name="Open").click()
    await expect(ana.page.get_by_role("heading", name="Cy", level=1)).to_be_visible()


async def test_a_reason_that_is_being_written_stays_while_another_person_decides(
    ana: BrowserChat, browser: Browser, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob")
    ada = await card(ana, "Ada")
    await ana.page.mouse.move(0, 0)
    await ada.article.get_by_role("button", name="Reject", exact=True).click()
    sheet = ana.page.locator("[popover]:popover-open")
    await sheet.get_by_label("Reason", exact=True).fill("This is wr")
    bob = BrowserChat(await (await open_context(browser)).new_page(), ana.base)
    await bob.call_me("bob")
    await (await card(bob, "Ada")).press("Approve")
    await expect(sheet.get_by_role("alert")).to_have_text("Meanwhile this was decided. What you wrote stays here.")
    await expect(sheet.get_by_label("Reason", exact=True)).to_have_value("This is wr")
    await (await card(bob, "Bob")).press("Approve")
    await expect(cards(ana)).to_have_count(0)
    await ana.page.keyboard.press("Escape")
    await expect(sheet).to_be_hidden()


async def test_a_new_proposal_appears_below_those_that_wait_and_the_list_passes_axe(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada")
    other = BrowserChat(await ana.page.context.new_page(), ana.base)
    model.say(writing("b.md", "one"))
    await other.new_agent("Bob", "writes", "Write a file")
    await expect(cards(ana)).to_have_count(2)
    await expect(cards(ana).last.get_by_role("link", name="Bob")).to_be_visible()
    await expect(ana.page.get_by_role("article", name="Bob")).to_have_count(0)
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:selected")
async def test_several_cards_are_selected_and_approved_together(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy")
    bar = ana.page.get_by_role("button", name="selected")
    await expect(bar).to_be_hidden()
    for name in ("Ada", "Cy"):
        await select(ana, name)
    await expect(bar).to_have_text("Approve 2 selected")
    assert (await Axe().run(ana.page)).violations_count == 0
    await ana.page.evaluate("refresh()")
    await expect(bar).to_have_text("Approve 2 selected")
    await ana.page.mouse.move(0, 0)
    await bar.click()
    await expect(cards(ana)).to_have_count(1)
    told = ana.page.get_by_role("status").filter(has_text="Approved:")
    await expect(told.get_by_role("listitem")).to_have_text(
        ["Approved: Ada · Write “Ada.md” (+1)", "Approved: Cy · Write “Cy.md” (+1)"]
    )
    await expect(bar).to_be_hidden()
    await expect(ana.page.get_by_role("main")).to_be_focused()
    assert "/approve" not in ana.page.url


@pytest.mark.proves("page:selected")
async def test_a_card_that_another_person_decided_is_not_selected_any_more(
    ana: BrowserChat, browser: Browser, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob")
    for name in ("Ada", "Bob"):
        await select(ana, name)
    ben = BrowserChat(await (await open_context(browser)).new_page(), ana.base)
    await ben.call_me("ben")
    await (await card(ben, "Ada")).press("Approve")
    await expect(ana.page.get_by_role("button", name="Approve 1 selected")).to_be_visible()


async def ask_quickly(chat: BrowserChat, model: ScriptedModel, number: int) -> None:
    """Make agents that each ask to write a file, and wait until the list counts them."""
    for each in range(number):
        model.say(writing(f"{each}.md", "one"))
        form: dict[str, str | float | bool] = {"name": f"Agent{each:02}", "role": "writes", "goals": "Write a file"}
        address = f"{chat.base}/c/web/local/general/new"
        made = await chat.page.request.post(address, form=form, headers={"Origin": chat.base})
        assert made.ok
        await chat.page.goto(chat.base)
        await expect(chat.page).to_have_title(re.compile(rf"^\({each + 1}\) "))


@pytest.mark.proves("page:queue-short")
async def test_every_agent_has_a_row_of_the_screen_and_after_a_decision_the_next_card_has_the_focus(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ask_quickly(ana, model, 12)
    await expect(cards(ana)).to_have_count(12)
    is_phone = await ana.page.locator(".back").count() and not await ana.page.get_by_role("article").is_visible()
    await expect(cards(ana).first).to_have_js_property("offsetHeight", 52 if is_phone else 36)
    await expect(cards(ana).last).to_be_in_viewport()
    assert (await Axe().run(ana.page)).violations_count == 0
    await (await card(ana, "Agent09")).press("Approve")
    await expect(ana.page.locator("article:focus")).to_have_attribute("aria-label", re.compile("^Agent10 "))
    await expect(ana.page.locator("#queue [aria-current]")).to_contain_text("Agent10")
    await expect(cards(ana)).to_have_count(11)
    for name in ("Agent00", "Agent01", "Agent02", "Agent03"):
        await select(ana, name)
    await ana.page.mouse.move(0, 0)
    await ana.page.get_by_role("button", name="Approve 4 selected").click()
    await expect(ana.page.get_by_text("4 approved", exact=True)).to_be_visible()
    await expect(cards(ana)).to_have_count(7)
    assert (await Axe().run(ana.page)).violations_count == 0


@pytest.mark.proves("page:unseen")
async def test_a_row_whose_card_was_not_on_the_screen_is_not_selected_but_opened(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob")
    pick = ana.page.locator("input.pick[aria-label^='Select Bob ']")
    for is_click in (True, False):
        await ana.page.goto(ana.base)
        await (pick.click() if is_click else pick.press("Space"))
        await expect(ana.page.get_by_role("article", name="Bob ")).to_be_visible()
        await expect(ana.page.locator("#hint")).to_have_text(UNREAD)
        await expect(pick).not_to_be_checked()
    await select(ana, "Bob")
    await expect(ana.page.get_by_role("button", name="Approve 1 selected")).to_be_visible()


async def test_a_row_is_a_link_without_scripts_and_the_way_back_leads_to_the_list(
    ana: BrowserChat, browser: Browser, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob")
    await card(ana, "Bob")
    await ana.page.go_back()
    await expect(ana.page).to_have_url(f"{ana.base}/")
    await expect(ana.page.locator("#queue [aria-current]")).to_contain_text("Ada")
    state = await ana.page.context.storage_state()
    screen = ana.page.viewport_size
    context = await open_context(browser, java_script_enabled=False, storage_state=state, viewport=screen)
    plain = await context.new_page()
    await plain.goto(ana.base)
    await expect(plain.get_by_role("checkbox", name="Select")).to_have_count(0)
    await plain.get_by_role("link", name="Bob").first.click()
    await plain.get_by_role("button", name="Approve", exact=True).click()
    await expect(plain.get_by_role("article", name="Ada ")).to_be_visible()
    await expect(plain.locator("#outcomes")).to_contain_text("Bob: Write Bob.md +1")
    if screen and screen["width"] < 1000:
        await plain.locator("#back a").first.click()
    await plain.get_by_role("button", name="Stop all…").click()
    await plain.get_by_role("button", name=re.compile(r"^Stop \d agents?$")).click()
    await expect(plain.locator("#told")).to_contain_text("2 agents stopped.")


@pytest.mark.proves("page:stop-all")
async def test_stop_all_says_how_many_it_stops_and_how_many_stopped(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask(ana, model, "Ada", "Bob")
    await ana.page.get_by_role("button", name="Stop all…").click()
    sheet = ana.page.locator("#stop-all")
    await expect(sheet.get_by_role("heading", name="Stop 2 agents?")).to_be_visible()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await sheet.get_by_role("button", name="Cancel").click()
    await expect(cards(ana)).to_have_count(2)
    await ana.page.get_by_role("button", name="Stop all…").click()
    await ana.page.mouse.move(0, 0)
    await sheet.get_by_role("button", name="Stop 2 agents").click()
    await expect(ana.page.locator("#told")).to_have_text("2 agents stopped. Nothing is lost: Resume continues each.")
    await expect(cards(ana)).to_have_count(0)
    await expect(ana.page.get_by_role("button", name="Stop all…")).to_have_count(0)
    await expect(ana.page.get_by_text("You’re all caught up.")).to_be_visible()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:queue-filter")
async def test_a_filter_is_kept_in_the_address_and_after_a_decision(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask_quickly(ana, model, 2)
    await ana.page.get_by_text("Filter", exact=True).click()
    await ana.page.get_by_label("Class", exact=True).select_option("write")
    await ana.page.get_by_label("Only my agents").check()
    await ana.page.get_by_role("button", name="Show", exact=True).click()
    await expect(ana.page).to_have_url(re.compile("class=write&mine=1"))
    await (await card(ana, "Agent00")).press("Approve")
    await expect(cards(ana)).to_have_count(1)
    await expect(ana.page.locator("article:focus")).to_have_attribute("aria-label", re.compile("^Agent01 "))
    await expect(ana.page).to_have_url(re.compile("class=write&mine=1"))
    if await ana.page.locator(".back").is_visible():
        await ana.page.locator(".back").click()
    await ana.page.get_by_label("Class", exact=True).select_option("execute")
    await ana.page.get_by_role("button", name="Show", exact=True).click()
    await expect(ana.page.get_by_role("heading", name="Nothing of this kind is waiting for you.")).to_be_visible()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await ana.page.get_by_role("link", name="1 agent waits in the whole list").click()
    await expect(cards(ana)).to_have_count(1)
