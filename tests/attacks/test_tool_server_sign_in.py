"""What a tool server and its authorization server try with a sign-in: to reach inside, to get keys, to be believed."""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from agent_core.capabilities.tool_servers.sign_in_provider import Address, SignInNeeded, SignInProvider
from agent_core.capabilities.tool_servers.sign_ins import SignIn, SignIns, SignInStore
from agent_core.errors import SettingsError
from agent_core.ports.tool_servers import ComeBack, RemoteAddress, SignInTerms
from agent_core.providers.clock import SystemClock
from agent_core.testing.database import TemporaryDatabase
from bot import settings as settings_module
from tests.attacks.rows import attack
from tests.contract.servers.guarded import Doorkeeper, guarded_server
from tests.contract.test_tool_server_sign_in import KEY, key_of, sign_in

OUTSIDE = "https://8.8.8.8/mcp"
CLOCK = SystemClock()


async def agree(_address: str) -> ComeBack:
    return ComeBack("code", "state", None)


def provider(refusals: list[str], store: SignInStore | None = None, url: str = OUTSIDE) -> SignInProvider:
    kept = store or SignInStore(TemporaryDatabase(), CLOCK, KEY)
    sign_ins = SignIns(store=kept, clock=CLOCK, ask_person=agree)
    return SignInProvider("far", RemoteAddress(url=url, sign_in=SignInTerms()), sign_ins, refusals.append)


async def ask(signer: SignInProvider, *answers: httpx2.Response) -> list[httpx2.Request]:
    """The requests that it sends, and answers to them; the last ones have none."""
    sent = []
    async with aclosing(signer.async_auth_flow(httpx2.Request("POST", OUTSIDE))) as flow:
        sent.append(await anext(flow))
        for answer in answers:
            answer.request = sent[-1]
            sent.append(await flow.asend(answer))
    return sent


def wants(metadata: str) -> httpx2.Response:
    return httpx2.Response(401, headers={"WWW-Authenticate": f'Bearer resource_metadata="{metadata}"'})


def says(**fields: object) -> httpx2.Response:
    return httpx2.Response(200, json=fields)


def metadata_of(issuer: str) -> dict[str, object]:
    ends = {f"{name}_endpoint": f"{issuer}/{name}" for name in ("authorization", "token", "registration")}
    return {"issuer": issuer, **ends, "response_types_supported": ["code"]}


@attack("servers", "A server names an address inside for its sign-in", "it is not asked")
@pytest.mark.parametrize(
    "inside", ["https://127.0.0.1/", "https://10.0.0.1/x", "https://169.254.169.254/latest", "http://9.9.9.9/plain"]
)
async def test_metadata_inside(answer: str, inside: str) -> None:
    assert answer
    refusals: list[str] = []
    with pytest.raises(OAuthFlowError):
        await ask(provider(refusals), wants(inside))
    assert refusals
    assert "could not be signed in to" in refusals[0]


@attack("servers", "A server names an authorization server inside", "it is not asked")
async def test_authorization_server_inside(answer: str) -> None:
    assert answer
    found = says(resource=OUTSIDE, authorization_servers=["https://192.168.0.1"])
    with pytest.raises(OAuthFlowError, match=r"192\.168\.0\.1, which lies in a private network"):
        await ask(provider([]), wants("https://8.8.8.8/.well-known/x"), found)


@attack("servers", "A server's name leads outside and inside, so that it may name addresses inside", "it may not")
async def test_name_that_leads_to_both(answer: str) -> None:
    assert answer

    async def look_up(host: str) -> Sequence[Address]:
        outside, inside = ip_address("8.8.8.8"), ip_address("10.0.0.1")
        return (outside, inside) if host == "8.8.8.8" else (inside,)

    signer = provider([])
    signer.look_up = look_up
    for named in ("https://db.internal/x", "http://127.0.0.1:6379/"):
        with pytest.raises(OAuthFlowError):
            await signer._require_allowed(httpx2.URL(named))


@attack("servers", "A server of the private network names a program of Signoff's machine", "it is not asked")
async def test_program_of_this_machine(answer: str) -> None:
    assert answer
    with pytest.raises(OAuthFlowError, match="not reached by https"):
        await provider([], url="https://10.0.0.1/mcp")._require_allowed(httpx2.URL("http://127.0.0.1:6379/"))


