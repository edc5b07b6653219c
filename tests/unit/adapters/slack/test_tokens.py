"""Tokens of many workspaces: kept sealed, renewed in time, and got by Slack's OAuth; over real sockets."""

import asyncio
import base64
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import ClientSession, web
from cryptography.fernet import Fernet

from adapters.slack.api.tokens import SlackTokens
from adapters.slack.install.installations import (
    TOKEN_KEY_PURPOSE,
    InstallationStore,
    WorkspaceInstall,
    derive_key,
)
from adapters.slack.install.oauth import SlackApp, oauth_flow, routes
from adapters.slack.install.oauth_state import OAuthStates
from agent_core.errors import DatabaseAway, SettingsError, SurfaceBusy, ThreadGone
from agent_core.model.command import CommandSpec
from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlUnitOfWork
from agent_core.persistence.write_buffer import WriteBuffer
from agent_core.testing.broadcast import LinkedBroadcast
from agent_core.testing.clock import START, FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel
from agent_core.toolset.channel_tools import load_tool_switches
from bot.platforms.platform import PlatformParts
from bot.platforms.slack.wiring import WiredSlack
from bot.settings import load

HOUR = timedelta(hours=1)
SECRET = "client-secret-73"
EVERY_WORKSPACE: Mapping[str, bool] = {"any": False}
FIRST = WorkspaceInstall(
    workspace="T1",
    team_name="Acme",
    bot_token="xoxe.xoxb-first",
    bot_user="U1",
    app_id="A1",
    refresh_token="xoxe-1-first",
    expires_at=START + 12 * HOUR,
    scopes=("commands", "chat:write"),
)
LASTING = replace(FIRST, refresh_token="", expires_at=None)
OWNER = {"ok": True, "team": "Acme", "team_id": "T1", "user_id": "U1", "bot_id": "B1", "enterprise_id": "E1"}
INSTALLED = {
    "ok": True,
    "access_token": FIRST.bot_token,
    "refresh_token": FIRST.refresh_token,
    "expires_in": 43200,
    "scope": "commands,chat:write",
    "bot_user_id": "U1",
    "app_id": "A1",
    "team": {"id": "T1", "name": "Acme"},
    "enterprise": None,
    "authed_user": {"id": "U9"},
    "is_enterprise_install": False,
}
ORGANISATION = {"team": None, "enterprise": {"id": "E1", "name": "Acme & Co"}, "is_enterprise_install": True}
BASIC = "Basic aWQtMTpjbGllbnQtc2VjcmV0LTcz"
SECRETS = (SECRET, "xoxb-", "xoxe-", "the-code")


