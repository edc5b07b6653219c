"""The whole program in a process of its own, beside a Slack: started, killed, started again, refused."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from agent_core.errors import SettingsError
from bot.settings import load
from tests.e2e.process import free_port, program, running
from tests.scenario.slack_app import SIGNING_SECRET, Office, kind_of, text_of

pytestmark = pytest.mark.slow

GOALS = 'write "Stand-up at 9:30" to notes.md'


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with Office.opened() as opened:
        yield opened


def slack_of(office: Office, **more: str) -> dict[str, str]:
    return {"SLACK_API_URL": office.slack.api_url, "SLACK_BOT_TOKEN": "xoxb-1", **more}


async def approve_to_the_end(office: Office) -> None:
    await office.ana.clicks(await office.card(1, "Approve ×N"), "Approve")
    await office.ana.clicks(await office.card(2, "task_complete"), "Approve")
    await office.said("Clerk is done")


async def test_the_program_brings_slack_up_by_socket_mode(office: Office, tmp_path: Path) -> None:
    async with program(tmp_path, **slack_of(office, SLACK_APP_TOKEN="xapp-1-A1")) as signoff:
        await office.slack.connected()
        await office.ana.types("/agent", f"new Clerk | keeps notes | {GOALS}", office.general)
        await approve_to_the_end(office)
        await signoff.stop()
        assert "xoxb" not in signoff.output
    assert (tmp_path / ".signoff").exists()


@pytest.mark.proves("slack:killed")
@pytest.mark.parametrize("after_effect", [True, False], ids=["sent", "on its way"])
async def test_killed_while_a_card_is_sent_the_next_start_shows_exactly_one(
    office: Office, tmp_path: Path, after_effect: bool
) -> None:
    port = str(free_port())
    office.slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
    given = slack_of(office, SLACK_SIGNING_SECRET=SIGNING_SECRET, PORT=port)
    async with program(tmp_path, **given) as signoff:
        with office.slack.holding("agents.sessions.setStatus"):
            await office.ana.types("/agent", f"new Clerk | keeps notes | {GOALS}", office.general)
            with office.slack.holding("chat.postMessage", after_effect=after_effect) as held:
                await held.arrived()
                held.release()
                await office.said("keeps notes")
            with office.slack.holding("chat.postMessage", after_effect=after_effect) as held:
                await held.arrived()
                await signoff.kill()
    async with program(tmp_path, **given):
        await office.card(1)
        await approve_to_the_end(office)
        kinds = [kind_of(message) for message in office.general.messages]
        assert (kinds.count("signoff_agent"), kinds.count("signoff_turn")) == (1, 2)
        assert "approved by @ana" in text_of(await office.card(1))


@pytest.mark.proves("attention:root")
@pytest.mark.parametrize("drains", [False, True], ids=["at work", "while it drains"])
async def test_killed_before_the_root_message_is_edited_the_next_start_edits_it(
    office: Office, tmp_path: Path, drains: bool
) -> None:
    port = str(free_port())
    office.slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
    given = slack_of(office, SLACK_SIGNING_SECRET=SIGNING_SECRET, PORT=port)
    async with program(tmp_path, **given) as signoff:
        with office.slack.holding("agents.sessions.setStatus") as held:
            await office.ana.types("/agent", f"new Clerk | keeps notes | {GOALS}", office.general)
            await held.arrived()
            await office.card(1)
            if drains:
                signoff.send(signal.SIGTERM)
                await signoff.says("Signoff stops")
            await signoff.kill()
    async with program(tmp_path, **given):
        root = await office.said("● needs approval · turn 1")
        await office.slack.until(lambda: ("C1", root["ts"]) in office.slack.sessions)
        assert office.slack.sessions["C1", root["ts"]].status == "suspended"


@pytest.mark.parametrize(
    ("wrong", "variable"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-wrong", "SLACK_APP_TOKEN": "xapp-1-A1"}, "SLACK_BOT_TOKEN"),
        ({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-wrong"}, "SLACK_APP_TOKEN"),
    ],
)
async def test_a_token_that_slack_refuses_is_told_in_one_line(
    office: Office, tmp_path: Path, wrong: dict[str, str], variable: str
) -> None:
    given = {"SLACK_API_URL": office.slack.api_url, "PORT": str(free_port()), **wrong}
    async with running(tmp_path, "bot", "run", **given) as refused:
        assert await refused.ended() == 2
        await refused.listen()
        line, *more = refused.lines
        assert more == []
        assert line.startswith(f"Signoff did not start. {variable}: Slack refuses this token (invalid_auth)")
        assert "-wrong" not in line
    with pytest.raises(SettingsError):
        load({"SLACK_BOT_TOKEN": "xoxb-1"}, None)


async def test_people_install_it_from_a_page_and_use_it_at_once(office: Office, tmp_path: Path) -> None:
    other = office.slack.team("T2", name="Beta", bot_token="")
    general, cleo = other.channel("C2", "general"), other.person("U5", "cleo")
    port = str(free_port())
    base = f"http://127.0.0.1:{port}"
    office.slack.deliver_to(f"{base}/slack/events")
    office.slack.oauth.team, office.slack.oauth.user = other, cleo.id
    given = {
        "SLACK_API_URL": office.slack.api_url,
        "SLACK_SIGNING_SECRET": SIGNING_SECRET,
        "SLACK_CLIENT_ID": "1.2",
        "SLACK_CLIENT_SECRET": "cs",
        "SLACK_ALLOWED_WORKSPACES": "T2",
        "PUBLIC_URL": base,
        "PORT": port,
    }
    async with program(tmp_path, **given) as signoff:
        page = await installed_through(base)
        assert "/agent new" in page, signoff.output
        await cleo.types("/agent", f"new Clerk | keeps notes | {GOALS}", general)
        await office.slack.until(lambda: bool(office.cards(general)))
        await office.slack.uninstall(other)
        answer = await cleo.types("/agent", "list", general)
        assert "Clerk" not in text_of(answer.body)
        assert "xoxe" not in signoff.output
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".signoff").glob("signoff.db*"))
    assert b"xoxb" not in kept
    assert b"xoxe" not in kept


async def installed_through(base: str) -> str:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
        async with browser.get(f"{base}/slack/install") as answer:
            found = (await answer.text()).partition('href="')[2].partition('"')[0].replace("&amp;", "&")
        async with browser.get(found) as done:
            return await done.text()
