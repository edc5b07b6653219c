"""What a person does about an agent's mind at the local workspace, in a real browser: by keyboard, and by eye."""

import re

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat, open_context, open_tab
from tests.scenario.chat import writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]

MOST_TABS = 60
# Scrolls so that an element ends where the window does, with the focus before it.
AT_THE_LOWER_EDGE = """element => {
  const all = [...document.querySelectorAll("button, summary")].filter(each => each.checkVisibility());
  all[all.indexOf(element) - 1].focus({preventScroll: true});
  scrollBy({top: element.getBoundingClientRect().bottom - innerHeight, behavior: "instant"});
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def ana(context: BrowserContext, address: str, model: ScriptedModel) -> BrowserChat:
    """Ana with an agent that asks for something."""
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me("ana")
    model.say(writing("a.txt", "one"))
    await chat.new_agent("Clerk", "writes", "Write a file")
    await chat.asks("write_to_file")
    return chat


async def go_to(page: Page, text: str) -> None:
    """Press Tab until what says this has the focus."""
    for _ in range(MOST_TABS):
        await page.keyboard.press("Tab")
        focused = await page.evaluate("document.activeElement.textContent || document.activeElement.id")
        if " ".join(focused.split()) == text:
            return
    pytest.fail(f"{text} cannot be reached by keyboard.")


async def press(page: Page, text: str) -> None:
    """Go there by keyboard and press Enter, once what has the focus has settled."""
    await go_to(page, text)
    await expect(page.locator(":focus")).not_to_have_attribute("aria-disabled", "true")
    await page.keyboard.press("Enter")


async def remember(page: Page, text: str) -> None:
    """Add a text on the page of the memory."""
    await page.locator("summary", has_text="Add a text").first.click()
    await page.get_by_label("What it should remember").fill(text)
    await page.get_by_role("button", name="Remember").first.click()
    await expect(page.get_by_text(re.compile("^Remembered"))).to_be_visible()


async def test_a_review_is_asked_for_and_goals_are_changed_by_keyboard_alone(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    page = ana.page
    model.say("Look before you write.")
    await press(page, "More")
    await press(page, "Self-review")
    await expect(page.get_by_role("region", name="Self-review")).to_contain_text("Look before you write.")
    await expect(page.get_by_role("article").get_by_role("button", name="More", exact=True)).to_be_focused()
    await page.get_by_role("radio", name="Overview").focus()
    await page.keyboard.press("ArrowLeft")  # from the first to the last
    await press(page, "Goals 1")
    await go_to(page, "Write a file")
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Read it")
    await press(page, "Set the goals")
    await expect(page.locator("[data-tab=overview] ol li")).to_have_text(["Read it"])
    await expect(page.get_by_role("button", name="Set the goals")).to_be_focused()


async def test_the_reply_box_covers_no_button_that_is_reached_by_keyboard(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    page = ana.page
    await page.set_viewport_size({"width": 390, "height": 844})
    model.say(writing("b.txt", "\n".join(f"line {number}" for number in range(40))))
    await ana.says("Write more")
    await ana.asks("write_to_file")
    controls = page.get_by_role("article").last.locator("button, summary")
    for name in ("Reject", "More"):
        await controls.filter(has_text=re.compile(f"^{name}$"), visible=True).evaluate(AT_THE_LOWER_EDGE)
        await go_to(page, name)
        bottom = await page.evaluate("document.activeElement.getBoundingClientRect().bottom")
        top = await page.evaluate("document.querySelector('.reply').getBoundingClientRect().top")
        assert bottom <= top, f"{name} is covered by {bottom - top} pixels"


async def test_memory_is_searched_and_one_thing_is_forgotten_by_keyboard_alone(ana: BrowserChat) -> None:
    page = ana.page
    await open_tab(page, "Memory")
    await press(page, "Search and change its memory")
    for text in ("The stand-up is at half past nine", "Ben brings cake"):
        await remember(page, text)
    await go_to(page, "words")
    await page.keyboard.type("who brings cake")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Best matches for “who brings cake”")).to_be_visible()
    summary = page.locator(".memory > summary").first
    await expect(summary).to_contain_text("Ben brings cake")
    await press(page, " ".join((await summary.inner_text()).split()))
    await press(page, "Forget")
    await press(page, "Forget it")
    await expect(page.get_by_text("1 thing forgotten.")).to_be_visible()
    await expect(page.locator(".memory .text")).to_have_text(["The stand-up is at half past nine"])


async def test_what_is_asked_in_the_reply_box_is_answered_to_this_person_alone(ana: BrowserChat) -> None:
    page = ana.page
    await ana.says("!memory add <b>Ben</b> brings cake")
    await expect(page.locator("#told")).to_have_text("Saved to the memory of Clerk.")
    await ana.says("!export")
    await expect(page.locator("#told")).to_contain_text("ai_name: Clerk")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="ai_settings.yaml", exact=True).click()
    assert (await download.value).suggested_filename == "ai_settings.yaml"
    await ana.says("Not now")
    await expect(page.locator("#told")).to_be_empty()


async def test_a_review_under_way_is_said_and_leaves_the_other_buttons_alone(
    ana: BrowserChat, model: ScriptedModel
) -> None:
    page = ana.page
    article = page.get_by_role("article").first
    await article.get_by_role("button", name="More", exact=True).click()
    await article.get_by_role("button", name="Self-review").click()
    busy = article.get_by_role("button", name="Reviewing…")
    await expect(busy).to_be_disabled()
    await expect(page.locator("#news")).to_have_text("Reviewing…")
    await expect(article.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    model.say("Nothing against it.")
    await expect(article.get_by_role("region", name="Self-review")).to_contain_text("Nothing against it.")
    await expect(busy).to_have_count(0)


async def test_what_is_typed_while_an_answer_takes_its_time_stays(ana: BrowserChat, model: ScriptedModel) -> None:
    box = ana.page.get_by_label("Reply to")
    await ana.says("!review")
    await box.fill("Use another name")
    await expect(ana.page.get_by_role("button", name="Send note", exact=True)).to_be_enabled()
    model.say("Nothing against it.")
    await expect(ana.page.locator("#told")).to_contain_text("The self-review is on the card of turn 1.")
    await expect(box).to_have_value("Use another name")


async def test_goals_that_are_being_written_stay_when_the_agent_goes_on(ana: BrowserChat, model: ScriptedModel) -> None:
    page = ana.page
    await open_tab(page, "Settings")
    await page.locator("#about-goals summary").click()
    field = page.get_by_label("One per line, 1 to 5")
    await field.fill("Read it\nTell us")
    await field.evaluate("field => field.setSelectionRange(4, 4)")
    model.say("Nothing against it.")
    url = page.url
    other = BrowserChat(await page.context.new_page(), ana.base)
    await other.page.goto(url)
    article = other.page.get_by_role("article").first
    await article.get_by_role("button", name="More", exact=True).click()
    await article.get_by_role("button", name="Self-review").click()
    await expect(page.get_by_role("region", name="Self-review")).to_be_visible()
    await expect(page.locator("[data-tab=activity] dd").first).not_to_have_text("0")
    await expect(field).to_have_value("Read it\nTell us")
    await expect(field).to_be_focused()
    assert await field.evaluate("field => field.selectionStart") == 4


async def test_goals_that_are_refused_keep_what_was_typed_and_say_why(ana: BrowserChat) -> None:
    page = ana.page
    await open_tab(page, "Settings")
    await page.locator("#about-goals summary").click()
    field = page.get_by_label("One per line, 1 to 5")
    await field.fill("1\n2\n3\n4\n5\n6")
    await page.get_by_role("button", name="Set the goals").click()
    await expect(page.get_by_role("alert").last).to_contain_text("Goals: at most 5, one per line; there are 6.")
    await expect(field).to_have_value("1\n2\n3\n4\n5\n6")


async def test_a_text_file_and_a_settings_file_are_taken_from_this_computer(ana: BrowserChat) -> None:
    page = ana.page
    await page.goto(f"{page.url}/memory")
    await page.locator("summary", has_text="Add a text file").click()
    notes = {"name": "Notizen ü “1”.txt", "mimeType": "text/plain", "buffer": b"Ben brings cake"}
    await page.get_by_label("Text file").set_input_files(notes)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Remember").last.click()
    await expect(page.locator(".memory .facts")).to_have_text(re.compile("Notizen ü “1”.txt · just now"))
    await page.goto(f"{ana.base}/c/web/local/general/new")
    await page.locator("summary", has_text="Fill in from").click()
    settings = {"name": "ai.yaml", "mimeType": "text/yaml", "buffer": b"ai_name: Scout\nai_goals: [look]\n"}
    await page.get_by_label("The file").set_input_files(settings)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Fill in").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("Scout")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="Scout")).to_be_visible()


@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
async def test_the_pages_of_a_mind_have_no_fault_and_are_not_wider_than_the_screen(
    browser: Browser, address: str, ana: BrowserChat, model: ScriptedModel, scheme: str, width: int
) -> None:
    context = await open_context(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page, thread = await context.new_page(), ana.page.url
    model.say("Nothing against it.")
    await page.goto(thread)
    await page.get_by_role("article").get_by_role("button", name="More", exact=True).click()
    await page.get_by_role("button", name="Self-review").click()
    await expect(page.get_by_role("region", name="Self-review")).to_be_visible()
    await page.goto(f"{thread}/memory")
    for text in ("Ben brings cake", "x" * 3000, "ع" * 500, "<b>one</b>\n" * 9):
        await remember(page, text)
    await page.get_by_label("Search the memories").fill("y" * 500)
    await page.get_by_role("button", name="Search").click()
    channel = f"{address}/c/web/local/general"
    for url in (page.url.removesuffix("/search"), thread, channel, f"{channel}/new"):
        await look_at_all(page)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, page.url
        found = await Axe().run(page)
        assert found.violations_count == 0, f"{page.url}\n{found.generate_report()}"
        await page.goto(url)


async def look_at_all(page: Page) -> None:
    """Open whatever can be opened."""
    await page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")


async def test_a_budget_that_is_typed_replaces_the_old_one(ana: BrowserChat) -> None:
    page = ana.page
    await ana.says("!budget 0.03")
    await page.reload()
    await open_tab(page, "Settings")
    await page.locator("#about-budget summary").click()
    box = page.get_by_label("US dollars")
    await expect(box).to_have_value("0.03")
    await box.focus()
    await page.keyboard.type("1")
    await expect(box).to_have_value("1")
