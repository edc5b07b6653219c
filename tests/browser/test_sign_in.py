"""The story of a team on the page in a real browser: sign in, approve, sign out, and the next person sees it."""

import json
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, expect

from adapters.web.surface import HEARTBEAT_SECONDS
from agent_core.model.origin import account_id
from agent_core.testing.language_model import ScriptedModel
from tests.browser.browsing import BrowserChat, open_context
from tests.scenario.chat import writing
from tests.scenario.signing_in import GENERAL, page_with_accounts
from tests.standins.oidc import make_account

Scheme: TypeAlias = Literal["light", "dark"]
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def sign_in(browser: Browser, base: str, subject: str) -> BrowserChat:
    """Come to the channel, and go by the button and the provider's form to what was wanted."""
    page = await (await open_context(browser, viewport={"width": 1280, "height": 1600})).new_page()
    await page.goto(f"{base}{GENERAL}")
    await press_sign_in(BrowserChat(page, base), subject)
    await page.wait_for_url(f"{base}{GENERAL}")
    return BrowserChat(page, base)


async def press_sign_in(chat: BrowserChat, subject: str) -> None:
    await chat.page.get_by_role("link", name="Sign in").click()
    await chat.page.get_by_placeholder("sub").fill(subject)
    await chat.page.get_by_role("button", name="Authorize", exact=True).click()


async def leave(ana: BrowserChat) -> None:
    """Sign out, and go back to what was on the screen."""
    await ana.open_settings()
    await expect(ana.page.get_by_text("You are Ana Lovelace, by your account at localhost")).to_be_visible()
    await ana.page.get_by_role("button", name="Sign out", exact=True).click()
    await expect(ana.page.get_by_text("You are signed out. Agents go on working.")).to_be_visible()
    await expect(ana.page.get_by_role("link", name="Sign out at localhost")).to_be_visible()
    await ana.page.go_back()
    await expect(ana.page.get_by_role("link", name="Sign in", exact=True)).to_be_visible()
    assert "Clerk" not in await ana.page.content()


@pytest.mark.slow
@pytest.mark.proves("page:sign-in")
async def test_a_team_signs_in_and_the_log_knows_who_decided(browser: Browser, provider: str, tmp_path: Path) -> None:
    elsewhere = provider.replace("127.0.0.1", "localhost")  # another site than the page, as in life
    await make_account(provider, "ana-6", name="Ana Lovelace", groups=["leads"])
    await make_account(provider, "ben-6", name="Ben Bit", groups=["leads"])
    model = ScriptedModel(writing("a.md", "x"), waits=True)
    async with page_with_accounts(elsewhere, tmp_path, model=model, groups=("leads",)) as base:
        ana = await sign_in(browser, base, "ana-6")
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await (await ana.asks("write_to_file")).press("Approve")
        assert await ana.sees("done")
        thread = ana.page.url
        log = await ana.page.request.get(f"{base}{GENERAL}/channel-decision-log.jsonl")
        rows = [json.loads(line) for line in (await log.text()).splitlines()]
        assert {row["who_id"] for row in rows if row["right"] == "approved"} == {account_id(elsewhere, "ana-6")}

        await ana.page.goto(elsewhere)
        await ana.page.evaluate("to => { location.href = to; }", thread)  # a link of another site
        await expect(ana.page.get_by_role("heading", name="Clerk", level=1)).to_be_visible()

        await leave(ana)

        ben = await sign_in(browser, base, "ben-6")
        await ben.page.goto(thread)
        assert await ben.sees("approved by @Ana")


@pytest.mark.slow
@pytest.mark.proves("page:session")
async def test_an_open_page_says_that_the_session_has_ended(browser: Browser, provider: str, tmp_path: Path) -> None:
    model = ScriptedModel(waits=True)
    async with page_with_accounts(provider, tmp_path, model=model) as base:
        ana = await sign_in(browser, base, "ana-7")
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.page.context.clear_cookies()
        model.say(writing("a.md", "x"))
        await expect(ana.page.get_by_text("Your sign-in has ended. Reload the page to sign in again.")).to_be_visible()


@pytest.mark.slow
@pytest.mark.proves("page:session")
async def test_a_quiet_page_says_it_too(browser: Browser, provider: str, tmp_path: Path) -> None:
    model = ScriptedModel(waits=True)
    async with page_with_accounts(provider, tmp_path, model=model) as base:
        ana = await sign_in(browser, base, "ana-10")
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.page.request.post(f"{base}/sign-out", headers={"Origin": base})
        said = ana.page.get_by_text("Your sign-in has ended. Reload the page to sign in again.")
        await expect(said).to_be_visible(timeout=3 * HEARTBEAT_SECONDS * 1000)


@pytest.mark.slow
@pytest.mark.proves("page:accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_pages_of_the_sign_in_have_no_fault_that_a_screen_reader_would_meet(
    browser: Browser, provider: str, tmp_path: Path, scheme: Scheme
) -> None:
    async with page_with_accounts(provider, tmp_path) as base:
        ana = BrowserChat(await (await open_context(browser, color_scheme=scheme)).new_page(), base)
        await ana.page.goto(f"{base}/enter")
        await check(ana)
        await ana.page.goto(f"{base}/enter/callback?state=another")
        await expect(ana.page.get_by_role("alert")).to_contain_text("did not begin in this browser")
        await check(ana)
        await press_sign_in(ana, "ana-9")
        await ana.page.wait_for_url(f"{base}/")
        await ana.page.goto(f"{base}{GENERAL}/policy")
        await expect(ana.page.get_by_label("Or only members of these groups")).to_be_visible()
        await check(ana)
        await ana.open_settings()
        await check(ana)
        await ana.page.get_by_role("button", name="Sign out", exact=True).click()
        await expect(ana.page.get_by_role("link", name="Sign in again")).to_be_visible()
        await check(ana)


async def check(chat: BrowserChat) -> None:
    found = await Axe().run(chat.page)
    assert found.violations_count == 0, found.generate_report()
