"""Attacks on the MCP endpoint: strangers, other sites in a browser, and clients that want more than they may."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession

from adapters.mcp.agent_tools import CLIENT
from agent_core.errors import NotAllowed, SettingsError
from agent_core.model.decision import Approve, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Origin
from agent_core.testing.language_model import ScriptedModel, reply_text
from bot.settings import load
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.served import served
from tests.unit.adapters.mcp.clients import ELSEWHERE, HERE, TOKEN, call, http_client, mcp_beside_the_page, refusal
from tests.unit.adapters.mcp.clients import serving as serving_mcp

ASKS = reply_text("write_to_file", {"filename": "hello.txt", "text": "Hello"})
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LISTS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
KNOWN = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(ASKS), tmp_path, more_routes=mcp_beside_the_page) as address:
        yield address


async def status_of(
    base: str, headers: dict[str, str], body: bytes = json.dumps(LISTS).encode(), path: str = "/mcp"
) -> int:
    async with (
        ClientSession() as session,
        session.post(f"{base}{path}", headers={**KNOWN, **headers}, data=body) as sent,
    ):
        return sent.status


@attack(
    "http", "A call to the MCP server without its token, with another, or with the start of it", "401, nothing done"
)
@pytest.mark.proves("mcp:token")
async def test_nobody_is_served_without_the_token(base: str, answer: str) -> None:
    others = ["", "Bearer ", "Bearer x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}t", f"Basic {TOKEN}", TOKEN]
    assert {await status_of(base, {"Authorization": each} if each else {}) for each in others} == {401}
    assert await status_of(base, BEARER) == 200
    assert answer.startswith("401")


@pytest.mark.proves("mcp:token")
async def test_a_path_that_ends_in_a_slash_is_the_same_server(base: str) -> None:
    assert await status_of(base, {}, path="/mcp/") == 401
    assert await status_of(base, BEARER, path="/mcp/") == 200


@pytest.mark.proves("mcp:token")
async def test_nothing_is_served_unless_the_operator_asks_for_it(tmp_path: Path) -> None:
    async with served(ScriptedModel(), tmp_path) as address:
        assert await status_of(address, BEARER) == 404


@attack("http", "A page of another site sends a call to the MCP server, with the token", "403, nothing done")
async def test_other_sites_are_refused(base: str, answer: str) -> None:
    for origin in ("http://evil.example", "null", "http://localhost", f"{base}.evil.example", "file://"):
        assert await status_of(base, {**BEARER, "Origin": origin}) == 403
    assert await status_of(base, {**BEARER, "Origin": base}) == 200
    assert answer.startswith("403")


@attack("http", "DNS rebinding: a call to the MCP server for a Host that is not this machine", "403, nothing done")
async def test_other_hosts_are_refused(base: str, answer: str) -> None:
    assert await status_of(base, {**BEARER, "Host": "evil.example"}) == 403
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


@attack("http", "JSON nested 100,000 deep, or cut off, to the MCP server", "400")
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_json_that_cannot_be_read_is_refused(base: str, version: str, answer: str) -> None:
    deep = b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    for body in (deep, b'{"jsonrpc"', b"\xff", b"[]", b""):
        assert await status_of(base, {**BEARER, "MCP-Protocol-Version": version}, body) == int(answer)


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
