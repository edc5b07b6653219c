"""Reaching the page or the MCP endpoint without its key, or asking more of it than a client may."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import ClientSession

from adapters.mcp.agent_tools import CLIENT
from adapters.mcp.server import MAX_CALLS
from agent_core.errors import CommandError, NotAllowed, SettingsError
from agent_core.model.channel_settings import Sites
from agent_core.model.decision import Approve, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Origin
from agent_core.providers.clock import SystemClock
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.testing.clock import FakeClock
from agent_core.testing.language_model import ScriptedModel, reply_text
from bot.settings import load
from bot.web import serve_app
from bot.wiring.metrics import Metrics, metrics_guard
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.unit.adapters.mcp.clients import (
    ELSEWHERE,
    HERE,
    TOKEN,
    call,
    http_client,
    mcp_beside_the_page,
    over_pipes,
    refusal,
    serving,
)
from tests.unit.adapters.mcp.clients import serving as serving_mcp

# Reaching the page without its key: another account or server of this machine, a proxy, a plugin, a stolen cookie
KEY = "5ca1ab1e" * 4
TEAM_TOKEN = "a-token-of-the-team"
GENERAL = "/c/web/local/general"


@asynccontextmanager
async def keyed(folder: Path) -> AsyncIterator[tuple[str, str]]:
    """The address of a page with a key: for people, and without the key."""
    async with served(ScriptedModel(writing("a.md", "x"), waits=True), folder, key=KEY) as plain:
        yield plain.replace("://", f"://signoff:{KEY}@"), plain


async def status_of(address: str, **request: object) -> int:
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger,
        stranger.get(address, allow_redirects=False, **request) as answer,  # type: ignore[arg-type]
    ):
        return answer.status


@attack("http", "Another account of the machine asks for the page and its files", "401")
@pytest.mark.proves("page:key")
@pytest.mark.parametrize("path", ["/", GENERAL, "/enter", "/events", f"{GENERAL}/a/x/files/a.md", "/search?q=a"])
async def test_without_the_key_nothing_is_shown(path: str, tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (_, plain):
        assert str(await status_of(plain + path)) == answer


@attack("http", "Asking for a page below `/static/`, or by another method of `/enter`", "no page and no cookie")
@pytest.mark.proves("page:key")
@pytest.mark.parametrize("token", ["", TEAM_TOKEN])
@pytest.mark.parametrize(("method", "path"), [("GET", "/static/x"), ("POST", "/static/x"), ("PUT", "/enter")])
async def test_a_stranger_gets_no_frame_of_the_page(
    method: str, path: str, token: str, tmp_path: Path, answer: str
) -> None:
    key = "" if token else KEY
    async with (
        served(ScriptedModel(waits=True), tmp_path, key=key, token=token) as page,
        aiohttp.ClientSession(headers={"Origin": page}) as eve,
        eve.request(method, page + path, allow_redirects=False) as response,
    ):
        assert ("general" in await response.text(), "Set-Cookie" in response.headers) == (False, False), answer


@attack("http", "Reading the numbers of `/metrics` from another account of the machine", "401")
@pytest.mark.proves("page:key")
async def test_metrics_want_the_key(tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (_, plain):
        assert str(await status_of(f"{plain}/metrics")) == answer
        assert await status_of(f"{plain}/metrics", headers={"Authorization": f"Bearer {KEY}"}) == 200


@pytest.mark.slow
@pytest.mark.proves("page:key")
async def test_the_printed_address_opens_the_page_and_leads_to_one_without_the_key(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (address, plain), aiohttp.ClientSession() as ana:
        async with ana.get(f"{address}/enter", allow_redirects=False) as answer:
            html = await answer.text()
            assert f'content="0; url={plain}/"' in html
            assert "/static/icon.svg" in html, "else a browser asks for one, and the answer names a second person"
        assert (await status_of(address), await status_of(plain)) == (200, 401)


@pytest.mark.slow
@attack("http", "Approving with the cookie that a browser sent to another port of this machine", "401")
@pytest.mark.proves("page:cookie")
async def test_a_cookie_alone_opens_nothing(tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (address, plain), PageChat.opened(address, "ana") as ana:
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        await ana.asks("write_to_file")
        stolen = "; ".join(f"{each.key}={each.value}" for each in ana.session.cookie_jar)
        assert "signoff=" in stolen
        for path in ("/", ana.path, "/events"):
            assert str(await status_of(plain + path, headers={"Cookie": stolen})) == answer


@pytest.mark.slow
@attack("http", "Writing the owner's id from the decision log into a cookie", "another person")
@pytest.mark.proves("page:cookie")
@pytest.mark.parametrize("cookie", ["signoff_person={id}:ana", "signoff={id}:ana", "signoff=WyJ7aWR9IiwiYW5hIiwiIl0"])
async def test_a_made_up_cookie_is_nobodys(cookie: str, tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (address, _), aiohttp.ClientSession() as eve:
        forged = {"Cookie": cookie.replace("{id}", "ab" * 16)}
        async with eve.get(f"{address}/", headers=forged) as page:
            said = await page.text()
    assert ("Visitor-" in said, "Visitor-abab" in said) == (True, False), answer


@attack("http", "A reverse proxy before the page, with no token", "403")
@pytest.mark.proves("page:key")
@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Proto"])
async def test_a_proxied_page_wants_a_token(name: str, tmp_path: Path, answer: str) -> None:
    async with keyed(tmp_path) as (address, _):
        assert str(await status_of(address, headers={name: "for=203.0.113.9"})) == answer


@attack("http", "Guessing the token as fast as the page answers", "two answers a second, each in the log")
@pytest.mark.proves("page:guesses")
async def test_wrong_tokens_are_slow_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: str) -> None:
    clock = FakeClock()
    model = ScriptedModel(waits=True)
    async with served(model, tmp_path, token=TEAM_TOKEN, guard_clock=clock) as page, aiohttp.ClientSession() as eve:
        form = {"token": "guess"}
        guesses = [asyncio.create_task(_post(eve, f"{page}/enter", form, page)) for _ in range(5)]
        await clock.until_sleeping()
        assert not any(guess.done() for guess in guesses), answer
        for _ in guesses:
            await clock.until_sleeping()
            clock.advance(0.5)
        assert await asyncio.gather(*guesses) == [403] * 5
    assert len([line for line in caplog.messages if "wrong token" in line]) == 5


async def _post(session: aiohttp.ClientSession, address: str, form: dict[str, str], origin: str) -> int:
    async with session.post(address, data=form, headers={"Origin": origin}) as answer:
        return answer.status


@attack("http", "Guessing METRICS_TOKEN", "401, with the address in the log")
@pytest.mark.proves("page:guesses")
async def test_a_wrong_token_for_metrics_is_told_as_such(caplog: pytest.LogCaptureFixture, answer: str) -> None:
    guard = metrics_guard(load({"METRICS_TOKEN": TEAM_TOKEN}, None), SystemClock())
    assert guard
    app = aiohttp.web.Application()
    app.router.add_get("/metrics", Metrics(guard=guard).answer)
    async with serve_app(app, "127.0.0.1", 0) as runner:
        page = f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
        assert str(await status_of(page, headers={"Authorization": "Bearer guess"})) == answer.partition(",")[0]
        assert await status_of(page, headers={"Authorization": f"Bearer {TEAM_TOKEN}"}) == 200
    (line,) = (each for each in caplog.records if each.name == "adapters.web.guard")
    assert (line.getMessage(), vars(line)["address"]) == ("a wrong token was given for /metrics", "127.0.0.1")


@pytest.mark.proves("page:cookie")
async def test_signing_out_forgets_person_and_key(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (address, plain), PageChat.opened(address, "ana") as ana:
        headers = {"Origin": plain}
        async with ana.session.post(f"{address}/sign-out", headers=headers) as answer:
            assert (answer.status, "WWW-Authenticate" in answer.headers) == (401, True)
            assert "You are signed out" in await answer.text()
        assert [each.key for each in ana.session.cookie_jar] == []


@pytest.mark.proves("page:cookie")
async def test_under_https_the_cookie_is_kept_to_the_host(tmp_path: Path) -> None:
    public = "https://signoff.example"
    async with (
        served(ScriptedModel(waits=True), tmp_path, token=TEAM_TOKEN, public_url=public) as page,
        aiohttp.ClientSession(headers={"Origin": page}) as ana,
        ana.post(f"{page}/enter", data={"token": TEAM_TOKEN}, allow_redirects=False) as answer,
    ):
        (cookie,) = answer.headers.getall("Set-Cookie")
    assert cookie.startswith("__Host-signoff=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Strict"} <= set(cookie.split("; "))
    assert "Max-Age=" in cookie


@attack("door", "Signoff's own page, at an address that the operator allows", "refused: it is Signoff's own page")
@pytest.mark.proves("page:key")
async def test_agents_and_plugins_do_not_reach_the_page(answer: str) -> None:
    allowed = InternalHosts.of(["127.0.0.1", "localhost"], page_port=8700)
    for address in ("http://127.0.0.1:8700/", "http://[::ffff:127.0.0.1]:8700/"):
        with pytest.raises(CommandError, match=r"it is Signoff's own page"):
            await EgressGateway(internal=allowed).admit(address, Sites())
    assert (await EgressGateway(internal=allowed).admit("http://127.0.0.1:8701/", Sites())).target.port == 8701, answer


@pytest.mark.slow
@pytest.mark.proves("page:cookie")
async def test_whoever_alone_decides_does_not_sign_out_of_it(tmp_path: Path) -> None:
    async with keyed(tmp_path) as (address, plain), PageChat.opened(address, "ana") as ana:
        fields = {"name": "Clerk", "role": "x", "goals": "Write", "approvers": "owner"}
        async with ana.session.post(f"{address}{GENERAL}/new", data=fields) as made:
            assert made.status == 200
        async with ana.session.post(f"{address}/sign-out", headers={"Origin": plain}) as answer:
            assert "You alone decide for Clerk" in await answer.text()
        assert "signoff" in [each.key for each in ana.session.cookie_jar]


@pytest.mark.slow
@attack("http", "Using a copy of a cookie whose person signed out", "303")
@pytest.mark.proves("page:key")
async def test_a_cookie_is_worth_nothing_once_its_person_signed_out(tmp_path: Path, answer: str) -> None:
    async with served(ScriptedModel(waits=True), tmp_path, token=TEAM_TOKEN) as plain:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(headers={"Origin": plain}, cookie_jar=jar) as ana:
            await ana.post(f"{plain}/enter", data={"token": TEAM_TOKEN})
            copied = "; ".join(f"{each.key}={each.value}" for each in jar)
            assert await status_of(plain + GENERAL, headers={"Cookie": copied}) == 200
            await ana.post(f"{plain}/sign-out")
        assert str(await status_of(plain + GENERAL, headers={"Cookie": copied})) == answer


# Attacks on the MCP endpoint: strangers, other sites in a browser, and clients that want more than they may
ASKS = reply_text("write_to_file", {"filename": "hello.txt", "text": "Hello"})
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LISTS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
KNOWN = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(ASKS), tmp_path, more_routes=mcp_beside_the_page) as address:
        yield address


async def mcp_status(
    base: str, headers: dict[str, str], body: bytes = json.dumps(LISTS).encode(), path: str = "/mcp"
) -> int:
    async with (
        ClientSession() as session,
        session.post(f"{base}{path}", headers={**KNOWN, **headers}, data=body) as sent,
    ):
        return sent.status


@pytest.mark.slow
@attack(
    "http", "A call to the MCP server without its token, with another, or with the start of it", "401, nothing done"
)
@pytest.mark.proves("mcp:token")
async def test_nobody_is_served_without_the_token(base: str, answer: str) -> None:
    others = ["", "Bearer ", "Bearer x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}t", f"Basic {TOKEN}", TOKEN]
    assert {await mcp_status(base, {"Authorization": each} if each else {}) for each in others} == {401}
    assert await mcp_status(base, BEARER) == 200
    assert answer.startswith("401")


@pytest.mark.slow
@pytest.mark.proves("mcp:token")
async def test_a_path_that_ends_in_a_slash_is_the_same_server(base: str) -> None:
    assert await mcp_status(base, {}, path="/mcp/") == 401
    assert await mcp_status(base, BEARER, path="/mcp/") == 200


@pytest.mark.proves("mcp:token")
async def test_nothing_is_served_unless_the_operator_asks_for_it(tmp_path: Path) -> None:
    async with served(ScriptedModel(), tmp_path) as address:
        assert await mcp_status(address, BEARER) == 404


@pytest.mark.slow
@attack("http", "A page of another site sends a call to the MCP server, with the token", "403, nothing done")
async def test_other_sites_are_refused(base: str, answer: str) -> None:
    for origin in ("http://evil.example", "null", "http://localhost", f"{base}.evil.example", "file://"):
        assert await mcp_status(base, {**BEARER, "Origin": origin}) == 403
    assert await mcp_status(base, {**BEARER, "Origin": base}) == 200
    assert answer.startswith("403")


@pytest.mark.slow
@attack("http", "DNS rebinding: a call to the MCP server for a Host that is not this machine", "403, nothing done")
async def test_other_hosts_are_refused(base: str, answer: str) -> None:
    assert await mcp_status(base, {**BEARER, "Host": "evil.example"}) == 403
    assert answer.startswith("403")


@attack("http", "A call of 50 MB to the MCP server", "413 before it is read")
async def test_a_huge_call_is_not_read(base: str, answer: str) -> None:
    address, size = urlsplit(base), 50 * 2**20
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: {address.netloc}",
        f"Authorization: Bearer {TOKEN}",
        f"Content-Length: {size}",
    ]
    writer.write("\r\n".join([*head, "", ""]).encode())
    async with asyncio.timeout(PATIENCE_SECONDS):
        line = await reader.readline()
    writer.close()
    assert f" {answer[:3]} " in line.decode()


@pytest.mark.slow
@attack("http", "JSON nested 100,000 deep, or cut off, to the MCP server", "400")
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_json_that_cannot_be_read_is_refused(base: str, version: str, answer: str) -> None:
    deep = b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    for body in (deep, b'{"jsonrpc"', b"\xff", b"[]", b""):
        assert await mcp_status(base, {**BEARER, "MCP-Protocol-Version": version}, body) == int(answer)


@pytest.mark.slow
@attack("http", "Forms, pages and methods other than POST at the MCP server", "405")
async def test_only_post_is_served(base: str, answer: str) -> None:
    async with ClientSession(headers={**KNOWN, **BEARER}) as session:
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            async with session.request(method, f"{base}/mcp") as sent:
                assert sent.status == int(answer)


@pytest.mark.slow
@attack(
    "approval",
    "An MCP client that approves, resumes or edits what an agent asks, by a note or a tool",
    "no tool does; its person may not",
)
@pytest.mark.proves("mcp:undecided")
async def test_a_client_cannot_decide(answer: str) -> None:
    async with serving_mcp(ScriptedModel(ASKS)) as mcp, http_client(mcp.url, "auto") as client:
        await call(client, "create_agent", name="Ada", goals=["Greet"])
        await call(client, "wait", agent="Ada")
        for text in ("approve", "!approve", "y", "Approve ×5", "!policy free write"):
            await call(client, "add_note", agent="Ada", text=text)
        agent = await mcp.until("Ada", lambda agent: agent.needs_people)
        turn, origin, service = await mcp.stage.turn(agent), Origin(by=CLIENT, channel=HERE), mcp.stage.service
        assert (turn.state, agent.policy.free, agent.lease) == ("proposed", (), None)
        for decision in (Approve(), Reject()):
            with pytest.raises(NotAllowed):
                await service.decisions.decide(turn.id, decision, origin, shown=turn.control_hash)
        with pytest.raises(NotAllowed):
            await service.decisions.grant_lease(agent.id, 5, origin)
    assert answer == "no tool does; its person may not"


@attack("approval", "An MCP client that names an agent of another channel", "not found")
@pytest.mark.proves("mcp:channel")
async def test_other_channels_are_sealed(answer: str) -> None:
    async with serving_mcp(ScriptedModel(ASKS)) as mcp, http_client(mcp.url, "auto") as client:
        other = await mcp.stage.service.lifecycle.create(AgentDraft(name="Bob", goals=("Wait",)), mcp.origin(ELSEWHERE))
        assert await refusal(client, "read_thread", agent=other.id) == f"There is no agent {other.id} in this channel."
        assert (await call(client, "list_agents"))["agents"] == []
    assert answer == "not found"


@pytest.mark.proves("mcp:token")
@pytest.mark.parametrize("token", ["", "x" * 31])
def test_no_start_serves_clients_without_a_token(token: str) -> None:
    with pytest.raises(SettingsError, match=r"^MCP_SERVE: needs MCP_TOKEN beside it, of 32 characters or more"):
        load({"MCP_SERVE": "true", "MCP_TOKEN": token}, None)


# A client on pipes that asks for more at a time than 64 calls, which is what one over HTTP may


@pytest.mark.slow
async def test_a_client_on_pipes_is_answered_64_calls_at_a_time() -> None:
    async with serving(ScriptedModel(waits=True)) as served:
        await served.stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("Serve tea",)), served.origin())
        listeners = served.surface.hub.listeners
        async with over_pipes(served, "auto") as client:
            given = {"agent": "Clerk", "until": "end", "seconds": 600}
            waits = [asyncio.create_task(client.call_tool("wait", given)) for _ in range(2 * MAX_CALLS)]
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while len(listeners) < MAX_CALLS:
                        await served.stage.clock.sleep(0.01)
                await client.list_tools()  # what was sent before it has been read by then
                assert len(listeners) == MAX_CALLS
            finally:
                for each in waits:
                    each.cancel()
                await asyncio.gather(*waits, return_exceptions=True)