@dataclass(slots=True)
class FakeSlack:
    """auth.test and oauth.v2.access; a refresh token is good for one use."""

    url: str = ""
    test: dict[str, object] = field(default_factory=lambda: dict(OWNER))
    access: dict[str, object] = field(default_factory=dict)
    status: int = 200
    refreshes: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def auth_test(self, request: web.Request) -> web.Response:
        self.authorizations.append(request.headers["Authorization"])
        return web.json_response(self.test, headers={"X-OAuth-Scopes": "commands,chat:write"}, status=self.status)

    async def oauth_access(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.forms.append(form)
        self.authorizations.append(request.headers["Authorization"])
        answer: dict[str, object] = self.access or self._renewed(form.get("refresh_token", ""))
        self.arrived.set()
        await self.may_answer.wait()
        return web.json_response(answer, status=self.status, headers={"Retry-After": "7"})

    def _renewed(self, used: str) -> dict[str, object]:
        if used in self.refreshes:
            return {"ok": False, "error": "invalid_refresh_token"}
        self.refreshes.append(used)
        number = len(self.refreshes) + 1
        token, refresh = f"xoxe.xoxb-{number}", f"xoxe-1-{number}"
        return {"ok": True, "access_token": token, "refresh_token": refresh, "expires_in": 43200, "token_type": "bot"}


@asynccontextmanager
async def served(*handlers: web.RouteDef) -> AsyncIterator[str]:
    app = web.Application()
    app.add_routes(handlers)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    fake = FakeSlack()
    fake.may_answer.set()
    async with served(
        web.post("/api/auth.test", fake.auth_test), web.post("/api/oauth.v2.access", fake.oauth_access)
    ) as url:
        fake.url = f"{url}/api"
        yield fake


class Counted(TemporaryDatabase):
    """A database that counts its units of work, is away for as many as told, and lets others in between once."""

    def __init__(self) -> None:
        super().__init__()
        self.units = 0
        self.away = 0
        self.before_commit: Callable[[], Awaitable[object]] | None = None
        self.after_unit: Callable[[], Awaitable[object]] | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        self.units += 1
        if self.away:
            self.away -= 1
            raise DatabaseAway("The database cannot be reached.")
        async with Interrupted(WriteBuffer(self._connections), self) as work:
            yield work
        act, self.after_unit = self.after_unit, None
        if act:
            await act()


class Interrupted(SqlUnitOfWork):
    """A unit of work during which somebody else commits."""

    def __init__(self, buffer: WriteBuffer, database: Counted) -> None:
        super().__init__(buffer)
        self._database = database

    async def commit(self) -> None:
        act, self._database.before_commit = self._database.before_commit, None
        if act:
            await act()
        await super().commit()


@dataclass(slots=True)
class Process:
    """One process of Signoff with its own memory."""

    installed: InstallationStore
    tokens: SlackTokens
    broadcast: LinkedBroadcast

    async def token(self, workspace: str = "T1") -> str:
        return (await self.tokens.client(workspace)).token or ""


@pytest.fixture
def database() -> Counted:
    return Counted()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def start(database: Counted, clock: FakeClock, slack: FakeSlack) -> AsyncIterator[Callable[..., Process]]:
    """Starts processes on one database."""
    processes: list[Process] = []
    ends: list[LinkedBroadcast] = []

    def begin(secret: str = SECRET, allowed: Mapping[str, bool] = EVERY_WORKSPACE) -> Process:
        broadcast = LinkedBroadcast(ends)
        installed = InstallationStore(
            database=database, clock=clock, client_secret=secret, allowed=allowed, broadcast=broadcast
        )
        tokens = SlackTokens.many(
            installed=installed, clock=clock, client_id="id-1", client_secret=secret, base_url=slack.url
        )
        processes.append(Process(installed, tokens, broadcast))
        return processes[-1]

    yield begin
    for process in processes:
        await process.tokens.close()


@pytest.fixture
def here(start: Callable[..., Process]) -> Process:
    return start()


async def sealed(database: TemporaryDatabase) -> str:
    async with database.begin() as work:
        kept = await work.installations.get("slack", "T1")
    assert kept
    return kept.sealed


async def test_a_single_token_learns_whose_it_is(slack: FakeSlack) -> None:
    tokens = SlackTokens.single(bot_token=" xoxb-one\n", base_url=slack.url)
    await tokens.source.prepare()
    install = await tokens.source.install("T1")
    assert install == replace(LASTING, bot_token="xoxb-one", app_id="", enterprise="E1")
    assert await tokens.source.every() == (install,)
    assert (await tokens.client("T1")).token == "xoxb-one"
    assert slack.authorizations == ["Bearer xoxb-one"]
    with pytest.raises(ThreadGone, match="install it again"):
        await tokens.client("T2")
    await tokens.close()


async def test_a_single_token_of_an_organisation_is_the_organisations(slack: FakeSlack) -> None:
    slack.test["is_enterprise_install"] = True
    tokens = SlackTokens.single(bot_token="xoxb-one", base_url=slack.url)
    await tokens.source.prepare()
    install = await tokens.source.install("E1")
    assert install
    assert install.is_enterprise
    await tokens.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"ok": False, "error": "invalid_auth"}, "refuses this token \\(invalid_auth\\)"),
        (OWNER | {"bot_id": None}, "user token"),
    ],
)
async def test_a_wrong_single_token_is_a_wrong_setting(slack: FakeSlack, answer: dict[str, object], said: str) -> None:
    slack.test = answer
    tokens = SlackTokens.single(bot_token="xoxb-one", base_url=slack.url)
    with pytest.raises(SettingsError, match=f"SLACK_BOT_TOKEN: .*{said}"):
        await tokens.source.prepare()
    await tokens.close()


async def test_a_single_token_while_slack_is_away_is_no_wrong_setting(slack: FakeSlack) -> None:
    slack.test, slack.status = {"ok": False, "error": "internal_error"}, 500
    tokens = SlackTokens.single(bot_token="xoxb-one", base_url=slack.url)
    with pytest.raises(SurfaceBusy):
        await tokens.source.prepare()
    nowhere = SlackTokens.single(bot_token="xoxb-one", base_url="http://127.0.0.1:9/api/")
    with pytest.raises(SurfaceBusy):
        await nowhere.source.prepare()
    await tokens.close()
    await nowhere.close()