@attack("servers", "An authorization server sends people to a page without https", "they are not sent there")
@pytest.mark.parametrize("page", ["http://9.9.9.9/authorize", "https://me:you@9.9.9.9/authorize"])
async def test_sign_in_page(answer: str, page: str) -> None:
    assert answer
    issuer = "https://9.9.9.9"
    resource = says(resource=OUTSIDE, authorization_servers=[issuer])
    about = says(**{**metadata_of(issuer), "authorization_endpoint": page})
    client = httpx2.Response(201, json={"client_id": "c", "redirect_uris": ["http://127.0.0.1/signed-in"]})
    with pytest.raises(OAuthFlowError):
        await ask(provider([]), wants("https://8.8.8.8/.well-known/x"), resource, about, client)


@attack("servers", "A server's tokens are sent to another address of its entry", "they are not")
async def test_tokens_elsewhere(answer: str) -> None:
    assert answer
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    tokens = json.dumps({"access_token": "the-token-of-another", "token_type": "Bearer"})
    await store.put("far", SignIn(url="https://9.9.9.9/mcp", client="{}", tokens=tokens))
    sent = await ask(provider([], store))
    assert "Authorization" not in sent[0].headers
    await store.put("far", SignIn(url=OUTSIDE, client='{"client_id": "c", "redirect_uris": null}', tokens=tokens))
    assert (await ask(provider([], store)))[0].headers["Authorization"] == "Bearer the-token-of-another"


@attack("servers", "A server names another authorization server, to which a token is sent for renewal", "it is not")
@pytest.mark.parametrize("own", [True, False])
async def test_renewal_elsewhere(answer: str, *, own: bool) -> None:
    assert answer
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    tokens = json.dumps({"access_token": "access", "token_type": "Bearer", "refresh_token": "refresh"})
    client = '{"client_id": "c", "client_secret": "s", "redirect_uris": ["http://127.0.0.1/signed-in"]}'
    about = json.dumps(metadata_of("https://9.9.9.9")) if own else ""
    ends = CLOCK.now().timestamp() + 600
    await store.put("far", SignIn(url=OUTSIDE, client=client, tokens=tokens, metadata=about, expires_at=ends))
    signer = provider([], store)
    signer._sign_ins = SignIns(store=store, clock=CLOCK)  # where nobody can be asked
    other = "https://1.1.1.1"
    found = says(resource=OUTSIDE, authorization_servers=[other])
    async with aclosing(signer.async_auth_flow(httpx2.Request("POST", OUTSIDE))) as first:
        sent = await anext(first)
        for given in (wants("https://8.8.8.8/.well-known/x"), found):
            given.request = sent
            sent = await first.asend(given)
        waiting = asyncio.create_task(ask(signer))  # for the first one, with a token that is good
        while not signer.context.lock.statistics().tasks_waiting:
            await asyncio.wait((waiting,), timeout=0.01)
        signer.context.token_expiry_time = 1.0
        named = says(**metadata_of(other))
        named.request = sent
        with pytest.raises(SignInNeeded):
            await first.asend(named)
    (renewal,) = await waiting
    assert renewal.url.host == ("9.9.9.9" if own else "8.8.8.8")


@attack("servers", "A process where nobody can be asked is told to sign in", "the server is away")
async def test_nobody_to_ask(answer: str) -> None:
    assert answer
    refusals: list[str] = []
    signer = provider(refusals)
    signer._sign_ins = SignIns(store=signer._sign_ins.store, clock=CLOCK)
    with pytest.raises(SignInNeeded):
        await signer._show("https://9.9.9.9/authorize")


@pytest.mark.slow
@attack("servers", "Keys of a sign-in get into the log", "they do not")
async def test_log(answer: str, caplog: pytest.LogCaptureFixture) -> None:
    assert answer
    caplog.set_level(logging.DEBUG)
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    async with guarded_server(Doorkeeper()) as url:
        await sign_in(url, store)
        assert "access-token" in await key_of(url, store)
    assert "access-token" not in caplog.text
    assert "refresh-token" not in caplog.text


def test_no_start_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"far": {"url": OUTSIDE, "oauth": True}}}))
    monkeypatch.setenv("MCP_SERVERS", str(file))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path))
    for key in ("", "short"):
        monkeypatch.setenv("MCP_SIGN_IN_KEY", key)
        with pytest.raises(SettingsError, match=r"MCP_SIGN_IN_KEY.*16 characters or more.*\(far\)"):
            settings_module.load()
    monkeypatch.setenv("MCP_SIGN_IN_KEY", "long-enough-to-be-one")
    assert settings_module.load().mcp_servers
