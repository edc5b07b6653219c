"""`python -m bot mcp`, started by the SDK's own client as an editor starts it; people approve on its page."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.process import clean, free_port, keyed, program, running
from tests.patience import PATIENCE_SECONDS
from tests.scenario.page import PageChat
from tests.standins.postgres import PostgresServer

pytestmark = pytest.mark.slow

GOAL = "Write a greeting to hello.txt"


@asynccontextmanager
async def started(folder: Path, **environ: str) -> AsyncIterator[Client]:
    """A client with a process of its own."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "bot", "mcp"], cwd=folder, env=clean(folder, environ)
    )
    async with asyncio.timeout(PATIENCE_SECONDS), Client(server) as client:
        yield client


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    found = await client.call_tool(tool, dict(arguments))
    assert not found.is_error, found
    return cast("dict[str, Any]", found.structured_content)


async def story(client: Client, folder: Path, port: str) -> None:
    """The client makes an agent and waits; Ana approves on the page; the client reads the file."""
    made = await call(client, "create_agent", name="Ada", goals=[GOAL])
    path = made["page"].removeprefix(f"http://127.0.0.1:{port}")
    assert (await call(client, "wait", agent="Ada"))["asks"]["command"] == "write_to_file"
    waiting = asyncio.create_task(call(client, "wait", agent="Ada", until="end", seconds=600))
    async with PageChat.opened(keyed(folder, port), "Ana", path) as ana:
        await (await ana.asks("write_to_file")).press("Approve")
        await (await ana.asks("task_complete")).press("Approve")
        assert "MCP" in await ana.page()
    ended = await waiting
    assert (ended["is_over"], ended["agent"]["state"]) == (True, "finished")
    assert "Greeting" in (await call(client, "read_file", agent="Ada", path="hello.txt"))["text"]


@pytest.mark.proves("mcp:stdio")
async def test_a_client_alone_gets_the_page_and_the_work_of_its_process(tmp_path: Path) -> None:
    port = str(free_port())
    async with started(tmp_path, PORT=port) as client:
        await story(client, tmp_path, port)
    async with started(tmp_path, PORT=port) as again:
        [listed] = (await call(again, "list_agents"))["agents"]
    assert (listed["name"], listed["state"]) == ("Ada", "finished")


@pytest.mark.proves("mcp:stdio")
async def test_a_client_beside_run_leaves_the_work_to_it(tmp_path: Path) -> None:
    async with program(tmp_path) as page:
        environ = {"PORT": page.address.rpartition(":")[2]}
        async with started(tmp_path, **environ) as client, started(tmp_path, **environ) as other:
            await story(client, tmp_path, environ["PORT"])
            assert len((await call(other, "list_agents"))["agents"]) == 1
            await page.stop()
            left = await call(other, "create_agent", name="Bob", goals=[GOAL])
    assert left["says"].startswith("No Signoff is at work on it, so it waits until one is started")


@pytest.mark.proves("mcp:stdio")
async def test_standard_output_has_nothing_but_the_protocol_and_eof_ends_the_process(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    sent = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, {"no": "message"}]
    with (tmp_path / "errors").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "mcp"),
            cwd=tmp_path,
            env=clean(tmp_path, {"PORT": str(free_port()), "LOG_LEVEL": "DEBUG"}),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert process.stdin
            assert process.stdout
            process.stdin.writelines(json.dumps(each).encode() + b"\n" for each in sent)
            answered = json.loads(await process.stdout.readline())
            process.stdin.close()
            rest, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert answered["result"]["serverInfo"]["name"] == "signoff"
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert process.returncode == 0
    assert b"Signoff is at http" in (tmp_path / "errors").read_bytes()


async def test_without_a_client_the_process_says_how_one_is_configured(tmp_path: Path) -> None:
    async with running(tmp_path, "bot", "mcp", "--help") as helped:
        await helped.says('{"mcpServers": {"signoff": {"command": ')
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "mcp"),
        cwd=tmp_path,
        env=clean(tmp_path, {}),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert (process.returncode, b'"args": ["mcp"]' in said) == (2, True)


@pytest.mark.proves("mcp:token")
async def test_the_page_and_mcp_clients_share_one_server(tmp_path: Path) -> None:
    async with program(tmp_path, MCP_SERVE="true", MCP_TOKEN="k" * 32, MCP_CHANNEL="Editor") as served:
        headers, port = {"Authorization": f"Bearer {'k' * 32}"}, served.address.rpartition(":")[2]
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
        ):
            await story(client, tmp_path, port)
            assert "/c/web/local/editor/" in (await call(client, "list_agents"))["agents"][0]["page"]
        await served.stop()


@pytest.mark.proves("mcp:stdio")
async def test_a_client_beside_processes_on_postgresql_is_woken_by_them(
    own_postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    environ = {"DATABASE_URL": own_postgres.url, "WORKSPACE_URL": f"file://{tmp_path / 'files'}"}
    async with program(tmp_path, **environ) as page:
        port = page.address.rpartition(":")[2]
        async with started(tmp_path, PORT=port, **environ) as client:
            await story(client, tmp_path, port)
        await page.stop()