async def test_installations_come_back_and_go(here: Process) -> None:
    other = replace(FIRST, workspace="E2", is_enterprise=True, expires_at=None)
    await here.installed.keep(FIRST)
    await here.installed.keep(other)
    assert await here.installed.get("T1") == FIRST
    assert await here.tokens.source.every() == (other, FIRST)
    await here.installed.forget("T1")
    assert await here.installed.get("T1") is None
    with pytest.raises(ThreadGone):
        await here.tokens.client("T1")


async def test_a_click_asks_neither_the_database_nor_slack(here: Process, database: Counted, slack: FakeSlack) -> None:
    await here.installed.keep(FIRST)
    before = database.units
    clients = [await here.tokens.client("T1") for _ in range(3)]
    assert (database.units, slack.authorizations) == (before, [])
    assert len({id(client.session) for client in clients}) == 1


@pytest.mark.proves("workers:messages")
async def test_what_another_process_changed_is_seen_at_once(start: Callable[..., Process]) -> None:
    here, there = start(), start()
    await here.installed.keep(LASTING)
    assert await there.token() == await here.token() == LASTING.bot_token
    again = replace(LASTING, bot_token="xoxb-other")
    await there.installed.keep(again)
    assert await here.token() == "xoxb-other"
    await there.installed.renew(again, replace(again, bot_token="xoxb-new"))
    assert await here.token() == "xoxb-new"
    await there.installed.forget("T1")
    assert await here.tokens.source.install("T1") is None


async def test_what_was_read_before_another_process_changed_it_does_not_hide_it(
    start: Callable[..., Process], database: Counted
) -> None:
    here, there = start(), start()
    await there.installed.keep(LASTING)
    database.after_unit = lambda: there.installed.forget("T1")
    assert await here.installed.get("T1") == LASTING
    assert await here.installed.get("T1") is None


async def test_without_the_message_what_another_process_changed_is_seen_within_a_minute(
    start: Callable[..., Process], clock: FakeClock
) -> None:
    here, there = start(), start()
    here.broadcast.is_deaf = True
    await here.installed.keep(LASTING)
    await there.installed.keep(replace(LASTING, bot_token="xoxb-other"))
    assert await here.token() == LASTING.bot_token
    clock.advance(60)
    assert await here.token() == "xoxb-other"
    await there.installed.forget("T1")
    clock.advance(60)
    assert await here.tokens.source.install("T1") is None


async def test_what_was_read_before_a_change_does_not_hide_it(here: Process, database: Counted) -> None:
    await here.installed.keep(LASTING)
    database.after_unit = lambda: here.installed.forget("T1")
    assert await here.installed.get("T1", anew=True) == LASTING
    assert await here.installed.get("T1") is None


async def test_another_client_secret_opens_nothing_and_says_so_once(
    start: Callable[..., Process], caplog: pytest.LogCaptureFixture
) -> None:
    await start().installed.keep(FIRST)
    stranger = start("another secret")
    for _ in range(3):
        assert await stranger.installed.get("T1") is None
        assert await stranger.installed.every() == ()
    assert [record.getMessage() for record in caplog.records if "cannot be decrypted" in record.getMessage()] == [
        "an installation cannot be decrypted: was SLACK_CLIENT_SECRET changed?"
    ]


@pytest.mark.parametrize("text", ["", "no seal", "Ümläut", "gAAAAA=="])
async def test_what_is_no_seal_of_ours_is_not_installed(here: Process, database: Counted, text: str) -> None:
    await here.installed.keep(FIRST)
    async with database.begin() as work:
        kept = await work.installations.get("slack", "T1")
        assert kept
        work.installations.put(replace(kept, sealed=text))
        await work.commit()
    assert await here.installed.get("T1", anew=True) is None


async def test_a_seal_moved_to_another_workspace_does_not_open(here: Process, database: Counted) -> None:
    await here.installed.keep(FIRST)
    async with database.begin() as work:
        kept = await work.installations.get("slack", "T1")
        assert kept
        work.installations.put(replace(kept, workspace="T2"))
        await work.commit()
    assert await here.installed.get("T2") is None


async def test_a_token_far_from_its_end_is_left_alone(here: Process, clock: FakeClock, slack: FakeSlack) -> None:
    await here.installed.keep(FIRST)
    clock.advance(10 * 3600)
    assert await here.token() == FIRST.bot_token
    assert slack.forms == []


