"""Lists of tools that are long or large, and hold up the event loop of all agents for less than 100 ms."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.screens.visible_text import visible
from agent_core.capabilities.tool_servers.server_commands import ToolArguments
from agent_core.providers.clock import SystemClock
from agent_core.toolset.registry import Commands
from bot.settings import load
from bot.wiring.tool_servers import ToolServerSet, serve_tools
from tests.attacks.bare_tool_servers import heartbeat, program, running, until
from tests.attacks.rows import attack

LONGEST_PAUSE = 0.1
HUNDRED_TOOLS = """
ARGUMENTS = {"type": "object", "properties": {
    f"a{i}": {"anyOf": [{"type": "string"} for _ in range(4)]} for i in range(39)}}
def tools(cursor):
    first = int(cursor or 0)
    return {"tools": [{"name": f"pour{first + i}", "inputSchema": ARGUMENTS} for i in range(50)],
            **({"nextCursor": "50"} if first == 0 else {})}
"""
LISTS = {
    "few tools": """{"tools": [{"name": "", "inputSchema": NONE}] * 1_000}""",
    "name": """{"tools": [{"name": "", "inputSchema": {"properties": {"x" * 3_900_000: {}}, "type": "object"}}]}""",
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "parts": {"properties": {f"a{i}": {"anyOf": [{"type": "string"} for _ in range(48)]} for i in range(39)}},
    "hidden": {"properties": {"a": {"description": "\u200b\u200d" * 500_000}}},
    "fewer hidden": {"properties": {f"a{i}": {"description": "\u200b\u200d" * 400} for i in range(39)}},
}


@pytest.mark.slow
@attack("servers", "A list of 100 tools with the largest schemas", "registered by a thread")
async def test_a_list_of_a_hundred_tools_does_not_hold_up_the_loop(tmp_path: Path, answer: str) -> None:
    made, file, registry = program(tmp_path, HUNDRED_TOOLS), tmp_path / "mcp.json", Commands()
    file.write_text(json.dumps({"mcpServers": {"tea": {"command": made.command, "args": [*made.args]}}}))
    ToolArguments.of({}, visible)  # imports what it needs
    settings = load({"MCP_SERVERS": str(file)}, None)
    with heartbeat() as beat:
        async with serve_tools(settings, ToolServerSet(), registry, SystemClock()):
            await until(lambda: bool(registry.by_name))
    assert len(registry.by_name) == 100
    assert beat.longest < LONGEST_PAUSE
    assert answer.endswith("a thread")


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [
        pytest.param("few tools", marks=attack("servers", "A list of 1,000 tools", "connected")),
        pytest.param("name", marks=attack("servers", "A name of an argument of 3.9 MB", "connected")),
    ],
)
async def test_one_list_does_not_hold_up_the_loop(tmp_path: Path, what: str, answer: str) -> None:
    with heartbeat() as beat:
        async with running(program(tmp_path, f"def tools(cursor):\n    return {LISTS[what]}")) as server:
            await until(lambda: server.state.condition != "connecting")
            assert server.state.condition == answer, server.state.why
    assert beat.longest < LONGEST_PAUSE


@pytest.mark.parametrize("what", SCHEMAS)
async def test_one_schema_that_is_too_large_is_refused_at_once(what: str) -> None:
    ToolArguments.of({}, visible)
    with heartbeat() as beat:
        arguments = ToolArguments.of(SCHEMAS[what], visible)
    assert beat.longest < LONGEST_PAUSE
    assert "characters of JSON" in arguments.why_object
