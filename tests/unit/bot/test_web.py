"""Agents wait while a click is answered, but not while it arrives."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from agent_core.ports.priority import Priority
from bot.web import _people_first


@pytest.fixture
def priority() -> Priority:
    return Priority()


@pytest.fixture
async def server(priority: Priority) -> AsyncIterator[BaseTestServer]:
    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(text=f"people {priority.people}")

    app = web.Application(middlewares=[_people_first(priority)])
    app.router.add_route("*", "/", answer)
    async with TestServer(app) as server:
        yield server


async def ask(
    server: BaseTestServer, head: str, body: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
    return reader, writer


POST = "POST / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 6"


@pytest.mark.parametrize(("head", "people"), [(POST, 1), ("GET / HTTP/1.1", 0)])
async def test_agents_wait_for_clicks_and_forms_only(server: BaseTestServer, head: str, people: int) -> None:
    reader, writer = await ask(server, head, b"a=1234" if head == POST else b"")
    assert f"people {people}".encode() in await reader.read()
    writer.close()


async def test_a_slow_sender_holds_up_no_agents(server: BaseTestServer, priority: Priority) -> None:
    slow, writer = await ask(server, POST, b"a=")
    reader, other = await ask(server, "GET / HTTP/1.1")
    assert b"people 0" in await reader.read()
    assert priority.people == 0
    writer.write(b"1234")
    assert b"people 0" in await slow.read()
    for each in (writer, other):
        each.close()
