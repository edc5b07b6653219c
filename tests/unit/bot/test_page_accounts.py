"""The settings of the sign-in with accounts, and what a process makes of them."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, web

from adapters.web.surface import WebSurface
from agent_core.errors import NotFound, SettingsError
from agent_core.model.origin import Actor, account_id
from agent_core.service.housekeeping.accounts import Accounts
from agent_core.testing.examples import ANA, CHANNEL
from bot.bootstrap import assemble, probes
from bot.commands import _guard, page_address
from bot.findings.doctor import _sign_in, _web, report
from bot.settings import load
from bot.web import serve_app, waiting_application
from tests.scenario.signing_in import signed_cookie
from tests.standins.oidc import own_provider
from tests.standins.serving import serving

ISSUER = "https://id.example.com/realms/team"
ACCOUNTS = {"OIDC_ISSUER": ISSUER, "OIDC_CLIENT_ID": "signoff", "OIDC_CLIENT_SECRET": "a~secret.of-the-client"}
PUBLIC = {"HOST": "0.0.0.0", "PUBLIC_URL": "https://signoff.example.com"}


@pytest.mark.proves("settings:fault")
@pytest.mark.parametrize(
    ("given", "variable", "said"),
    [
        ({"OIDC_ISSUER": ISSUER}, "OIDC_ISSUER", "needs OIDC_CLIENT_ID beside it"),
        ({"OIDC_ISSUER": ISSUER, "OIDC_CLIENT_ID": "x"}, "OIDC_ISSUER", "needs OIDC_CLIENT_SECRET beside it"),
        ({"OIDC_CLIENT_ID": "x"}, "OIDC_CLIENT_ID", "needs OIDC_ISSUER beside it"),
        ({"OIDC_CLIENT_SECRET": "x"}, "OIDC_CLIENT_SECRET", "needs OIDC_ISSUER beside it"),
        ({"OIDC_GROUPS": "leads"}, "OIDC_GROUPS", "needs OIDC_ISSUER beside it"),
        ({**ACCOUNTS, "OIDC_ISSUER": "http://id.example.com"}, "OIDC_ISSUER", "must begin with https://"),
        ({**ACCOUNTS, "HOST": "0.0.0.0"}, "OIDC_ISSUER", "needs PUBLIC_URL beside it"),
        ({**ACCOUNTS, "PUBLIC_URL": "http://signoff.lan:8700"}, "OIDC_ISSUER", "needs PUBLIC_URL beside it"),
        ({**ACCOUNTS, **PUBLIC, "WEB_TOKEN": "short"}, "WEB_TOKEN", "must have at least 16 characters"),
        ({"HOST": "0.0.0.0"}, "WEB_TOKEN", "must be set, with 16 characters or more, or OIDC_ISSUER"),
        ({"WEB_TOKEN": "x" * 16, "METRICS_TOKEN": "x" * 16}, "METRICS_TOKEN", "must differ from WEB_TOKEN"),
        ({"METRICS_TOKEN": "short"}, "METRICS_TOKEN", "must have at least 16 characters"),
        ({"PUBLIC_URL": "https://signoff.example.com"}, "PUBLIC_URL", "WEB_TOKEN or OIDC_ISSUER must be set"),
    ],
)
def test_what_is_missing_is_said(given: dict[str, str], variable: str, said: str) -> None:
    with pytest.raises(SettingsError) as fault:
        load(given, None)
    assert (fault.value.variable, said in fault.value.fault) == (variable, True)


def test_a_worker_which_has_no_page_needs_no_token_to_be_scraped() -> None:
    given = {"HOST": "10.0.0.5", "PROBE_PORT": "8701", "METRICS_TOKEN": "x" * 16, "PUBLIC_URL": PUBLIC["PUBLIC_URL"]}
    assert load(given, None, has_page=False).host == "10.0.0.5"


def test_accounts_alone_let_the_page_be_opened_by_others(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{ACCOUNTS['OIDC_CLIENT_SECRET']}\n")
    of_file = {**ACCOUNTS, "OIDC_CLIENT_SECRET": "", "OIDC_CLIENT_SECRET_FILE": str(secret)}
    settings = load({"SIGNOFF_HOME": str(tmp_path), **of_file, **PUBLIC, "OIDC_GROUPS": "leads, ops"}, None)
    assert settings.secrets == (ACCOUNTS["OIDC_CLIENT_SECRET"],)
    assert (settings.oidc_groups, settings.oidc_groups_claim) == (("leads", "ops"), "groups")
    assert page_address(settings) == "https://signoff.example.com"
    said = f"https://signoff.example.com, for people with an account at {ISSUER}"
    assert (_web(settings).why, _web(settings).variable) == (said, "HOST, PORT, OIDC_ISSUER")
    assert ACCOUNTS["OIDC_CLIENT_SECRET"] not in f"{settings!r} {_guard(settings)!r}"


@pytest.mark.slow
@pytest.mark.proves("page:sign-in-groups")
async def test_the_page_asks_who_its_people_are_now(tmp_path: Path) -> None:
    given = {"SIGNOFF_HOME": str(tmp_path), **ACCOUNTS}
    async with assemble(load(given, None), WebSurface()) as signoff:
        surface = signoff.core.loop.surfaces["web"]
        with pytest.raises(NotFound):
            await surface.actor(CHANNEL, ANA)  # of a browser, from before people had accounts
        person = Actor(id=account_id(ISSUER, "1"), display="Ana", workspace="local", groups=("&leads",))
        await Accounts(signoff.core.database).save(person)
        found = await surface.actor(CHANNEL, Actor(id=person.id, display="old"))
        assert (found, found.groups) == (person, ("&leads",))
    async with assemble(load({"SIGNOFF_HOME": str(tmp_path)}, None), WebSurface()) as signoff:
        assert await signoff.core.loop.surfaces["web"].actor(CHANNEL, ANA) == ANA


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "changes", "said"),
    [
        ("", {}, ("on", "the provider at {} answers")),
        ("", {"metadata": {"issuer": "https://other.example"}}, ("fault", "the provider there is not {}: ")),
        ("", {"metadata": {"token_endpoint": None}}, ("fault", "the provider has no token_endpoint")),
        ("", {"is_away": True}, ("fault", "{}/.well-known/openid-configuration answers with status 503, not with")),
        ("/realms/none", {}, ("fault", "{}/.well-known/openid-configuration answers with status 404, not with")),
    ],
    ids=str,
)
async def test_the_doctor_asks_the_provider(
    path: str, changes: dict[str, Any], said: tuple[str, str], tmp_path: Path
) -> None:
    async with own_provider(**changes) as own:
        settings = load({"SIGNOFF_HOME": str(tmp_path), **ACCOUNTS, "OIDC_ISSUER": f"{own.address}{path}"}, None)
        (row,) = await _sign_in(settings, probes(settings))
    state, begins = said
    assert (row.name, row.state, row.variable) == ("sign-in", state, "OIDC_ISSUER")
    assert row.why.startswith(begins.format(settings.oidc_issuer))
    assert ACCOUNTS["OIDC_CLIENT_SECRET"] not in report((row,))
    assert await _sign_in(load({"SIGNOFF_HOME": str(tmp_path)}, None), probes(settings)) == ()


@pytest.mark.slow
async def test_the_doctor_says_that_no_provider_is_there(tmp_path: Path) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="<h1>Welcome</h1>")

    async def be_silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ends.wait()
        writer.close()

    async def why(issuer: str) -> str:
        settings = load({"SIGNOFF_HOME": str(tmp_path), **ACCOUNTS, "OIDC_ISSUER": issuer}, None)
        (row,) = await _sign_in(settings, probes(settings))
        assert row.state == "fault"
        return row.why

    ends, app = asyncio.Event(), web.Application()
    app.router.add_get("/.well-known/openid-configuration", answer)
    async with serving(app) as site:
        assert await why(site) == f"what is at {site}/.well-known/openid-configuration is no provider's description"
    assert await why(site) == f"{urlsplit(site).netloc} cannot be reached (ConnectError)"
    async with await asyncio.start_server(be_silent, "127.0.0.1", 0) as server:
        silent = "http://{}:{}".format(*server.sockets[0].getsockname())
        assert await why(silent) == f"{silent} did not answer within 3 seconds"
        ends.set()


@pytest.mark.slow
@pytest.mark.proves("page:outage")
async def test_before_the_database_is_there_nobody_is_let_in_or_signs_in(tmp_path: Path) -> None:
    settings = load({"SIGNOFF_HOME": str(tmp_path), **ACCOUNTS}, None)
    session = signed_cookie("session", [account_id(ISSUER, "1"), "a"], secret=ACCOUNTS["OIDC_CLIENT_SECRET"])
    async with (
        serve_app(waiting_application(_guard(settings)), "127.0.0.1", 0) as runner,
        ClientSession() as browser,
    ):
        base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        seen = {}
        for path, cookie in (("/", ""), ("/", session), ("/enter", ""), ("/enter/begin", "")):
            headers = {"Cookie": f"signoff_session={cookie}"}
            async with browser.get(base + path, headers=headers, allow_redirects=False) as answer:
                seen[path, bool(cookie)] = answer.status
    assert seen == {("/", False): 303, ("/", True): 503, ("/enter", False): 503, ("/enter/begin", False): 503}