async def test_a_token_near_its_end_is_renewed_and_kept(
    start: Callable[..., Process], clock: FakeClock, slack: FakeSlack
) -> None:
    here = start()
    await here.installed.keep(FIRST)
    clock.advance(10 * 3600 + 1)
    assert await here.token() == "xoxe.xoxb-2"
    assert slack.forms == [{"grant_type": "refresh_token", "refresh_token": "xoxe-1-first"}]
    assert slack.authorizations == [BASIC]
    renewed = replace(
        FIRST, bot_token="xoxe.xoxb-2", refresh_token="xoxe-1-2", expires_at=START + 22 * HOUR + timedelta(seconds=1)
    )
    assert await here.tokens.source.install("T1") == await start().tokens.source.install("T1") == renewed


@pytest.mark.proves("upgrade:fields")
async def test_a_renewal_keeps_what_a_newer_release_saved(here: Process, database: Counted, clock: FakeClock) -> None:
    await here.installed.keep(FIRST)
    seal = Fernet(base64.urlsafe_b64encode(derive_key(SECRET, TOKEN_KEY_PURPOSE)))
    async with database.begin() as work:
        kept = await work.installations.get("slack", "T1")
        assert kept is not None
        newer = json.dumps({**json.loads(seal.decrypt(kept.sealed)), "region": "eu"})
        work.installations.put(replace(kept, sealed=seal.encrypt(newer.encode()).decode()))
        await work.commit()
    clock.advance(10 * 3600 + 1)
    assert await here.token() == "xoxe.xoxb-2"
    async with database.begin() as work:
        kept = await work.installations.get("slack", "T1")
    assert kept is not None
    assert json.loads(seal.decrypt(kept.sealed))["region"] == "eu"


async def test_callers_at_once_renew_once(here: Process, clock: FakeClock, slack: FakeSlack) -> None:
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.may_answer.clear()
    first, second = (asyncio.create_task(here.token()) for _ in range(2))
    await slack.arrived.wait()
    slack.may_answer.set()
    assert set(await asyncio.gather(first, second, here.token())) == {"xoxe.xoxb-2"}
    assert slack.refreshes == ["xoxe-1-first"]


async def test_a_caller_who_stops_waiting_does_not_lose_the_new_token(
    here: Process, clock: FakeClock, slack: FakeSlack
) -> None:
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.may_answer.clear()
    waiting = asyncio.create_task(here.token())
    await slack.arrived.wait()
    waiting.cancel()
    await asyncio.wait({waiting})
    slack.may_answer.set()
    assert await here.token() == "xoxe.xoxb-2"
    assert slack.refreshes == ["xoxe-1-first"]


async def test_closing_saves_the_token_that_is_under_way(
    start: Callable[..., Process], clock: FakeClock, slack: FakeSlack
) -> None:
    here = start()
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.may_answer.clear()
    waiting = asyncio.create_task(here.token())
    await slack.arrived.wait()
    closing = asyncio.create_task(here.tokens.close())
    slack.may_answer.set()
    await asyncio.gather(waiting, closing)
    assert await start().token() == "xoxe.xoxb-2"


async def test_another_process_uses_the_old_token_while_one_renews_it(
    start: Callable[..., Process], clock: FakeClock, slack: FakeSlack
) -> None:
    here, there = start(), start()
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.may_answer.clear()
    renewing = asyncio.create_task(here.token())
    await slack.arrived.wait()
    assert await there.token() == FIRST.bot_token
    slack.may_answer.set()
    assert await renewing == "xoxe.xoxb-2"
    assert await there.token() == "xoxe.xoxb-2"
    assert slack.refreshes == ["xoxe-1-first"]


async def test_another_process_waits_for_a_new_token_once_the_old_has_expired(
    start: Callable[..., Process], clock: FakeClock, slack: FakeSlack
) -> None:
    here, there = start(), start()
    await here.installed.keep(FIRST)
    clock.advance(13 * 3600)
    slack.may_answer.clear()
    renewing = asyncio.create_task(here.token())
    await slack.arrived.wait()
    with pytest.raises(SurfaceBusy):
        await there.token()
    slack.may_answer.set()
    assert await renewing == await there.token() == "xoxe.xoxb-2"


async def test_of_two_that_renew_at_once_both_end_with_what_was_kept_first(
    start: Callable[..., Process], clock: FakeClock, slack: FakeSlack
) -> None:
    here, there = start(), start()
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.may_answer.clear()
    late = asyncio.create_task(here.token())
    await slack.arrived.wait()
    winner = replace(FIRST, bot_token="xoxb-winner", expires_at=START + 30 * HOUR)
    assert await there.installed.renew(FIRST, winner) == winner
    slack.may_answer.set()
    assert await late == await here.token() == await there.token() == "xoxb-winner"


