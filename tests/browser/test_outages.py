"""The page in a real browser while the database is away: nothing that was typed is lost, and the page goes on."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, Route, expect

from adapters.screens.ui_text import AWAY
from adapters.web.fault_page import BACK
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, BrowserChat
from tests.e2e.process import free_port, program
from tests.scenario.chat import writing
from tests.scenario.served import served
from tests.standins.interrupted import DatabaseSwitch

NOTICED_MS = 6000  # promised are 3 seconds; the machine is shared with other tests

pytestmark = IN_A_BROWSER


@pytest.fixture
def database() -> DatabaseSwitch:
    return DatabaseSwitch()


@pytest_asyncio.fixture(loop_scope="session")
async def address(model: ScriptedModel, database: DatabaseSwitch, tmp_path: Path) -> AsyncIterator[str]:
    async with served(model, tmp_path, open_database=database.open) as base:
        yield base


@pytest_asyncio.fixture(loop_scope="session")
async def ana(context: BrowserContext, address: str) -> BrowserChat:
    chat = BrowserChat(await context.new_page(), address)
    await chat.call_me("ana")
    return chat


async def lose_first(database: DatabaseSwitch, route: Route) -> None:
    """Take the database away just before a request arrives."""
    database.is_off = True
    await route.continue_()


@pytest.mark.proves("page:outage")
async def test_a_reply_and_a_click_are_answered_with_the_sentence_and_the_text_stays(
    ana: BrowserChat, database: DatabaseSwitch, model: ScriptedModel
) -> None:
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    card, banner = await ana.asks("write_to_file"), ana.page.locator("#outage")
    await ana.page.route("**/press", partial(lose_first, database))
    await card.press("Approve")
    await expect(banner).to_have_text(AWAY)
    await ana.says("Use another name")
    await expect(banner).to_have_text(AWAY)
    await expect(ana.page.get_by_label("Reply to")).to_have_value("Use another name")
    database.is_off = False
    model.say(writing("b.txt", "two"))
    await ana.page.get_by_label("Reply to").press("Enter")
    await ana.asks("write_to_file")
    await expect(banner).to_be_hidden()


@pytest.mark.proves("page:outage-seen")
async def test_an_outage_of_the_database_is_seen_and_passes_without_a_click_and_moves_nothing(
    ana: BrowserChat, database: DatabaseSwitch, model: ScriptedModel
) -> None:
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    card = await ana.asks("write_to_file")
    approve, banner = card.article.get_by_role("button", name="Approve", exact=True), ana.page.locator("#outage")
    await ana.page.get_by_label("Reply to").fill("Half a sen")
    was = await approve.bounding_box()
    database.is_off = True
    await expect(banner).to_contain_text("cannot reach its database now", timeout=NOTICED_MS)
    await expect(approve).to_be_disabled()
    assert await approve.bounding_box() == was
    await card.article.get_by_role("button", name="Edit").click()  # opens a sheet and sends nothing
    await expect(ana.page.get_by_role("button", name="Run edited")).to_be_disabled()
    await expect(banner).to_be_visible()
    await ana.page.keyboard.press("Escape")
    assert (await Axe().run(ana.page)).violations_count == 0
    database.is_off = False
    await expect(banner).to_be_hidden(timeout=NOTICED_MS)
    assert await approve.bounding_box() == was
    await expect(ana.page.get_by_label("Reply to")).to_have_value("Half a sen")
    model.say(writing("b.txt", "two"))
    await card.press("Approve")
    await ana.asks("write_to_file")


@pytest.mark.proves("page:outage-seen")
async def test_a_server_that_is_gone_is_seen_and_its_return_without_a_click(
    context: BrowserContext, tmp_path: Path
) -> None:
    port = str(free_port())
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(program(tmp_path, PORT=port))
        ana = BrowserChat(await context.new_page(), f"http://127.0.0.1:{port}")
        await ana.page.goto(f"{server.address}/enter")  # the browser keeps the key that the address carries
        await ana.new_agent("Clerk", "writes", "list files")
        card, banner = await ana.asks("list_files"), ana.page.locator("#outage")
        approve = card.article.get_by_role("button", name="Approve", exact=True)
        await ana.page.get_by_label("Reply to").fill("Half a sen")
        await expect(approve).to_be_enabled()
        was = await approve.bounding_box()
        await server.kill()
        await expect(banner).to_contain_text("Signoff cannot be reached", timeout=NOTICED_MS)
        await expect(approve).to_be_disabled()
        assert await approve.bounding_box() == was
        await ana.page.get_by_label("Reply to").press("Enter")
        await expect(banner).to_contain_text("your click is not confirmed")
        await stack.enter_async_context(program(tmp_path, PORT=port))
        await expect(banner).to_be_hidden(timeout=3 * NOTICED_MS)
        await expect(ana.page.get_by_label("Reply to")).to_have_value("Half a sen")
        await card.press("Approve")
        await expect(card.article.get_by_role("button", name="Approve", exact=True)).to_have_count(0)


@pytest.mark.proves("page:outage")
@pytest.mark.proves("page:accessible")
async def test_the_form_of_a_new_agent_is_sent_again_from_the_page_of_the_outage(
    ana: BrowserChat, database: DatabaseSwitch
) -> None:
    page = ana.page
    await page.goto(f"{ana.base}/c/web/local/general/new")
    await page.get_by_label("Name", exact=True).fill("Clerk")
    await page.get_by_label("Goals").fill("One\nTwo")
    database.is_off = True
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_text(AWAY)).to_be_visible()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("Clerk")
    await expect(page.get_by_label("Goals")).to_have_value("One\nTwo")
    assert (await Axe().run(page)).violations_count == 0
    await page.get_by_label("Goals").fill("One\nTwo\nThree")
    again = page.get_by_role("button", name="Send again")
    await expect(again).to_be_disabled()
    database.is_off = False
    await expect(page.get_by_text(BACK)).to_be_visible()
    await page.route("**/new", partial(lose_first, database))
    await again.click()
    await expect(page.get_by_text(AWAY)).to_be_visible()
    await page.unroute("**/new")
    database.is_off = False
    await again.click()
    await expect(page.get_by_role("heading", name="Clerk")).to_be_visible()
    await expect(page.get_by_text("Three", exact=True)).to_be_visible()


@pytest.mark.proves("page:outage")
async def test_a_page_that_could_not_be_shown_loads_by_itself(ana: BrowserChat, database: DatabaseSwitch) -> None:
    database.is_off = True
    await ana.page.goto(f"{ana.base}/c/web/local/general")
    await expect(ana.page.get_by_text(AWAY)).to_be_visible()
    database.is_off = False
    await expect(ana.page.get_by_role("heading", name="# general")).to_be_visible()


@pytest.mark.proves("page:outage")
async def test_a_page_goes_on_after_its_stream_was_answered_with_an_error(
    ana: BrowserChat, database: DatabaseSwitch, model: ScriptedModel
) -> None:
    """As by a process that waits for the database, or by a proxy while Signoff restarts."""

    async def refuse(route: Route) -> None:
        await route.fulfill(status=503, body="The database is away.")

    await ana.new_agent("Clerk", "writes", "Write a file")
    await ana.page.route("**/events", refuse)
    database.is_off = True
    await ana.page.reload()
    await expect(ana.page.get_by_text(AWAY)).to_be_visible()
    async with ana.page.expect_response(lambda answer: answer.url.endswith("/events") and answer.status == 503):
        database.is_off = False
    await expect(ana.page.get_by_role("heading", name="Clerk")).to_be_visible()
    await ana.page.unroute("**/events")
    async with ana.page.expect_response(lambda answer: answer.url.endswith("/events") and answer.status == 200):
        pass
    model.say(writing("a.txt", "one"))
    await ana.asks("write_to_file")
