"""Operations in a real browser: found from the settings, both widths, light and dark, by keyboard."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize, expect

from agent_core.model.agent import Acting, Awaiting, Paused
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlDatabase
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import CHANNEL, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, open_context, open_settings
from tests.browser.test_glance_page import passes
from tests.scenario.served import served
from tests.tables import make_tables

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)]
WORD = "Donaudampfschifffahrtsgesellschaft"


@pytest_asyncio.fixture(loop_scope="session")
async def base(tmp_path: Path) -> AsyncIterator[str]:
    """Agents with long names that are stuck, wait and rest, and spending of some days."""
    url, now = f"sqlite:///{tmp_path / 'signoff.db'}", SystemClock().now()
    await make_tables(url)
    database = SqlDatabase(url)
    ada = an_agent(name=f"عادة {WORD}", status=Awaiting(), since=now - timedelta(hours=5))
    elsewhere = ChannelScope("slack", "T1", "finance")  # no surface here advances it
    stuck = replace(ada, id=AgentId("bob"), name="Bob", channel=elsewhere, status=Acting())
    await keep(database, ada, stuck, replace(ada, id=AgentId("cyd"), name="Cyd", status=Paused(f"{WORD}{WORD}")))
    async with database.begin() as work:
        for day in range(9):
            usage = Usage(prompt=900, cost=Decimal(day))
            work.budgets.add_to_day(CHANNEL, now - timedelta(days=day), f"{WORD}-{day % 2}", usage)
        await work.commit()
    await database.close()
    async with served(ScriptedModel(waits=True), tmp_path) as address:
        yield address


@pytest.mark.proves("watch:operations")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_operations_is_found_fits_the_screen_and_passes_axe(
    browser: Browser, base: str, screen: ViewportSize, scheme: str
) -> None:
    page = await (await open_context(browser, viewport=screen, color_scheme=scheme)).new_page()
    await page.goto(f"{base}/c/web/local/general")
    await open_settings(page)
    await page.get_by_role("link", name="Operations").click()
    await expect(page.get_by_role("heading", name="Operations")).to_be_visible()
    await expect(page.get_by_role("img", name="Spend of each of the last 30 days")).to_be_visible()
    await expect(page.get_by_role("table", name="Stuck agents, the longest first")).to_contain_text("Bob")
    await page.get_by_text("Spend by day", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("table", name="Spend by day, oldest first")).to_contain_text("$8.00")
    await passes(page)
    await expect(page.get_by_role("link", name="Bob")).to_have_attribute("href", "/c/slack/T1/finance/a/bob")
