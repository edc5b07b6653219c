"""Tool servers over HTTP that send more than anybody reads, or forget their clients."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent_core.errors import CommandError
from agent_core.ports.tool_servers import RemoteAddress, ServerEntry
from tests.contract.test_tool_servers import connected, until

JSON, EVENTS = "application/json", "text/event-stream"
LONG = b"x" * 1_000_000
EVENT = b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}\n\n'


async def one_json(response: web.StreamResponse) -> None:
    for _ in range(50):
        await response.write(LONG)


async def one_event(response: web.StreamResponse) -> None:
    await response.write(b"data: ")
    await one_json(response)


async def many_events(response: web.StreamResponse) -> None:
    for _ in range(50):
        await response.write(EVENT * 10_000)


async def a_bomb(response: web.StreamResponse) -> None:
    await response.write(gzip.compress(LONG * 50))


@asynccontextmanager
async def far(call: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[ServerEntry]:
    """A server with a tool and a prompt; `call` answers a call of the tool, and who reads the prompt."""

    async def answer(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        match message.get("method"):
            case "initialize":
                about = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "far", "version": "1"}}
                result: dict[str, Any] = {**about, "capabilities": {"tools": {}, "prompts": {}}}
            case "tools/list":
                result = {"tools": [{"name": "pour", "inputSchema": {"type": "object"}}]}
            case "prompts/list":
                result = {"prompts": [{"name": "plan"}]}
            case "tools/call" | "prompts/get":
                return await call(request)
            case method:
                return web.Response(status=202 if str(method).startswith("notif") else 404)
        return said(message, result)

    app = web.Application()
    app.router.add_post("/mcp", answer)
    async with TestServer(app) as server:
        yield ServerEntry(name="far", reached=RemoteAddress(url=str(server.make_url("/mcp"))), place="far")


def said(message: Mapping[str, Any], result: Mapping[str, Any]) -> web.Response:
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return web.json_response(answer, dumps=json.dumps, headers={"Mcp-Session-Id": "one"})


@pytest.mark.slow
@pytest.mark.proves("tool-server:floods")
@pytest.mark.parametrize(
    ("flood", "kind", "encoding", "why"),
    [
        (one_json, JSON, "identity", "more than 4,194,304 bytes"),
        (one_event, EVENTS, "identity", ""),
        (many_events, EVENTS, "identity", "more than 5,000 messages"),
        (a_bomb, JSON, "gzip", "compressed"),
    ],
    ids=["json", "event", "events", "bomb"],
)
async def test_a_flood_over_http_costs_one_call(
    flood: Callable[[web.StreamResponse], Any], kind: str, encoding: str, why: str
) -> None:
    async def call(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind, "Content-Encoding": encoding})
        await response.prepare(request)
        await flood(response)
        return response

    async with far(call) as entry, connected(entry) as server, asyncio.timeout(20):
        with pytest.raises(CommandError, match="The tool server far") as refused:
            await server.call("pour", {}, print)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, 'let nobody in without a key (401): its entry needs "headers" with one, or "oauth": true'),
        (
            {"Authorization": "Bearer old"},
            'did not take the key in the "headers" of its entry (401): it may have ended',
        ),
    ],
    ids=["no-key", "old-key"],
)
@pytest.mark.parametrize("asks", ["tool", "prompt"])
async def test_a_server_that_answers_401_in_the_middle_says_so_in_one_line(
    headers: dict[str, str], why: str, asks: str
) -> None:
    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=401)

    async with far(refuse) as entry:
        reached = RemoteAddress(url=entry.reached.url, headers=headers)  # type: ignore[union-attr]
        async with connected(replace(entry, reached=reached)) as server:
            await until(lambda: bool(server.prompts))
            with pytest.raises(CommandError) as refused:
                await (server.call("pour", {}, print) if asks == "tool" else server.read_prompt("plan", {}))
            await until(lambda: server.state.condition == "away")
    assert str(refused.value) == f"The tool server far {why}. If the call had begun, look whether it took effect."
    assert server.state.why in ("", why)


@pytest.mark.slow
async def test_a_server_that_forgot_the_session_is_connected_again() -> None:
    calls: list[web.Request] = []

    async def forget(request: web.Request) -> web.StreamResponse:
        calls.append(request)
        if len(calls) == 1:
            return web.Response(status=404)
        return said(await request.json(), {"content": [{"type": "text", "text": "back"}]})

    async with far(forget) as entry, connected(entry) as server:
        with pytest.raises(CommandError, match="closed the connection"):
            await server.call("pour", {}, print)
        await until(lambda: server.state.condition == "away")
        await until(lambda: server.state.condition == "connected")
        assert (await server.call("pour", {}, print)).text == "back"
