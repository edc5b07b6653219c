"""Risk classes on the page: told apart in word, sign and colour, in light and dark."""

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, expect

from agent_core.model.agent import Awaiting
from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import open_context
from tests.scenario.served import served
from tests.tables import make_tables

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]
CHANNEL = ChannelScope("web", "local", "general")

COLOURS = "() => [...document.querySelectorAll('article .class')].map(each => getComputedStyle(each).color)"


async def kept(folder: Path) -> str:
    """An agent that asks for a command of every class; give its id."""
    url = f"sqlite:///{folder / 'signoff.db'}"
    await make_tables(url)
    database = SqlDatabase(url)
    agent = an_agent(channel=CHANNEL, status=Awaiting())
    turn = replace(a_turn(agent), risks=("read", "write", "network", "execute", "publish", "spend"))
    await keep(database, agent, turn)
    await database.close()
    return agent.id


@pytest.mark.proves("card:risk")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_each_class_that_stands_out_has_a_sign_and_a_colour_that_can_be_read(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    agent_id = await kept(tmp_path)
    async with served(ScriptedModel(waits=True), tmp_path) as address:
        page = await (await open_context(browser, color_scheme=scheme)).new_page()
        for url in (f"{address}/c/web/local/general/a/{agent_id}", address):
            await page.goto(url)
            chips = page.locator("article .class")
            await expect(chips).to_have_text(["▲ execute", "◆ publish", "■ spend", "read", "write", "network"])
            colours = await page.evaluate(COLOURS)
            assert len(set(colours)) == 4
            found = await Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
