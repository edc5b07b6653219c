"""What a person does at the local workspace, in a real browser."""

import asyncio

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, expect

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.chat import Story, writing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def ana(context: BrowserContext, address: str) -> BrowserChat:
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me("ana")
    return chat


@pytest_asyncio.fixture(loop_scope="session")
async def ben(browser: Browser, address: str) -> BrowserChat:
    chat = BrowserChat(await (await open_context(browser)).new_page(), address)
    await chat.call_me("ben")
    return chat


@pytest.mark.proves("story:surfaces")
async def test_a_person_takes_an_agent_from_form_to_finished_goal(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(*Story().replies)
    await Story().play(ana)


async def told(page: Page) -> bool:
    """Wait until a click was answered; say whether it was refused."""
    refusal = page.locator("#alert .alert")
    await expect(refusal.or_(page.locator("article .done:is(.good, .busy)")).first).to_be_visible()
    return await refusal.count() > 0


@pytest.mark.proves("decide:twice")
async def test_two_people_clicking_at_once_make_one_decision(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    mine = await ana.asks("write_to_file")
    await ben.page.goto(ana.page.url)
    theirs = await ben.asks("write_to_file")
    for page in (ana.page, ben.page):  # neither page hears of the other's click before its own
        await page.route("**/events", lambda route: route.abort())
        await page.reload()
    await asyncio.gather(mine.press("Approve"), theirs.press("Approve"))
    said = [await page.locator("#alert").inner_text() for page in (ana.page, ben.page) if await told(page)]
    assert [("already approved by @" in alert) for alert in said] == [True]
    await ana.page.unroute("**/events")
    await ana.page.reload()
    assert await ana.sees("now holds 3 characters.")
    assert await ana.page.locator("article.good").count() == 1


async def test_somebody_elses_click_reaches_an_open_page_and_what_is_being_written_stays(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ben.page.goto(ana.page.url)
    theirs = await ben.asks("write_to_file")
    await theirs.article.get_by_role("button", name="Reject", exact=True).click()
    sheet = ben.page.locator("[popover]:popover-open")
    await sheet.get_by_label("Reason", exact=True).fill("Use another name, please")
    await (await ana.asks("write_to_file")).press("Approve")
    await expect(sheet.get_by_text("Meanwhile: ")).to_be_visible()
    await expect(sheet.get_by_role("button", name="Reject")).to_be_disabled()
    await expect(sheet.get_by_label("Reason", exact=True)).to_have_value("Use another name, please")
    await sheet.get_by_role("button", name="Cancel").click()
    await expect(sheet).to_be_hidden()


async def test_a_page_is_fetched_while_changes_follow_each_other_without_a_pause(ana: BrowserChat) -> None:
    await ana.page.route("**/events", lambda route: route.abort())  # its beat would have the page fetched too
    await ana.page.reload()
    await ana.page.wait_for_load_state("networkidle")
    async with ana.page.expect_request(ana.page.url):
        await ana.page.evaluate("() => { setInterval(refreshSoon, 5); }")


async def test_a_sheet_in_which_nothing_was_written_goes_with_its_card(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ben.page.goto(ana.page.url)
    theirs = await ben.asks("write_to_file")
    await theirs.article.get_by_role("button", name="Reject", exact=True).click()
    await expect(ben.page.locator("[popover]:popover-open")).to_be_visible()
    model.say(writing("b.txt", "two"))
    await (await ana.asks("write_to_file")).press("Approve")
    await expect(ben.page.locator("[popover]:popover-open")).to_have_count(0)
    await expect(ben.page.locator(".card.open", has_text="b.txt")).to_be_attached()


@pytest.mark.proves("approval:hash")
async def test_a_line_begun_under_one_card_does_not_approve_the_next(
    ana: BrowserChat, ben: BrowserChat, model: ScriptedModel
) -> None:
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ben.page.goto(ana.page.url)
    await ben.asks("write_to_file")
    await ben.page.locator("#reply").fill("!approve")
    model.say(reply_text("delete_file", {"filename": "a.txt"}))
    await (await ana.asks("write_to_file")).press("Approve")
    await ben.asks("delete_file")
    await ben.page.locator("#reply").press("Enter")
    await expect(
        ben.page.get_by_text("You wrote this before turn 2 was shown")
        .or_(ben.page.get_by_text("Nothing was decided"))
        .first
    ).to_be_visible()
    assert await ana.page.locator("article.good").count() == 1


async def test_a_refused_form_keeps_what_was_typed_and_names_the_field(ana: BrowserChat) -> None:
    page = ana.page
    await page.goto(f"{ana.base}/c/web/local/general/new")
    await page.get_by_label("Name", exact=True).fill("Clerk")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert").last).to_contain_text("Goals: write at least one, one per line.")
    await expect(page.get_by_label("Name", exact=True)).to_have_value("Clerk")
    await expect(page.get_by_label("Goals")).to_have_attribute("aria-invalid", "true")


async def test_everything_can_be_done_by_keyboard(ana: BrowserChat, model: ScriptedModel) -> None:
    model.say(writing("a.txt", "one"), reply_text("do_nothing"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.asks("write_to_file")
    page = ana.page
    await page.get_by_role("button", name="Approve", exact=True).focus()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("[popover]:popover-open")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Shift+Tab")
    await expect(page.locator(":focus")).not_to_have_attribute("aria-disabled", "true")
    await page.keyboard.press("Enter")
    assert await ana.sees("now holds 3 characters.")
    await expect(page.get_by_role("article").first).to_be_focused()


@pytest.mark.proves("page:text")
async def test_what_the_model_writes_is_shown_as_text(ana: BrowserChat, model: ScriptedModel) -> None:
    hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    model.say(reply_text("write_to_file", {"filename": "a.txt", "text": f"{hostile}\u202e"}, text=hostile))
    await ana.new_agent("Clerk", hostile, hostile)
    card = await ana.asks("write_to_file")
    assert hostile in card.text
    assert "⟨U+202E⟩" in card.text
    assert await ana.page.title() == "(1) Clerk · #general · Signoff"


async def test_no_page_breaks_its_own_policy_or_logs_an_error(ana: BrowserChat, model: ScriptedModel) -> None:
    logged = list[str]()
    ana.page.on(
        "console", lambda message: logged.append(message.text) if message.type in ("error", "warning") else None
    )
    ana.page.on("pageerror", lambda error: logged.append(str(error)))
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    thread = ana.page.url
    await ana.page.goto(ana.base)
    await ana.page.locator("#queue a.entry").click()
    await (await ana.asks("write_to_file")).press("Reject", reason="Another name")
    await expect(ana.page.locator("#outcomes")).to_contain_text("rejected by @ana")
    for place in (thread, f"{thread}/glance", f"{thread}/memory", f"{ana.base}/c/web/local/general/new"):
        await ana.page.goto(place)
        await ana.page.evaluate("refresh()")
    assert logged == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_nothing_is_wider_than_the_page(
    browser: Browser, address: str, model: ScriptedModel, scheme: str, width: int
) -> None:
    context = await open_context(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    chat = BrowserChat(await context.new_page(), address)
    model.say(reply_text("write_to_file", {"filename": "a" * 200, "text": "b" * 10_000}, text="ع" * 3000))
    await chat.new_agent("C" * 80, "r" * 900, "g" * 1500)
    await chat.asks("write_to_file")
    assert await chat.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_page_has_a_fault_that_a_screen_reader_would_meet(
    browser: Browser, address: str, model: ScriptedModel, scheme: str
) -> None:
    context = await open_context(browser, color_scheme=scheme)
    chat = BrowserChat(await context.new_page(), address)
    model.say(writing("a.txt", "one\n"), reply_text("delete_file", {"filename": "a.txt"}, text="I tidy up."))
    await chat.new_agent("Clerk", "writes", "Write a file")
    await (await chat.asks("write_to_file")).press("Approve")
    await chat.asks("delete_file")
    thread = chat.page.url
    for url in (
        thread,
        address,
        f"{address}/c/web/local/general",
        f"{address}/c/web/local/general/new",
        f"{thread}/audit",
        f"{address}/c/web/local/general/audit",
    ):
        await chat.page.goto(url)
        found = await Axe().run(chat.page)
        assert found.violations_count == 0, f"{url}\n{found.generate_report()}"


@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("width", [360, 760])
async def test_tables_can_be_read_on_a_narrow_screen_and_reached_by_keyboard(
    browser: Browser, address: str, model: ScriptedModel, width: int
) -> None:
    context = await open_context(browser, viewport={"width": width, "height": 800})
    chat = BrowserChat(await context.new_page(), address)
    model.say(writing("a" * 60 + ".txt", "one\n"))
    await chat.new_agent("Clerk" * 10, "writes", "Write a file")
    await (await chat.asks("write_to_file")).press("Reject", reason="Use another name. " * 20)
    for url in (f"{address}/c/web/local/general", f"{address}/c/web/local/general/audit"):
        await chat.page.goto(url)
        table = chat.page.locator("main .wide")
        await table.focus()
        await expect(table).to_be_focused()
        if width == 360:
            assert await table.evaluate("each => each.scrollWidth <= each.clientWidth"), url
        found = await Axe().run(chat.page)
        assert found.violations_count == 0, f"{url}\n{found.generate_report()}"


@pytest.mark.proves("card:verbatim")
async def test_an_argument_reads_in_the_browser_as_it_was_written(ana: BrowserChat, model: ScriptedModel) -> None:
    text = "\n\n  two  spaces\n\tand a tab"
    model.say(reply_text("write_to_file", {"filename": "a  b.txt", "text": text}))
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    await card.article.locator(".why > summary").click()
    assert await card.article.locator(".why dd pre").first.evaluate("element => element.innerText") == text
    assert await card.article.locator(".why dd code").first.evaluate("element => element.innerText") == "a  b.txt"
