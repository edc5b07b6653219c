"""A real Chromium for the tests of the page: Debian's where there is one, else Playwright's own download."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright

from agent_core.capabilities.web.browser_pages import chromium
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat, open_context
from tests.browser.two_people import sent_by, visit
from tests.packages import need
from tests.scenario.served import served

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def started() -> AsyncIterator[Browser]:
    """One for all tests of a worker: starting it takes longer than most of them."""
    need("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(started: Browser) -> AsyncIterator[Browser]:
    """The browser with nothing kept from the test before."""
    yield started
    for context in started.contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> BrowserContext:
    """One person's browser."""
    return await open_context(browser, viewport={"width": 1280, "height": 900}, accept_downloads=True)


@pytest.fixture
def model() -> ScriptedModel:
    """Says what the test lets it say."""
    return ScriptedModel(waits=True)


@pytest_asyncio.fixture(loop_scope="session")
async def address(model: ScriptedModel, tmp_path: Path) -> AsyncIterator[str]:
    """Where the page is served."""
    async with served(model, tmp_path) as base:
        yield base


@pytest_asyncio.fixture(loop_scope="session")
async def ana(browser: Browser, address: str) -> BrowserChat:
    """Ana's page, whose clock goes as it does for people."""
    return await visit(browser, address, "ana", height=1600)


@pytest_asyncio.fixture(loop_scope="session")
async def ben(browser: Browser, address: str) -> BrowserChat:
    """Ben's, on which all cards are on the screen."""
    return await visit(browser, address, "ben", height=3000)


@pytest_asyncio.fixture(loop_scope="session")
async def sent(ana: BrowserChat) -> list[str]:
    """What Ana's page sends from now on; in the loop of the page, which listens by a task."""
    return sent_by(ana)
