"""What tool servers try with a sign-in: to reach inside, to be believed, and to have tokens shown."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from aiohttp import web
from mcp.client.auth import OAuthFlowError

from agent_core.capabilities.tool_servers.sign_in_provider import Address, SignInNeeded, SignInProvider
from agent_core.capabilities.tool_servers.sign_ins import SignIn, SignIns, SignInStore
from agent_core.errors import CommandError, SettingsError
from agent_core.model.draft import AgentDraft
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.tool_servers import (
    ComeBack,
    PromptArgument,
    RemoteAddress,
    ServerEntry,
    SignInTerms,
    SourcePrompt,
)
from agent_core.providers.clock import SystemClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.stage import Stage
from agent_core.testing.tool_servers import InMemoryToolServer
from agent_core.toolset.registry import CommandContext, Commands
from bot import settings as settings_module
from bot.bootstrap import migrate_database
from bot.settings import Settings, load
from bot.wiring.sign_ins import SignInDesk
from bot.wiring.tool_servers import ToolServerSet, changed_tools, serve_tools, tool_servers_finding
from tests.attacks.bare_tool_servers import until
from tests.attacks.rows import attack
from tests.contract.servers.guarded import Doorkeeper, guarded_server
from tests.contract.test_tool_server_sign_in import key_of, sign_in

# What a tool server and its authorization server try with a sign-in: to reach inside, to get keys, to be believed
OUTSIDE = "https://8.8.8.8/mcp"
CLOCK, KEY = SystemClock(), "a-key-of-some-length"


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


# Tokens of sign-ins, and what a server does to have them shown: in errors, after a renewal, to the doctor
TOKEN = "the-token-4711-of-somebody"
DRAFT = AgentDraft(name="Clerk", goals=("Pour",))


def settings_at(folder: Path, url: str) -> Settings:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"guarded": {"url": url, "oauth": True}}}))
    return load({"MCP_SERVERS": str(file), "MCP_SIGN_IN_KEY": KEY, "SIGNOFF_HOME": str(folder)}, None)


async def keep_token(store: SignInStore, url: str) -> None:
    tokens = json.dumps({"access_token": TOKEN, "token_type": "Bearer"})
    client = json.dumps({"client_id": "c", "redirect_uris": None})
    await store.put("guarded", SignIn(url=url, client=client, tokens=tokens))


@asynccontextmanager
async def answering(status: int, said: str) -> AsyncIterator[str]:
    """A server that answers everything with this error, in which KEY is the key that it was sent; its address."""

    async def answer(request: web.Request) -> web.Response:
        text = said.replace("KEY", request.headers.get("Authorization", ""))
        asked = await request.json() if status == 200 else {}
        error = {"jsonrpc": "2.0", "id": asked.get("id"), "error": {"code": -32000, "message": text}}
        return web.json_response(error) if status == 200 else web.Response(status=status, text=text)

    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(status=400, text=said)

    app = web.Application()
    app.router.add_route("*", "/mcp", answer)
    app.router.add_route("POST", "/register", refuse)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


@pytest.mark.slow
@attack("servers", "It repeats a token that was renewed meanwhile, in a refusal", "[secret]")
async def test_a_renewed_token_is_not_shown_either(answer: str, tmp_path: Path) -> None:
    doorkeeper, stage, commands = Doorkeeper(seconds=1), Stage(), Commands()
    async with guarded_server(doorkeeper) as url:
        await sign_in(url, SignInStore(stage.database, CLOCK, KEY))
        settings = settings_at(tmp_path, url)
        async with serve_tools(settings, ToolServerSet(), commands, CLOCK, changed_tools(stage)):
            await until(lambda: "guarded.refuse" in commands.by_name)
            agent = await stage.service.lifecycle.create(DRAFT, stage.origin())
            context, said = CommandContext(agent=agent, files=stage.workspaces.of(agent)), ""
            while doorkeeper.renewals < 2 or not said:
                with pytest.raises(CommandError) as refused:
                    await commands.by_name["guarded.refuse"].run({}, context)
                said += str(refused.value)
                await CLOCK.sleep(0.02)  # the connection may be made anew
    assert f"Not with Bearer {answer}" in said
    assert "access-token" not in said


@pytest.mark.slow
@attack("servers", "It repeats a token as it refuses to be connected", "[secret] in log, page and doctor")
@pytest.mark.parametrize("padding", ["", "x" * 250])
async def test_a_token_in_a_fault(answer: str, padding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with answering(200, f"{padding} Not with KEY\x1b[2J.") as url:
        settings = settings_at(tmp_path, url)
        await migrate_database(settings)
        database = SqlDatabase(settings.database_url)
        try:
            await keep_token(SignInStore(database, CLOCK, KEY), url)
        finally:
            await database.close()
        finding = await tool_servers_finding(settings)
        stage = Stage()
        await keep_token(SignInStore(stage.database, CLOCK, KEY), url)
        async with serve_tools(settings, ToolServerSet(), Commands(), CLOCK, changed_tools(stage)) as found:
            await until(lambda: found.servers[0].state.condition == "away")
            (source,) = found.list_sources()
    assert finding
    for told in (finding.why, source.fault, caplog.text, *(str(vars(each)) for each in caplog.records)):
        assert TOKEN[:8] not in told
        assert "\x1b" not in told
    assert "[secret]" in finding.why
    assert answer.startswith("[secret]")


@pytest.mark.slow
@attack(
    "servers", "Its authorization server answers with lines that move the cursor of a terminal", "on one line, without"
)
async def test_hidden_letters_in_a_fault_of_a_sign_in(answer: str, tmp_path: Path) -> None:
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    async with answering(401, "no\x1b[2J\x1b[31m\nSigned in.") as url:
        entry = ServerEntry(name="far", reached=RemoteAddress(url=url, sign_in=SignInTerms()), place="here")
        desk = SignInDesk(SignIns(store=store, clock=CLOCK))
        fault, _ = await desk.sign_in(entry, _nobody, "http://127.0.0.1/signed-in", 20)
    assert fault.startswith("could not be signed in to")
    assert fault.isprintable()
    assert "Signed in." not in fault
    assert answer


async def _nobody(_address: str) -> ComeBack:
    raise AssertionError


@pytest.mark.proves("mcp:sign-in")
async def test_a_sign_in_that_fails_costs_nobody_the_one_before() -> None:
    store = SignInStore(TemporaryDatabase(), CLOCK, KEY)
    async with guarded_server(Doorkeeper()) as url:
        await sign_in(url, store)
        before = await store.get("guarded", url)

        async def refuse(_address: str) -> ComeBack:
            raise ValueError("the sign-in was refused")

        entry = ServerEntry(name="guarded", reached=RemoteAddress(url=url, sign_in=SignInTerms()), place="here")
        fault, _ = await SignInDesk(SignIns(store=store, clock=CLOCK)).sign_in(entry, refuse, "http://127.0.0.1/x", 20)
        assert "refused" in fault
        assert await store.get("guarded", url) == before


@attack("servers", "It tells its token in a prompt", "[secret]; there is no prompt by that name")
async def test_a_token_in_a_prompt(answer: str) -> None:
    about = PromptArgument(name="kind", description=f"or {TOKEN}")
    prompts = (
        SourcePrompt(name="tea", title=TOKEN, description=f"With {TOKEN}.", arguments=(about,)),
        SourcePrompt(name=TOKEN),
    )
    found = ToolServerSet(servers=(InMemoryToolServer(prompts=prompts),))
    found.use_tokens(load({}, None), "tea", (TOKEN,))
    (source,) = found.list_sources()
    assert [each.fault for each in source.prompts] == ["", "has a secret of Signoff's in a name"]
    assert TOKEN not in str(source.prompts)
    with pytest.raises(CommandError, match=r"there is no \[secret\]"):
        await source.read_prompt(TOKEN, {})
    assert answer.startswith(source.prompts[0].title)


@attack("servers", "Its authorization server gives words of other servers' cards as tokens", "they are shown there")
def test_words_as_tokens(answer: str) -> None:
    found = ToolServerSet()
    found.use_tokens(load({}, None), "far", ("DELETE everything",))
    assert found.redact("tea", "DELETE everything") == "DELETE everything"
    assert answer
