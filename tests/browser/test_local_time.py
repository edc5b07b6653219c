"""Times on the page: in the reader's own time zone, and in UTC for a browser without scripts."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, expect

from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.chat import writing

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.asyncio(loop_scope="session")]

KATHMANDU = "Asia/Kathmandu"  # 5 h 45 min ahead of UTC


@pytest.mark.slow
async def test_times_are_local_and_in_utc_without_scripts(browser: Browser, address: str, model: ScriptedModel) -> None:
    abroad = await open_context(browser, timezone_id=KATHMANDU, locale="en-GB")
    ana = BrowserChat(await abroad.new_page(), address)
    await ana.call_me("ana")
    model.say(writing("a.txt", "one"))
    await ana.new_agent("Clerk", "writes", "Write a file")
    await (await ana.asks("write_to_file")).press("Approve")
    shown = ana.page.locator(".done time")
    decided_at = datetime.fromisoformat(await shown.get_attribute("datetime") or "")
    local = decided_at.astimezone(ZoneInfo(KATHMANDU))
    await expect(shown).to_contain_text(f"{local.hour}:{local:%M}")  # after midnight the browser writes 0:14
    await expect(shown).not_to_contain_text("UTC")
    without_scripts = await open_context(browser, timezone_id=KATHMANDU, java_script_enabled=False)
    page = await without_scripts.new_page()
    await page.goto(ana.page.url)
    await expect(page.locator(".done time")).to_have_text(f"{decided_at:%H:%M} UTC")
