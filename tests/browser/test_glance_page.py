"""Activity and the themes in a real browser: both widths, light and dark, by keyboard, without scripts."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, ViewportSize, expect

from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, TurnId, new_id
from agent_core.model.model_calls import Usage
from agent_core.model.note import Notice
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import ANA, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import IN_A_BROWSER, open_context, open_settings, open_tab
from tests.scenario.served import served
from tests.tables import make_tables

pytestmark = IN_A_BROWSER
SCREENS = [ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)]
CHANNEL = "/c/web/local/general"
WAITS = 3 * (timedelta(seconds=3), timedelta(minutes=4), timedelta(hours=2), timedelta(days=3))
SPENT = Usage(prompt=4_000, completion=300, cost=Decimal("0.12"))
OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"
PAPER = "() => getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(251, 251, 250)", "rgb(16, 18, 17)"


def run_of(agent: Agent, begun: datetime) -> list[Turn | Notice]:
    """Turns that waited for seconds, minutes, hours and days; a day of rest; and one that asks."""
    values: list[Turn | Notice] = []
    at = begun
    for number, wait in enumerate(WAITS, 1):
        at += timedelta(seconds=20)
        turn = a_turn(agent, id=TurnId(new_id(at)), number=number, proposed_at=at, usage=SPENT)
        at += wait
        running = turn.decide(Approve(), by=ANA, at=at).start(at)
        at += timedelta(seconds=5)
        values.append(running.finish(Succeeded("done"), at))
    values.append(Notice.to(agent, "stopped", "stopped", at))
    at += timedelta(days=1)
    values.append(Notice.to(agent, "resumed", "resumed", at))
    return [*values, a_turn(agent, id=TurnId(new_id(at)), number=len(WAITS) + 1, proposed_at=at, usage=SPENT)]


@pytest_asyncio.fixture(loop_scope="session")
async def agent(tmp_path: Path) -> Agent:
    """An agent with an Arabic name that ran for days."""
    begun = SystemClock().now() - timedelta(days=12)
    made = an_agent(id=AgentId(new_id(begun)), name="عادة Clerk", created_at=begun, since=begun)
    agent = replace(
        made, turns=len(WAITS) + 1, status=Awaiting(), usage=SPENT, calls={"chat": SPENT, "function": SPENT}
    )
    url = f"sqlite:///{tmp_path / 'signoff.db'}"
    await make_tables(url)
    database = SqlDatabase(url)
    await keep(database, agent, *run_of(agent, begun))
    await database.close()
    return agent


@pytest_asyncio.fixture(loop_scope="session")
async def base(agent: Agent, tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(waits=True), tmp_path) as address:
        yield address


@pytest.mark.proves("page:glance")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_the_glance_is_found_fits_the_screen_and_passes_axe(
    browser: Browser, base: str, agent: Agent, screen: ViewportSize, scheme: str
) -> None:
    page = await (await open_context(browser, viewport=screen, color_scheme=scheme)).new_page()
    await page.goto(f"{base}{CHANNEL}/a/{agent.id}")
    await open_tab(page, "Activity")
    await page.get_by_role("link", name="Times and spending").click()
    await expect(page.locator(".strip a")).to_have_count(len(WAITS) + 1)
    for summary in await page.locator("#glance summary").all():
        await summary.focus()
        await page.keyboard.press("Enter")
    await expect(page.locator("#turns-table td", has_text="3 d").first).to_be_visible()
    await passes(page)
    await page.get_by_role("link", name="Activity of # ").click()
    await expect(page.get_by_text("People waited for agents")).to_be_visible()
    await passes(page)


async def passes(page: Page) -> None:
    """Nothing is wider than the screen, and axe finds nothing."""
    assert await page.evaluate(OVERFLOW) <= 0
    found = await Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.proves("page:theme")
@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize(("theme", "paper"), [("Dark", DARK), ("Light", LIGHT)])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_a_theme_changes_the_page_at_once_and_stays_against_the_systems(
    browser: Browser, base: str, agent: Agent, screen: ViewportSize, theme: str, paper: str
) -> None:
    system = "light" if theme == "Dark" else "dark"
    page = await (await open_context(browser, viewport=screen, color_scheme=system)).new_page()
    await page.goto(f"{base}{CHANNEL}/a/{agent.id}")
    await open_settings(page)
    await page.get_by_role("radio", name=theme).check()
    assert await page.evaluate(PAPER) == paper
    await passes(page)
    for url in (page.url, f"{page.url}/glance", base, f"{base}{CHANNEL}/new"):
        await page.goto(url)
        assert await page.evaluate(PAPER) == paper
        await passes(page)
    await open_settings(page)
    await expect(page.get_by_role("radio", name=theme)).to_be_checked()
    await page.get_by_role("radio", name="As the system").check()
    assert await page.evaluate(PAPER) == (LIGHT if system == "light" else DARK)
    await page.reload()
    assert await page.evaluate(PAPER) == (LIGHT if system == "light" else DARK)


@pytest.mark.proves("page:theme")
async def test_a_theme_is_chosen_without_scripts(browser: Browser, base: str, agent: Agent) -> None:
    page = await (await open_context(browser, java_script_enabled=False, color_scheme="light")).new_page()
    await page.goto(f"{base}{CHANNEL}/a/{agent.id}/glance")
    await page.get_by_role("button", name="Settings").click()
    await page.get_by_role("radio", name="Dark").check()
    await expect(page.get_by_text("next card, previous card")).to_be_hidden()
    await page.get_by_role("button", name="Set", exact=True).click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await expect(page.get_by_role("heading", name="Activity")).to_be_visible()


@pytest.mark.proves("page:model")
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
async def test_the_model_is_changed_beside_the_thread_by_keyboard(
    browser: Browser, base: str, agent: Agent, screen: ViewportSize
) -> None:
    page = await (await open_context(browser, viewport=screen)).new_page()
    await page.goto(f"{base}{CHANNEL}/a/{agent.id}")
    await open_tab(page, "Settings")
    about = page.locator("#about")
    await about.locator("summary", has_text="Model").focus()
    await page.keyboard.press("Enter")
    await about.get_by_label("Model of the same endpoint, empty for the default").fill("two words")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert").first).to_contain_text("one name without blanks")
    await about.get_by_label("Model of the same endpoint, empty for the default").fill("gpt-5.4-mini")
    await about.get_by_label("Reasoning effort").select_option("low")
    await about.get_by_role("button", name="Set", exact=True).first.press("Enter")
    await expect(about.locator("summary").get_by_text("gpt-5.4-mini", exact=True)).to_be_visible()
    said = "set the model: gpt-5.4-mini, reasoning effort low."
    await expect(page.locator("#thread").get_by_text(said)).to_be_visible()
    await passes(page)