async def test_a_token_kept_at_the_last_moment_is_not_overwritten(
    start: Callable[..., Process], database: Counted
) -> None:
    here, there = start(), start()
    await here.installed.keep(FIRST)
    winner = replace(FIRST, bot_token="xoxb-winner")
    database.before_commit = lambda: there.installed.renew(FIRST, winner)
    assert await here.installed.renew(FIRST, replace(FIRST, bot_token="xoxb-loser")) == winner
    assert await here.installed.get("T1", anew=True) == winner


async def test_who_is_refused_because_another_was_faster_takes_the_others(
    start: Callable[..., Process], clock: FakeClock, slack: FakeSlack
) -> None:
    here, there = start(), start()
    await here.installed.keep(FIRST)
    clock.advance(13 * 3600)
    slack.refreshes.append(FIRST.refresh_token)
    slack.may_answer.clear()
    late = asyncio.create_task(here.token())
    await slack.arrived.wait()
    await there.installed.renew(FIRST, replace(FIRST, bot_token="xoxb-winner", expires_at=START + 30 * HOUR))
    slack.may_answer.set()
    assert await late == "xoxb-winner"


async def test_a_refused_renewal_ends_the_installation_when_the_token_expires(
    here: Process, clock: FakeClock, slack: FakeSlack
) -> None:
    await here.installed.keep(FIRST)
    slack.refreshes.append(FIRST.refresh_token)
    clock.advance(11 * 3600)
    assert [await here.token() for _ in range(3)] == [FIRST.bot_token] * 3
    clock.advance(3600)
    for _ in range(2):
        with pytest.raises(ThreadGone):
            await here.token()
    assert len(slack.forms) == 1


async def test_an_expired_token_whose_renewal_is_refused_is_not_installed_until_it_is_again(
    here: Process, clock: FakeClock, slack: FakeSlack
) -> None:
    await here.installed.keep(FIRST)
    slack.refreshes.append(FIRST.refresh_token)
    clock.advance(13 * 3600)
    with pytest.raises(ThreadGone):
        await here.token()
    await here.installed.keep(LASTING)
    assert await here.token() == LASTING.bot_token


async def test_a_valid_token_is_used_while_slack_is_away_and_renewed_later(
    here: Process, clock: FakeClock, slack: FakeSlack
) -> None:
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.status, slack.access = 503, {"ok": False, "error": "service_unavailable"}
    assert [await here.token() for _ in range(3)] == [FIRST.bot_token] * 3
    assert len(slack.forms) == 1
    slack.status, slack.access = 200, {}
    clock.advance(60)
    assert await here.token() == "xoxe.xoxb-2"


async def test_an_expired_token_while_slack_is_away_is_a_matter_of_waiting(
    here: Process, clock: FakeClock, slack: FakeSlack
) -> None:
    await here.installed.keep(FIRST)
    clock.advance(13 * 3600)
    slack.status, slack.access = 429, {"ok": False, "error": "ratelimited"}
    for _ in range(2):
        with pytest.raises(SurfaceBusy):
            await here.token()
    assert len(slack.forms) == 1


async def test_a_token_that_expires_and_cannot_be_renewed_is_used_to_its_end(here: Process, clock: FakeClock) -> None:
    await here.installed.keep(replace(FIRST, refresh_token=""))
    clock.advance(12 * 3600 - 1)
    assert await here.token() == FIRST.bot_token
    clock.advance(1)
    with pytest.raises(ThreadGone):
        await here.token()


async def test_a_new_token_outlasts_a_database_that_is_away(
    here: Process, database: Counted, clock: FakeClock, slack: FakeSlack
) -> None:
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    slack.may_answer.clear()
    waiting = asyncio.create_task(here.token())
    await slack.arrived.wait()
    database.away = 2
    slack.may_answer.set()
    for _ in range(2):
        await clock.until_sleeping()
        clock.advance(1)
    assert await waiting == "xoxe.xoxb-2"


