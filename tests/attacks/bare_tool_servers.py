"""Tool servers of the tests here: programs on bare pipes, whose behaviour is a few lines of Python."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from textwrap import dedent

from agent_core.capabilities.tool_servers.mcp_server import McpServer, ignore_change
from agent_core.ports.tool_servers import LocalProgram, ServerEntry
from agent_core.providers.clock import SystemClock
from tests.attacks.heartbeat import Heartbeat
from tests.patience import PATIENCE_SECONDS

CLOCK = SystemClock()
PROGRAM = """
import json, os, sys, time
from pathlib import Path
HERE = Path(__file__).parent
NONE = {"type": "object", "properties": {}}
CAPABILITIES = {"tools": {"listChanged": True}}
def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()
def begin():
    pass
def tools(cursor):
    return {"tools": [{"name": "pour", "inputSchema": NONE}]}
def called(params):
    return {"content": [{"type": "text", "text": "poured"}]}
def answer(message):
    pass
%s
for line in sys.stdin:
    request = json.loads(line)
    if "method" not in request:
        answer(request)
    if "id" not in request or "method" not in request:
        continue
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        begin()
        result = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES,
                  "serverInfo": {"name": "hostile", "version": "1"}}
    elif method == "tools/list":
        result = tools(params.get("cursor"))
    elif method == "tools/call":
        result = called(params)
    else:
        send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})
        continue
    send({"id": request["id"], **(result if "error" in result else {"result": result})})
"""


def program(folder: Path, behaviour: str, name: str = "hostile.py") -> LocalProgram:
    """A server with these lines in the middle: they may define `begin`, `tools`, `called` and `answer`.

    What they return is a result, or an `error`.
    """
    script = folder / name
    script.write_text(PROGRAM % dedent(behaviour))
    return LocalProgram(command=sys.executable, args=(str(script),))


async def until(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await CLOCK.sleep(0.01)


@asynccontextmanager
async def running(
    reached: LocalProgram, changed: Callable[[McpServer], Awaitable[None]] = ignore_change, seconds: float = 60
) -> AsyncIterator[McpServer]:
    """The server, being connected in the background."""
    entry = ServerEntry(name="tea", reached=reached, place="here")
    server = McpServer(entry=entry, clock=CLOCK, seconds=seconds, changed=changed)
    task = asyncio.create_task(server.run())
    try:
        yield server
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def heartbeat() -> Heartbeat:
    """Measures pauses in a process that does not search its whole memory for garbage, as `bot.worker` has it."""
    gc.collect()
    gc.freeze()
    return Heartbeat()
