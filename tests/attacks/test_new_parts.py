"""Attacks on the newest parts: Undo, a card that comes back, keys without Enter, files of secrets."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from agent_core.errors import SettingsError
from agent_core.testing.examples import NOON
from agent_core.testing.language_model import ScriptedModel
from bot.settings import load
from tests.attacks.rows import attack
from tests.browser.browsing import BrowserChat
from tests.browser.conftest import browser, started  # noqa: F401
from tests.browser.test_settling import JUST_APPEARED, LATER, approve, click_at
from tests.e2e.test_terminal import CLERK, CTRL_U, sitting
from tests.scenario.chat import writing
from tests.scenario.page import PageCard, PageChat
from tests.scenario.served import served

MINUTE = timedelta(minutes=1)
SECRET = "sk-zq9-very-secret"
WRITE = writing("a.md", "one")
MARKUP = '"><img src=x onerror=alert(1) hx-post="/stop-all" hx-trigger="load"><script>alert(1)</script>'
HX = {"hx-ext", "hx-target", "hx-swap", "hx-boost", "hx-sync", "hx-push-url", "hx-replace-url", "hx-disable"}


@asynccontextmanager
async def asked(
    folder: Path, *said: str, window: timedelta = MINUTE
) -> AsyncIterator[tuple[PageChat, PageChat, PageCard]]:
    """Ana and Ben at the page, and the card of Ana's agent."""
    model = ScriptedModel(*said, waits=True)
    async with (
        served(model, folder, undo_window=window) as base,
        PageChat.opened(base, "ana") as ana,
        PageChat.opened(base, "ben") as ben,
    ):
        await ana.new_agent("Ada", "writes", "Write a file")
        ben.path = ana.path
        yield ana, ben, await ana.asks("write_to_file")


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.asyncio(loop_scope="session")
@attack("approval", "A click on an Approve that Undo has just brought back under the pointer", "approves nothing")
async def test_a_card_that_comes_back_settles_again(browser: Browser, tmp_path: Path, answer: str) -> None:  # noqa: F811
    async with asked(tmp_path, WRITE, window=10 * MINUTE) as (_, ben, card):
        page = await (await browser.new_context(viewport={"width": 1280, "height": 900})).new_page()
        await BrowserChat(page, ben.base).call_me("ana")
        await page.clock.install(time=NOON)
        await page.goto(ben.base + ben.path)
        await page.clock.pause_at(NOON + 60 * MINUTE)
        await page.clock.run_for(LATER)
        await ben.send("press", {"button": card.button("reject"), "to": "/"})
        await page.evaluate("refresh()")
        await expect(approve(page)).to_have_count(0)
        await ben.send("press", {"button": f"undo:{card.turn}:1", "to": "/"})  # from here on the page's clock stands
        await page.evaluate("refresh()")
        await expect(approve(page)).to_be_visible()
        await page.wait_for_function("() => controls.size > 1")
        await click_at(approve(page))
        assert (await page.locator("#hint").text_content(), answer) == (JUST_APPEARED, "approves nothing")


JSON = f'{{"mcpServers": {{"x": {{"env": {{"K": "{SECRET}"}}}}}}}}'


@pytest.mark.parametrize(("name", "text", "is_file"), [("MCP_SERVERS", JSON, True), ("OPENAI_API_KEY", SECRET, False)])
@attack("approval", "`NAME_FILE` of a file with JSON in place of a path, or the key itself in it", "names no secret")
def test_a_misplaced_secret_is_in_no_error(tmp_path: Path, name: str, text: str, is_file: bool, answer: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(SettingsError) as refused:
        load({f"{name}_FILE": str(tmp_path / "f") if is_file else text}, None)
    assert SECRET not in str(refused.value), answer


@pytest.mark.slow
@attack("approval", "Undo by who may not decide, from another channel, and twice", "opens it once, for who decides")
async def test_undo_is_for_who_decides_once_and_in_its_channel(tmp_path: Path, answer: str) -> None:
    async with asked(tmp_path, WRITE) as (ana, ben, card):
        await ana.says("!policy approvers owner")
        await ana.send("press", {"button": card.button("reject"), "to": "/"})
        undo = {"button": f"undo:{card.turn}:1", "to": "/"}
        assert (await ben.send("press", undo))[0] == 403
        own, ana.path = ana.path, ana.path.replace("general", "other")
        assert (await ana.send("press", undo))[0] == 404
        ana.path = own
        assert [(await ana.send("press", undo))[0] for _ in range(2)] == [200, 409], answer
        assert "done · approved" not in await ana.page()


@pytest.mark.slow
@attack("approval", "Reject and Undo between the two approvals of a two-person rule", "another person must approve")
async def test_undo_stands_for_no_second_person(tmp_path: Path, answer: str) -> None:
    async with asked(tmp_path, WRITE) as (ana, ben, card):
        await ana.says("!policy two write")
        press = {"button": card.button("approve")}
        assert (await ana.send("press", press))[0] == 200
        assert (await ben.send("press", {"button": card.button("reject"), "to": "/"}))[0] == 200
        assert (await ana.send("press", {"button": f"undo:{card.turn}:1"}))[0] == 200
        status, said = await ana.send("press", press)
        assert (status, answer in said) == (409, True)
        assert (await ana.send("press", {"button": press["button"].replace(":1:", ":5:")}))[0] == 422


@pytest.mark.slow
@attack("approval", "Escape sequences with `y` in them at the terminal", "approve nothing")
async def test_escape_sequences_approve_nothing(tmp_path: Path, answer: str) -> None:
    async with sitting(tmp_path, *CLERK) as person:
        await person.answers("")
        for sent in ("\x1bOy", "\x1b[1y", "\x1b[?62;1;2;y", "\x1b]11;rgb:yy/y\x07", "\x1bPy\x1b\\", "yyyy"):
            person.type(f"{sent}end")
            await person.sees("end")
            person.type(CTRL_U)
        person.type("x\r")
        assert (await person.ends(), "approved by" in person.output) == (3, False), answer


@pytest.mark.slow
@attack("http", "Markup with `hx-post` and scripts as name, goal, file and thought", "is shown as text")
async def test_what_others_write_becomes_no_markup(tmp_path: Path, answer: str) -> None:
    model = ScriptedModel(writing("a.md", f"| a |\n|---|\n| {MARKUP} |\n"), waits=True)
    async with served(model, tmp_path) as base, PageChat.opened(base, "ana") as ana:
        await ana.new_agent(MARKUP[:40], MARKUP, MARKUP)
        await ana.asks("write_to_file")
        for path in (ana.path, "/"):
            async with ana.session.get(base + path) as got:
                page, policy = await got.text(), got.headers["Content-Security-Policy"]
            tags = re.findall(r"<[a-z][^<>]*>", page)
            found = {
                each for tag in tags for each in re.findall(r"""\s(hx-[a-z-]+|on[a-z]+)=""", re.sub('"[^"]*"', "", tag))
            }
            assert found <= HX, answer
            assert ("unsafe" in policy, "<img src=x" in page, "<script>" in page) == (False, False, False)