async def test_no_token_is_printed_or_logged(
    start: Callable[..., Process],
    database: Counted,
    clock: FakeClock,
    slack: FakeSlack,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    here = start()
    await here.installed.keep(FIRST)
    clock.advance(11 * 3600)
    await here.token()
    slack.access = {"ok": False, "error": "invalid_refresh_token"}
    clock.advance(13 * 3600)
    with pytest.raises(ThreadGone) as refused:
        await here.token()
    await start("another secret").installed.get("T1")
    install = await here.tokens.source.install("T1")
    shown = [repr(install), str(install), repr(here), repr(vars(here.tokens)), repr(refused.value), caplog.text]
    shown += [str(vars(record)) for record in caplog.records] + [await sealed(database)]
    assert [secret for secret in SECRETS if secret in "\n".join(shown)] == []


@pytest.fixture
def states(database: Counted, clock: FakeClock) -> OAuthStates:
    return OAuthStates(database=database, clock=clock, client_secret=SECRET)


async def test_a_state_counts_once_also_in_another_process(
    states: OAuthStates, database: Counted, clock: FakeClock
) -> None:
    state = await states.async_issue()
    other = OAuthStates(database=database, clock=clock, client_secret=SECRET)
    assert [await other.async_consume(state), await states.async_consume(state)] == [True, False]


async def test_a_state_written_in_another_way_does_not_count_again(states: OAuthStates) -> None:
    state = await states.async_issue()
    assert [await states.async_consume(each) for each in (state, f"{state[:5]}!{state[5:]}")] == [True, False]


async def test_a_forged_state_does_not_count(states: OAuthStates, database: Counted, clock: FakeClock) -> None:
    state = await states.async_issue()
    stranger = OAuthStates(database=database, clock=clock, client_secret="another secret")
    other_time = base64.urlsafe_b64encode(b"\x80" + b"\0" * 7 + b"\xff" + base64.urlsafe_b64decode(state)[9:]).decode()
    forged = ["", ".", "a.b.c", "ü.9999999999.ü", state[:-1], other_time, await stranger.async_issue()]
    assert [await states.async_consume(state) for state in forged] == [False] * len(forged)


@dataclass(slots=True)
class Browser:
    """A person's browser at the install pages, as `public_url` reaches them through a proxy."""

    session: ClientSession
    url: str
    cookie: str = ""
    cookie_rules: str = ""
    state: str = ""
    authorize: str = ""

    async def install(self, query: str = "") -> str:
        async with self.session.get(f"{self.url}/slack/install{query}") as response:
            self._take(response.headers["Set-Cookie"])
            page = await response.text()
        link = re.search('href="([^"]+)"', page)
        assert link
        self.authorize = link[1].replace("&amp;", "&")
        self.state = parse_qs(urlsplit(self.authorize).query)["state"][0]
        return page

    async def come_back(self, **query: str) -> tuple[int, str]:
        values = {"code": "the-code", "state": self.state} | query
        headers = {"Cookie": self.cookie}
        async with self.session.get(f"{self.url}/slack/oauth_redirect", params=values, headers=headers) as response:
            assert "Max-Age=0" in response.headers["Set-Cookie"]
            assert response.headers["Referrer-Policy"] == "no-referrer"
            return response.status, await response.text()

    def _take(self, header: str) -> None:
        self.cookie, _, self.cookie_rules = header.partition("; ")


@asynccontextmanager
async def browsing(here: Process, database: Counted, clock: FakeClock, public: str) -> AsyncIterator[Browser]:
    app = SlackApp(client_id="id-1", client_secret=SECRET, scopes=("commands", "chat:write"), public_url=f"{public}/")
    flow = oauth_flow(app, installed=here.installed, tokens=here.tokens, database=database, clock=clock)
    async with served(*routes(flow)) as url, ClientSession() as session:
        yield Browser(session, url)


@pytest.fixture
async def browser(here: Process, database: Counted, clock: FakeClock, slack: FakeSlack) -> AsyncIterator[Browser]:
    slack.access = INSTALLED
    async with browsing(here, database, clock, "https://signoff.example") as browser:
        yield browser


async def test_a_workspace_is_installed(browser: Browser, here: Process, slack: FakeSlack) -> None:
    await browser.install()
    status, page = await browser.come_back()
    assert (status, await here.tokens.source.install("T1")) == (200, FIRST)
    assert re.findall("<h1>(.*?)</h1>", page) == ["Signoff is in Acme"]
    assert "/agent new" in page
    assert "/app_redirect?app=A1&amp;team=T1" in page
    assert slack.forms == [{"code": "the-code", "redirect_uri": "https://signoff.example/slack/oauth_redirect"}]
    assert slack.authorizations == [BASIC]


@pytest.mark.proves("slack:allowed")
async def test_a_workspace_that_is_not_allowed_cannot_install(
    start: Callable[..., Process], database: Counted, clock: FakeClock, slack: FakeSlack
) -> None:
    slack.access = INSTALLED
    here = start(allowed={"T2": True})
    async with browsing(here, database, clock, "https://signoff.example") as browser:
        await browser.install()
        status, page = await browser.come_back()
    assert (status, "not for your workspace" in page, await here.installed.every()) == (403, True, ())


@pytest.mark.proves("slack:allowed")
async def test_a_workspace_that_is_no_longer_allowed_counts_as_not_installed(
    start: Callable[..., Process], browser: Browser
) -> None:
    await browser.install()
    await browser.come_back()
    assert await start(allowed={"T2": True}).installed.get("T1") is None
    assert await start(allowed={"T1": False}).installed.get("T1") == FIRST


@pytest.mark.proves("slack:allowed")
@pytest.mark.parametrize(("allowed", "refused"), [({"T1": False}, True), ({"T1": True}, False), ({"any": False}, True)])
async def test_tools_are_off_in_a_workspace_until_the_operator_says_so(
    start: Callable[..., Process], browser: Browser, database: Counted, allowed: Mapping[str, bool], refused: bool
) -> None:
    await browser.install()
    await browser.come_back()
    await start(allowed=allowed).installed.settle_tools()
    spec = CommandSpec(
        name="crm.find", label="", description="", parameters={}, risks=("publish",), category="", source="crm 1"
    )
    async with database.begin() as work:
        switches = await load_tool_switches(work, ChannelScope("slack", "T1", "C1"))
    assert bool(switches.turn_on(["crm"]).refusal(spec)) is refused


async def test_an_installation_of_an_organisation_is_kept_under_it(
    browser: Browser, here: Process, slack: FakeSlack
) -> None:
    slack.access = INSTALLED | ORGANISATION
    await browser.install()
    _, page = await browser.come_back()
    kept = await here.tokens.source.install("E1")
    assert kept == replace(FIRST, workspace="E1", team_name="Acme & Co", enterprise="E1", is_enterprise=True)
    assert "Signoff is in Acme &amp; Co" in page
    assert "admin of the organisation" in page


async def test_the_link_to_slack_asks_for_what_is_set_and_nothing_else(browser: Browser, slack: FakeSlack) -> None:
    await browser.install("?team=T1%26scope%3Dadmin")
    assert browser.authorize.startswith(f"{slack.url.removesuffix('/api')}/oauth/v2/authorize?")
    assert parse_qs(urlsplit(browser.authorize).query) == {
        "client_id": ["id-1"],
        "scope": ["commands,chat:write"],
        "redirect_uri": ["https://signoff.example/slack/oauth_redirect"],
        "state": [browser.state],
    }
    await browser.install("?team=T024BE7LD")
    assert parse_qs(urlsplit(browser.authorize).query)["team"] == ["T024BE7LD"]


async def test_the_cookie_goes_by_tls_alone_when_the_public_address_does(
    browser: Browser, here: Process, database: Counted, clock: FakeClock
) -> None:
    await browser.install()
    assert browser.cookie_rules == "Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure"
    async with browsing(here, database, clock, "http://localhost:8700") as plain:
        await plain.install()
        assert plain.cookie_rules == "Max-Age=600; Path=/; HttpOnly; SameSite=Lax"


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"error": "access_denied"}, 200, "You cancelled"),
        ({"error": "<script>alert(1)</script>"}, 200, "Slack did not complete the installation"),
        ({"state": "forged"}, 400, "another browser"),
        ({"code": ""}, 401, "did not"),
    ],
)
async def test_what_goes_wrong_is_said_and_nothing_is_installed(
    browser: Browser, here: Process, slack: FakeSlack, query: dict[str, str], status: int, said: str
) -> None:
    slack.access = INSTALLED if "code" not in query else {"ok": False, "error": "invalid_code"}
    await browser.install()
    answer, page = await browser.come_back(**query)
    assert (answer, said in page, "<script" in page) == (status, True, False)
    assert 'href="https://signoff.example/slack/install"' in page
    assert await here.installed.every() == ()


