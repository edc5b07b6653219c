"""The list of all agents that need approval: people decide there, one after another, without leaving it."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, ViewportSize, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserCard, BrowserChat, open_context
from tests.scenario.chat import writing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.asyncio(loop_scope="session"),
]
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]

# Cards of which Approve can be pressed while the heading with the command is out of sight.
BLIND = """() => {
    const isHit = each => {
        const { x, y, width, height } = each.getBoundingClientRect();
        return each.contains(document.elementFromPoint(x + Math.min(width, 40) / 2, y + height / 2));
    };
    return [...document.querySelectorAll(".card.open")].filter(
        card => isHit(card.querySelector(".acts .go")) && !isHit(card.querySelector("h2"))).length;
}"""


@pytest_asyncio.fixture(loop_scope="session", params=SCREENS, ids=["desk", "phone"])
async def ana(browser: Browser, address: str, request: pytest.FixtureRequest) -> AsyncIterator[BrowserChat]:
    chat = BrowserChat(await (await open_context(browser, viewport=request.param)).new_page(), address)
    await chat.call_me("ana")
    yield chat


async def ask(chat: BrowserChat, model: ScriptedModel, *names: str) -> None:
    """Make agents that each propose to write a file of their name, in this order."""
    for name in names:
        model.say(writing(f"{name}.md", "one"))
        await chat.new_agent(name, "writes", "Write a file")
        await chat.asks("write_to_file")
    await chat.page.goto(chat.base)


def cards(chat: BrowserChat) -> Locator:
    return chat.page.get_by_role("article")


async def card(chat: BrowserChat, name: str) -> BrowserCard:
    """The card of this agent in the list."""
    found = cards(chat).filter(has=chat.page.get_by_role("link", name=name))
    identity = await found.get_attribute("id") or ""
    return BrowserCard(chat.page, chat.page.locator(f"[id='{identity}']"), await found.inner_text())


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
    await expect(ana.page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    assert ana.page.url == f"{ana.base}/"


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
    await expect(cards(ana)).to_have_count(1)
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
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()


async def test_no_button_is_in_sight_without_the_command_that_it_approves(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy")
    await expect(cards(ana)).to_have_count(3)
    end = await ana.page.evaluate("document.documentElement.scrollHeight - innerHeight")
    for y in range(0, end + 1, 16):
        await ana.page.evaluate(f"scrollTo(0, {y})")
        assert await ana.page.evaluate(BLIND) == 0, f"{y} of {end}"


@pytest.mark.proves("page:selected")
async def test_several_cards_are_selected_and_approved_together(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask(ana, model, "Ada", "Bob", "Cy")
    bar = ana.page.get_by_role("button", name="selected")
    await expect(bar).to_be_hidden()
    for name in ("Ada", "Cy"):
        pick = ana.page.get_by_role("checkbox", name=f"Select {name}")
        await pick.focus()
        await ana.page.keyboard.press("Space")
        if not await pick.is_checked():  # its command was out of sight, and was brought back
            await ana.page.keyboard.press("Space")
    await expect(bar).to_have_text("Approve 2 selected")
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await ana.page.evaluate("refresh()")
    await expect(bar).to_have_text("Approve 2 selected")
    await ana.page.mouse.move(0, 0)
    await bar.click()
    await expect(cards(ana)).to_have_count(1)
    told = ana.page.get_by_role("status").filter(has_text="approved.")
    await expect(told.get_by_role("listitem")).to_have_text(
        ["Ada · turn 1 · write_to_file: approved.", "Cy · turn 1 · write_to_file: approved."]
    )
    await expect(bar).to_be_hidden()
    assert ana.page.url == f"{ana.base}/"


@pytest.mark.proves("page:selected")
async def test_a_card_that_another_person_decided_is_not_selected_any_more(
    ana: BrowserChat, browser: Browser, model: ScriptedModel
) -> None:
    await ask(ana, model, "Ada", "Bob")
    for name in ("Ada", "Bob"):
        await ana.page.get_by_role("checkbox", name=f"Select {name}").focus()
        await ana.page.keyboard.press("Space")
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
async def test_after_the_tenth_card_the_one_that_moves_up_has_the_focus(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask_quickly(ana, model, 12)
    fold = ana.page.get_by_text("2 more agents")
    await expect(cards(ana)).to_have_count(10)
    await fold.click()
    await expect(cards(ana)).to_have_count(12)
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await (await card(ana, "Agent09")).press("Approve")
    await expect(ana.page.get_by_text("1 more agent:")).to_be_visible()
    await expect(ana.page.locator("article:focus")).to_have_attribute("aria-label", re.compile("^Agent10 "))
    await expect(cards(ana)).to_have_count(11)
    for name in ("Agent00", "Agent01", "Agent02", "Agent03"):
        pick = ana.page.get_by_role("checkbox", name=f"Select {name}")
        await pick.focus()
        await ana.page.keyboard.press("Space")
        if not await pick.is_checked():  # its command was out of sight, and was brought back
            await ana.page.keyboard.press("Space")
        await expect(pick).to_be_checked()
    await ana.page.mouse.move(0, 0)
    await ana.page.get_by_role("button", name="Approve 4 selected").click()
    await expect(ana.page.get_by_text("4 approved", exact=True)).to_be_visible()
    await expect(cards(ana)).to_have_count(7)
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:queue-filter")
async def test_a_filter_is_kept_in_the_address_and_after_a_decision(ana: BrowserChat, model: ScriptedModel) -> None:
    await ask_quickly(ana, model, 2)
    await ana.page.get_by_text("Show a part", exact=True).click()
    await ana.page.get_by_label("Class", exact=True).select_option("write")
    await ana.page.get_by_label("Only my agents").check()
    await ana.page.get_by_role("button", name="Show", exact=True).click()
    await expect(ana.page).to_have_url(re.compile("class=write&mine=1"))
    await (await card(ana, "Agent00")).press("Approve")
    await expect(cards(ana)).to_have_count(1)
    await expect(ana.page.locator("article:focus")).to_have_attribute("aria-label", re.compile("^Agent01 "))
    await expect(ana.page).to_have_url(re.compile("class=write&mine=1"))
    await ana.page.get_by_label("Class", exact=True).select_option("execute")
    await ana.page.get_by_role("button", name="Show", exact=True).click()
    await expect(ana.page.get_by_role("heading", name="Nothing of this kind is waiting for you.")).to_be_visible()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await ana.page.get_by_role("link", name="1 agent waits in the whole list").click()
    await expect(cards(ana)).to_have_count(1)


@pytest.mark.proves("page:queue-short")
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_line_of_the_fold_opens_a_whole_card_that_is_decided_there(
    ana: BrowserChat, model: ScriptedModel, width: int
) -> None:
    await ana.page.set_viewport_size({"width": width, "height": 740})
    await ask_quickly(ana, model, 12)
    await ana.page.get_by_text("2 more agents").click()
    await ana.page.get_by_role("link", name="Agent11 · turn 1").click()
    opened = await card(ana, "Agent11")
    await expect(opened.article.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport()
    await expect(opened.article.get_by_role("checkbox", name="Select Agent11")).to_be_visible()
    found = await Axe().run(ana.page)
    assert found.violations_count == 0, found.generate_report()
    await opened.press("Reject", reason="Enough")
    await expect(ana.page.get_by_text("1 more agent:")).to_be_visible()
    await expect(opened.article).to_have_count(0)