async def test_a_state_of_another_browser_is_refused(browser: Browser, here: Process) -> None:
    await browser.install()
    browser.cookie = "signoff_slack_state=another"
    assert (await browser.come_back())[0] == 400
    assert await here.installed.every() == ()


async def test_a_state_is_refused_a_second_time_and_after_ten_minutes(browser: Browser, clock: FakeClock) -> None:
    await browser.install()
    statuses = [(await browser.come_back())[0] for _ in range(2)]
    for seconds in (599, 600):
        await browser.install()
        clock.advance(seconds)
        statuses.append((await browser.come_back())[0])
    assert statuses == [200, 401, 200, 401]


@pytest.mark.parametrize(
    "told",
    [
        {"access_token": None},
        {"team": None},
        {"ok": False, "error": "bad_redirect_uri"},
        {"ok": False, "error": "internal_error"},
    ],
)
async def test_an_answer_without_what_is_needed_installs_nothing(
    browser: Browser, here: Process, slack: FakeSlack, told: dict[str, object]
) -> None:
    slack.access = INSTALLED | told
    await browser.install()
    status, page = await browser.come_back()
    assert (status, "did not confirm" in page) == (401, True)
    assert await here.installed.every() == ()


@pytest.mark.parametrize(("units", "said", "status"), [(0, "cannot reach its database", 503), (1, "not be saved", 500)])
async def test_a_database_that_is_away_is_said(
    browser: Browser, database: Counted, slack: FakeSlack, units: int, said: str, status: int
) -> None:
    await browser.install()
    if units:
        slack.may_answer.clear()
    else:
        database.away = 1
    coming = asyncio.create_task(browser.come_back())
    if units:
        await slack.arrived.wait()
        database.away = 1
        slack.may_answer.set()
    answer, page = await coming
    assert (answer, said in page) == (status, True)


async def test_bolt_finds_the_bot_and_is_given_nothing_to_renew_it_with(
    browser: Browser, here: Process, database: Counted, clock: FakeClock
) -> None:
    app = SlackApp(client_id="id-1", client_secret=SECRET, scopes=(), public_url="https://signoff.example")
    store = oauth_flow(
        app, installed=here.installed, tokens=here.tokens, database=database, clock=clock
    ).settings.installation_store
    await here.installed.keep(FIRST)
    bot = await store.async_find_bot(enterprise_id="E1", team_id="T1")
    assert bot
    assert (bot.bot_token, bot.bot_refresh_token, bot.bot_token_expires_at) == (FIRST.bot_token, None, None)
    assert await store.async_find_bot(enterprise_id="E1", team_id="T1", is_enterprise_install=True) is None
    await store.async_delete_all(enterprise_id="E1", team_id="T1")
    assert await store.async_find_bot(enterprise_id="E1", team_id="T1") is None


async def test_no_code_is_logged(browser: Browser, slack: FakeSlack, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    for answer in (INSTALLED, {"ok": False, "error": "invalid_code"}):
        slack.access = answer
        await browser.install()
        await browser.come_back()
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert [secret for secret in SECRETS if secret in logged] == []


@pytest.mark.proves("slack:unparsed")
@pytest.mark.parametrize("path", ["install", "oauth_redirect"])
async def test_the_install_pages_read_no_body(here: Process, database: Counted, clock: FakeClock, path: str) -> None:
    async with browsing(here, database, clock, "http://signoff.example") as browser:
        asked = browser.session.get(f"{browser.url}/slack/{path}", json="{", headers={"Cookie": browser.cookie})
        async with asked as response:
            assert response.status < 500


@pytest.mark.proves("workers:messages")
async def test_a_wired_process_hears_of_installations_and_people_that_others_changed(database: Counted) -> None:
    settings = load(
        {
            "SLACK_CLIENT_ID": "1.2",
            "SLACK_SIGNING_SECRET": "signed",
            "SLACK_CLIENT_SECRET": SECRET,
            "SLACK_ALLOWED_WORKSPACES": "any",
            "PUBLIC_URL": "https://a.example",
            "WEB_TOKEN": "w" * 32,
        },
        None,
    )
    ends: list[LinkedBroadcast] = []
    wired = [
        WiredSlack.of(
            settings,
            PlatformParts(
                database=database,
                workspaces=InMemoryWorkspaces(),
                clock=FakeClock(),
                model=ScriptedModel(),
                broadcast=broadcast,
            ),
        )
        for broadcast in (LinkedBroadcast(ends), LinkedBroadcast(ends))
    ]
    first, second = (each.installed for each in wired)
    assert first
    assert second
    await first.keep(LASTING)
    assert await second.get("T1") == LASTING
    await first.forget("T1")
    assert await second.get("T1") is None
    people = [each.surface.directory for each in wired]
    for directory in people:
        directory.learn("T1", {"id": "U1", "team_id": "T1"})
    people[0].learn_change("T1", {"id": "U1", "team_id": "T1", "is_restricted": True})
    assert ("T1", "U1") not in people[1].known
    for each in wired:
        await each.close()
